//! Merges a request body into a record, and validates the record.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value};

use super::envelope::Refusal;
use crate::zone::{Record, Zone, ZonePlan};

const KINDS: [&str; 4] = ["A", "AAAA", "CNAME", "TXT"];
const LONGEST_TTL: u32 = 86_400;
/// TTL 1: chosen by the vendor.
pub(super) const AUTOMATIC: u32 = 1;

/// Merges the fields of the body into `record`. A proxied record always has the automatic TTL. The
/// codes for values of a wrong type are not verified.
pub(super) fn lay_over(
    zone: &Zone,
    record: &mut Record,
    body: &Map<String, Value>,
) -> Result<(), Refusal> {
    let text = |key| body.get(key).and_then(Value::as_str);
    if let Some(kind) = text("type") {
        record.kind = kind.to_ascii_uppercase();
    }
    if let Some(name) = text("name") {
        record.name = if name.is_empty() { String::new() } else { zone.relative_name(name) };
    }
    if let Some(content) = text("content") {
        let is_host = record.kind == "CNAME";
        record.data = content.strip_suffix('.').filter(|_| is_host).unwrap_or(content).to_owned();
    }
    match body.get("comment") {
        None => {}
        Some(Value::Null) => record.comment = None,
        Some(Value::String(words)) => {
            record.comment = Some(words.clone()).filter(|words| !words.is_empty());
        }
        Some(_) => return Err(Refusal::invalid(9020, "Comment must be a string.")),
    }
    if let Some(tags) = body.get("tags").and_then(Value::as_array) {
        record.tags = tags.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    }
    record.proxied = match body.get("proxied") {
        None | Some(Value::Null) => record.proxied,
        Some(Value::Bool(proxied)) => *proxied,
        Some(_) => return Err(Refusal::invalid(9004, "Proxied must be a boolean.")),
    };
    record.ttl = match body.get("ttl") {
        None | Some(Value::Null) => record.ttl,
        // Any form of number, as in the vendor's document.
        Some(ttl) => whole(ttl).ok_or_else(|| Refusal::invalid(9021, "Invalid TTL."))?,
    };
    if record.proxied {
        record.ttl = AUTOMATIC;
    }
    Ok(())
}

fn whole(value: &Value) -> Option<u32> {
    let number = value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number))
            .then_some(number as u64)
    })?;
    u32::try_from(number).ok()
}

/// Validates a record on its own, without the rest of its zone.
pub(super) fn check(plan: ZonePlan, record: &Record) -> Result<(), Refusal> {
    if !KINDS.contains(&record.kind.as_str()) {
        return Err(Refusal::invalid(9004, "DNS record type is invalid."));
    }
    let label_fits = |label: &str| !label.is_empty() && label.len() <= 63;
    if !record.name.split('.').all(label_fits) || record.name.contains(char::is_whitespace) {
        return Err(Refusal::bad(9000, "DNS name is invalid."));
    }
    match record.kind.as_str() {
        "A" if record.data.parse::<Ipv4Addr>().is_err() => {
            let words = "Content for A record must be a valid IPv4 address.";
            return Err(Refusal::bad(9005, words));
        }
        "AAAA" if record.data.parse::<Ipv6Addr>().is_err() => {
            let words = "Content for AAAA record must be a valid IPv6 address.";
            return Err(Refusal::bad(9006, words));
        }
        "CNAME" | "TXT" if record.data.is_empty() => {
            return Err(Refusal::bad(9007, "Content is required."));
        }
        _ => {}
    }
    if record.proxied && record.kind == "TXT" {
        return Err(Refusal::bad(9041, "This DNS record cannot be proxied."));
    }
    let ttls = plan.shortest_ttl()..=LONGEST_TTL;
    if record.ttl != AUTOMATIC && !ttls.contains(&record.ttl) {
        return Err(bad_ttl(plan));
    }
    check_notes(plan, record)
}

/// Validates tags and comment. The code for a long comment is not verified.
fn check_notes(plan: ZonePlan, record: &Record) -> Result<(), Refusal> {
    let (tags, quota) = (record.tags.len(), plan.tags());
    if tags > quota {
        let words = format!("DNS record has {tags} tags, exceeding the quota of {quota}.");
        return Err(Refusal::invalid(9300, &words));
    }
    let longest = plan.comment();
    if record.comment.as_ref().is_some_and(|words| words.chars().count() > longest) {
        let words = format!("Comment is too long, the maximum is {longest} characters.");
        return Err(Refusal::invalid(9301, &words));
    }
    Ok(())
}

fn bad_ttl(plan: ZonePlan) -> Refusal {
    let shortest = plan.shortest_ttl();
    let words = format!(
        "Invalid TTL. Must be between {shortest} and {LONGEST_TTL} seconds, or 1 for Automatic."
    );
    Refusal::invalid(9021, &words)
}

/// Refuses a record that conflicts with another record of the zone.
pub(super) fn clash(zone: &Zone, record: &Record) -> Result<(), Refusal> {
    let beside = || zone.records.values().filter(|r| r.id != record.id && r.name == record.name);
    let same_value = |other: &Record| match record.kind.as_str() {
        "AAAA" => other.data.parse::<Ipv6Addr>().ok() == record.data.parse().ok(),
        _ => other.data == record.data,
    };
    if beside().any(|other| other.kind == record.kind && same_value(other)) {
        return Err(Refusal::bad(81_058, "An identical record already exists."));
    }
    let addresses = ["A", "AAAA", "CNAME"];
    match record.kind.as_str() {
        "A" | "AAAA" if beside().any(|other| other.kind == "CNAME") => {
            let words = "A CNAME record with that host already exists.";
            Err(Refusal::bad(81_054, words))
        }
        "CNAME" if beside().any(|other| addresses.contains(&other.kind.as_str())) => {
            let words = "An A, AAAA, or CNAME record with that host already exists.";
            Err(Refusal::bad(81_053, words))
        }
        _ => Ok(()),
    }
}
