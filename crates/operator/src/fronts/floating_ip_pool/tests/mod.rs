//! Statuses and messages of pools.

mod failing_dns;
mod words;
