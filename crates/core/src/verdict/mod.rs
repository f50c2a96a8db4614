//! Common parts of all verdicts: the outlook, and withheld actions.

mod withheld;

pub use withheld::{Restraint, Withheld};

/// Consequence of a reason for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// In order.
    Well,
    /// In progress: the state changes without help.
    Working,
    /// Nothing to do until the cluster changes.
    Waiting,
    /// A person has to act.
    Stuck,
}
