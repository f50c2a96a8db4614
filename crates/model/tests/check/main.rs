//! The model check: what holds, what is found missing, what stays open.
//!
//! `cargo test -p model -- --nocapture` prints sizes, times and paths.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod holds;
mod left_out;
mod limits;
mod reached;
mod search;
