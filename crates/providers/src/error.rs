//! One error type for all providers: a kind for decisions, and the provider's message for display.

use std::time::Duration;

use crate::address::Address;
use crate::layers::HeldBack;
use crate::transport::TransportError;

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed call.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind, on which callers decide.
    pub kind: ErrorKind,
    /// The message for display: the provider's own text, shortened, without secrets.
    pub message: String,
    /// The address as read back after the refusal, if a read followed.
    pub seen: Option<Box<Address>>,
    /// The machine lost its own address to the call.
    pub displaced: bool,
}

impl Error {
    /// An error without a read-back.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), seen: None, displaced: false }
    }

    /// The error of a call with several requests, when earlier requests had already been sent
    /// before our budget held this one back. `HeldBack` would wrongly say the provider saw nothing.
    pub(crate) fn after_others(mut self) -> Self {
        if let ErrorKind::HeldBack(HeldBack { retry_after, .. }) = self.kind {
            self.kind = ErrorKind::RateLimited { retry_after };
        }
        self
    }

    /// The error of a refused change whose read-back failed too. The kind is never a permanent
    /// refusal, because the change may not have been needed.
    pub(crate) fn unsettled(self, unread: &Self) -> Self {
        let kind = match unread.kind {
            ErrorKind::Unauthorized | ErrorKind::Forbidden | ErrorKind::RateLimited { .. } => {
                unread.kind
            }
            ErrorKind::HeldBack(hold) => ErrorKind::RateLimited { retry_after: hold.retry_after },
            _ if self.kind == ErrorKind::Busy => ErrorKind::Busy,
            _ => ErrorKind::Unavailable,
        };
        let message = format!("{}; reading it back: {}", self.message, unread.message);
        Self { displaced: self.displaced, ..Self::new(kind, message) }
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

/// The consequence of an error for the caller's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request was not sent: no connection, or the gate was shut. No effect.
    NotSent,
    /// Our own rate budget held the request back. Not sent, no effect.
    HeldBack(HeldBack),
    /// Refused by the provider's rate limit (429). No effect.
    RateLimited {
        /// The time to wait.
        retry_after: Duration,
    },
    /// No answer (timeout, reset, 502, 504), or an unreadable one. The effect may have happened,
    /// may still happen, or may never happen.
    NoAnswer,
    /// Temporarily refused (500, 503). Finished, without effect.
    Unavailable,
    /// The credential is refused (401).
    Unauthorized,
    /// The credential is valid and lacks a permission (403).
    Forbidden,
    /// The address, machine or zone does not exist (404). With [`Error::seen`], the address exists
    /// and the machine does not.
    NotFound,
    /// Another operation is running on the address or machine, or somebody else changed the records
    /// meanwhile. Finished, without effect.
    Busy,
    /// The account is at its limit of addresses, or the zone at its limit of records.
    QuotaExceeded,
    /// Refused, and a repetition would be refused too.
    Rejected,
}
