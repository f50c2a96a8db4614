//! ACME's credential: a signature with a token that expires.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Request};

use super::client::{kind, nonsense, text};
use crate::credential::{Credential, Fresh, Line, Refreshed, Secret, TokenSource};
use crate::error::{Error, ErrorKind, Result};

/// Signs with a token of the account.
#[derive(Debug)]
pub(super) struct Session(Refreshed<Tokens>);

impl Session {
    pub fn new(key: Secret, endpoint: &str, path: &str) -> Self {
        Self(Refreshed::new(Tokens { key, url: format!("{endpoint}{path}") }))
    }
}

#[async_trait]
impl Credential for Session {
    async fn authorise(&self, request: &mut Request<Bytes>, line: &Line<'_>) -> Result<()> {
        let token = self.0.token(line).await?;
        let date = line.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let date = date.as_secs().to_string();
        let (method, path) = (request.method().as_str(), request.uri().path());
        let mut hasher = DefaultHasher::new();
        (token.expose(), method, path, &*date, &request.body()[..]).hash(&mut hasher);
        let signature = format!("{:016x}", hasher.finish());
        for (name, value) in [("x-acme-date", date), ("x-acme-signature", signature)] {
            let value = HeaderValue::try_from(value).map_err(|error| unsendable(&error))?;
            request.headers_mut().insert(name, value);
        }
        Ok(())
    }

    fn strike_from(&self, text: &str) -> String {
        self.0.strike_from(text)
    }

    fn refused(&self) {
        self.0.refused();
    }
}

/// Fetches tokens.
#[derive(Debug)]
struct Tokens {
    key: Secret,
    url: String,
}

#[async_trait]
impl TokenSource for Tokens {
    async fn fetch(&self, line: &Line<'_>) -> Result<Fresh> {
        let form = format!("Action=Session&Key={}", self.key.expose());
        let request = Request::post(&self.url).body(form.into());
        let answer = line.fetch(request.map_err(|error| unsendable(&error))?).await?;
        let body = String::from_utf8_lossy(answer.body()).into_owned();
        if !answer.status().is_success() {
            return Err(Error::new(kind(&answer), text(&body, "Message").unwrap_or_default()));
        }
        let token = text(&body, "Token").and_then(|token| Secret::new(token.to_owned()));
        let lasts = text(&body, "Seconds").and_then(|seconds| seconds.parse().ok());
        let (token, lasts) = token.zip(lasts).ok_or_else(|| nonsense("no token"))?;
        Ok(Fresh { token, lasts: Duration::from_secs(lasts) })
    }

    fn strike_from(&self, text: &str) -> String {
        self.key.strike_from(text)
    }
}

fn unsendable(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::NotSent, format!("the request cannot be made: {error}"))
}
