//! Assigning and unassigning, for both address families:
//!
//! | asked | state | answer |
//! |---|---|---|
//! | any | the address has an open action | 422 pending event |
//! | assign | the droplet does not exist | 422 (not verified) |
//! | assign | the droplet has an open event | 422 pending event |
//! | assign | the droplet holds any address of the family | 422 |
//! | assign | the droplet is in another region | 422 |
//! | assign | held by another droplet | an action, which moves the address |
//! | unassign | the address is free | 422 |
//! | unassign | the holder has an open event | 422 pending event |

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::operation::OperationKind;
use crate::request_context::Turn;
use crate::store::{MachineId, State};

/// Starts the operation that the body asks for; returns the id of the action. The address must
/// exist.
pub(super) fn begin(
    turn: &mut Turn<'_>,
    ip: IpAddr,
    body: &Map<String, Value>,
) -> Result<u64, Refusal> {
    let kind = match body.get("type").and_then(Value::as_str) {
        Some("assign") => {
            let machine = droplet_id(body)?
                .ok_or_else(|| Refusal::unprocessable("Droplet can't be blank."))?;
            may_assign(turn.truth(), ip, machine)?;
            OperationKind::Assign { ip, machine, alone: true }
        }
        Some("unassign") => {
            let machine = may_unassign(turn.truth(), ip)?;
            OperationKind::Unassign { ip, machine }
        }
        _ => {
            return Err(Refusal::unprocessable("The specified action type is invalid."));
        }
    };
    let region = turn.truth().address(ip).map(|a| a.region.clone()).unwrap_or_default();
    Ok(turn.start(kind, &region))
}

/// The `droplet_id` of a body, if present.
pub(super) fn droplet_id(body: &Map<String, Value>) -> Result<Option<MachineId>, Refusal> {
    match body.get("droplet_id") {
        None | Some(Value::Null) => Ok(None),
        Some(id) => match id.as_u64() {
            Some(id) => Ok(Some(id)),
            None => Err(Refusal::unprocessable("Droplet id must be an integer.")),
        },
    }
}

fn may_assign(state: &State, ip: IpAddr, machine: MachineId) -> Result<(), Refusal> {
    address_idle(state, ip)?;
    let region = droplet_ready(state, machine, ip.is_ipv6())?;
    if state.address(ip).is_some_and(|a| a.region != region) {
        return Err(Refusal::unprocessable(
            "The reserved IP and the Droplet must be in the same region.",
        ));
    }
    Ok(())
}

/// Refuses a droplet that cannot take an address of the family; returns its region.
pub(super) fn droplet_ready(state: &State, machine: MachineId, v6: bool) -> Result<&str, Refusal> {
    let Some(found) = state.machine(machine) else {
        return Err(Refusal::unprocessable("Droplet does not exist."));
    };
    if state.machine_busy(machine) {
        return Err(Refusal::unprocessable("Droplet already has a pending event."));
    }
    if state.family_held_by(machine, v6).is_some() {
        return Err(Refusal::unprocessable("Droplet already has a reserved IP."));
    }
    Ok(&found.region)
}

/// Refuses an address with an open action.
pub(super) fn address_idle(state: &State, ip: IpAddr) -> Result<(), Refusal> {
    if state.address_busy(ip) {
        return Err(Refusal::unprocessable("The floating IP already has a pending event."));
    }
    Ok(())
}

fn may_unassign(state: &State, ip: IpAddr) -> Result<Option<MachineId>, Refusal> {
    address_idle(state, ip)?;
    let holder = state.holder(ip);
    match holder {
        None => Err(Refusal::unprocessable("The reserved IP is not assigned to a Droplet.")),
        Some(machine) if state.machine_busy(machine) => {
            Err(Refusal::unprocessable("Droplet already has a pending event."))
        }
        Some(_) => Ok(holder),
    }
}
