//! A simulation of the whole, unchanged operator on a single thread under a paused clock: two
//! replicas between an emulated API server and an emulated provider, a schedule of events and
//! faults, and an oracle that knows the true state.
//!
//! A [`Schedule`] determines a run completely. `cargo simulate` runs the schedules of many seeds;
//! see `CONTRIBUTING.md`.

pub mod active_faults;
pub mod allocations;
pub mod cluster;
pub mod clusters;
mod controllers;
pub mod coverage;
mod edits;
pub mod end_state;
pub mod faults;
pub mod flipop;
pub mod generate;
mod generate_allocations;
mod generate_clusters;
mod generate_dns;
mod generate_google;
pub mod kill_points;
mod lasting;
pub mod management;
pub mod mutants;
pub mod names;
pub mod oracle;
pub mod panics;
pub mod play;
pub mod process;
pub mod recovery;
mod relocate;
pub mod schedule;
pub mod shrink;
pub mod stage;
mod targeted;
mod untyped;
mod variations;
pub mod vendor;
pub mod wire;

pub use generate::{about, generate, generate_at};
pub use play::{Kill, Manner, Played, Recovery, play, recover};
pub use schedule::Schedule;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
