//! `/v2/domains`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use http::StatusCode;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{Answer, domain_records, object, page};
use crate::call::{Call, Reply};
use crate::request_context::Turn;
use crate::store::State;
use crate::zone::{Record, Zone};

pub(super) const DEFAULT_TTL: u32 = 1800;

/// Answers everything below the path.
pub(super) fn route(turn: &mut Turn<'_>, call: &Call, rest: &[&str]) -> Answer {
    match (call.method.as_str(), rest) {
        ("GET", []) => Ok(list(turn, call)),
        ("POST", []) => create(turn, call),
        ("GET", [name]) => {
            let shown = show(known(turn.seen(), name)?);
            Ok(Reply::json(StatusCode::OK, &json!({"domain": shown})))
        }
        ("DELETE", [name]) => {
            known(turn.truth(), name)?;
            turn.change().remove_zone(name);
            Ok(Reply::empty(StatusCode::NO_CONTENT))
        }
        (_, [name, "records", rest @ ..]) => domain_records::route(turn, call, name, rest),
        _ => Err(Refusal::not_emulated(call)),
    }
}

/// The zone with the given name.
pub(super) fn known<'a>(state: &'a State, name: &str) -> Result<&'a Zone, Refusal> {
    state.zone(name).ok_or_else(Refusal::not_found)
}

fn list(turn: &Turn<'_>, call: &Call) -> Reply {
    let shown: Vec<&Zone> = turn.seen().zones().collect();
    page::answer(turn, call, "domains", &shown, |zone| show(zone))
}

/// Creates a domain with the vendor's name servers, and with an address record if requested.
fn create(turn: &mut Turn<'_>, call: &Call) -> Answer {
    let body = object(call)?;
    let name = body.get("name").and_then(Value::as_str).unwrap_or_default();
    if !name.contains('.') || name.ends_with('.') {
        return Err(Refusal::unprocessable("Name Only valid hostname characters are allowed."));
    }
    if turn.truth().zone(name).is_some() {
        let message = format!("domain '{name}': name already exists");
        return Err(Refusal::unprocessable(&message));
    }
    let address = match body.get("ip_address").and_then(Value::as_str) {
        None | Some("") => None,
        Some(ip) if ip.parse::<Ipv4Addr>().is_ok() => Some(ip),
        Some(_) => return Err(domain_records::bad_ipv4()),
    };
    let now = Some(turn.now);
    let state = turn.change();
    let mut records = BTreeMap::new();
    let servers = (1..=3).map(|n| ("NS", format!("ns{n}.digitalocean.com")));
    let start = std::iter::once(("SOA", DEFAULT_TTL.to_string()));
    let address = address.map(|ip| ("A", ip.to_owned()));
    for (kind, data) in start.chain(servers).chain(address) {
        let id = state.next_record_id();
        let record = Record {
            id,
            kind: kind.to_owned(),
            name: "@".to_owned(),
            data,
            ttl: DEFAULT_TTL,
            created: now,
            modified: now,
            ..Record::default()
        };
        records.insert(id, record);
    }
    state.put_zone(Zone { name: name.to_owned(), ttl: DEFAULT_TTL, records });
    let body = json!({"domain": {"name": name, "ttl": DEFAULT_TTL, "zone_file": null}});
    Ok(Reply::json(StatusCode::CREATED, &body))
}

fn show(zone: &Zone) -> Value {
    let mut file = format!("$ORIGIN {}.\n$TTL {}\n", zone.name, zone.ttl);
    for r in zone.records.values() {
        let name = zone.full_name(&r.name);
        file.push_str(&format!("{name}. {} IN {} {}\n", r.ttl, r.kind, r.data));
    }
    json!({"name": zone.name, "ttl": zone.ttl, "zone_file": file})
}
