//! JSON over the transport under one credential, shared by all provider clients.

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower::ServiceExt;

use crate::access::{Access, Token};
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
}

impl Rest {
    pub fn new(access: Access, transport: Transport) -> Self {
        Self { transport, access }
    }

    pub fn token(&self) -> &Token {
        &self.access.token
    }

    /// Sends one request. Answers with an error status are `Ok` here.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        priority: Priority,
    ) -> Result<Response<Bytes>> {
        let request = self.request(method, path, body, priority).map_err(|error| {
            Error::new(ErrorKind::NotSent, format!("the request cannot be made: {error}"))
        })?;
        Ok(self.transport.clone().oneshot(request).await?)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        priority: Priority,
    ) -> http::Result<Request<Bytes>> {
        const JSON: HeaderValue = HeaderValue::from_static("application/json");
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.access.endpoint))
            .header(AUTHORIZATION, self.access.token.bearer()?)
            .header(USER_AGENT, &self.access.user_agent)
            .header(ACCEPT, JSON)
            .extension(priority);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, JSON);
        }
        request.body(body.map(|json| json.to_string().into()).unwrap_or_default())
    }
}

/// Parses an answer's body, a JSON object at every provider. Anything else is refused, because
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

/// A provider's message fit for a status line: one line, shortened, without the token.
pub(crate) fn shown(text: &str, token: &Token) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    // The token is removed after control characters, which could hide it, and before the cut, which
    // could leave half of it.
    let plain = token.strike_from(&plain);
    let plain = plain.trim();
    if plain.chars().count() <= LONGEST_MESSAGE {
        return plain.to_owned();
    }
    let mut short: String = plain.chars().take(LONGEST_MESSAGE - 1).collect();
    short.push('…');
    short
}
