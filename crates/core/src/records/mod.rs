//! Records in DNS: the known records, the objects that ask for records, and the plan.

pub(crate) mod action;
mod diff;
mod drift;
mod fold;
pub(crate) mod plan;
pub mod verdict;
mod world;

pub use drift::{RecordDrift, Stubborn};
pub use world::{KnownSet, RecordAccount, RecordEntry, RecordWrite};

pub(crate) use world::Records;
