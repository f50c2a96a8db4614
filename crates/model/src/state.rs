//! Everything at one moment.

use crate::cloud::Cloud;
use crate::cluster::{Cluster, Ledger};
use crate::faults::Faults;
use crate::replica::Replica;
use crate::set::Set;

/// Everything at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(crate) cloud: Cloud,
    pub(crate) cluster: Cluster,
    pub(crate) replicas: [Replica; 2],
    /// What may still go wrong.
    pub(crate) faults: Faults,
    /// Invariants about steps that were broken on the way here.
    pub(crate) broken: Set,
}

impl State {
    /// The ledger as a replica's watch shows it.
    pub(crate) fn ledger_seen_by(&self, replica: usize) -> Ledger {
        self.replicas[replica].stale.unwrap_or(self.cluster.ledger)
    }
}
