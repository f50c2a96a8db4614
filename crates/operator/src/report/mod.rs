//! Status, conditions, events and metrics, made from verdicts and outcomes alone.

pub mod events;
pub mod metrics;
pub mod names;
pub mod object_series;
pub mod objects;
pub mod rival_metrics;

mod announce;
mod announce_records;
mod announce_vips;
mod announce_withheld;
mod announce_writes;
mod dropped;
mod event_desk;
mod journey;
mod log;
mod move_cause;
mod move_metrics;
mod process;
mod provider_errors;
mod reminders;
mod write_metrics;
mod writer;

#[cfg(test)]
mod tests;

pub use announce::Announcer;
pub use announce_withheld::Would;
pub use objects::Objects;
pub use writer::{StatusWriter, Written, Wrote};
