//! Regional external addresses. An address appears as `RESERVING` while its operation is open.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Value, json};

use super::body::{self, Body, Kind};
use super::links::{self, DEFAULT_REGION, Project};
use super::page::{self, Item, Listing};
use super::refusal::{self, Refusal};
use super::{Answer, fingerprint, operations, places, query};
use crate::call::Call;
use crate::operation::OperationKind;
use crate::request_context::Turn;
use crate::store::{Address, State};

const LISTING: Listing = Listing { one: "address", many: "addresses" };

const FIELDS: [(&str, Kind); 23] = [
    ("address", Kind::Text),
    ("addressType", Kind::Text),
    ("creationTimestamp", Kind::Text),
    ("description", Kind::Text),
    ("id", Kind::Text),
    ("ipCollection", Kind::Text),
    ("ipVersion", Kind::Text),
    ("ipv6EndpointType", Kind::Text),
    ("kind", Kind::Text),
    ("labelFingerprint", Kind::Text),
    ("labels", Kind::Map),
    ("name", Kind::Text),
    ("network", Kind::Text),
    ("networkAttachment", Kind::Text),
    ("networkTier", Kind::Text),
    ("prefixLength", Kind::Number),
    ("purpose", Kind::Text),
    ("region", Kind::Text),
    ("selfLink", Kind::Text),
    ("serviceClassId", Kind::Text),
    ("status", Kind::Text),
    ("subnetwork", Kind::Text),
    ("users", Kind::Texts),
];

/// Answers everything below `regions/{region}/addresses`.
pub(super) fn route(
    turn: &mut Turn<'_>,
    call: &Call,
    project: Project<'_>,
    region: &str,
    rest: &[&str],
) -> Answer {
    match (call.method.as_str(), rest) {
        ("GET", []) => {
            places::known_region(region)?;
            let scope = format!("regions/{region}");
            let mut items = all(turn, project);
            items.retain(|(one, _)| *one == scope);
            page::one_scope(turn, call, project, &LISTING, &scope, items)
        }
        ("POST", []) => insert(turn, call, project, region),
        ("GET", [name]) => {
            query::only(call, &[])?;
            let state = turn.seen();
            let (address, reserving) = known(state, project, region, name)?;
            let shown = show(turn, state, project, address, reserving);
            Ok(refusal::reply(StatusCode::OK, &shown))
        }
        ("DELETE", [name]) => delete(turn, call, project, region, name),
        _ => Err(Refusal::not_emulated(call)),
    }
}

/// `GET aggregated/addresses`.
pub(super) fn list_all(turn: &Turn<'_>, call: &Call, project: Project<'_>) -> Answer {
    let state = turn.seen();
    let machines = state.machines().map(|m| m.region.as_str());
    let regions = machines.chain(state.addresses().map(|a| a.region.as_str()));
    let scopes: BTreeSet<String> = regions
        .chain([DEFAULT_REGION])
        .map(|region| format!("regions/{}", links::region_in(region)))
        .chain(["global".to_owned()])
        .collect();
    page::all_scopes(turn, call, project, &LISTING, scopes, all(turn, project))
}

fn all(turn: &Turn<'_>, project: Project<'_>) -> Vec<Item> {
    let state = turn.seen();
    let shown = existing(state).map(|(address, reserving)| {
        let scope = format!("regions/{}", links::region_in(&address.region));
        (scope, show(turn, state, project, address, reserving))
    });
    shown.collect()
}

/// The addresses that callers see, and whether they are still being reserved.
fn existing(state: &State) -> impl Iterator<Item = (&Address, bool)> {
    let reserving = state.open_operations().filter_map(|o| match &o.kind {
        OperationKind::Create { address } => Some((&**address, true)),
        _ => None,
    });
    let there = state.addresses().filter(|address| address.ip.is_ipv4());
    there.map(|address| (address, false)).chain(reserving)
}

/// An address by name or number.
fn known<'a>(
    state: &'a State,
    project: Project<'_>,
    region: &str,
    name: &str,
) -> Result<(&'a Address, bool), Refusal> {
    places::known_region(region)?;
    let mut here = existing(state).filter(|(a, _)| links::region_in(&a.region) == region);
    let named =
        here.find(|(a, _)| links::address_name(a) == name || links::address_id(a.ip) == name);
    named.ok_or_else(|| {
        Refusal::not_found(&project.path(&format!("regions/{region}/addresses/{name}")))
    })
}

fn insert(turn: &mut Turn<'_>, call: &Call, project: Project<'_>, region: &str) -> Answer {
    query::only(call, &["requestId"])?;
    places::known_region(region)?;
    let body = Body::read(call, &FIELDS)?;
    let name = body.text("name").unwrap_or_default();
    if !body::is_name(name) {
        let why = "Must be a match of regex '[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?'";
        return Err(Refusal::invalid("resource.name", name, why));
    }
    body.one_of("addressType", &["EXTERNAL"])?;
    body.one_of("ipVersion", &["IPV4"])?;
    body.one_of("networkTier", &["PREMIUM"])?;
    if body.text("address").is_some() {
        return Err(Refusal::not_emulated(call));
    }
    if let Some(repeated) = operations::repeated(turn, call, project)? {
        return Ok(repeated);
    }
    if known(turn.truth(), project, region, name).is_ok() {
        let path = project.path(&format!("regions/{region}/addresses/{name}"));
        let message = format!("The resource '{path}' already exists");
        return Err(Refusal::new(StatusCode::CONFLICT, "alreadyExists", message));
    }
    within_quota(turn, region)?;
    let now = turn.now;
    let ip = turn.change().take_fresh(false);
    let address = Box::new(Address {
        name: Some(name.to_owned()),
        description: body.text("description").map(str::to_owned),
        ..Address::free(ip, region, now)
    });
    let kind = OperationKind::Create { address };
    Ok(operations::begin(turn, call, project, kind, region))
}

/// Refuses a reservation above the quota, which counts the addresses of all regions.
fn within_quota(turn: &Turn<'_>, region: &str) -> Result<(), Refusal> {
    let limit = turn.knobs.address_limit;
    if (existing(turn.truth()).count() as u64) < limit {
        return Ok(());
    }
    let message =
        format!("Quota 'STATIC_ADDRESSES' exceeded.  Limit: {limit}.0 in region {region}.");
    Err(Refusal::new(StatusCode::FORBIDDEN, "quotaExceeded", message))
}

/// Deletes an address that is not in use.
fn delete(
    turn: &mut Turn<'_>,
    call: &Call,
    project: Project<'_>,
    region: &str,
    name: &str,
) -> Answer {
    query::only(call, &["requestId"])?;
    if let Some(repeated) = operations::repeated(turn, call, project)? {
        return Ok(repeated);
    }
    let state = turn.truth();
    let (address, reserving) = known(state, project, region, name)?;
    let path = project.path(&format!("regions/{region}/addresses/{name}"));
    if reserving || state.address_busy(address.ip) {
        return Err(Refusal::not_ready(&path));
    }
    if let Some(user) = user(state, project, address) {
        let message = format!("The address resource '{path}' is already being used by '{user}'");
        let reason = "resourceInUseByAnotherResource";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, reason, message));
    }
    let kind = OperationKind::Release { address: Box::new(address.clone()) };
    Ok(operations::begin(turn, call, project, kind, region))
}

/// The link of the instance that uses an address.
fn user(state: &State, project: Project<'_>, address: &Address) -> Option<String> {
    let machine = state.machine(address.holder?)?;
    Some(project.link(&links::instance_path(&machine.region, machine.id)))
}

fn show(
    turn: &Turn<'_>,
    state: &State,
    project: Project<'_>,
    address: &Address,
    reserving: bool,
) -> Value {
    let region = format!("regions/{}", links::region_in(&address.region));
    let name = links::address_name(address);
    let user = user(state, project, address);
    let mut shown = json!({
        "kind": "compute#address",
        "id": links::address_id(address.ip),
        "creationTimestamp": links::stamp(turn.clock, address.reserved),
        "name": name,
        "description": address.description.as_deref().unwrap_or_default(),
        "address": address.ip,
        "status": match (reserving, &user) {
            (true, _) => "RESERVING",
            (false, Some(_)) => "IN_USE",
            (false, None) => "RESERVED",
        },
        "region": project.link(&region),
        "selfLink": project.link(&format!("{region}/addresses/{name}")),
        "networkTier": "PREMIUM",
        "addressType": "EXTERNAL",
        "labelFingerprint": fingerprint::of(""),
    });
    if let Some(user) = user {
        shown["users"] = json!([user]);
    }
    shown
}
