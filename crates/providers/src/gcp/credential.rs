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
use google_cloud_auth::build_errors::Error as BuildError;
use google_cloud_auth::credentials::{AccessTokenCredentials, Builder};
use tokio::time::timeout;

use super::config::TOKEN;
use crate::credential::{Fresh, Line, Secret, TokenSource};
use crate::error::{Error, ErrorKind, Result};

/// What a token is good for.
const SCOPE: &str = "https://www.googleapis.com/auth/compute";

/// The chain keeps its tokens, renews them minutes before they expire, and does not tell when that
/// is. It is asked again after half of this time.
const KEPT: Duration = Duration::from_secs(60);

/// The longest displayed reason, in characters.
const LONGEST_REASON: usize = 300;

type Built = Result<AccessTokenCredentials, BuildError>;

/// The sources, asked in order. Built when the first token is needed, because building starts a
/// task; built again after a failure, because a failed chain never tries again by itself.
pub(super) struct Chain {
    build: Box<dyn Fn() -> Built + Send + Sync>,
    built: Mutex<Option<AccessTokenCredentials>>,
    patience: Duration,
}

impl Chain {
    /// Google's sources. A token that takes longer than `patience` is not waited for.
    pub fn of_google(patience: Duration) -> Self {
        let build = || {
            // Fails if a provider is already installed, which is fine.
            drop(rustls::crypto::ring::default_provider().install_default());
            Builder::default().with_scopes([SCOPE]).build_access_token_credentials()
        };
        Self::new(build, patience)
    }

    /// A chain that is built by `build`.
    pub fn new(build: impl Fn() -> Built + Send + Sync + 'static, patience: Duration) -> Self {
        Self { build: Box::new(build), built: Mutex::default(), patience }
    }

    fn credentials(&self) -> Result<AccessTokenCredentials> {
        let mut built = self.built();
        if let Some(built) = &*built {
            return Ok(built.clone());
        }
        let new = (self.build)().map_err(|error| refused(ErrorKind::Unauthorized, &error))?;
        *built = Some(new.clone());
        Ok(new)
    }

    fn built(&self) -> MutexGuard<'_, Option<AccessTokenCredentials>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chain")
    }
}

#[async_trait]
impl TokenSource for Chain {
    async fn fetch(&self, _: &Line<'_>) -> Result<Fresh> {
        let credentials = self.credentials()?;
        let token = match timeout(self.patience, credentials.access_token()).await {
            Ok(Ok(token)) => token.token,
            Ok(Err(error)) => {
                *self.built() = None;
                let passing = error.is_transient();
                let kind = if passing { ErrorKind::NotSent } else { ErrorKind::Unauthorized };
                return Err(refused(kind, &error));
            }
            Err(_) => {
                let words = format!("none within {:?}; {}", self.patience, advice());
                return Err(Error::new(ErrorKind::NotSent, words));
            }
        };
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
         GOOGLE_APPLICATION_CREDENTIALS or {TOKEN}"
    )
}
