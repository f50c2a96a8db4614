//! How the requests of an account prove their sender: by a token that stays the same ([`Bearer`]),
//! by a token in a file that may change ([`TokenFile`]), by a token that expires and is fetched again ([`Refreshed`]), or by a signature over the whole
//! request (an implementation of [`Credential`] in the vendor's folder).

mod token_file;

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::access::{unusable, value};
use crate::effect::Effect;
use crate::error::{Error, ErrorKind, Result};
use crate::layers::Priority;
use crate::transport::Transport;
use crate::vendor::{Clock, ConfigError, Settings, TokenVariables};
pub use token_file::TokenFile;

/// The proof of the sender. `Debug` output shows no secret.
#[async_trait]
pub trait Credential: Send + Sync + fmt::Debug {
    /// Adds the proof to a request that is otherwise complete: method, URI, headers and body are
    /// sent as they are here, so that a signature can cover them all.
    ///
    /// # Errors
    /// The request was not sent: [`NotSent`](ErrorKind::NotSent),
    /// [`Unauthorized`](ErrorKind::Unauthorized), or held back by a rate limit.
    async fn authorise(&self, request: &mut Request<Bytes>, line: &Line<'_>) -> Result<()>;

    /// `text` with every copy of a secret replaced, in case a server echoed one.
    fn strike_from(&self, text: &str) -> String;

    /// Takes note of a request that the provider refused as unauthorised.
    fn refused(&self) {}

    /// Reads a credential that is kept in a file again. Called every few seconds.
    fn look(&self) -> Looked {
        Looked::Same
    }
}

/// The result of reading a credential again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// Nothing has changed since the last look.
    Same,
    /// The credential has changed since the last look.
    Renewed,
    /// No usable credential is there any more, for this reason. The last one is used on.
    Lost(String),
}

/// The token that two variables name: the token itself, or a file.
///
/// # Errors
/// Both variables are set, or neither; the value or the file has no usable token.
pub(crate) fn token(
    settings: &Settings<'_>,
    names: TokenVariables,
) -> Result<Arc<dyn Credential>, ConfigError> {
    let Some(path) = value(settings, names.file) else {
        return Ok(Arc::new(Bearer::read(settings, names.value)?));
    };
    if value(settings, names.value).is_some() {
        return Err(unusable(names.file, &format!("and {} are both set: keep one", names.value)));
    }
    Ok(Arc::new(TokenFile::open(names.file, path.into())?))
}

/// The way to the provider while a request is being authorised.
#[derive(Debug)]
pub struct Line<'a> {
    pub(crate) transport: &'a Transport,
    pub(crate) clock: &'a Clock,
    /// The priority of the request that waits.
    pub(crate) priority: Priority,
}

impl Line<'_> {
    /// Sends a request for a token over the account's own transport. It is a read, so that a
    /// replica without leadership can list; it is as urgent as the request that waits for it.
    ///
    /// # Errors
    /// There was no answer. Answers with an error status are `Ok` here.
    pub async fn fetch(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>> {
        request.extensions_mut().insert(Effect::Read);
        request.extensions_mut().insert(self.priority);
        Ok(self.transport.clone().oneshot(request).await?)
    }

    /// The time of day, for signatures.
    pub fn now(&self) -> SystemTime {
        self.clock.now()
    }
}

/// A secret text. `Debug` output hides the value.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret in a variable.
    ///
    /// # Errors
    /// The variable is not set, or has characters that no header may have.
    pub fn read(settings: &Settings<'_>, variable: &'static str) -> Result<Self, ConfigError> {
        let text = value(settings, variable).ok_or(ConfigError::Missing(variable))?;
        let problem = "has spaces, control or non-ASCII characters in it";
        Self::new(text).ok_or_else(|| unusable(variable, problem))
    }

    /// A secret, or `None` for a text with spaces, control or non-ASCII characters.
    pub fn new(text: String) -> Option<Self> {
        text.bytes().all(|byte| byte.is_ascii_graphic()).then_some(Self(text))
    }

    /// The secret itself, to compute with.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with every copy of the secret replaced.
    pub fn strike_from(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[token]") }
    }

    /// Adds the `Authorization` header, marked sensitive so that `Debug` output hides the secret.
    fn bear(&self, request: &mut Request<Bytes>) -> Result<()> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", self.0)).map_err(|_| {
            Error::new(ErrorKind::NotSent, "the access token does not fit into a header")
        })?;
        header.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, header);
        Ok(())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// A bearer token that stays the same.
#[derive(Debug)]
pub struct Bearer(Secret);

impl Bearer {
    /// The token in a variable.
    ///
    /// # Errors
    /// The variable is not set, or no token.
    pub fn read(settings: &Settings<'_>, variable: &'static str) -> Result<Self, ConfigError> {
        Secret::read(settings, variable).map(Self)
    }
}

#[async_trait]
impl Credential for Bearer {
    async fn authorise(&self, request: &mut Request<Bytes>, _: &Line<'_>) -> Result<()> {
        self.0.bear(request)
    }

    fn strike_from(&self, text: &str) -> String {
        self.0.strike_from(text)
    }
}

/// Where tokens come from.
#[async_trait]
pub trait TokenSource: Send + Sync + fmt::Debug {
    /// Fetches a token.
    ///
    /// # Errors
    /// Of the kind that the provider's answer has; [`Refreshed`] says what that means for the
    /// request that waits.
    async fn fetch(&self, line: &Line<'_>) -> Result<Fresh>;

    /// `text` with every copy of the lasting secret replaced, by which tokens are obtained.
    fn strike_from(&self, text: &str) -> String;
}

/// A token, and how long it is valid.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// The token.
    pub token: Secret,
    /// Valid for so long from now on.
    pub lasts: Duration,
}

/// A token counts as expired so long before it expires, or for half of its time, if that is less:
/// a request must not arrive with a token that has just run out.
const MARGIN: Duration = Duration::from_secs(60);

/// So many tokens are remembered, so that an answer that echoes an earlier one shows none.
const REMEMBERED: usize = 4;

/// A token that expires. It is fetched when a request needs it and kept until shortly before it
/// expires, or until the provider refuses it.
///
/// Fetches go one at a time: requests that arrive meanwhile wait, and share its token or its
/// failure. Nothing is tried again here. A failed fetch means that the waiting request was not
/// sent, whatever happened to the fetch:
///
/// | the fetch | the request that waited |
/// |---|---|
/// | was refused (`Unauthorized`, `Forbidden`) | `Unauthorized` |
/// | was held back, or refused by a rate limit | the same |
/// | failed in any other way | `NotSent` |
#[derive(Debug)]
pub struct Refreshed<S> {
    source: S,
    /// Held during a fetch.
    turn: tokio::sync::Mutex<()>,
    /// The number of fetches that ended.
    fetches: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: Option<(Secret, Instant)>,
    /// The end of the last fetch, if it failed.
    failure: Option<Error>,
    remembered: VecDeque<Secret>,
}

impl<S: TokenSource> Refreshed<S> {
    /// Without a token yet.
    pub fn new(source: S) -> Self {
        Self {
            source,
            turn: tokio::sync::Mutex::default(),
            fetches: AtomicU64::default(),
            state: Mutex::default(),
        }
    }

    /// A valid token.
    ///
    /// # Errors
    /// As told above.
    pub async fn token(&self, line: &Line<'_>) -> Result<Secret> {
        let before = self.fetches.load(Ordering::SeqCst);
        if let Some(token) = self.valid() {
            return Ok(token);
        }
        let _turn = self.turn.lock().await;
        if let Some(token) = self.valid() {
            return Ok(token);
        }
        let shared = self.state().failure.clone();
        if let Some(failure) = shared.filter(|_| self.fetches.load(Ordering::SeqCst) != before) {
            return Err(failure);
        }
        let asked = Instant::now();
        let fetched = self.source.fetch(line).await.map_err(|error| self.unsent(error));
        let mut state = self.state();
        self.fetches.fetch_add(1, Ordering::SeqCst);
        state.failure = fetched.as_ref().err().cloned();
        let Fresh { token, lasts } = fetched?;
        state.kept = Some((token.clone(), asked + (lasts - MARGIN.min(lasts / 2))));
        state.remembered.push_back(token.clone());
        if state.remembered.len() > REMEMBERED {
            state.remembered.pop_front();
        }
        Ok(token)
    }

    fn valid(&self) -> Option<Secret> {
        let state = self.state();
        let (token, until) = state.kept.as_ref()?;
        (*until > Instant::now()).then(|| token.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error of a request that has no token.
    fn unsent(&self, error: Error) -> Error {
        let kind = match error.kind {
            ErrorKind::Unauthorized | ErrorKind::Forbidden => ErrorKind::Unauthorized,
            ErrorKind::HeldBack(hold) => ErrorKind::HeldBack(hold),
            ErrorKind::RateLimited { retry_after } => ErrorKind::RateLimited { retry_after },
            ErrorKind::NotSent
            | ErrorKind::NoAnswer
            | ErrorKind::Unavailable
            | ErrorKind::NotFound
            | ErrorKind::Busy
            | ErrorKind::QuotaExceeded
            | ErrorKind::Rejected => ErrorKind::NotSent,
        };
        let words = self.strike_from(&error.message);
        Error::new(kind, format!("no access token could be obtained: {words}"))
    }
}

#[async_trait]
impl<S: TokenSource> Credential for Refreshed<S> {
    async fn authorise(&self, request: &mut Request<Bytes>, line: &Line<'_>) -> Result<()> {
        self.token(line).await?.bear(request)
    }

    fn strike_from(&self, text: &str) -> String {
        let struck = self.source.strike_from(text);
        self.state().remembered.iter().fold(struck, |text, token| token.strike_from(&text))
    }

    fn refused(&self) {
        self.state().kept = None;
    }
}

#[cfg(test)]
mod tests;
