//! Answers before serialization.

use bytes::Bytes;
use http::{Response, header};
use serde_json::Value;

use crate::body::Body;
use crate::refusal::Refusal;
use crate::verbs::watch::Watching;

/// The content type of almost all answers.
const JSON: &str = "application/json";

/// The content of an answer.
#[derive(Debug)]
pub(crate) enum Content {
    Json(Value),
    Text(String),
    Watch(Box<Watching>),
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content: Content,
    content_type: &'static str,
    /// `Warning` headers, each with a single text.
    pub(crate) warnings: Vec<String>,
    retry_after: Option<u64>,
}

impl Reply {
    pub(crate) fn json(status: u16, value: Value) -> Self {
        Self {
            status,
            content: Content::Json(value),
            content_type: JSON,
            warnings: Vec::new(),
            retry_after: None,
        }
    }

    pub(crate) fn text(status: u16, text: &str) -> Self {
        let content = Content::Text(text.to_owned());
        Self {
            content,
            content_type: "text/plain; charset=utf-8",
            ..Self::json(status, Value::Null)
        }
    }

    pub(crate) fn watch(watching: Watching) -> Self {
        Self { content: Content::Watch(Box::new(watching)), ..Self::json(200, Value::Null) }
    }

    pub(crate) fn refused(refusal: &Refusal) -> Self {
        if refusal.plain {
            return Self::text(refusal.code, &refusal.message);
        }
        let reply = Self::json(refusal.code, refusal.status());
        Self { retry_after: refusal.retry_after, ..reply }
    }

    #[cfg(feature = "kubectl")]
    pub(crate) fn typed(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }

    /// The serialized content; empty for a watch.
    pub(crate) fn bytes(&self) -> Bytes {
        match &self.content {
            Content::Json(value) => {
                let mut text = serde_json::to_vec(value).unwrap_or_default();
                text.push(b'\n');
                Bytes::from(text)
            }
            Content::Text(text) => Bytes::copy_from_slice(text.as_bytes()),
            Content::Watch(_) => Bytes::new(),
        }
    }

    /// The response with the given body.
    pub(crate) fn into_response(self, body: Body) -> Response<Body> {
        let mut response = Response::new(body);
        *response.status_mut() = http::StatusCode::from_u16(self.status).unwrap_or_default();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(self.content_type));
        headers
            .insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache, private"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from(seconds));
        }
        for warning in &self.warnings {
            let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = header::HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
                headers.append(header::WARNING, value);
            }
        }
        response
    }
}
