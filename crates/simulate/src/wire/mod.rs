//! The links between a replica and the emulators. Every request and answer passes here, is reported
//! to the oracle, gets its faults, and can be the point of a process's death.

mod api;
mod body;
mod classify;
mod cloud;

pub use api::ApiWire;
pub use body::Body as WireBody;
pub use classify::{ApiAction, Kind};
pub use cloud::CloudWire;
pub use fakecloud::Purpose as CloudAction;

use crate::coverage::PAUSED;
use crate::process::{Call, Process};
use crate::schedule::Phase;
use crate::stage::Shared;

/// Notes a pause of the process at this call.
fn stopping(shared: &Shared, process: &Process, call: Call, action: &'static str) {
    if call.pauses {
        shared.coverage().count(PAUSED, action);
        shared.tell(|| format!("{} is paused: {action}", process.name));
    }
}

/// Kills the process, if planned for this phase of the call. A process killed after the answer dies
/// when the running task yields; otherwise the function does not return.
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

/// The call's identifier for the emulators, unique in a run.
fn agent(process: &Process, call: Call) -> String {
    format!("{}#{}", process.name, call.number)
}
