//! The purpose of a call.

use serde_json::Value;

use crate::asked::{Asked, AskedRecords, Purpose};
use crate::call::Call;

/// The purpose of a call, with the address in its path and the droplet in its body.
pub(super) fn asked(call: &Call) -> Asked {
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    let path: Vec<&str> = call.segments.iter().skip(1).map(String::as_str).collect();
    Asked {
        purpose: purpose(call.method.as_str(), &path, &body),
        ip: path.iter().find_map(|segment| segment.parse().ok()),
        machine: body["droplet_id"].as_u64(),
        records: records(call.method.as_str(), &path, &body),
    }
}

fn records(method: &str, path: &[&str], body: &Value) -> Option<AskedRecords> {
    let ["domains", zone, "records", rest @ ..] = path else { return None };
    let said = |key: &str| body[key].as_str().map(str::to_owned);
    (method != "GET").then(|| AskedRecords {
        zone: (*zone).to_owned(),
        name: said("name"),
        kind: said("type"),
        ids: rest.iter().filter_map(|id| id.parse().ok()).collect(),
    })
}

fn purpose(method: &str, path: &[&str], body: &Value) -> Purpose {
    match (method, path) {
        ("GET", ["reserved_ipv6"]) => Purpose::ListSix,
        ("POST", ["reserved_ipv6"]) => Purpose::CreateSix,
        ("GET", ["actions", _]) => Purpose::ReadOperation,
        ("GET", ["droplets"]) => Purpose::SeeMachines,
        ("DELETE", ["reserved_ips" | "reserved_ipv6", _]) => Purpose::Release,
        ("GET", ["reserved_ips"]) => Purpose::List,
        ("GET", ["reserved_ips" | "reserved_ipv6", _]) => Purpose::ReadAddress,
        ("GET", ["reserved_ips", _, "actions", _]) => Purpose::ReadOperation,
        ("POST", ["reserved_ips" | "reserved_ipv6", _, "actions"]) => match body["type"].as_str() {
            Some("assign") => Purpose::Assign,
            Some("unassign") => Purpose::Unassign,
            _ => Purpose::Other,
        },
        ("POST", ["reserved_ips"]) if body["droplet_id"].is_u64() => Purpose::CreateOn,
        ("POST", ["reserved_ips"]) => Purpose::CreateIn,
        ("GET", ["domains", _, "records"]) => Purpose::ReadRecords,
        ("POST", ["domains", _, "records"]) => Purpose::AddRecord,
        ("PUT" | "PATCH", ["domains", _, "records", _]) => Purpose::EditRecord,
        ("DELETE", ["domains", _, "records", _]) => Purpose::DropRecord,
        _ => Purpose::Other,
    }
}
