//! The API server: the Lease, and the ledger of reserved addresses.

use crate::set::Set;

/// The most intents in a ledger.
pub const INTENTS: usize = 3;

/// The holder of the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// No holder: the Lease was released.
    Free,
    /// A live replica.
    Replica(u8),
    /// A dead process of this replica's pod, now running another process. The Lease is neither
    /// released nor expired.
    Dead(u8),
    /// A process gone without releasing the Lease.
    Gone,
}

/// The Lease. Time is not modelled. Only the order of three moments after the last renewal matters,
/// and the assumptions of `leadership/mod.rs` guarantee this order.
///
/// ```text
/// renewed ──> lapsed: the holder's guard is shut ──> taken by another ──> its calls are over
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The holder.
    pub holder: Holder,
    /// Unrenewed for so long that the holder's guard is shut, and another replica may take the
    /// Lease.
    pub lapsed: bool,
    /// Released with an unanswered call: the annotation `settle-seconds`.
    pub owed: bool,
}

impl Lease {
    /// Whether a replica holds the Lease.
    pub fn is_held_by(self, replica: usize) -> bool {
        self.holder == Holder::Replica(replica as u8)
    }
}

/// Open intents, each with the addresses named as strangers. Intent numbers are reused: recognition
/// by mark does not depend on the intent's name.
pub type Intents = [Option<Set>; INTENTS];

/// The content of the pool's annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// Reserved addresses.
    pub created: Set,
    /// Reservations with an unknown result.
    pub intents: Intents,
}

/// The state of the API server. Versions are not modelled: a writer's view is current unless the
/// replica is marked stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The lease.
    pub lease: Lease,
    /// The ledger.
    pub ledger: Ledger,
    /// An unanswered write. The write takes effect unless another write comes first.
    pub late_write: Option<Ledger>,
}
