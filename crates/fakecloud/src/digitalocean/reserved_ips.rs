//! `/v2/reserved_ips`, and `/v2/floating_ips` for the same addresses with other key names.

use std::net::IpAddr;

use http::StatusCode;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{Answer, DEFAULT_PROJECT, actions, assign, droplets, object, page, region};
use crate::call::{Call, Reply};
use crate::operation::{Operation, OperationKind};
use crate::request_context::Turn;
use crate::store::{Address, MachineId, State};

/// Names of an address below a path.
pub(super) struct Words {
    one: &'static str,
    many: &'static str,
}

pub(super) const RESERVED: Words = Words { one: "reserved_ip", many: "reserved_ips" };
pub(super) const FLOATING: Words = Words { one: "floating_ip", many: "floating_ips" };

/// Answers everything below the path.
pub(super) fn route(turn: &mut Turn<'_>, call: &Call, words: &Words, rest: &[&str]) -> Answer {
    match (call.method.as_str(), rest) {
        ("GET", []) => Ok(list(turn, call, words)),
        ("POST", []) => create(turn, call, words),
        ("GET", [ip]) => get(turn, words, ip),
        ("DELETE", [ip]) => delete(turn, ip),
        ("GET", [ip, "actions"]) => {
            let ip = known(turn.seen(), ip)?;
            Ok(actions::list_some(turn, call, words.one, concerns(ip)))
        }
        ("POST", [ip, "actions"]) => {
            let ip = known(turn.truth(), ip)?;
            let id = assign::begin(turn, ip, &object(call)?)?;
            Ok(actions::begun(turn, id, words.one))
        }
        ("GET", [ip, "actions", id]) => {
            let ip = known(turn.seen(), ip)?;
            actions::get_one(turn, id, words.one, concerns(ip))
        }
        _ => Err(Refusal::not_emulated(call)),
    }
}

fn concerns(ip: IpAddr) -> impl Fn(&Operation) -> bool {
    move |o| o.kind.ip() == Some(ip)
}

fn known(state: &State, ip: &str) -> Result<IpAddr, Refusal> {
    let parsed: Option<IpAddr> = ip.parse().ok();
    parsed.filter(|ip| ip.is_ipv4() && state.address(*ip).is_some()).ok_or_else(Refusal::not_found)
}

fn list(turn: &Turn<'_>, call: &Call, words: &Words) -> Reply {
    let state = turn.seen();
    let shown: Vec<&Address> = state.addresses().filter(|a| a.ip.is_ipv4()).collect();
    page::answer(turn, call, words.many, &shown, |a| show(turn, state, a))
}

fn get(turn: &Turn<'_>, words: &Words, ip: &str) -> Answer {
    let state = turn.seen();
    let ip = known(state, ip)?;
    let shown = state.address(ip).map(|a| show(turn, state, a));
    Ok(Reply::json(StatusCode::OK, &json!({words.one: shown})))
}

/// Deletes an address, even if assigned to a droplet (not verified). An address with an open action
/// is refused.
fn delete(turn: &mut Turn<'_>, ip: &str) -> Answer {
    let ip = known(turn.truth(), ip)?;
    assign::address_idle(turn.truth(), ip)?;
    turn.change().remove_address(ip);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

fn create(turn: &mut Turn<'_>, call: &Call, words: &Words) -> Answer {
    let body = object(call)?;
    let region = match body.get("region") {
        None | Some(Value::Null) => None,
        Some(region) => Some(region.as_str().unwrap_or_default().to_owned()),
    };
    let project = body.get("project_id").and_then(Value::as_str).map(str::to_owned);
    match (assign::droplet_id(&body)?, region) {
        (Some(_), Some(_)) => Err(Refusal::unprocessable(
            "Cannot specify Droplet and region, they are mutually exclusive.",
        )),
        (None, None) => {
            Err(Refusal::unprocessable("Either a Droplet or a region must be specified."))
        }
        (Some(droplet), None) => create_on(turn, call, words, droplet),
        (None, Some(region)) => create_in(turn, words, &region, project),
    }
}

fn create_in(turn: &mut Turn<'_>, words: &Words, region: &str, project: Option<String>) -> Answer {
    if !region::exists(turn.truth(), region) {
        return Err(Refusal::unprocessable("You specified an invalid region."));
    }
    within_quota(turn)?;
    let ip = reserve(turn, region, project);
    let state = turn.truth();
    let shown = state.address(ip).map(|a| object_of(turn, state, a, false));
    let body = json!({words.one: shown, "links": {}});
    Ok(Reply::json(StatusCode::ACCEPTED, &body))
}

fn create_on(turn: &mut Turn<'_>, call: &Call, words: &Words, droplet: MachineId) -> Answer {
    let region = assign::droplet_ready(turn.truth(), droplet, false)?.to_owned();
    within_quota(turn)?;
    let ip = reserve(turn, &region, None);
    let action = turn.start(OperationKind::Assign { ip, machine: droplet, alone: true }, &region);
    let state = turn.truth();
    let shown = state.address(ip).map(|a| object_of(turn, state, a, true));
    let body = json!({
        words.one: shown,
        "links": {
            "droplets": [{
                "id": droplet,
                "rel": "droplet",
                "href": format!("{}/v2/droplets/{droplet}", call.origin),
            }],
            "actions": [{
                "id": action,
                "rel": "assign_ip",
                "href": format!("{}/v2/actions/{action}", call.origin),
            }],
        },
    });
    Ok(Reply::json(StatusCode::ACCEPTED, &body))
}

/// Refuses a reservation above the quota. The body of the refusal is not verified.
fn within_quota(turn: &Turn<'_>) -> Result<(), Refusal> {
    let used = turn.truth().addresses().filter(|a| a.ip.is_ipv4()).count();
    if used as u64 >= turn.knobs.address_limit {
        return Err(Refusal::unprocessable(
            "You have reached the maximum number of reserved IPs for your account.",
        ));
    }
    Ok(())
}

fn reserve(turn: &mut Turn<'_>, region: &str, project: Option<String>) -> IpAddr {
    let now = turn.now;
    let state = turn.change();
    let ip = state.take_fresh(false);
    state.put_address(Address { project, ..Address::free(ip, region, now) });
    turn.note(OperationKind::Reserve { ip }, region);
    ip
}

fn show(turn: &Turn<'_>, state: &State, address: &Address) -> Value {
    object_of(turn, state, address, state.address_busy(address.ip))
}

fn object_of(turn: &Turn<'_>, state: &State, address: &Address, locked: bool) -> Value {
    let mut shown = json!({
        "ip": address.ip,
        "region": region::show(&address.region),
        "locked": locked,
        "project_id": address.project.as_deref().unwrap_or(DEFAULT_PROJECT),
    });
    if turn.knobs.machine_read {
        shown["droplet"] = droplets::holder(turn, state, address);
    }
    shown
}
