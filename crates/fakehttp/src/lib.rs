//! The parts that all emulators of HTTP APIs share.
//!
//! An emulator implements [`Emulated`]. [`send`] leads a request through it: arrival, delay,
//! effect, delay, answer. [`Rules`] hold the faults of selected requests, [`Log`] the record of
//! exchanges, [`Server`] listens on a loopback port.
//!
//! Time is tokio's throughout: a paused clock pauses an emulator, and a seed makes runs repeatable.

mod clock;
mod faults;
mod log;
pub mod millis;
mod observer;
mod on;
mod passage;
mod rules;
mod serve;
mod weather;

pub use clock::{Clock, DEFAULT_BASE, http_date, seconds, whole_seconds};
pub use faults::{Carried, Fault, Rule, RuleId};
pub use log::{Log, Recording};
pub use observer::Observer;
pub use on::{Arriving, On};
pub use passage::{Arrival, Emulated, Loss, Lost, send, whole};
pub use rules::Rules;
pub use serve::Server;
pub use weather::{OwnFault, Weather};
