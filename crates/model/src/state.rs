//! The state of the whole system.

use crate::cloud::Cloud;
use crate::cluster::{Cluster, Ledger};
use crate::faults::Faults;
use crate::replica::Replica;
use crate::set::Set;

/// The state of the whole system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) cloud: Cloud,
    pub(crate) cluster: Cluster,
    pub(crate) replicas: [Replica; 2],
    /// The faults still possible.
    pub(crate) faults: Faults,
    /// Invariants about steps, broken on the way here.
    pub(crate) broken: Set,
}

impl State {
    /// The ledger as shown by a replica's watch.
    pub(crate) fn ledger_seen_by(&self, replica: usize) -> Ledger {
        self.replicas[replica].stale.unwrap_or(self.cluster.ledger)
    }
}
