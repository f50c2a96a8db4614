//! One error for all vendors: a kind to decide by, and the vendor's words to show.

use std::time::Duration;

use crate::address::Address;
use crate::layers::Hold;
use crate::transport::TransportError;

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call that did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What to decide by.
    pub kind: ErrorKind,
    /// What to show: the vendor's own words, shortened, never a secret.
    pub message: String,
    /// The address as it was read back after the refusal, when the vendor was asked again.
    pub seen: Option<Box<Address>>,
}

impl Error {
    /// An error without a read-back.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), seen: None }
    }

    /// The error of a call that takes several requests, of which others had gone before this
    /// one was held back: the vendor did see something of it.
    pub(crate) fn after_others(mut self) -> Self {
        if let ErrorKind::HeldBack(Hold { retry_after, .. }) = self.kind {
            self.kind = ErrorKind::RateLimited { retry_after };
        }
        self
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        let kind = match &error {
            TransportError::NotSent(_) => ErrorKind::NotSent,
            TransportError::RateLimited(hold) => ErrorKind::HeldBack(*hold),
            TransportError::NoAnswer(_) => ErrorKind::NoAnswer,
        };
        Self::new(kind, error.to_string())
    }
}

/// What an error means for the one who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request never left: no connection, or the gate was shut. It has no effect.
    NotSent,
    /// Our own rate budget says: not before this much time has passed. The request never left.
    HeldBack(Hold),
    /// The vendor says so (429). No effect of this request.
    RateLimited {
        /// How long to wait.
        retry_after: Duration,
    },
    /// No answer came (timeout, reset, 502, 504), or one that cannot be read: the effect
    /// may be there, may come, or may not.
    NoAnswer,
    /// The vendor answered that it cannot now (500, 503). Over, without effect.
    Unavailable,
    /// The credentials are refused (401).
    Unauthorized,
    /// The credentials are good but may not do this (403).
    Forbidden,
    /// The address, the machine or the zone does not exist (404). With [`Error::seen`], the
    /// address does and the machine does not.
    NotFound,
    /// Another operation is under way on the address or the machine, or somebody else changed
    /// the records meanwhile. Over, without effect.
    Busy,
    /// The account has no room for another address, or the zone for another record.
    QuotaExceeded,
    /// The vendor refuses this request and would refuse it again.
    Rejected,
}
