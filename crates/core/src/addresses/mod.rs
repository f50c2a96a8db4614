//! Addresses: their known state, the wishes of pools, and the plan for both.

mod account;
pub(crate) mod action;
mod address;
mod claims;
mod fold_calls;
mod fold_creations;
mod fold_egress;
mod fold_moves;
mod free_nodes;
mod listing;
mod note;
mod orphans;
pub(crate) mod plan;
mod pool;
mod reason;
mod setbacks;
pub mod verdict;
mod words;

pub use account::{Abilities, Account, AccountSetup, Unusable};
pub use address::{Address, Knowledge, Operation};
pub use listing::{Listing, Silence};
pub use pool::{IntentProgress, PoolEntry};
pub use setbacks::{PATIENCE, Setback, Setbacks};

pub(crate) use claims::{Changes, Claims};
pub(crate) use fold_creations::Reserving;
pub(crate) use fold_egress::Egress;
pub(crate) use free_nodes::FreeNodes;
pub(crate) use orphans::{Orphans, Shown};

use crate::model::{Family, MachineId, Text};

/// The room for one address of a family on a machine of a cloud.
pub(crate) type Seat = (Text, MachineId, Family);
