//! Each folder replaces its predecessor: nothing moves, and no call changes anything at a provider.

use super::replaced;
use crate::arena::{Arena, On};
use crate::installing::printed::{blocks, page, run};
use crate::installing::{ALLOCATIONS, FLIPOP, VIPS};
use crate::migrating::served_by_flipop;
use crate::netip_readme::migrating as allocations;
use crate::predecessor::{ALLOCATIONS_LEASE, Predecessor, VIPS_LEASE, VIPS_NAMESPACE};
use crate::replica::Replica;
use crate::vip_readme::migrating as vips;
use crate::vip_readme::stage::Generation;

fn held(holder: &str, _: &k8s_openapi::api::coordination::v1::Lease) -> bool {
    holder.starts_with("pontoon/")
}

/// The command of a migration page that deletes the predecessor's roles.
async fn roles_are_deleted(arena: &Arena, file: &str) {
    let page = page(file);
    let all = blocks(&page, "```sh\n");
    run(arena, all.iter().find(|block| block.contains("kubectl delete clusterrole")).unwrap())
        .await;
}

fn assert_nothing_was_forbidden(replica: &Replica) {
    let log = replica.log();
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");
}

#[tokio::test]
async fn pontoon_replaces_flipop_without_a_write_to_the_cloud() {
    let Some(arena) = served_by_flipop(On::RealServer).await else { return };
    let flipop = Predecessor::start(&arena).await;
    replaced(&arena, FLIPOP).await;
    roles_are_deleted(&arena, "docs/migration-from-flipop.md").await;
    let replica = FLIPOP.pod(&arena).await;
    arena.says("ingress", "CompetingController").await;
    // The Deployment ends FLIPOP's pod now that ours is ready.
    drop(flipop);
    arena.flipop_lease("held", held).await;
    arena.ready("ingress").await;
    arena.record_state("nodes", "active").await;
    for (node, droplet) in [("a", 1), ("b", 2)] {
        let ip = format!("198.51.100.{droplet}");
        assert_eq!(arena.droplet_of(&ip), Some(droplet));
        arena.marked(node, Some(&ip)).await;
    }
    assert_eq!(arena.droplet_of("198.51.100.3"), Some(3), "never ours to take off");
    assert_eq!(arena.cloud.mutations().len(), 0, "{:#?}", arena.cloud.mutations());
    // From here on Pontoon acts.
    arena.serving_node("d", 4).await;
    arena.set_ready("a", false).await;
    arena.held_by("198.51.100.1", Some(4)).await;
    arena.marked("d", Some("198.51.100.1")).await;
    assert_nothing_was_forbidden(&replica);
}

#[tokio::test]
async fn pontoon_replaces_ip_address_controller_without_a_write_to_the_cloud() {
    let Some(arena) = allocations::served(On::RealServer).await else { return };
    let predecessor = Predecessor::ip_address_controller(&arena, "kube-system").await;
    replaced(&arena, ALLOCATIONS).await;
    roles_are_deleted(&arena, "docs/migration-from-ip-address-controller.md").await;
    let replica = ALLOCATIONS.pod(&arena).await;
    arena.tells(allocations::NAME, "Ready", "CompetingController").await;
    drop(predecessor);
    arena.lease_of("kube-system", ALLOCATIONS_LEASE, "held", held).await;
    arena.tells(allocations::NAME, "Ready", "AllAssigned").await;
    for (node, wanted) in [("a", false), ("b", true), ("c", true)] {
        arena.labelled(node, wanted).await;
    }
    assert_eq!(arena.cloud.mutations().len(), 0, "{:#?}", arena.cloud.mutations());
    assert!(arena.pod_is_there_in("default", "my-app-1-x").await, "nobody is evicted");
    // From here on Pontoon acts.
    arena.cordon("b", true).await;
    arena.held_by(allocations::SECOND, Some(1)).await;
    arena.labelled("a", true).await;
    assert_nothing_was_forbidden(&replica);
}

#[tokio::test]
async fn pontoon_replaces_capi_vip_allocator_without_another_endpoint_or_claim() {
    let Some(management) = vips::served(On::RealServer, Generation::V1Beta2).await else { return };
    let predecessor = Predecessor::capi_vip_allocator(&management).await;
    replaced(&management, VIPS).await;
    roles_are_deleted(&management, "docs/migration-from-capi-vip-allocator.md").await;
    let before = vips::Snapshot::of(&management).await;
    let replica = VIPS.pod(&management).await;
    replica.metric("pontoon_standing_aside{reason=\"CompetingController\"}", "1").await;
    drop(predecessor);
    management.lease_of(VIPS_NAMESPACE, VIPS_LEASE, "held", held).await;
    management.told("my-cluster", "Allocated").await;
    vips::claims_are_labelled(&management).await;
    vips::assert_kept(&before, &vips::Snapshot::of(&management).await, Generation::V1Beta2);
    assert_eq!(management.cloud.mutations().len(), 0);
    // From here on Pontoon acts.
    vips::new_cluster(&management, "new").await;
    management.bind("vip-cp-new", "10.0.0.17").await;
    management.endpoint("new", "10.0.0.17").await;
    assert_nothing_was_forbidden(&replica);
}
