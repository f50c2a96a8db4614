//! Status, conditions, events and metrics, made from verdicts and outcomes alone.

pub mod events;
pub mod metrics;
pub mod record_status;
pub mod standing;
pub mod status;

mod dropped;
mod event_desk;
mod journey;
mod log;
mod narrator;
mod process;
mod record_narrator;
mod reminders;
mod series;
mod would;
mod write_metrics;
mod write_narrator;
mod writer;

#[cfg(test)]
mod event_tests;
#[cfg(test)]
mod metrics_tests;
#[cfg(test)]
mod record_status_tests;
#[cfg(test)]
mod writer_tests;

pub use narrator::Narrator;
pub use writer::{StatusWriter, Written, Wrote};
