//! Records in DNS: the known records, the objects that ask for records, and the plan.

mod abilities;
pub(crate) mod action;
mod diff;
mod drift;
mod fold;
mod known;
pub(crate) mod plan;
mod routine;
pub mod verdict;
mod world;

pub use abilities::RecordAbilities;
pub use known::{KnownSet, RecordDrift, Stubborn};
pub use world::{RecordAccount, RecordEntry, RecordWrite};

pub(crate) use world::Records;
