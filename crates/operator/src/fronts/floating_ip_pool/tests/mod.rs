//! Statuses of pools.

mod failing_dns;
