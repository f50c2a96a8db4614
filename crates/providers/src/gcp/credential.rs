//! Google's usual sources of a token, in their order: the file that
//! `GOOGLE_APPLICATION_CREDENTIALS` names (a service account, an external account for workload
//! identity federation, an impersonation, a user), the file that `gcloud` leaves, and the metadata
//! server of the machine or of GKE's workload identity (`GCE_METADATA_HOST` names another).
//!
//! The crate `google-cloud-auth` does that, over connections of its own. Nothing of it runs before
//! the first call.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use google_cloud_auth::credentials::{AccessTokenCredentials, Builder};
use hyper_rustls::HttpsConnectorBuilder;
use tokio::time::{Instant, timeout};

use super::config::TOKEN;
use crate::credential::{Fresh, Line, Secret, TokenSource};
use crate::error::{Error, ErrorKind, Result};

/// What a token is good for.
const SCOPE: &str = "https://www.googleapis.com/auth/compute";

/// The chain keeps its tokens, renews them minutes before they expire, and does not tell when that
/// is. It is asked again after half of this time.
const KEPT: Duration = Duration::from_secs(60);

/// The difference between our clock and that of the token's keeper, which reads it earlier.
const TOLERANCE: Duration = Duration::from_secs(1);

/// The longest displayed reason, in characters.
const LONGEST_REASON: usize = 300;

/// The sources, asked in order. Built when the first token is needed, because building starts a
/// task; built again after a failure, because a failed chain never tries again by itself, and after
/// a token was refused, because the chain would give the same again until it expires.
pub(super) struct Chain {
    build: Box<dyn Fn() -> Result<AccessTokenCredentials> + Send + Sync>,
    built: Mutex<Option<AccessTokenCredentials>>,
    /// The time of the last fetch that gave a token.
    fetched: Mutex<Option<Instant>>,
    patience: Duration,
}

impl Chain {
    /// Google's sources. A token that takes longer than `patience` is not waited for.
    pub fn of_google(patience: Duration) -> Self {
        Self::new(build, patience)
    }

    /// A chain that is built by `build`.
    pub fn new(
        build: impl Fn() -> Result<AccessTokenCredentials> + Send + Sync + 'static,
        patience: Duration,
    ) -> Self {
        let (built, fetched) = (Mutex::default(), Mutex::default());
        Self { build: Box::new(build), built, fetched, patience }
    }

    fn credentials(&self) -> Result<AccessTokenCredentials> {
        let mut built = locked(&self.built);
        // A token that is asked for again so soon was refused.
        let soon = |fetched: &Instant| fetched.elapsed() < KEPT / 2 - TOLERANCE;
        if locked(&self.fetched).take().as_ref().is_some_and(soon) {
            *built = None;
        }
        if let Some(built) = &*built {
            return Ok(built.clone());
        }
        let new = (self.build)()?;
        *built = Some(new.clone());
        Ok(new)
    }
}

/// Builds Google's chain.
fn build() -> Result<AccessTokenCredentials> {
    let provider = rustls::crypto::ring::default_provider();
    // The chain's HTTP client panics without certificate authorities, and without a provider.
    if let Err(error) =
        HttpsConnectorBuilder::new().with_provider_and_native_roots(provider.clone())
    {
        let words = format!("no certificate authorities on this machine: {error}");
        return Err(Error::new(ErrorKind::NotSent, words));
    }
    // Fails if a provider is already installed, which is fine.
    drop(provider.install_default());
    let built = Builder::default().with_scopes([SCOPE]).build_access_token_credentials();
    built.map_err(|error| refused(ErrorKind::Unauthorized, &error))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chain")
    }
}

#[async_trait]
impl TokenSource for Chain {
    async fn fetch(&self, _: &Line<'_>) -> Result<Fresh> {
        let asked = Instant::now();
        let credentials = self.credentials()?;
        let token = match timeout(self.patience, credentials.access_token()).await {
            Ok(Ok(token)) => token.token,
            Ok(Err(error)) => {
                *locked(&self.built) = None;
                let passing = error.is_transient();
                let kind = if passing { ErrorKind::NotSent } else { ErrorKind::Unauthorized };
                return Err(refused(kind, &error));
            }
            Err(_) => {
                let words = format!("none within {:?}; {}", self.patience, advice());
                return Err(Error::new(ErrorKind::NotSent, words));
            }
        };
        *locked(&self.fetched) = Some(asked);
        let unfit = || Error::new(ErrorKind::NotSent, "the token does not fit into a header");
        Ok(Fresh { token: Secret::new(token).ok_or_else(unfit)?, lasts: KEPT })
    }

    /// The chain's lasting secrets never leave it.
    fn strike_from(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// The reason of a failure, on one line, and what to do.
fn refused(kind: ErrorKind, error: &dyn StdError) -> Error {
    let mut reasons = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !reasons.iter().any(|reason| reason.contains(&words)) {
            reasons.push(words);
        }
        cause = error.source();
    }
    let reasons = reasons.join(": ");
    let line = reasons.chars().map(|c| if c.is_control() { ' ' } else { c });
    let line: String = line.take(LONGEST_REASON).collect();
    Error::new(kind, format!("{line}; {}", advice()))
}

fn advice() -> String {
    format!(
        "give the operator's service account a workload identity, or set \
         GOOGLE_APPLICATION_CREDENTIALS or {}",
        TOKEN.value
    )
}
