//! The API server: the lease, and the ledger of created addresses.

use crate::set::Set;

/// Intents that a ledger has room for.
pub const INTENTS: usize = 3;

/// Who holds the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// Nobody: it was released.
    Free,
    /// A replica that lives.
    Replica(u8),
    /// A dead process of this replica's pod, in which another one runs now. It has not
    /// released the lease, and the lease has not run out.
    Dead(u8),
    /// A process that is gone without having released it.
    Gone,
}

/// The lease. Time is not counted: what matters is the order of three moments after the last
/// renewal, and those are in order by the assumptions of `leadership/mod.rs`.
///
/// ```text
/// renewed ──> lapsed: the holder's guard is shut ──> taken by another ──> its calls are over
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// Who holds it.
    pub holder: Holder,
    /// It was not renewed for so long that the holder's guard is shut, and may be taken.
    pub lapsed: bool,
    /// It was released with a call that had no answer: the annotation `settle-seconds`.
    pub owed: bool,
}

impl Lease {
    /// Whether a replica holds it.
    pub fn is_held_by(self, replica: usize) -> bool {
        self.holder == Holder::Replica(replica as u8)
    }
}

/// Open intents, each with the addresses that it names as strangers. Names are used again:
/// what is recognised by its mark is so whatever its intent was called.
pub type Intents = [Option<Set>; INTENTS];

/// What the pool's annotation says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// Addresses that were made.
    pub created: Set,
    /// Reservations of which nobody knows yet what they made.
    pub intents: Intents,
}

/// What the API server keeps. There are no versions: a writer's view is the current one
/// unless the replica is marked as having missed a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The lease.
    pub lease: Lease,
    /// The ledger.
    pub ledger: Ledger,
    /// A write that had no answer. It comes through as long as nobody else has written.
    pub late_write: Option<Ledger>,
}
