//! Zones and regions. Every name of the right form exists.

use http::StatusCode;
use serde_json::{Value, json};

use super::links::{self, Project};
use super::refusal::{self, Refusal};
use super::{Answer, query};
use crate::call::Call;
use crate::request_context::Turn;

/// `GET zones/{zone}`.
pub(super) fn zone(call: &Call, project: Project<'_>, zone: &str) -> Answer {
    query::only(call, &[])?;
    let path = format!("zones/{zone}");
    let Some(region) = links::region_of_zone(zone) else {
        return Err(Refusal::not_found(&project.path(&path)));
    };
    let mut shown = place(project, "zone", &path, zone);
    shown["region"] = json!(project.link(&format!("regions/{region}")));
    shown["availableCpuPlatforms"] = json!(["Intel Broadwell"]);
    Ok(refusal::reply(StatusCode::OK, &shown))
}

/// `GET regions/{region}`.
pub(super) fn region(turn: &Turn<'_>, call: &Call, project: Project<'_>, region: &str) -> Answer {
    query::only(call, &[])?;
    let path = format!("regions/{region}");
    if !links::is_region(region) {
        return Err(Refusal::not_found(&project.path(&path)));
    }
    let used = turn.seen().addresses().filter(|a| links::region_in(&a.region) == region).count();
    let zones: Vec<String> =
        ["a", "b", "c"].map(|letter| project.link(&format!("zones/{region}-{letter}"))).into();
    let mut shown = place(project, "region", &path, region);
    shown["zones"] = json!(zones);
    shown["quotas"] = json!([
        {"metric": "STATIC_ADDRESSES", "limit": turn.knobs.address_limit, "usage": used},
    ]);
    Ok(refusal::reply(StatusCode::OK, &shown))
}

fn place(project: Project<'_>, kind: &str, path: &str, name: &str) -> Value {
    json!({
        "kind": format!("compute#{kind}"),
        "id": name.bytes().fold(1_000_u64, |id, byte| id * 31 % 9_973 + u64::from(byte)).to_string(),
        "creationTimestamp": "1969-12-31T16:00:00.000-08:00",
        "name": name,
        "description": name,
        "status": "UP",
        "selfLink": project.link(path),
        "supportsPzs": false,
    })
}

/// Refuses a region that cannot be.
pub(super) fn known_region(region: &str) -> Result<(), Refusal> {
    if links::is_region(region) {
        return Ok(());
    }
    Err(Refusal::invalid("region", region, "Unknown region."))
}

/// Refuses a zone that cannot be.
pub(super) fn known_zone(zone: &str) -> Result<(), Refusal> {
    match links::region_of_zone(zone) {
        Some(_) => Ok(()),
        None => Err(Refusal::invalid("zone", zone, "Unknown zone.")),
    }
}
