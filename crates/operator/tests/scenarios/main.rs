//! The operator from a user's view: the real binary, on a real API server, with the emulated
//! provider over TCP. A single test binary, so that the control plane is linked once.

// Test helpers may panic, like tests.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod alerting;
mod allocations;
mod arena;
mod bad_input;
mod blindness;
mod choosing;
mod clusters;
mod clusters_in_memory;
mod compat;
mod creation;
mod dns;
mod dns_of_nodes;
mod drifting;
mod families;
mod faults;
mod flipop_readme;
mod hands;
mod helm;
mod identity;
mod image;
mod installing;
mod kubectl;
mod leaving;
mod metrics;
mod migrating;
mod monitoring;
mod netip_readme;
mod observing;
mod pacing;
mod pausing;
mod permissions;
mod placement;
mod predecessor;
mod promtool;
mod releasing;
mod replay;
mod replica;
mod rest;
mod rivals;
mod rke2_example;
mod runtime_extension;
mod scrape;
mod security;
mod storm;
mod takeover;
mod upgrade;
mod vip_readme;
mod witness;
mod writers;
