//! Requests to one account over the transport, shared by all provider clients: endpoint, user agent,
//! credential and effect. What a body says is the vendor's.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower::ServiceExt;

use crate::access::Access;
use crate::credential::{Credential, Line};
use crate::effect::Effect;
use crate::error::{Error, ErrorKind, Result};
use crate::layers::Priority;
use crate::transport::Transport;

/// The longest displayed provider message, in characters.
const LONGEST_MESSAGE: usize = 200;

/// Requests to one account. `Debug` output shows no secret.
#[derive(Debug)]
pub(crate) struct Rest {
    transport: Transport,
    access: Access,
    /// The media type of answers.
    accept: HeaderValue,
}

/// The body of a request, with its media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    media_type: HeaderValue,
    bytes: Bytes,
}

impl Body {
    /// JSON.
    pub fn json(value: &Value) -> Self {
        Self { media_type: JSON, bytes: value.to_string().into() }
    }

    /// An encoded form: `a=1&b=2`.
    pub fn form(encoded: String) -> Self {
        let media_type = HeaderValue::from_static("application/x-www-form-urlencoded");
        Self { media_type, bytes: encoded.into() }
    }
}

/// The media type of JSON.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Rest {
    /// `accept` is the media type of the vendor's answers.
    pub fn new(access: Access, accept: HeaderValue, transport: Transport) -> Self {
        Self { transport, access, accept }
    }

    pub fn credential(&self) -> &dyn Credential {
        &*self.access.credential
    }

    /// Sends one request. Answers with an error status are `Ok` here. `effect` says whether
    /// anything may change at the provider, whatever the method is.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Body>,
        effect: Effect,
        priority: Priority,
    ) -> Result<Response<Bytes>> {
        let mut request = self.request(method, path, body).map_err(|error| {
            Error::new(ErrorKind::NotSent, format!("the request cannot be made: {error}"))
        })?;
        let Access { credential, clock, .. } = &self.access;
        let line = Line { transport: &self.transport, clock, priority };
        credential.authorise(&mut request, &line).await?;
        request.extensions_mut().insert(effect);
        request.extensions_mut().insert(priority);
        let answer = self.transport.clone().oneshot(request).await?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            credential.refused();
        }
        Ok(answer)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Body>,
    ) -> http::Result<Request<Bytes>> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.access.endpoint))
            .header(USER_AGENT, &self.access.user_agent)
            .header(ACCEPT, &self.accept);
        match body {
            Some(Body { media_type, bytes }) => {
                request.header(CONTENT_TYPE, media_type).body(bytes)
            }
            None => request.body(Bytes::new()),
        }
    }
}

/// Parses an answer's body as JSON, an object at every provider. Anything else is refused, because
/// serde would read a list as a struct's fields in order, and `[[]]` would become an empty listing.
pub(crate) fn parse<T: DeserializeOwned>(vendor: &str, answer: &Response<Bytes>) -> Result<T> {
    if !answer.body().trim_ascii_start().starts_with(b"{") {
        return Err(unreadable(vendor, "not an object"));
    }
    // serde_json's message quotes the answer, so only the position is reported.
    serde_json::from_slice(answer.body()).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        unreadable(vendor, &format!("not what was expected at line {line}, column {column}"))
    })
}

/// The error for a successful answer with an unreadable body.
pub(crate) fn unreadable(vendor: &str, what: &str) -> Error {
    Error::new(ErrorKind::NoAnswer, format!("{vendor}'s answer cannot be read: {what}"))
}

/// A provider's message fit for a status line: one line, shortened, without secrets.
pub(crate) fn shown(text: &str, credential: &dyn Credential) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    // Secrets are removed after control characters, which could hide them, and before the cut,
    // which could leave half of one.
    let plain = credential.strike_from(&plain);
    let plain = plain.trim();
    if plain.chars().count() <= LONGEST_MESSAGE {
        return plain.to_owned();
    }
    let mut short: String = plain.chars().take(LONGEST_MESSAGE - 1).collect();
    short.push('…');
    short
}
