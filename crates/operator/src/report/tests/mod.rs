//! Reports, from verdicts to the API server and the metrics page.

mod events;
mod metrics;
mod move_metrics;
mod passing;
mod writer;
