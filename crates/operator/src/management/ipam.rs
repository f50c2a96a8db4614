//! The in-cluster IPAM provider: binds claims to addresses of VIP pools, counts the addresses of each
//! VIP pool, and frees the address of a claim that is deleted.
//!
//! Each object gets at most one write in a step, and no address is given twice.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use pontoon_core::model::{Kind, Scope};
use serde_json::{Value, json};

use super::{
    ADDRESS, CLAIM, CLUSTER, GLOBAL_POOL, IPAM, Key, LOCAL_POOL, Object, PROTECT_ADDRESS,
    PROTECT_POOL, RELEASE, Ranges, Stored, Write, names,
};

/// Kind, namespace and name of a VIP pool.
type Pool = (&'static Kind, Key);

/// Addresses in use, by VIP pool. An address that is being deleted is in use.
type Used = BTreeMap<Pool, BTreeSet<IpAddr>>;

/// The next steps of the IPAM provider.
pub(super) fn step(stored: &Stored) -> Vec<Write> {
    let mut used = Used::new();
    for address in stored.of(&ADDRESS) {
        let spec = &address.0["spec"];
        let ip = spec["address"].as_str().and_then(|text| text.parse().ok());
        if let (Some(pool), Some(ip)) = (pool_of(address), ip) {
            used.entry(pool).or_default().insert(ip);
        }
    }
    let mut writes: Vec<_> = [&GLOBAL_POOL, &LOCAL_POOL]
        .into_iter()
        .flat_map(|kind| stored.of(kind).filter_map(|pool| keep_pool(kind, pool, &used)))
        .collect();
    for claim in stored.of(&CLAIM).filter(|claim| !is_skipped(stored, *claim)) {
        match claim.is_deleting() {
            true => writes.extend(release(stored, claim)),
            false => writes.extend(serve(stored, claim, &mut used)),
        }
    }
    writes
}

/// The VIP pool that a claim or an address names; `None` for one of another kind.
fn pool_of(object: Object<'_>) -> Option<Pool> {
    let reference = &object.0["spec"]["poolRef"];
    let kinds: [&'static Kind; 2] = [&GLOBAL_POOL, &LOCAL_POOL];
    let kind = kinds.into_iter().find(|kind| reference["kind"] == kind.name)?;
    let is_ours = reference["apiGroup"].is_null() || reference["apiGroup"] == IPAM;
    let name = reference["name"].as_str().filter(|_| is_ours)?.to_owned();
    let namespace = match kind.scope {
        Scope::Cluster => String::new(),
        Scope::Namespaced => object.text("namespace").to_owned(),
    };
    Some((kind, (namespace, name)))
}

/// Whether a claim is left alone: of a paused Cluster, or of one that does not exist.
fn is_skipped(stored: &Stored, claim: Object<'_>) -> bool {
    let named = claim.0["spec"]["clusterName"].as_str().filter(|name| !name.is_empty());
    let label = claim.metadata()["labels"][names::CLUSTER_NAME].as_str();
    let Some(name) = named.or(label) else { return claim.is_paused() };
    match stored.get(&CLUSTER, &(claim.text("namespace").to_owned(), name.to_owned())) {
        Some(cluster) => cluster.is_paused() || claim.is_paused(),
        None => !claim.is_deleting(),
    }
}

/// Binds a claim: finalizer, address, reference.
fn serve(stored: &Stored, claim: Object<'_>, used: &mut Used) -> Option<Write> {
    let pool = pool_of(claim)?;
    if !claim.has(RELEASE) {
        return Some(Write::add(&CLAIM, claim, RELEASE));
    }
    if let Some(address) = stored.get(&ADDRESS, &claim.key()) {
        let is_own = address.controller().is_none_or(|uid| uid == claim.text("uid"));
        let bound = claim.0["status"]["addressRef"]["name"] == address.text("name");
        let reference = json!({"addressRef": {"name": address.text("name")}});
        return (is_own && !bound).then(|| Write::tell(&CLAIM, claim, &reference));
    }
    let stored = stored.get(pool.0, &pool.1)?;
    if stored.is_deleting() || stored.is_paused() {
        return None;
    }
    let spec = &stored.0["spec"];
    let taken = used.entry(pool.clone()).or_default();
    let ip = Ranges::of_pool(spec).first_free(taken)?;
    taken.insert(ip);
    Some(Write::Create(&ADDRESS, address(claim, (pool.0, stored), ip)))
}

/// The address for a claim.
fn address(claim: Object<'_>, (kind, pool): (&Kind, Object<'_>), ip: IpAddr) -> Value {
    let owner = |kind: &Kind, of: Object<'_>| {
        json!({
            "apiVersion": format!("{}/{}", kind.group, kind.version), "kind": kind.name,
            "name": of.text("name"), "uid": of.text("uid"),
        })
    };
    let mut first = owner(&CLAIM, claim);
    first["controller"] = json!(true);
    first["blockOwnerDeletion"] = json!(true);
    let mut spec = json!({
        "address": ip, "prefix": pool.0["spec"]["prefix"],
        "claimRef": {"name": claim.text("name")}, "poolRef": claim.0["spec"]["poolRef"],
    });
    if let Some(gateway) = pool.0["spec"]["gateway"].as_str() {
        spec["gateway"] = json!(gateway);
    }
    json!({
        "apiVersion": format!("{}/{}", ADDRESS.group, ADDRESS.version), "kind": ADDRESS.name,
        "metadata": {
            "name": claim.text("name"), "namespace": claim.text("namespace"),
            "finalizers": [PROTECT_ADDRESS], "ownerReferences": [first, owner(kind, pool)],
        },
        "spec": spec,
    })
}

/// Frees the address of a deleted claim, then lets go of the claim. The garbage collector may have
/// removed the claim from the owners of the address before.
fn release(stored: &Stored, claim: Object<'_>) -> Option<Write> {
    let own =
        |address: &Object<'_>| address.controller().is_none_or(|uid| uid == claim.text("uid"));
    match stored.get(&ADDRESS, &claim.key()).filter(own) {
        Some(address) if !address.is_deleting() => {
            Some(Write::Delete(&ADDRESS, address.key(), address.text("uid").to_owned()))
        }
        Some(address) => {
            address.has(PROTECT_ADDRESS).then(|| Write::drop(&ADDRESS, address, PROTECT_ADDRESS))
        }
        None => claim.has(RELEASE).then(|| Write::drop(&CLAIM, claim, RELEASE)),
    }
}

/// Protects a VIP pool in use, and counts its addresses.
fn keep_pool(kind: &'static Kind, pool: Object<'_>, used: &Used) -> Option<Write> {
    let used = used.get(&(kind, pool.key()));
    let count = used.map_or(0, BTreeSet::len);
    match (pool.is_deleting(), pool.has(PROTECT_POOL)) {
        (false, false) => return Some(Write::add(kind, pool, PROTECT_POOL)),
        (true, true) if count == 0 => return Some(Write::drop(kind, pool, PROTECT_POOL)),
        _ => {}
    }
    let ranges = Ranges::of_pool(&pool.0["spec"]);
    let used = i64::try_from(count).unwrap_or(i64::MAX);
    let total = ranges.total();
    let counts = json!({"total": total, "used": used, "free": total.saturating_sub(used)});
    let told = &pool.0["status"]["ipAddresses"];
    let current = ["total", "used", "free"].iter().all(|field| told[field] == counts[field]);
    (!current).then(|| Write::tell(kind, pool, &json!({"ipAddresses": counts})))
}
