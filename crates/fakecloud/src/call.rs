//! Requests and replies as vendor modules see them.

use bytes::Bytes;
use fakehttp::Carried;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::faults::Fault;
use crate::knobs::Knobs;

/// A parsed request.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Path as sent, without the query.
    pub(crate) path: String,
    /// Path as sent, with the query.
    pub(crate) target: String,
    /// Decoded path segments, without empty segments.
    pub(crate) segments: Vec<String>,
    /// Decoded query, in the order sent.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// `http://host:port` as the caller knows it, for links in answers.
    pub(crate) origin: String,
    /// Faults that the request carries itself, beside the rules.
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
                .get::<Carried<Fault>>()
                .map(|carried| carried.0.clone())
                .unwrap_or_default(),
            method: parts.method,
            headers: parts.headers,
            path,
            body,
        }
    }

    /// The first query parameter with the given name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The `User-Agent`; empty if absent.
    pub(crate) fn user_agent(&self) -> &str {
        self.header(header::USER_AGENT).unwrap_or_default()
    }

    /// The token of an `Authorization: Bearer` header, if the knobs accept it.
    pub(crate) fn accepted_bearer(&self, knobs: &Knobs) -> Option<String> {
        let is_good =
            |token: &&str| knobs.token.as_ref().is_none_or(|good| good.as_str() == *token);
        let token = self.bearer().filter(|_| !knobs.token_expired).filter(is_good);
        token.map(str::to_owned)
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
        reply.body = Bytes::from(serde_json::to_vec(body).unwrap_or_default());
        reply
    }

    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// Sets a header. Values that are invalid in headers are ignored.
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
