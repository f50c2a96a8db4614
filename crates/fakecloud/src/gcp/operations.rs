//! Operations: the progress of every change. `GET` and `POST .../wait` below zones and regions.

use http::StatusCode;
use serde_json::{Value, json};

use super::links::{self, Project};
use super::refusal::{self, Refusal};
use super::{Answer, query};
use crate::call::{Call, Reply};
use crate::operation::{Failure, Operation, OperationKind, OperationStatus};
use crate::request_context::Turn;
use crate::store::State;

const PREFIX: &str = "operation-";

/// The operation of an earlier request with the same `requestId`, as it is now. The same id for
/// another request is refused (not verified).
pub(super) fn repeated(
    turn: &Turn<'_>,
    call: &Call,
    project: Project<'_>,
) -> Result<Option<Reply>, Refusal> {
    let Some(id) = call.parameter("requestId") else { return Ok(None) };
    if !is_uuid(id) {
        let why = "The request ID must be a valid UUID, and not zero.";
        return Err(Refusal::invalid("requestId", id, why));
    }
    let Some(operation) = turn.truth().operation_of_request(id) else { return Ok(None) };
    if operation.request.as_ref().is_none_or(|(_, target)| *target != call.path) {
        let why = "The request ID was used for another request.";
        return Err(Refusal::invalid("requestId", id, why));
    }
    let shown = show(turn, turn.truth(), project, operation, operation.status);
    Ok(Some(refusal::reply(StatusCode::OK, &shown)))
}

/// Starts an operation; the answer says pending, however soon the operation ends.
pub(super) fn begin(
    turn: &mut Turn<'_>,
    call: &Call,
    project: Project<'_>,
    kind: OperationKind,
    region: &str,
) -> Reply {
    let id = turn.start(kind, region);
    answer(turn, call, project, id, OperationStatus::InProgress)
}

/// Registers an operation that is already over and did nothing.
pub(super) fn nothing_done(
    turn: &mut Turn<'_>,
    call: &Call,
    project: Project<'_>,
    kind: OperationKind,
    region: &str,
) -> Reply {
    let id = turn.note(kind, region);
    answer(turn, call, project, id, OperationStatus::Completed)
}

fn answer(
    turn: &mut Turn<'_>,
    call: &Call,
    project: Project<'_>,
    id: u64,
    status: OperationStatus,
) -> Reply {
    if let Some(request) = call.parameter("requestId") {
        turn.change().remember_request(id, request, &call.path);
    }
    let state = turn.truth();
    let shown = state.operation(id).map(|o| show(turn, state, project, o, status));
    refusal::reply(StatusCode::OK, &shown.unwrap_or_default())
}

/// An operation by name, below its zone or region. A wait answers like a read: the vendor's blocks
/// until the operation is done, for two minutes at most, and then answers the state at that time.
pub(super) fn get(
    turn: &Turn<'_>,
    call: &Call,
    project: Project<'_>,
    scope: &[&str],
    name: &str,
) -> Answer {
    query::only(call, &[])?;
    let scope = scope.join("/");
    let state = turn.seen();
    let id = name.strip_prefix(PREFIX).unwrap_or(name).parse().ok();
    let found = id.and_then(|id| state.operation(id));
    let shown = found
        .filter(|o| o.hidden_until <= turn.now && scope_of(o) == scope)
        .map(|o| show(turn, state, project, o, o.status));
    match shown {
        Some(shown) => Ok(refusal::reply(StatusCode::OK, &shown)),
        None => Err(Refusal::not_found(&project.path(&format!("{scope}/operations/{name}")))),
    }
}

/// Operations on machines are in their zones, and operations on addresses in their regions.
fn scope_of(o: &Operation) -> String {
    match o.kind.machine() {
        Some(_) => format!("zones/{}", links::zone_in(&o.region)),
        None => format!("regions/{}", links::region_in(&o.region)),
    }
}

fn show(
    turn: &Turn<'_>,
    state: &State,
    project: Project<'_>,
    o: &Operation,
    status: OperationStatus,
) -> Value {
    let (scope, name) = (scope_of(o), format!("{PREFIX}{}", o.id));
    let started = links::stamp(turn.clock, o.started);
    let (target, target_id) = target(state, o);
    let mut shown = json!({
        "kind": "compute#operation",
        "id": o.id.to_string(),
        "name": name,
        "operationType": kind(&o.kind),
        "targetLink": project.link(&target),
        "targetId": target_id,
        "status": "PENDING",
        "user": format!("pontoon@{}.iam.gserviceaccount.com", project.0),
        "progress": 0,
        "insertTime": started,
        "selfLink": project.link(&format!("{scope}/operations/{name}")),
    });
    let key = if o.kind.machine().is_some() { "zone" } else { "region" };
    shown[key] = json!(project.link(&scope));
    if let Some((request, _)) = &o.request {
        shown["clientOperationId"] = json!(request);
    }
    if turn.now > o.started || status != OperationStatus::InProgress {
        shown["status"] = json!("RUNNING");
        shown["startTime"] = json!(started);
    }
    if status != OperationStatus::InProgress {
        shown["status"] = json!("DONE");
        shown["progress"] = json!(100);
        shown["endTime"] = json!(links::stamp(turn.clock, o.completed.unwrap_or(o.due)));
    }
    if let Some(failure) = o.failure.filter(|_| status == OperationStatus::Errored) {
        add_error(&mut shown, o, failure);
    }
    shown
}

fn add_error(shown: &mut Value, o: &Operation, failure: Failure) {
    let ip = o.kind.ip().map(|ip| ip.to_string()).unwrap_or_default();
    let (status, text, code, message) = match (failure, &o.kind) {
        (Failure::Gone, _) => {
            let what = "The resource of the operation was not found".to_owned();
            (404, "NOT FOUND", "RESOURCE_NOT_FOUND", what)
        }
        (Failure::InUse, OperationKind::Release { .. }) => {
            let what = format!("The address resource of '{ip}' is already being used");
            (400, "BAD REQUEST", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", what)
        }
        (Failure::InUse, _) => {
            let what = format!("IP '{ip}' is already being used by another resource.");
            (400, "BAD REQUEST", "IP_IN_USE_BY_ANOTHER_RESOURCE", what)
        }
        (Failure::Occupied, _) => {
            let what = "At most one access config currently supported.".to_owned();
            (400, "BAD REQUEST", "INVALID_USAGE", what)
        }
        (Failure::Unexplained, _) => {
            let what = "Internal error. Please try again or contact Google Support.".to_owned();
            (503, "SERVICE UNAVAILABLE", "INTERNAL_ERROR", what)
        }
    };
    shown["httpErrorStatusCode"] = json!(status);
    shown["httpErrorMessage"] = json!(text);
    shown["error"] = json!({"errors": [{"code": code, "message": message}]});
}

fn kind(kind: &OperationKind) -> &str {
    match kind {
        OperationKind::Reserve { .. } | OperationKind::Create { .. } => "insert",
        OperationKind::Release { .. } => "delete",
        OperationKind::Assign { .. } | OperationKind::Attach { .. } => "addAccessConfig",
        OperationKind::Unassign { .. } | OperationKind::Detach { .. } => "deleteAccessConfig",
        OperationKind::AddressEvent { .. } => "update",
        OperationKind::MachineEvent { what, .. } => what,
    }
}

/// The path and number of the resource that an operation changes.
fn target(state: &State, o: &Operation) -> (String, String) {
    if let Some(machine) = o.kind.machine() {
        return (links::instance_path(&o.region, machine), links::instance_id(machine));
    }
    let name = match (&o.kind, o.kind.ip()) {
        (OperationKind::Create { address } | OperationKind::Release { address }, _) => {
            links::address_name(address)
        }
        (_, Some(ip)) => {
            state.address(ip).map_or_else(|| links::usual_name(ip), links::address_name)
        }
        (_, None) => String::new(),
    };
    let id = o.kind.ip().map(links::address_id).unwrap_or_default();
    (format!("regions/{}/addresses/{name}", links::region_in(&o.region)), id)
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    let digits = text.bytes().filter(|b| *b != b'-');
    groups == [8, 4, 4, 4, 12]
        && digits.clone().all(|b| b.is_ascii_hexdigit())
        && digits.into_iter().any(|b| b != b'0')
}
