//! Model, world and planner: where addresses, records and VIPs should be, and why.
//!
//! No I/O, no clock, no randomness, no logging, no async: [`plan::plan`] is a total,
//! deterministic function of a [`world::World`] and a time that is passed in.
//!
//! ```text
//! Observation ─> World ─> plan(&World, scope, now) ─> Plan { actions, verdicts, wake }
//!                  ^                                     │
//!                  └───── begin(action) / finish(outcome) ┘
//! ```

pub mod action;
pub mod addresses;
pub mod model;
pub mod nodes;
pub mod plan;
pub mod policy;
pub mod records;
pub mod verdict;
pub mod vips;
pub mod world;

mod time;

pub use time::Time;
