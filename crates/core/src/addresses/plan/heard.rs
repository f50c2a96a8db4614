//! Whether an account was listed, and the failure that keeps it from being used.

use crate::action::{Failure, FailureKind};
use crate::addresses::Account;
use crate::addresses::verdict::Reason;
use crate::plan::Draft;
use crate::world::World;

/// Whether the account was listed since this process may act.
pub(crate) fn is_heard(world: &World, account: &Account) -> bool {
    account.listing.last.is_some_and(|last| last >= world.open_from())
}

/// The reason for the account's current failure.
pub(crate) fn trouble(account: &Account, heard: bool, draft: &Draft) -> Option<Reason> {
    let Failure { kind, message, .. } = account.trouble.as_ref()?;
    match kind {
        FailureKind::Refused => Some(Reason::CredentialsRefused(message.clone())),
        FailureKind::Throttled { .. } | FailureKind::HeldBack { .. } => {
            let listing = account.listing.not_before.max(account.listing.held_until);
            let until = account.closed_until.unwrap_or_default().max(listing);
            let ahead = Some(until).filter(|until| *until > draft.now);
            ahead.map(|until| match kind {
                FailureKind::HeldBack { pacing: true, .. } => Reason::Pacing(until),
                _ => Reason::Throttled(Some(until)),
            })
        }
        _ if heard => None,
        _ => Some(Reason::CloudUnavailable(message.clone())),
    }
}
