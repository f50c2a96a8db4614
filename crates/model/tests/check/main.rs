//! The model check: invariants, necessity of each protection, limits.
//!
//! `cargo test -p model -- --nocapture` prints sizes, times and paths.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod holds;
mod left_out;
mod limits;
mod reached;
mod search;
