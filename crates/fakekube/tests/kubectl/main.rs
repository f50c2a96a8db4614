//! Stock kubectl prints the same on fakekube and on the real API server: standard output, standard
//! error and the exit code of the same command, with UIDs, times, ages and versions masked.

// Clippy lets `#[test]` functions panic, but not helper functions.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod both;
mod changes;
mod documents;
mod errors;
mod lists;
mod mask;
mod nodes;
mod waits;
mod workloads;
