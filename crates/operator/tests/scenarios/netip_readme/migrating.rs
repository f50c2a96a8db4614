//! From ip-address-controller to Pontoon: nothing moves.

use std::net::IpAddr;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::stage::{EXAMPLE, IPS};
use crate::arena::{Arena, On, on_both};
use crate::predecessor::{ALLOCATIONS_HOLDER, ALLOCATIONS_LEASE, Predecessor};
use crate::replica::Replica;
use crate::upgrade::others_definition;

/// Where the predecessor's own manifests install it.
const THEIRS: &str = "kube-system";

/// The address of a pool, which is none of the predecessor's business.
const POOLED: &str = "198.51.100.1";

/// How the predecessor ends.
#[derive(PartialEq)]
enum End {
    /// Its Lease expires, as after a crash.
    Expired,
    /// Its Lease is released.
    Released,
}

/// The allocation of [`served`], and its second address.
pub const NAME: &str = EXAMPLE.name;
pub const SECOND: &str = IPS[1];

/// A cluster that the predecessor has served, with its definition: the page's example, both
/// addresses on labelled nodes, which are not the first by name.
pub async fn served(on: On) -> Option<Arena> {
    let theirs = others_definition("netip", "net-ip-allocation-crds.yaml")?;
    let arena = Arena::open_without_definitions(on).await?;
    arena.define(vec![serde_saphyr::from_str(&theirs).unwrap()]).await;
    arena.pod_of_kind("Deployment", "my-app-1-x", "c").await;
    for (node, machine) in [("a", 1), ("b", 2), ("c", 3)] {
        arena.node_of(EXAMPLE, node, machine).await;
    }
    for (ip, node, machine) in [(IPS[0], "c", 3), (IPS[1], "b", 2)] {
        arena.cloud.reserve_on(ip.parse::<IpAddr>().unwrap(), machine);
        arena.label(node, "ip.ready", "true").await;
    }
    arena.printed(EXAMPLE.manifest()).await;
    arena.record();
    Some(arena)
}

/// A pool with a node of its own.
async fn pool(arena: &Arena) {
    arena.serving_node("pooled", 9).await;
    arena.cloud.reserve(POOLED.parse::<IpAddr>().unwrap(), "nyc3");
    arena.pool("ingress", json!({"ips": [POOLED]})).await;
}

/// The predecessor works: allocations are observed alone, pools are served.
async fn competing(arena: &Arena, replica: &Replica) {
    let note = arena.node_event(EXAMPLE.name, "CompetingController").await;
    let lease = format!("{THEIRS}/{ALLOCATIONS_LEASE}");
    assert!(note.contains(ALLOCATIONS_HOLDER) && note.contains(&lease), "{note}");
    arena.define(pontoon::fronts::crds()).await;
    let message = arena.tells(EXAMPLE.name, "Ready", "CompetingController").await;
    assert!(message.contains(ALLOCATIONS_HOLDER) && message.contains(&lease), "{message}");
    replica.metric("pontoon_standing_aside{reason=\"CompetingController\"}", "1").await;
    let log = replica.log();
    assert!(log.contains("CompetingController") && log.contains(&lease), "{log}");

    pool(arena).await;
    arena.ready("ingress").await;
    arena.marked("pooled", Some(POOLED)).await;
    // The predecessor has to carry out our plan.
    arena.cordon("b", true).await;
    let note = arena.node_event(EXAMPLE.name, "WouldLabel").await;
    assert_eq!(note, "would remove the label ip.ready of b", "the label leaves before the address");
    arena.cordon("b", false).await;
}

/// Asserts that nothing of an allocation was changed, at Google or on nodes, and nobody evicted.
fn assert_nothing_moved(arena: &Arena) {
    let calls = arena.cloud.mutations();
    let google = calls.iter().filter(|call| call.path().starts_with("/compute/"));
    assert_eq!(google.count(), 0, "{calls:#?}");
    let writes = arena.writes();
    let theirs = |path: &&String| {
        let of = |node: &&str| path.ends_with(&format!("/nodes/{node}"));
        path.contains("/pods/") || ["a", "b", "c"].iter().any(of)
    };
    let changed: Vec<_> = writes.iter().filter(theirs).collect();
    assert!(!writes.is_empty() && changed.is_empty(), "{changed:#?}");
}

async fn ends(arena: &Arena, predecessor: Predecessor, how: &End) {
    drop(predecessor);
    if *how == End::Released {
        let leases: Api<Lease> = Api::namespaced(arena.client.clone(), THEIRS);
        let patch = Patch::Merge(json!({"spec": {"holderIdentity": null}}));
        leases.patch(ALLOCATIONS_LEASE, &PatchParams::default(), &patch).await.unwrap();
    }
}

async fn migrates(on: On, how: End) {
    let Some(arena) = served(on).await else { return };
    let predecessor = Predecessor::ip_address_controller(&arena, THEIRS).await;
    let replica = arena.replica("only");
    replica.leads().await;
    competing(&arena, &replica).await;
    assert_nothing_moved(&arena);

    ends(&arena, predecessor, &how).await;
    let lease = async |what: &str, wanted: &dyn Fn(&str, &Lease) -> bool| {
        arena.lease_of(THEIRS, ALLOCATIONS_LEASE, what, wanted).await
    };
    let held = lease("we hold its Lease", &|holder, _| holder.starts_with("pontoon/")).await;
    let version = |lease: &Lease| lease.metadata.resource_version.clone();
    lease("and renew it", &|_, lease| version(lease) != version(&held)).await;
    arena.tells(EXAMPLE.name, "Ready", "AllAssigned").await;
    replica.metric("pontoon_standing_aside{reason=\"CompetingController\"}", "0").await;
    arena.attached(EXAMPLE.name, IPS[0], "c").await;
    arena.attached(EXAMPLE.name, IPS[1], "b").await;
    for (node, wanted) in [("a", false), ("b", true), ("c", true)] {
        arena.labelled(node, wanted).await;
    }
    assert_nothing_moved(&arena);
    // From here on Pontoon acts.
    arena.considered("a").await;
    arena.cordon("b", true).await;
    arena.held_by(IPS[1], Some(1)).await;

    replica.terminate().await;
    lease("it is free again", &|holder, _| holder.is_empty()).await;
}

async fn nothing_moves_when_its_lease_expires_and_until_then_we_only_observe(on: On) {
    migrates(on, End::Expired).await;
}

async fn nothing_moves_when_its_lease_is_released(on: On) {
    migrates(on, End::Released).await;
}

/// `LEASE_NAME`, which the predecessor has and Pontoon is given too.
async fn a_lease_of_another_name_is_heeded_and_held(on: On) {
    let Some(arena) = served(on).await else { return };
    arena.define(pontoon::fronts::crds()).await;
    let predecessor = Predecessor::ip_address_controller_as(&arena, "my-lease", THEIRS).await;
    let replica = Replica::start(&arena, "only", &["LEASE_NAME=my-lease"]);
    let message = arena.tells(EXAMPLE.name, "Ready", "CompetingController").await;
    assert!(message.contains("kube-system/my-lease"), "{message}");
    drop(predecessor);
    let held = |holder: &str, _: &Lease| holder.starts_with("pontoon/");
    arena.lease_of(THEIRS, "my-lease", "we hold its Lease", held).await;
    arena.tells(EXAMPLE.name, "Ready", "AllAssigned").await;
    assert_nothing_moved(&arena);
    replica.terminate().await;
    let free = |holder: &str, _: &Lease| holder.is_empty();
    arena.lease_of(THEIRS, "my-lease", "it is free again", free).await;
}

on_both! {
    a_lease_of_another_name_is_heeded_and_held,
    nothing_moves_when_its_lease_expires_and_until_then_we_only_observe,
    nothing_moves_when_its_lease_is_released,
}
