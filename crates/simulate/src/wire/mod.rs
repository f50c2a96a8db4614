//! The wires between a replica and the world: everything that goes out or comes in passes
//! here, is told to the oracle, meets its fault, and can be the last thing that a process does.

mod action;
mod api;
mod body;
mod cloud;

pub use action::{ApiAction, CloudAction, Kind};
pub use api::ApiWire;
pub use body::Body as WireBody;
pub use cloud::CloudWire;

use crate::coverage::PAUSED;
use crate::process::{Call, Process};
use crate::schedule::Phase;
use crate::stage::Shared;

/// The process stops with this call, if it is to.
fn stopping(shared: &Shared, process: &Process, call: Call, action: &'static str) {
    if call.pauses {
        shared.coverage().count(PAUSED, action);
        shared.tell(|| format!("{} is paused: {action}", process.name));
    }
}

/// The process dies here, if it is to die at this moment of the call. Never returns then.
async fn moment(
    shared: &Shared,
    process: &Process,
    call: Call,
    phase: Phase,
    action: &'static str,
) {
    if call.dies == Some(phase) {
        shared.coverage().count(phase.name(), action);
        shared.tell(|| format!("{} is {}: {action}", process.name, phase.name()));
        if phase == Phase::AfterAnswer {
            process.doom();
        } else {
            process.die();
            std::future::pending().await
        }
    }
}

/// What names one call in the emulators' eyes: unique in a run.
fn agent(process: &Process, call: Call) -> String {
    format!("{}#{}", process.name, call.number)
}
