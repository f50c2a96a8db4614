//! What every verdict has in common: what it means for the one who waits, and what is withheld.

mod withheld;

pub use withheld::{Restraint, Withheld};

/// What a reason means for the one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// All is well.
    Well,
    /// Being worked on: it will change without anybody's help.
    Working,
    /// Nothing to do until the cluster changes.
    Waiting,
    /// Somebody has to act.
    Stuck,
}
