//! The handle's operations over HTTP, for other processes: JSON below `/_fake/`, TCP only. Admin
//! requests are not recorded, delayed or faulted.
//!
//! | request | does |
//! |---|---|
//! | `GET state` | machines, addresses with their holders, zones, counts |
//! | `POST machines` `{id, name, region, tags?, private?, nics?}` | adds a machine |
//! | `DELETE machines/{id}` | destroys a machine |
//! | `POST addresses` `{ip, region}` or `{ip, machine}`, with `project?` | reserves an address |
//! | `DELETE addresses/{ip}` | deletes an address |
//! | `POST moves` `{ip, machine}` (null frees) | moves by hand |
//! | `POST domains` `{name}` | adds a zone |
//! | `POST records` `{domain, type, name, data, ttl?}` | adds a record |
//! | `DELETE records/{domain}/{id}` | deletes a record |
//! | `GET knobs`, `PATCH knobs` `{latency_before_ms, ...}` | settings |
//! | `POST faults` `{on?, fault, times?, skip?, percent?}` | adds a rule |
//! | `DELETE faults` | clears all rules and the throttling |
//! | `POST throttle` `{ms}` | 429 for a while |
//! | `GET log` `?mutations=true`, `DELETE log` | the record |

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::{Call, Reply};
use crate::cloud::Shared;
use crate::faults::Rule;
use crate::handle::FakeCloud;
use crate::store::{MachineId, State};

/// Prefix of admin paths.
pub(crate) const PREFIX: &str = "/_fake/";

type Outcome = Result<Value, (StatusCode, String)>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMachine {
    id: MachineId,
    name: String,
    region: String,
    #[serde(default)]
    tags: Vec<String>,
    /// Without an external address of its own by design.
    #[serde(default)]
    private: bool,
    /// The number of network interfaces.
    nics: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewAddress {
    ip: IpAddr,
    region: Option<String>,
    machine: Option<MachineId>,
    project: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Move {
    ip: IpAddr,
    machine: Option<MachineId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Domain {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRecord {
    domain: String,
    #[serde(rename = "type")]
    kind: String,
    name: String,
    data: String,
    #[serde(default = "usual_ttl")]
    ttl: u32,
}

fn usual_ttl() -> u32 {
    1800
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Throttle {
    #[serde(rename = "ms", with = "fakehttp::millis")]
    time: Duration,
}

/// Answers a request.
pub(crate) fn answer(cloud: &Arc<Shared>, call: &Call) -> Response<Bytes> {
    let cloud = FakeCloud { shared: Arc::clone(cloud) };
    let reply = match route(&cloud, call) {
        Ok(body) => Reply::json(StatusCode::OK, &body),
        Err((status, error)) => Reply::json(status, &json!({"error": error})),
    };
    reply.into_response()
}

fn route(cloud: &FakeCloud, call: &Call) -> Outcome {
    let path: Vec<&str> = call.segments.iter().skip(1).map(String::as_str).collect();
    match (call.method.as_str(), path.as_slice()) {
        ("GET", ["state"]) => return Ok(cloud.look(|state| show(cloud, state))),
        ("GET", ["knobs"]) => return to_value(&cloud.knobs()),
        ("PATCH", ["knobs"]) => return turn(cloud, &body(call)?),
        ("GET", ["log"]) => return log(cloud, call.parameter("mutations") == Some("true")),
        ("DELETE", ["log"]) => cloud.forget_log(),
        ("POST", ["faults"]) => {
            let rule: Rule = body(call)?;
            return Ok(json!({"id": cloud.inject(rule)}));
        }
        ("DELETE", ["faults"]) => cloud.clear_faults(),
        ("POST", ["throttle"]) => cloud.throttle_for(body::<Throttle>(call)?.time),
        (method, path) => return seed(cloud, call, method, path),
    }
    Ok(json!({}))
}

fn seed(cloud: &FakeCloud, call: &Call, method: &str, path: &[&str]) -> Outcome {
    let found = match (method, path) {
        ("POST", ["machines"]) => {
            add_machine(cloud, &body(call)?);
            true
        }
        ("DELETE", ["machines", id]) => id.parse().is_ok_and(|id| cloud.destroy_machine(id)),
        ("POST", ["addresses"]) => reserve(cloud, body(call)?)?,
        ("DELETE", ["addresses", ip]) => ip.parse().is_ok_and(|ip: IpAddr| cloud.human_deletes(ip)),
        ("POST", ["moves"]) => {
            let Move { ip, machine } = body(call)?;
            cloud.human_moves(ip, machine);
            cloud.holder(ip) == machine
        }
        ("POST", ["domains"]) => {
            cloud.domain(&body::<Domain>(call)?.name);
            true
        }
        ("POST", ["records"]) => {
            let r: NewRecord = body(call)?;
            let id = cloud.record(&r.domain, &r.kind, &r.name, &r.data, r.ttl);
            return Ok(json!({"id": id}));
        }
        ("DELETE", ["records", domain, id]) => {
            id.parse().is_ok_and(|id| cloud.human_deletes_record(domain, id))
        }
        _ => false,
    };
    if found {
        Ok(json!({}))
    } else {
        let what = format!("{method} {}: no such thing", call.path);
        Err((StatusCode::NOT_FOUND, what))
    }
}

fn add_machine(cloud: &FakeCloud, machine: &NewMachine) {
    let NewMachine { id, name, region, tags, private, nics } = machine;
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    cloud.machine(*id, name, region).tags(*id, &tags);
    if let Some(nics) = nics {
        cloud.nics(*id, *nics);
    }
    if *private {
        cloud.without_own_address(*id);
    }
}

fn reserve(cloud: &FakeCloud, address: NewAddress) -> Result<bool, (StatusCode, String)> {
    let NewAddress { ip, region, machine, project } = address;
    match (region, machine, project) {
        (Some(region), None, Some(project)) => cloud.reserve_in_project(ip, &region, &project),
        (Some(region), None, None) => cloud.reserve(ip, &region),
        (None, Some(machine), None) => cloud.reserve_on(ip, machine),
        _ => return Err(bad("either region (and project) or machine")),
    };
    Ok(true)
}

/// Merges the given settings into the current ones.
fn turn(cloud: &FakeCloud, change: &Value) -> Outcome {
    let mut knobs = to_value(&cloud.knobs())?;
    for (name, value) in change.as_object().into_iter().flatten() {
        knobs[name] = value.clone();
    }
    let knobs: crate::knobs::Knobs = serde_json::from_value(knobs).map_err(bad)?;
    cloud.set(|k| *k = knobs);
    to_value(&cloud.knobs())
}

fn log(cloud: &FakeCloud, only_mutations: bool) -> Outcome {
    to_value(&if only_mutations { cloud.mutations() } else { cloud.log() })
}

fn show(cloud: &FakeCloud, state: &State) -> Value {
    let machines: Vec<Value> = state
        .machines()
        .map(|m| {
            json!({
                "id": m.id, "name": m.name, "region": m.region, "tags": m.tags,
                "private": m.private, "egress": state.external(m.id, 0),
            })
        })
        .collect();
    let addresses: Vec<Value> = state
        .addresses()
        .map(|a| {
            json!({
                "ip": a.ip, "region": a.region, "project": a.project, "machine": a.holder,
                "name": a.name,
            })
        })
        .collect();
    let records = |zone: &crate::zone::Zone| -> Vec<Value> {
        let shown = zone.records.values().map(|r| {
            json!({
                "id": r.id, "type": r.kind, "name": r.name, "data": r.data, "ttl": r.ttl,
                "proxied": r.proxied, "comment": r.comment,
            })
        });
        shown.collect()
    };
    let domains: Vec<Value> = state
        .zones()
        .map(|zone| {
            json!({
                "name": zone.name, "id": cloud.zone_id(&zone.name),
                "records": records(zone),
            })
        })
        .collect();
    json!({
        "machines": machines,
        "addresses": addresses,
        "domains": domains,
        "open_actions": state.open_operations().map(|o| o.id).collect::<Vec<_>>(),
        "now": cloud.wall().to_string(),
    })
}

fn body<T: DeserializeOwned>(call: &Call) -> Result<T, (StatusCode, String)> {
    serde_json::from_slice(&call.body).map_err(bad)
}

fn to_value<T: serde::Serialize>(value: &T) -> Outcome {
    serde_json::to_value(value)
        .map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

fn bad(error: impl std::fmt::Display) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, error.to_string())
}
