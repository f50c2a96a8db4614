//! A request as vendor modules read it, and a reply as they write it.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::faults::{Carried, Fault};

/// A request, taken apart.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// As sent, without the query.
    pub(crate) path: String,
    /// As sent, with the query.
    pub(crate) target: String,
    /// Decoded, without empty ones.
    pub(crate) segments: Vec<String>,
    /// Decoded, in the order sent.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// `http://host:port` as the caller knows it, for the links in answers.
    pub(crate) origin: String,
    /// What befalls it, beyond the rules.
    pub(crate) faults: Vec<Fault>,
}

impl Call {
    pub(crate) fn new(request: Request<Bytes>) -> Self {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or("");
        Self {
            target: match parts.uri.query() {
                Some(query) => format!("{path}?{query}"),
                None => path.clone(),
            },
            segments: path
                .split('/')
                .filter(|segment| !segment.is_empty())
                .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
                .collect(),
            query: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            origin: origin(&parts.uri, &parts.headers),
            faults: parts
                .extensions
                .get::<Carried>()
                .map(|carried| carried.0.clone())
                .unwrap_or_default(),
            method: parts.method,
            headers: parts.headers,
            path,
            body,
        }
    }

    /// The first query parameter of that name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The `User-Agent`; empty where there is none.
    pub(crate) fn user_agent(&self) -> &str {
        self.header(header::USER_AGENT).unwrap_or_default()
    }

    /// The token of an `Authorization: Bearer` header.
    pub(crate) fn bearer(&self) -> Option<&str> {
        let value = self.header(header::AUTHORIZATION)?;
        let (scheme, token) = value.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
    }
}

fn origin(uri: &http::Uri, headers: &HeaderMap) -> String {
    let host = uri
        .authority()
        .map(http::uri::Authority::as_str)
        .or_else(|| headers.get(header::HOST)?.to_str().ok())
        .unwrap_or("fakecloud.invalid");
    format!("{}://{host}", uri.scheme_str().unwrap_or("http"))
}

/// A reply.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json(status: StatusCode, body: &Value) -> Self {
        let mut reply = Self::empty(status);
        reply.set(header::CONTENT_TYPE, "application/json; charset=utf-8");
        reply.body = Bytes::from(body.to_string());
        reply
    }

    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// Sets a header; one whose value no header can carry is left out.
    pub(crate) fn set(&mut self, name: HeaderName, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
    }

    pub(crate) fn into_response(self) -> Response<Bytes> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
