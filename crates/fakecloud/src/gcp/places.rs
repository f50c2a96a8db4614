//! Zones and regions. Every name of the right form exists.

use http::StatusCode;
use serde_json::{Value, json};

use super::links::{self, Project};
use super::refusal::{self, Refusal};
use super::{Answer, query};
use crate::call::Call;
use crate::emulators::Place;
use crate::request_context::Turn;

/// The letters of the zones that a region shows.
const LETTERS: [char; 3] = ['a', 'b', 'c'];

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
        LETTERS.map(|letter| project.link(&format!("zones/{region}-{letter}"))).into();
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

/// Places for machines: the named zones that can be, or else all zones of the region.
pub(super) fn for_machines(region: Option<&str>, zones: &[String]) -> Vec<Place> {
    let named = zones.iter().filter(|zone| links::region_of_zone(zone).is_some());
    let mut zones: Vec<String> = named.cloned().collect();
    if zones.is_empty() {
        let region = links::region_in(region.unwrap_or_default());
        zones = LETTERS.map(|letter| format!("{region}-{letter}")).into();
    }
    let place = |zone: String| {
        let region = links::region_in(&zone).to_owned();
        let labels = [
            ("cloud.google.com/gke-nodepool", "default-pool"),
            ("topology.kubernetes.io/region", &region),
            ("topology.kubernetes.io/zone", &zone),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Place { site: zone, region, labels }
    };
    zones.into_iter().map(place).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_in_the_named_zones_or_all_over_the_region() {
        let sites = |region, zones: &[&str]| -> Vec<String> {
            let zones: Vec<String> = zones.iter().map(|&zone| zone.to_owned()).collect();
            for_machines(region, &zones).into_iter().map(|place| place.site).collect()
        };
        assert_eq!(sites(None, &[]), ["us-central1-a", "us-central1-b", "us-central1-c"]);
        assert_eq!(sites(Some("us-west1"), &["us-west1-b", "nowhere"]), ["us-west1-b"]);
        let place = for_machines(Some("us-west1"), &[]).remove(1);
        assert_eq!((place.site.as_str(), place.region.as_str()), ("us-west1-b", "us-west1"));
        assert_eq!(place.labels["topology.kubernetes.io/zone"], "us-west1-b");
    }
}
