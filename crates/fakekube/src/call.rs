//! A parsed request.

use bytes::Bytes;
use fakehttp::{Arriving, Carried};
use http::{HeaderMap, Method, Request, Uri, header};

use crate::faults::Fault;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Faults that the request carries itself, beside the rules.
    pub(crate) faults: Vec<Fault>,
}

impl Call {
    pub(crate) fn new(request: Request<Bytes>) -> Self {
        let (parts, body) = request.into_parts();
        let faults = parts.extensions.get().map(|Carried(faults)| faults.clone());
        Self {
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            body,
            faults: faults.unwrap_or_default(),
        }
    }

    /// The parts that filters of faults need.
    pub(crate) fn arriving(&self) -> Arriving<'_> {
        Arriving {
            method: &self.method,
            path: self.path(),
            user_agent: self.user_agent(),
            body: &self.body,
            mutates: self.mutates(),
            watches: self.watches(),
        }
    }

    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    pub(crate) fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// Path and query.
    pub(crate) fn target(&self) -> String {
        self.uri.path_and_query().map(ToString::to_string).unwrap_or_default()
    }

    fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn accept(&self) -> Option<&str> {
        self.header(header::ACCEPT)
    }

    pub(crate) fn content_type(&self) -> Option<&str> {
        self.header(header::CONTENT_TYPE)
    }

    pub(crate) fn user_agent(&self) -> &str {
        self.header(header::USER_AGENT).unwrap_or_default()
    }

    /// Whether the request may change objects.
    fn mutates(&self) -> bool {
        !matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }

    /// Whether the request is a watch.
    fn watches(&self) -> bool {
        let yes = |(key, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
            key == "watch" && value != "0" && !value.eq_ignore_ascii_case("false")
        };
        self.method == Method::GET && form_urlencoded::parse(self.query().as_bytes()).any(yes)
    }
}
