//! The election, the guard and the judgement of other Leases, without an API server.

mod competition;
mod election;
mod guard;
mod odd_leases;
mod reporting;
mod schedules;
