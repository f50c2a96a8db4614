//! Status, conditions, events and metrics, made from verdicts and outcomes alone.

pub mod events;
pub mod metrics;
pub mod objects;
pub mod series;
pub mod standing;

mod dropped;
mod event_desk;
mod journey;
mod log;
mod narrator;
mod process;
mod record_narrator;
mod reminders;
mod would;
mod write_metrics;
mod write_narrator;
mod writer;

#[cfg(test)]
mod event_tests;
#[cfg(test)]
mod metrics_tests;
#[cfg(test)]
mod writer_tests;

pub use narrator::Narrator;
pub use objects::Objects;
pub use writer::{StatusWriter, Written, Wrote};
