//! Migration from FLIPOP to Pontoon, and back.

use std::net::IpAddr;
use std::path::Path;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use pontoon::api::ADDRESSES_ANNOTATION;
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::predecessor::Predecessor;
use crate::upgrade::predecessors_definition;

/// A cluster that FLIPOP has served, with FLIPOP's definitions: an address listed by the user, an
/// address that FLIPOP reserved and added to the list, and an address that was removed from the
/// list and stayed on its node; with records, annotations and statuses.
pub async fn served_by_flipop(on: On) -> Option<Arena> {
    let pools = predecessors_definition("flipop.floatingippool.crd.yaml")?;
    let sets = predecessors_definition("flipop.nodednsrecordset.crd.yaml")?;
    let arena = Arena::open_without_definitions(on).await?;
    let old = [pools, sets].map(|text| serde_saphyr::from_str(&text).unwrap());
    arena.define(old.into()).await;
    let record = |name: &str| json!({"provider": "digitalocean", "zone": "example.com", "recordName": name, "ttl": 60});
    for (node, droplet) in [("a", 1), ("b", 2), ("c", 3)] {
        let ip = format!("198.51.100.{droplet}");
        arena.serving_node(node, droplet).await;
        arena.cloud.reserve_on(ip.parse::<IpAddr>().unwrap(), droplet);
        let public = format!("203.0.113.{droplet}");
        arena.report(node, &[("ExternalIP", &public)]).await;
        arena.cloud.record("example.com", "A", "nodes", &public, 60);
        if droplet < 3 {
            arena.flipop_annotation(node, &ip).await;
            arena.cloud.record("example.com", "A", "www", &ip, 60);
        }
    }
    let ips = ["198.51.100.1", "198.51.100.2"];
    let spec =
        json!({"ips": ips, "desiredIPs": 2, "region": "nyc3", "dnsRecordSet": record("www")});
    arena.pool("ingress", spec).await;
    let one = |droplet: u64, node: &str| {
        json!({"state": "active", "nodeName": node,
               "providerID": format!("digitalocean://{droplet}")})
    };
    let status = json!({"ips": {"198.51.100.1": one(1, "a"), "198.51.100.2": one(2, "b"),
                                "198.51.100.3": one(3, "c")}});
    arena.flipop_status("ingress", status).await;
    arena.record_set("nodes", json!({"dnsRecordSet": record("nodes")})).await;
    Some(arena)
}

async fn nothing_moves_and_while_the_predecessor_works_we_only_observe(on: On) {
    let Some(arena) = served_by_flipop(on).await else { return };
    arena.record();
    let flipop = Predecessor::start(&arena).await;
    let replica = arena.replica("only");
    replica.leads().await;
    arena.event("ingress", "CompetingController").await;
    assert_eq!(arena.status("ingress").await.error, "", "that field is the predecessor's");
    arena.define(pontoon::fronts::crds()).await;

    let lease = "flipop/floating-ip-pool-controller-leader-election";
    let (_, message) = arena.says("ingress", "CompetingController").await;
    assert!(message.contains("flipop-0") && message.contains(lease), "{message}");
    let status = arena.status("ingress").await;
    assert_eq!((status.assigned.as_str(), status.ips.len()), ("", 3), "{status:#?}");
    // The predecessor has to carry out our plan.
    arena.set_ready("a", false).await;
    arena.serving_node("d", 4).await;
    assert_eq!(
        arena.event("ingress", "WouldAssign").await,
        "would assign 198.51.100.1 to d",
        "c holds an address that is not listed"
    );
    arena.set_ready("a", true).await;
    arena.assert_only_said("pontoon");

    drop(flipop);
    let held = arena.flipop_lease("we hold its Lease", |holder, _| holder.starts_with("pontoon/"));
    let held = held.await;
    arena.flipop_lease("and renew it", |_, lease| renewed(lease) > renewed(&held)).await;
    arena.says("ingress", "AllAssigned").await;
    arena.says_of("DNSReady", "ingress", "RecordCurrent").await;
    arena.record_state("nodes", "active").await;
    for (node, droplet) in [("a", 1), ("b", 2)] {
        let ip = format!("198.51.100.{droplet}");
        assert_eq!(arena.droplet_of(&ip), Some(droplet));
        arena.marked(node, Some(&ip)).await;
    }
    assert_eq!(arena.droplet_of("198.51.100.3"), Some(3), "never ours to take off");
    assert_eq!(arena.cloud.mutations().len(), 0, "{:#?}", arena.cloud.mutations());
    assert_eq!(arena.stored("ingress").await.metadata.annotations, None, "nothing to remember");

    replica.terminate().await;
    arena.flipop_lease("it is free again", |holder, _| holder.is_empty()).await;
}

fn renewed(lease: &Lease) -> Option<String> {
    lease.metadata.resource_version.clone().filter(|_| lease.spec.is_some())
}

/// The script for the way back in the migration guide.
fn way_back() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/migration-from-flipop.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("## The way back").unwrap();
    let mut blocks =
        after.split("```sh\n").map(|block| block.split_once("```").unwrap_or_default().0);
    blocks.find(|block| block.contains("kubectl get floatingippools")).unwrap().to_owned()
}

async fn on_the_way_back_the_spec_lists_every_address(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    // A GitOps tool removes the addresses that FLIPOP reserved and added to the list.
    for (ip, node, droplet) in [("198.51.100.4", "d", 4), ("198.51.100.5", "e", 5)] {
        arena.node(node, droplet).await;
        arena.label(node, "role", "reverted").await;
        arena.cloud.reserve_on(ip.parse::<IpAddr>().unwrap(), droplet);
    }
    let spec = json!({"ips": ["198.51.100.4", "198.51.100.5"], "desiredIPs": 2, "region": "nyc3",
                      "match": {"nodeLabel": "role=reverted"}});
    arena.pool("reverted", spec).await;
    for (node, droplet) in [("a", 1), ("b", 2), ("c", 3)] {
        arena.serving_node(node, droplet).await;
    }
    let spec = json!({"ips": ["198.51.100.1"], "desiredIPs": 3, "region": "nyc3"});
    arena.pool("ingress", spec).await;
    let replica = arena.replica("only");
    arena.ready("ingress").await;
    arena.ready("reverted").await;
    arena.edit("reverted", json!({"ips": ["198.51.100.4"]})).await;
    eventually("the other one is kept", || async {
        let status = arena.status("reverted").await;
        if status.kept_ips == ["198.51.100.5"] { Ok(()) } else { Err(status) }
    })
    .await;
    replica.terminate().await;
    let created = arena.status("ingress").await.created_ips;
    assert_eq!(created.len(), 2);

    let all: Vec<_> = ["198.51.100.1".to_owned()].into_iter().chain(created).collect();
    for times in 1..=2 {
        let Some(done) = arena.shell(&way_back()).await else { return };
        assert!(done.status.success(), "{done:?}");
        assert_eq!(arena.stored("ingress").await.spec.ips, all, "after {times}");
        let both = ["198.51.100.4", "198.51.100.5"];
        assert_eq!(arena.stored("reverted").await.spec.ips, both, "after {times}");
    }

    // The ledger and its copy in the status are no longer needed.
    let pools = arena.namespaced::<FloatingIPPool>();
    let forget = json!({"metadata": {"annotations": {ADDRESSES_ANNOTATION: null}}});
    pools.patch("ingress", &PatchParams::default(), &Patch::Merge(forget)).await.unwrap();
    let forget = json!({"status": {"createdIPs": null}});
    pools.patch_status("ingress", &PatchParams::default(), &Patch::Merge(forget)).await.unwrap();
    let before = arena.cloud.mark();
    let again = arena.replica("again");
    again.leads().await;
    eventually("it has looked", || async {
        let pool = arena.stored("ingress").await;
        let status = pool.status.unwrap_or_default();
        let looked = status.observed_generation == pool.metadata.generation;
        if looked { Ok(()) } else { Err(status) }
    })
    .await;
    arena.says("ingress", "AllAssigned").await;
    again.terminate().await;
    assert_eq!(arena.status("ingress").await.ips.len(), 3);
    assert_eq!(arena.cloud.mutations_since(before).len(), 0);
}

on_both! {
    nothing_moves_and_while_the_predecessor_works_we_only_observe,
    on_the_way_back_the_spec_lists_every_address,
}
