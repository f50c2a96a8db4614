//! Instances: read only, but for their access configs.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use http::StatusCode;
use serde_json::{Value, json};

use super::links::{self, DEFAULT_REGION, Project};
use super::page::{self, Item, Listing};
use super::refusal::{self, Refusal};
use super::{Answer, fingerprint, places, query};
use crate::call::Call;
use crate::interface::Interface;
use crate::request_context::Turn;
use crate::store::{Machine, State};

/// The usual name of an access config.
pub(super) const USUAL_NAME: &str = "External NAT";

/// The internal addresses: `10.128.0.0/10`, by machine and interface.
const INTERNAL: u32 = 0x0a80_0000;

const LISTING: Listing = Listing { one: "instance", many: "instances" };

/// `GET zones/{zone}/instances`.
pub(super) fn list(turn: &Turn<'_>, call: &Call, project: Project<'_>, zone: &str) -> Answer {
    places::known_zone(zone)?;
    let scope = format!("zones/{zone}");
    let mut items = all(turn, project);
    items.retain(|(one, _)| *one == scope);
    page::one_scope(turn, call, project, &LISTING, &scope, items)
}

/// `GET aggregated/instances`.
pub(super) fn list_all(turn: &Turn<'_>, call: &Call, project: Project<'_>) -> Answer {
    let regions = turn.seen().machines().map(|m| m.region.as_str()).chain([DEFAULT_REGION]);
    let scopes: BTreeSet<String> =
        regions.map(|region| format!("zones/{}", links::zone_in(region))).collect();
    page::all_scopes(turn, call, project, &LISTING, scopes, all(turn, project))
}

fn all(turn: &Turn<'_>, project: Project<'_>) -> Vec<Item> {
    let state = turn.seen();
    let shown = state.machines().map(|machine| {
        let scope = format!("zones/{}", links::zone_in(&machine.region));
        (scope, show(turn, state, project, machine))
    });
    shown.collect()
}

/// `GET zones/{zone}/instances/{instance}`.
pub(super) fn get(
    turn: &Turn<'_>,
    call: &Call,
    project: Project<'_>,
    zone: &str,
    name: &str,
) -> Answer {
    query::only(call, &[])?;
    let state = turn.seen();
    let machine = known(state, project, zone, name)?;
    Ok(refusal::reply(StatusCode::OK, &show(turn, state, project, machine)))
}

/// The machine of an instance in a zone: by its name, its number, or the user's name for the
/// machine.
pub(super) fn known<'a>(
    state: &'a State,
    project: Project<'_>,
    zone: &str,
    name: &str,
) -> Result<&'a Machine, Refusal> {
    places::known_zone(zone)?;
    let by_number = links::number(name).and_then(|id| state.machine(id));
    let found = by_number.or_else(|| state.machines().find(|machine| machine.name == name));
    found
        .filter(|machine| links::zone_in(&machine.region) == zone)
        .ok_or_else(|| Refusal::not_found(&project.path(&format!("zones/{zone}/instances/{name}"))))
}

fn show(turn: &Turn<'_>, state: &State, project: Project<'_>, m: &Machine) -> Value {
    let (zone, created) = (links::zone_in(&m.region), links::stamp(turn.clock, m.created));
    let interfaces: Vec<Value> =
        (0..m.interfaces.len()).map(|number| interface(state, project, m, number)).collect();
    json!({
        "kind": "compute#instance",
        "id": links::instance_id(m.id),
        "creationTimestamp": created,
        "lastStartTimestamp": created,
        "name": links::instance_name(m.id),
        "description": m.name,
        "tags": {"items": m.tags, "fingerprint": fingerprint::of(&m.tags.join(" "))},
        "machineType": project.link(&format!("zones/{zone}/machineTypes/e2-medium")),
        "status": "RUNNING",
        "zone": project.link(&format!("zones/{zone}")),
        "canIpForward": false,
        "networkInterfaces": interfaces,
        "disks": [],
        "metadata": {"kind": "compute#metadata", "fingerprint": fingerprint::of("")},
        "selfLink": project.link(&links::instance_path(&m.region, m.id)),
        "scheduling": {
            "onHostMaintenance": "MIGRATE", "automaticRestart": true, "preemptible": false,
        },
        "cpuPlatform": "Intel Broadwell",
        "labelFingerprint": fingerprint::of(""),
        "startRestricted": false,
        "deletionProtection": false,
        "fingerprint": fingerprint::of(&format!("{} {interfaces:?}", m.id)),
    })
}

/// An interface. Without an external address it has no list of access configs at all.
fn interface(state: &State, project: Project<'_>, m: &Machine, number: usize) -> Value {
    let low = u32::try_from(m.id & 0xffff).unwrap_or_default();
    let high = u32::try_from(number & 0x3f).unwrap_or_default() << 16;
    let subnetwork = format!("regions/{}/subnetworks/default", links::region_in(&m.region));
    let mut shown = json!({
        "kind": "compute#networkInterface",
        "name": format!("nic{number}"),
        "network": project.link("global/networks/default"),
        "subnetwork": project.link(&subnetwork),
        "networkIP": Ipv4Addr::from(INTERNAL | high | low),
        "stackType": "IPV4_ONLY",
    });
    if let Some(config) = access_config(state, m, number) {
        shown["accessConfigs"] = json!([config]);
    }
    shown["fingerprint"] = json!(fingerprint::of(&shown.to_string()));
    shown
}

fn access_config(state: &State, m: &Machine, number: usize) -> Option<Value> {
    let ip = state.external(m.id, number)?;
    let interface = m.interfaces.get(number)?;
    let mut shown = json!({
        "kind": "compute#accessConfig",
        "type": "ONE_TO_ONE_NAT",
        "name": config_name(interface),
        "natIP": ip,
        "networkTier": "PREMIUM",
    });
    if let Some(pointer) = &interface.pointer {
        shown["setPublicPtr"] = json!(true);
        shown["publicPtrDomainName"] = json!(pointer);
    }
    Some(shown)
}

/// The name of the access config of an interface, if it has one.
pub(super) fn config_name(interface: &Interface) -> &str {
    interface.attachment.as_deref().unwrap_or(USUAL_NAME)
}
