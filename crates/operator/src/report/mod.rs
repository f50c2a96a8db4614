//! What the operator says: status, conditions, events and metrics, made from verdicts and
//! outcomes alone.

pub mod events;
pub mod metrics;
pub mod status;

mod narrator;
mod writer;

pub use narrator::Narrator;
pub use writer::{StatusWriter, Written};
