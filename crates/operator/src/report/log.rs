//! A log line for each finished action.

use pontoon_core::action::{Action, FailureKind};

use super::announce::millis;
use crate::execute::Finished;

/// Logs a finished action. `repeated` marks a refused write to Kubernetes that was already logged
/// within the last minute.
pub(super) fn ended(finished: &Finished, repeated: bool) {
    let took_ms = millis(finished.took);
    let action = &finished.outcome.action;
    match (&finished.outcome.result, action) {
        (Ok(_), Action::List { account, .. }) => tracing::debug!(%account, took_ms, "listed"),
        (Ok(done), Action::Create { pool, .. }) => {
            tracing::info!(%pool, ?done, took_ms, "reserved")
        }
        (Ok(done), _) => tracing::debug!(?action, ?done, took_ms, "done"),
        // Not an error: the rate limit delays the call, and the status says so.
        (Err(failure), action) if matches!(failure.kind, FailureKind::HeldBack { .. }) => {
            tracing::debug!(?action, kind = ?failure.kind, "held back");
        }
        (Err(failure), action) if repeated => {
            tracing::debug!(?action, kind = ?failure.kind, error = &*failure.message, "refused");
        }
        (Err(failure), action) => {
            let (kind, error) = (failure.kind, &*failure.message);
            match action {
                Action::List { account, .. }
                | Action::ReadAddress { account, .. }
                | Action::ReadOperation { account, .. } => {
                    tracing::warn!(%account, ?kind, error, took_ms, "reading the cloud failed");
                }
                Action::Assign { pool, ip, node, .. } => {
                    tracing::warn!(%pool, %ip, %node, ?kind, error, took_ms, "assigning failed");
                }
                Action::Unassign { pool, ip, .. } => {
                    tracing::warn!(%pool, %ip, ?kind, error, took_ms, "unassigning failed");
                }
                Action::Release { pool, ip, .. } => {
                    tracing::warn!(%pool, %ip, ?kind, error, took_ms, "releasing failed");
                }
                Action::Create { pool, .. } => {
                    tracing::warn!(%pool, ?kind, error, took_ms, "reserving failed");
                }
                Action::WriteLedger { pool, .. } => {
                    tracing::warn!(%pool, ?kind, error, took_ms, "writing the ledger failed");
                }
                Action::Mark { node, .. } => {
                    tracing::warn!(%node, ?kind, error, took_ms, "marking the node failed");
                }
                Action::ReadRecords { owner, .. } => {
                    tracing::warn!(%owner, ?kind, error, took_ms, "reading DNS records failed");
                }
                Action::ChangeRecords { owner, site, .. } => {
                    tracing::warn!(%owner, %site, ?kind, error, took_ms, "updating DNS failed");
                }
            }
        }
    }
}
