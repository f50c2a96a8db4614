//! Failures of the API server.

use pontoon_core::action::{Failure, FailureKind};

/// Translates an error of the API server.
pub(crate) fn api_failure(error: kube::Error) -> Failure {
    let kind = match &error {
        kube::Error::Api(status) => match status.code {
            409 => FailureKind::Conflict,
            404 => FailureKind::NotFound,
            401 | 403 => FailureKind::Refused,
            504 => FailureKind::NoAnswer,
            500.. | 429 => FailureKind::Unavailable,
            _ => FailureKind::Rejected,
        },
        _ => FailureKind::NoAnswer,
    };
    let message = match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    };
    Failure::plain(kind, message)
}
