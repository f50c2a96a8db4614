//! `/v2/reserved_ipv6`: no region object, no lock, no project, and no actions below the address.

use std::net::IpAddr;

use fakehttp::seconds;
use http::StatusCode;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{Answer, actions, assign, droplets, object, page, region};
use crate::call::{Call, Reply};
use crate::request_context::Turn;
use crate::store::{Address, State};

/// Answers everything below the path.
pub(super) fn route(turn: &mut Turn<'_>, call: &Call, rest: &[&str]) -> Answer {
    match (call.method.as_str(), rest) {
        ("GET", []) => Ok(list(turn, call)),
        ("POST", []) => create(turn, call),
        ("GET", [ip]) => get(turn, ip),
        ("DELETE", [ip]) => delete(turn, ip),
        ("POST", [ip, "actions"]) => {
            let ip = known(turn.truth(), ip)?;
            let id = assign::begin(turn, ip, &object(call)?)?;
            Ok(actions::begun(turn, id, "reserved_ip"))
        }
        _ => Err(Refusal::not_emulated(call)),
    }
}

fn known(state: &State, ip: &str) -> Result<IpAddr, Refusal> {
    let parsed: Option<IpAddr> = ip.parse().ok();
    parsed.filter(|ip| ip.is_ipv6() && state.address(*ip).is_some()).ok_or_else(Refusal::not_found)
}

fn list(turn: &Turn<'_>, call: &Call) -> Reply {
    let state = turn.seen();
    let shown: Vec<&Address> = state.addresses().filter(|a| a.ip.is_ipv6()).collect();
    page::answer(turn, call, "reserved_ipv6s", &shown, |a| show(turn, state, a))
}

fn get(turn: &Turn<'_>, ip: &str) -> Answer {
    let state = turn.seen();
    let ip = known(state, ip)?;
    let shown = state.address(ip).map(|a| show(turn, state, a));
    Ok(Reply::json(StatusCode::OK, &json!({"reserved_ipv6": shown})))
}

/// Reserves an IPv6 address. No quota is known (not verified).
fn create(turn: &mut Turn<'_>, call: &Call) -> Answer {
    let body = object(call)?;
    let region = body.get("region_slug").and_then(Value::as_str).unwrap_or_default();
    if !region::exists(turn.truth(), region) {
        return Err(Refusal::unprocessable("You specified an invalid region."));
    }
    let now = turn.now;
    let reserved_at = seconds(turn.clock.wall(now));
    let state = turn.change();
    let ip = state.take_fresh(true);
    state.put_address(Address::free(ip, region, now));
    let shown = json!({"ip": ip, "region_slug": region, "reserved_at": reserved_at});
    Ok(Reply::json(StatusCode::CREATED, &json!({"reserved_ipv6": shown})))
}

/// Refuses an assigned address with 422, as specified. The vendor was once seen to answer 400 with
/// the same message.
fn delete(turn: &mut Turn<'_>, ip: &str) -> Answer {
    let ip = known(turn.truth(), ip)?;
    assign::address_idle(turn.truth(), ip)?;
    if turn.truth().holder(ip).is_some() {
        return Err(Refusal::unprocessable(
            "flipv6 released failed: assigned FLIP cannot be released",
        ));
    }
    turn.change().remove_address(ip);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

fn show(turn: &Turn<'_>, state: &State, address: &Address) -> Value {
    let mut shown = json!({
        "ip": address.ip,
        "region_slug": address.region,
        "reserved_at": seconds(turn.clock.wall(address.reserved)),
    });
    if turn.knobs.machine_read {
        shown["droplet"] = droplets::holder(turn, state, address);
    }
    shown
}
