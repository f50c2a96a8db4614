//! `/v2/droplets`: read only.

use std::net::{Ipv4Addr, Ipv6Addr};

use fakehttp::seconds;
use http::StatusCode;
use serde_json::{Value, json};

use super::refusal::{self, Refusal};
use super::{Answer, actions, page, region};
use crate::call::{Call, Reply};
use crate::operation::Operation;
use crate::request_context::Turn;
use crate::store::{Address, Machine, MachineId, State};

/// The droplets' own public addresses: `198.18.0.0/15`, by id.
const OWN_V4: u32 = 0xc612_0000;
/// The droplets' private addresses: `10.0.0.0/8`, by id.
const PRIVATE_V4: u32 = 0x0a00_0000;
/// The droplets' own IPv6 addresses, by id.
const OWN_V6: u128 = 0x2001_0db8_ffff << 80;

/// Answers everything below the path.
pub(super) fn route(turn: &mut Turn<'_>, call: &Call, rest: &[&str]) -> Answer {
    if !turn.knobs.machine_read {
        let status = StatusCode::FORBIDDEN;
        return Err(Refusal::new(status, refusal::usual_message(status)));
    }
    match (call.method.as_str(), rest) {
        ("GET", []) => Ok(list(turn, call)),
        ("GET", [id]) => get(turn, id),
        ("GET", [id, "actions"]) => {
            let id = known(turn.seen(), id)?.id;
            Ok(actions::list_some(turn, call, "reserved_ip", concerns(id)))
        }
        ("GET", [id, "actions", action]) => {
            let id = known(turn.seen(), id)?.id;
            actions::get_one(turn, action, "reserved_ip", concerns(id))
        }
        _ => Err(Refusal::not_emulated(call)),
    }
}

fn concerns(id: MachineId) -> impl Fn(&Operation) -> bool {
    move |o| o.kind.machine() == Some(id)
}

fn known<'a>(state: &'a State, id: &str) -> Result<&'a Machine, Refusal> {
    let id = id.parse().ok();
    id.and_then(|id| state.machine(id)).ok_or_else(Refusal::not_found)
}

fn list(turn: &Turn<'_>, call: &Call) -> Reply {
    let state = turn.seen();
    let gpus = call.parameter("type") == Some("gpus");
    let tag = call.parameter("tag_name");
    let name = call.parameter("name");
    let shown: Vec<&Machine> = state
        .machines()
        .filter(|m| m.gpu == gpus)
        .filter(|m| tag.is_none_or(|tag| m.tags.iter().any(|t| t == tag)))
        .filter(|m| name.is_none_or(|name| m.name.eq_ignore_ascii_case(name)))
        .collect();
    page::answer(turn, call, "droplets", &shown, |m| show(turn, state, m))
}

fn get(turn: &Turn<'_>, id: &str) -> Answer {
    let state = turn.seen();
    let shown = show(turn, state, known(state, id)?);
    Ok(Reply::json(StatusCode::OK, &json!({"droplet": shown})))
}

/// The droplet that holds an address, or null.
pub(super) fn holder(turn: &Turn<'_>, state: &State, address: &Address) -> Value {
    let machine = address.holder.and_then(|id| state.machine(id));
    machine.map_or(Value::Null, |m| show(turn, state, m))
}

fn show(turn: &Turn<'_>, state: &State, m: &Machine) -> Value {
    let created = seconds(turn.clock.wall(m.created));
    json!({
        "id": m.id,
        "name": m.name,
        "memory": 1024,
        "vcpus": 1,
        "disk": 25,
        "disk_info": [{"type": "local", "size": {"amount": 25, "unit": "gib"}}],
        "locked": state.machine_busy(m.id),
        "status": "active",
        "kernel": null,
        "created_at": created,
        "features": ["private_networking", "ipv6"],
        "backup_ids": [],
        "next_backup_window": null,
        "snapshot_ids": [],
        "image": image(&created),
        "volume_ids": [],
        "size": size(&m.region),
        "size_slug": region::SIZE,
        "networks": networks(state, m),
        "region": region::show(&m.region),
        "tags": m.tags,
        "vpc_uuid": "00000000-0000-4000-8000-0000000000cc",
    })
}

fn image(created: &str) -> Value {
    json!({
        "id": 155_133_621,
        "name": "12 x64",
        "type": "base",
        "distribution": "Debian",
        "slug": "debian-12-x64",
        "public": true,
        "regions": ["nyc3"],
        "created_at": created,
        "min_disk_size": 7,
        "size_gigabytes": 0.66,
        "description": "Debian 12 x64",
        "tags": [],
        "status": "available",
    })
}

fn size(region: &str) -> Value {
    json!({
        "slug": region::SIZE,
        "memory": 1024,
        "vcpus": 1,
        "disk": 25,
        "transfer": 1.0,
        "price_monthly": 6.0,
        "price_hourly": 0.00893,
        "regions": [region],
        "available": true,
        "description": "Basic",
    })
}

/// Private first, then the droplet's own public address, then the reserved one.
fn networks(state: &State, m: &Machine) -> Value {
    let low = u32::try_from(m.id & 0xffff_ffff).unwrap_or_default();
    let own = Ipv4Addr::from(OWN_V4 | (low & 0x1_ffff));
    let private = Ipv4Addr::from(PRIVATE_V4 | (low & 0xff_ffff));
    let own_v6 = Ipv6Addr::from(OWN_V6 | u128::from(m.id));
    let mut v4 = vec![
        json!({"ip_address": private, "netmask": "255.0.0.0", "gateway": "10.0.0.1", "type": "private"}),
        json!({"ip_address": own, "netmask": "255.254.0.0", "gateway": "198.18.0.1", "type": "public"}),
    ];
    let gateway_v6 = Ipv6Addr::from(OWN_V6 | 1);
    let mut v6 =
        vec![json!({"ip_address": own_v6, "netmask": 64, "gateway": gateway_v6, "type": "public"})];
    if let Some(held) = state.family_held_by(m.id, false) {
        v4.push(json!({"ip_address": held.ip, "netmask": "255.255.240.0", "gateway": "10.0.0.1", "type": "public"}));
    }
    if let Some(held) = state.family_held_by(m.id, true) {
        v6.push(
            json!({"ip_address": held.ip, "netmask": 128, "gateway": gateway_v6, "type": "public"}),
        );
    }
    json!({"v4": v4, "v6": v6})
}
