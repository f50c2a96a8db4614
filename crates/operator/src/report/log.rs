//! A log line for each finished action.

use pontoon_core::action::{Action, AddressAction, FailureKind, Finished};
use tracing::field::display;

use super::announce::millis;

/// Logs a finished action. `repeated` marks a refused write to Kubernetes that was already logged
/// within the last minute.
pub(super) fn ended(finished: &Finished, repeated: bool) {
    let took_ms = millis(finished.took);
    let action = &finished.outcome.action;
    let (object, account) = (action.owner().map(display), action.account().map(display));
    match &finished.outcome.result {
        Ok(done) if matches!(action, Action::Address(AddressAction::Create { .. })) => {
            tracing::info!(object, account, ?done, took_ms, "reserved");
        }
        Ok(_) => tracing::debug!(object, account, took_ms, "done: {action}"),
        // Not an error: the rate limit delays the call, and the status says so.
        Err(failure) if matches!(failure.kind, FailureKind::HeldBack { .. }) => {
            tracing::debug!(object, account, kind = ?failure.kind, "held back: {action}");
        }
        // The newer version is on its way, and the write is planned again.
        Err(failure)
            if failure.kind == FailureKind::Conflict
                && matches!(action, Action::Vip(_) | Action::Mark(_)) =>
        {
            tracing::debug!(object, error = &*failure.message, "overtaken: {action}");
        }
        Err(failure) if repeated => {
            let (kind, error) = (failure.kind, &*failure.message);
            tracing::debug!(object, account, ?kind, error, "failed again to {action}");
        }
        Err(failure) => {
            let (kind, error) = (failure.kind, &*failure.message);
            tracing::warn!(object, account, ?kind, error, took_ms, "failed to {action}");
        }
    }
}
