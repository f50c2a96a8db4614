//! What the operator says: status, conditions, events and metrics, made from verdicts and
//! outcomes alone.

pub mod events;
pub mod metrics;
pub mod record_status;
pub mod status;

mod log;
mod narrator;
mod record_narrator;
mod series;
mod would;
mod writer;

#[cfg(test)]
mod metrics_tests;

pub use narrator::Narrator;
pub use writer::{StatusWriter, Written};
