//! Stock kubectl prints the same on fakekube and on the real API server: standard output, standard
//! error and the exit code of the same command, with UIDs, times, ages and versions masked.

// A test may panic; clippy knows it of `#[test]` functions, not of those that they call.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod both;
mod changes;
mod documents;
mod errors;
mod lists;
mod mask;
mod nodes;
mod waits;
