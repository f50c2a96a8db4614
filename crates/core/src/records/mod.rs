//! Records in DNS: what is known of them, what objects ask for, and the plan that brings both
//! together.

mod diff;
mod drift;
mod fold;
pub(crate) mod plan;
pub mod verdict;
mod world;

pub use drift::{RecordDrift, Stubborn};
pub use world::{KnownSet, RecordAccount, RecordEntry, RecordWrite};

pub(crate) use world::Records;
