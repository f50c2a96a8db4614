//! `/client/v4/zones/{zone}/dns_records`.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::envelope::{Refusal, Sizes, page, single};
use super::{Answer, batch, filter, ids};
use crate::call::Call;
use crate::request_context::Turn;
use crate::zone::{Record, Zone};

const SIZES: Sizes = Sizes { smallest: 1, usual: 100, largest: 5_000_000 };

/// Answers everything below the path.
pub(super) fn route(turn: &mut Turn<'_>, call: &Call, zone: &str, rest: &[&str]) -> Answer {
    match (call.method.as_str(), rest) {
        ("GET", []) => list(turn, call, zone),
        ("POST", []) => {
            let body = object(call)?;
            change(turn, zone, |draft| draft.create(&body))
        }
        ("POST", ["batch"]) => batch::run(turn, zone, &object(call)?),
        ("GET", [id]) => {
            let zone = turn.seen().zone(zone).ok_or_else(Refusal::no_record)?;
            let record = ids::record_number(id).and_then(|number| zone.records.get(&number));
            let record = record.ok_or_else(Refusal::no_record)?;
            Ok(single(&show(turn, zone, record)))
        }
        ("PATCH", [id]) => {
            let body = object(call)?;
            change(turn, zone, |draft| draft.edit(id, &body))
        }
        ("PUT", [id]) => {
            let body = object(call)?;
            change(turn, zone, |draft| draft.overwrite(id, &body))
        }
        ("DELETE", [id]) => {
            let mut draft = Draft::of(turn, zone)?;
            draft.delete(id)?;
            draft.commit(turn);
            Ok(single(&json!({"id": id})))
        }
        _ => Err(Refusal::not_emulated(call)),
    }
}

fn list(turn: &Turn<'_>, call: &Call, zone: &str) -> Answer {
    let zone = turn.seen().zone(zone).ok_or_else(Refusal::no_record)?;
    let shown = filter::chosen(zone, call)?;
    Ok(page(turn, call, &SIZES, &shown, |record| show(turn, zone, record)))
}

fn change(
    turn: &mut Turn<'_>,
    zone: &str,
    change: impl FnOnce(&mut Draft) -> Result<Record, Refusal>,
) -> Answer {
    let mut draft = Draft::of(turn, zone)?;
    let record = change(&mut draft)?;
    let shown = show(turn, &draft.zone, &record);
    draft.commit(turn);
    Ok(single(&shown))
}

/// The body as a JSON object (the code for other bodies is not verified).
fn object(call: &Call) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(&call.body) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(Refusal::new(StatusCode::BAD_REQUEST, 9207, "Request body is invalid.")),
    }
}

/// A record in the vendor's format.
pub(super) fn show(turn: &Turn<'_>, zone: &Zone, record: &Record) -> Value {
    let at = |instant: Option<_>| {
        instant.map_or(turn.clock.base(), |instant| turn.clock.wall(instant)).to_string()
    };
    json!({
        "id": ids::record_id(record.id),
        "name": zone.full_name(&record.name),
        "type": record.kind,
        "content": record.data,
        "ttl": record.ttl,
        "proxied": record.proxied,
        "proxiable": matches!(record.kind.as_str(), "A" | "AAAA" | "CNAME"),
        "settings": {},
        "meta": {},
        "comment": record.comment,
        "tags": record.tags,
        "created_on": at(record.created),
        "modified_on": at(record.modified.or(record.created)),
    })
}
