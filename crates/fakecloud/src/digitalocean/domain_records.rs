//! `/v2/domains/{domain}/records`.

use std::net::{Ipv4Addr, Ipv6Addr};

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use super::{Answer, domains, object, page};
use crate::call::{Call, Reply};
use crate::request_context::Turn;
use crate::zone::Record;

const KINDS: [&str; 9] = ["A", "AAAA", "CAA", "CNAME", "MX", "NS", "SOA", "SRV", "TXT"];
/// Types with a host name as value: written with a final dot and shown without (not verified for
/// the apex `@`).
const HOSTS: [&str; 4] = ["CNAME", "MX", "NS", "SRV"];
const SHORTEST_TTL: u32 = 30;

/// Answers everything below the path.
pub(super) fn route(turn: &mut Turn<'_>, call: &Call, domain: &str, rest: &[&str]) -> Answer {
    match (call.method.as_str(), rest) {
        ("GET", []) => list(turn, call, domain),
        ("POST", []) => create(turn, call, domain),
        ("GET", [id]) => {
            let zone = domains::known(turn.seen(), domain)?;
            let record = id.parse().ok().and_then(|id: u64| zone.records.get(&id));
            let record = record.ok_or_else(Refusal::not_found)?;
            Ok(reply(StatusCode::OK, record))
        }
        ("PUT" | "PATCH", [id]) => update(turn, call, domain, id),
        ("DELETE", [id]) => {
            let record = existing(turn, domain, id)?;
            if let Some(zone) = turn.change().zone_mut(domain) {
                zone.records.remove(&record.id);
            }
            Ok(Reply::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(Refusal::not_emulated(call)),
    }
}

/// Lists records. The filter `name` takes the full name; a relative name matches nothing.
fn list(turn: &Turn<'_>, call: &Call, domain: &str) -> Answer {
    let zone = domains::known(turn.seen(), domain)?;
    let (name, kind) = (call.parameter("name"), call.parameter("type"));
    let shown: Vec<&Record> = zone
        .records
        .values()
        .filter(|r| kind.is_none_or(|kind| r.kind.eq_ignore_ascii_case(kind)))
        .filter(|r| name.is_none_or(|name| zone.full_name(&r.name).eq_ignore_ascii_case(name)))
        .collect();
    Ok(page::answer(turn, call, "domain_records", &shown, |r| show(r)))
}

fn create(turn: &mut Turn<'_>, call: &Call, domain: &str) -> Answer {
    domains::known(turn.truth(), domain)?;
    let mut record = Record { ttl: domains::DEFAULT_TTL, ..Record::default() };
    edit(&mut record, &object(call)?)?;
    let record = valid(record)?;
    alone(turn, domain, &record)?;
    store(turn, domain, record, StatusCode::CREATED)
}

/// PUT and PATCH change the fields in the body and leave the rest; the vendor documents no
/// difference.
fn update(turn: &mut Turn<'_>, call: &Call, domain: &str, id: &str) -> Answer {
    let mut record = existing(turn, domain, id)?;
    if HOSTS.contains(&record.kind.as_str()) {
        // The vendor shows host names without the dot but requires the dot on input, so a real
        // update without `data` fails. That accident is not emulated.
        record.data.push('.');
    }
    edit(&mut record, &object(call)?)?;
    let record = valid(record)?;
    alone(turn, domain, &record)?;
    store(turn, domain, record, StatusCode::OK)
}

fn existing(turn: &Turn<'_>, domain: &str, id: &str) -> Result<Record, Refusal> {
    let zone = domains::known(turn.truth(), domain)?;
    let record = id.parse().ok().and_then(|id: u64| zone.records.get(&id));
    record.cloned().ok_or_else(Refusal::not_found)
}

fn store(turn: &mut Turn<'_>, domain: &str, mut record: Record, status: StatusCode) -> Answer {
    let now = Some(turn.now);
    let state = turn.change();
    if record.id == 0 {
        record.id = state.next_record_id();
        record.created = now;
    }
    record.modified = now;
    let answer = reply(status, &record);
    if let Some(zone) = state.zone_mut(domain) {
        zone.records.insert(record.id, record);
    }
    Ok(answer)
}

fn edit(record: &mut Record, body: &Map<String, Value>) -> Result<(), Refusal> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    record.kind = text("type").unwrap_or_else(|| std::mem::take(&mut record.kind));
    record.name = text("name").unwrap_or_else(|| std::mem::take(&mut record.name));
    record.data = text("data").unwrap_or_else(|| std::mem::take(&mut record.data));
    record.tag = text("tag").or_else(|| record.tag.take());
    if let Some(ttl) = number(body, "ttl")? {
        record.ttl = ttl;
    }
    record.priority = number(body, "priority")?.or(record.priority);
    record.port = number(body, "port")?.or(record.port);
    record.weight = number(body, "weight")?.or(record.weight);
    record.flags = number(body, "flags")?.or(record.flags);
    Ok(())
}

fn number(body: &Map<String, Value>, key: &str) -> Result<Option<u32>, Refusal> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().and_then(|n| u32::try_from(n).ok()) {
            Some(n) => Ok(Some(n)),
            None => Err(Refusal::unprocessable(&format!("{key} must be an integer"))),
        },
    }
}

/// Validates a record and converts it to the stored form. Equal records are allowed (not verified).
fn valid(mut record: Record) -> Result<Record, Refusal> {
    let refuse = |message: &str| Err(Refusal::unprocessable(message));
    if !KINDS.contains(&record.kind.as_str()) {
        return refuse("Type is not included in the list");
    }
    if record.name.is_empty() && record.kind != "SOA" {
        return refuse("Name can't be blank.");
    }
    if record.data.is_empty() && record.kind != "SOA" {
        return refuse("Data can't be blank.");
    }
    if record.ttl < SHORTEST_TTL {
        return refuse("TTL must be greater than or equal to 30.");
    }
    match record.kind.as_str() {
        "A" if record.data.parse::<Ipv4Addr>().is_err() => return Err(bad_ipv4()),
        "AAAA" if record.data.parse::<Ipv6Addr>().is_err() => {
            return refuse("IP address did not match IPv6 format (e.g. 2001:db8::ff00:42:8329).");
        }
        kind if HOSTS.contains(&kind) && record.data != "@" => {
            match record.data.strip_suffix('.') {
                Some(host) => record.data = host.to_owned(),
                None => return refuse("Data needs to end with a dot (.)"),
            }
        }
        _ => {}
    }
    Ok(record)
}

/// Refuses a CNAME beside other records of its name, and other records beside a CNAME (the equal
/// message for both is not verified).
fn alone(turn: &Turn<'_>, domain: &str, record: &Record) -> Result<(), Refusal> {
    let zone = domains::known(turn.truth(), domain)?;
    let mut beside = zone.records.values().filter(|r| r.id != record.id && r.name == record.name);
    if beside.any(|other| record.kind == "CNAME" || other.kind == "CNAME") {
        let words = "CNAME records cannot share a name with other records";
        return Err(Refusal::unprocessable(words));
    }
    Ok(())
}

pub(super) fn bad_ipv4() -> Refusal {
    Refusal::unprocessable("IP address did not match IPv4 format (e.g. 127.0.0.1).")
}

fn reply(status: StatusCode, record: &Record) -> Reply {
    Reply::json(status, &json!({"domain_record": show(record)}))
}

fn show(r: &Record) -> Value {
    json!({
        "id": r.id,
        "type": r.kind,
        "name": r.name,
        "data": r.data,
        "priority": r.priority,
        "port": r.port,
        "ttl": r.ttl,
        "weight": r.weight,
        "flags": r.flags,
        "tag": r.tag,
    })
}
