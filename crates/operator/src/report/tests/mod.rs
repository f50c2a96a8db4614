//! Reports, from verdicts to the API server and the metrics page.

mod events;
mod metrics;
mod passing;
mod writer;
