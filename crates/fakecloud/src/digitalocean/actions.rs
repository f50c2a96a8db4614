//! Actions: the progress of assigning and unassigning. `GET /v2/actions`, `GET /v2/actions/{id}`,
//! and the same below other paths.

use std::net::IpAddr;

use fakehttp::{Clock, seconds};
use http::StatusCode;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{Answer, DEFAULT_PROJECT, page, region};
use crate::call::{Call, Reply};
use crate::operation::{Operation, OperationKind, OperationStatus};
use crate::request_context::Turn;

/// All actions, newest first.
pub(super) fn list(turn: &Turn<'_>, call: &Call) -> Reply {
    list_some(turn, call, "reserved_ip", |_| true)
}

/// An action by id.
pub(super) fn get(turn: &Turn<'_>, id: &str) -> Answer {
    get_one(turn, id, "reserved_ip", |_| true)
}

/// The matching actions, newest first, without hidden actions.
pub(super) fn list_some(
    turn: &Turn<'_>,
    call: &Call,
    v4_noun: &str,
    fits: impl Fn(&Operation) -> bool,
) -> Reply {
    let shown: Vec<&Operation> =
        turn.seen().operations().rev().filter(|o| o.hidden_until <= turn.now && fits(o)).collect();
    page::answer(turn, call, "actions", &shown, |o| show(turn, o, v4_noun))
}

/// An action by id, if it matches and is not hidden.
pub(super) fn get_one(
    turn: &Turn<'_>,
    id: &str,
    v4_noun: &str,
    fits: impl Fn(&Operation) -> bool,
) -> Answer {
    let found = id.parse().ok().and_then(|id| turn.seen().operation(id));
    match found.filter(|o| o.hidden_until <= turn.now && fits(o)) {
        Some(o) => Ok(Reply::json(StatusCode::OK, &json!({"action": show(turn, o, v4_noun)}))),
        None => Err(Refusal::not_found()),
    }
}

/// The current state of an action. `v4_noun` is the path's word for a reserved IP.
fn show(turn: &Turn<'_>, o: &Operation, v4_noun: &str) -> Value {
    let project = o.kind.ip().and_then(|ip| turn.seen().address(ip)?.project.as_deref());
    object(turn.clock, o, v4_noun, project.unwrap_or(DEFAULT_PROJECT), o.status)
}

/// The answer to the request that started an action: always in progress, however soon the action
/// ends.
pub(super) fn begun(turn: &Turn<'_>, id: u64, v4_noun: &str) -> Reply {
    let action = turn.truth().operation(id).map(|o| {
        let project = o.kind.ip().and_then(|ip| turn.truth().address(ip)?.project.as_deref());
        let project = project.unwrap_or(DEFAULT_PROJECT);
        object(turn.clock, o, v4_noun, project, OperationStatus::InProgress)
    });
    Reply::json(StatusCode::CREATED, &json!({"action": action}))
}

fn object(
    clock: Clock,
    o: &Operation,
    v4_noun: &str,
    project: &str,
    status: OperationStatus,
) -> Value {
    let completed = o.completed.filter(|_| status != OperationStatus::InProgress);
    let (resource_type, resource_id) = resource(&o.kind, v4_noun);
    let mut action = json!({
        "id": o.id,
        "status": match status {
            OperationStatus::InProgress => "in-progress",
            OperationStatus::Completed => "completed",
            OperationStatus::Errored => "errored",
        },
        "type": kind(&o.kind),
        "started_at": seconds(clock.wall(o.started)),
        "completed_at": completed.map(|at| seconds(clock.wall(at))),
        "resource_id": resource_id,
        "resource_type": resource_type,
        "region": region::show(&o.region),
        "region_slug": o.region,
    });
    if o.kind.ip().is_some_and(|ip| ip.is_ipv4()) {
        action["project_id"] = json!(project);
    }
    action
}

fn kind(kind: &OperationKind) -> &str {
    match kind {
        OperationKind::Reserve { .. } | OperationKind::Create { .. } => "reserve_ip",
        OperationKind::Assign { .. } | OperationKind::Attach { .. } => "assign_ip",
        OperationKind::Unassign { .. } | OperationKind::Detach { .. } => "unassign_ip",
        OperationKind::Release { .. } => "release_ip",
        OperationKind::AddressEvent { .. } => "convert_ip",
        OperationKind::MachineEvent { what, .. } => what,
    }
}

/// Type and id of an action's resource. The id of an IPv4 address is its number, and the id of an
/// IPv6 address its lowest 31 bits (not verified).
fn resource<'a>(kind: &OperationKind, v4_noun: &'a str) -> (&'a str, u64) {
    match (kind.ip(), kind.machine()) {
        (Some(IpAddr::V4(ip)), _) => (v4_noun, u64::from(u32::from(ip))),
        (Some(IpAddr::V6(ip)), _) => ("reserved_ipv6", (u128::from(ip) & 0x7fff_ffff) as u64),
        (None, machine) => ("droplet", machine.unwrap_or_default()),
    }
}
