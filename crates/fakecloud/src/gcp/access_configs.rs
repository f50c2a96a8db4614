//! Access configs, the external addresses of interfaces:
//!
//! | asked | state | answer |
//! |---|---|---|
//! | any | the instance has an open operation | 400 `resourceNotReady` (not verified) |
//! | add | the interface has an access config | 400 "At most one access config" |
//! | add | the address is none of the region's | 400 `invalid` |
//! | add | the address is in use | an operation, which fails |
//! | add without an address | | an operation; the instance gets a new ephemeral address |
//! | delete | no access config has the name | an operation that is done and did nothing |
//! | update | another address is named | 400 `invalid`: only the PTR record can be changed |

use std::net::IpAddr;

use super::body::{Body, Kind};
use super::links::{self, Project};
use super::refusal::Refusal;
use super::{Answer, instances, operations, query};
use crate::call::Call;
use crate::operation::OperationKind;
use crate::request_context::Turn;
use crate::store::{Machine, MachineId, State};

const FIELDS: [(&str, Kind); 11] = [
    ("kind", Kind::Text),
    ("name", Kind::Text),
    ("type", Kind::Text),
    ("natIP", Kind::Text),
    ("networkTier", Kind::Text),
    ("publicPtrDomainName", Kind::Text),
    ("setPublicPtr", Kind::Flag),
    ("externalIpv6", Kind::Text),
    ("externalIpv6PrefixLength", Kind::Number),
    ("ipCollection", Kind::Text),
    ("securityPolicy", Kind::Text),
];

/// An interface of an instance.
struct Place {
    machine: MachineId,
    region: String,
    interface: usize,
    /// The path of the instance.
    path: String,
}

/// Answers a change of an instance's access configs.
pub(super) fn route(
    turn: &mut Turn<'_>,
    call: &Call,
    project: Project<'_>,
    (zone, name): (&str, &str),
    change: &str,
) -> Answer {
    match change {
        "addAccessConfig" | "updateAccessConfig" => {
            query::only(call, &["networkInterface", "requestId"])?;
        }
        "deleteAccessConfig" => {
            query::only(call, &["networkInterface", "accessConfig", "requestId"])?;
            Body::read(call, &[])?;
        }
        _ => return Err(Refusal::not_emulated(call)),
    }
    let machine = instances::known(turn.truth(), project, zone, name)?;
    let place = Place {
        machine: machine.id,
        region: machine.region.clone(),
        interface: interface(machine, query::required(call, "networkInterface")?)?,
        path: project.path(&format!("zones/{zone}/instances/{name}")),
    };
    if let Some(repeated) = operations::repeated(turn, call, project)? {
        return Ok(repeated);
    }
    match change {
        "addAccessConfig" => add(turn, call, project, &place),
        "deleteAccessConfig" => delete(turn, call, project, &place),
        _ => update(turn, call, project, &place),
    }
}

/// The number of an interface by name.
fn interface(machine: &Machine, name: &str) -> Result<usize, Refusal> {
    let number = name.strip_prefix("nic").and_then(|number| number.parse::<usize>().ok());
    number.filter(|number| *number < machine.interfaces.len()).ok_or_else(|| {
        Refusal::invalid("networkInterface", name, "The instance has no such interface.")
    })
}

fn add(turn: &mut Turn<'_>, call: &Call, project: Project<'_>, place: &Place) -> Answer {
    let body = Body::read(call, &FIELDS)?;
    body.one_of("type", &["ONE_TO_ONE_NAT"])?;
    body.one_of("networkTier", &["PREMIUM"])?;
    let state = turn.truth();
    let ip = body.text("natIP").map(|given| reserved(state, place, given)).transpose()?;
    idle(state, place, ip)?;
    if state.external(place.machine, place.interface).is_some() {
        return Err(Refusal::bad("At most one access config currently supported."));
    }
    let kind = OperationKind::Attach {
        ip,
        machine: place.machine,
        interface: place.interface,
        name: body.text("name").unwrap_or(instances::USUAL_NAME).to_owned(),
    };
    Ok(operations::begin(turn, call, project, kind, &place.region))
}

/// The reserved address that a body names. Ephemeral addresses cannot be chosen.
fn reserved(state: &State, place: &Place, given: &str) -> Result<IpAddr, Refusal> {
    let ip: Option<IpAddr> = given.parse().ok();
    let region = links::region_in(&place.region);
    let found = ip.filter(|ip| {
        let address = state.address(*ip);
        ip.is_ipv4() && address.is_some_and(|a| links::region_in(&a.region) == region)
    });
    found.ok_or_else(|| {
        let why = format!(
            "The specified external IP address '{given}' was not found in region '{region}'."
        );
        Refusal::invalid("resource.natIP", given, &why)
    })
}

/// Refuses an instance or address with an open operation.
fn idle(state: &State, place: &Place, ip: Option<IpAddr>) -> Result<(), Refusal> {
    if state.machine_busy(place.machine) {
        return Err(Refusal::not_ready(&place.path));
    }
    match ip.filter(|ip| state.address_busy(*ip)) {
        Some(ip) => Err(Refusal::not_ready(&ip.to_string())),
        None => Ok(()),
    }
}

fn delete(turn: &mut Turn<'_>, call: &Call, project: Project<'_>, place: &Place) -> Answer {
    let name = query::required(call, "accessConfig")?;
    let state = turn.truth();
    let ip = state.held_on(place.machine, place.interface).map(|address| address.ip);
    idle(state, place, ip)?;
    let Place { machine, interface, .. } = *place;
    if !has_config(state, place, name) {
        let what = "deleteAccessConfig".to_owned();
        let kind = OperationKind::MachineEvent { machine, what };
        return Ok(operations::nothing_done(turn, call, project, kind, &place.region));
    }
    let kind = OperationKind::Detach { ip, machine, interface };
    Ok(operations::begin(turn, call, project, kind, &place.region))
}

/// Whether the interface has an access config of this name.
fn has_config(state: &State, place: &Place, name: &str) -> bool {
    let machine = state.machine(place.machine);
    let interface = machine.and_then(|machine| machine.interfaces.get(place.interface));
    state.external(place.machine, place.interface).is_some()
        && interface.is_some_and(|interface| instances::config_name(interface) == name)
}

/// Changes the PTR record, at once and whatever becomes of the operation.
fn update(turn: &mut Turn<'_>, call: &Call, project: Project<'_>, place: &Place) -> Answer {
    let body = Body::read(call, &FIELDS)?;
    body.one_of("type", &["ONE_TO_ONE_NAT"])?;
    let state = turn.truth();
    idle(state, place, None)?;
    let name = body.text("name").unwrap_or(instances::USUAL_NAME);
    if !has_config(state, place, name) {
        let why = "The interface has no such access config.";
        return Err(Refusal::invalid("resource.name", name, why));
    }
    let current = state.external(place.machine, place.interface).map(|ip| ip.to_string());
    if let Some(other) = body.text("natIP").filter(|given| Some(*given) != current.as_deref()) {
        let why = "The address of an access config cannot be changed.";
        return Err(Refusal::invalid("resource.natIP", other, why));
    }
    let pointer = body.text("publicPtrDomainName").filter(|_| body.flag("setPublicPtr"));
    let (pointer, what) = (pointer.map(str::to_owned), "updateAccessConfig".to_owned());
    let machine = turn.change().machine_mut(place.machine);
    if let Some(interface) = machine.and_then(|m| m.interfaces.get_mut(place.interface)) {
        interface.pointer = pointer;
    }
    let kind = OperationKind::MachineEvent { machine: place.machine, what };
    Ok(operations::begin(turn, call, project, kind, &place.region))
}
