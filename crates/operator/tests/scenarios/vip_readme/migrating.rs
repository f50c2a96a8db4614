//! From capi-vip-allocator to Pontoon: no endpoint changes, and no claim is replaced.

use kube::api::{DynamicObject, ObjectMeta};
use serde_json::{Value, json};

use super::stage::{CLAIM, CLUSTER, Generation, Management, printed, variable};
use crate::arena::{Arena, On, eventually, on_both};
use crate::predecessor::{Predecessor, VIPS_HOLDER, VIPS_LEASE, VIPS_NAMESPACE};

const VIP: &str = "10.0.0.15";
const INGRESS_VIP: &str = "10.0.0.16";
const INGRESS_CLAIM: &str = "vip-ingress-my-cluster";
const POOL: &str = "control-plane-vip-pool";

/// The page's Cluster as the predecessor leaves it, with both VIPs.
pub async fn served(on: On, generation: Generation) -> Option<Management> {
    let management = Management::furnished(on, generation).await?;
    let mut cluster = printed("Cluster");
    cluster["metadata"]["annotations"] = json!({"vip.capi.gorizond.io/ingress-vip": INGRESS_VIP});
    cluster["metadata"]["labels"] = json!({"vip.capi.gorizond.io/ingress-vip": INGRESS_VIP});
    cluster["spec"]["controlPlaneEndpoint"] = json!({"host": VIP, "port": 6443});
    let variables = cluster["spec"]["topology"]["variables"].as_array_mut().unwrap();
    variables.push(json!({"name": "clusterVip", "value": VIP}));
    let cluster = management.apply(cluster).await.unwrap();
    for (role, claim, ip) in
        [("control-plane", CLAIM, VIP), ("ingress", INGRESS_CLAIM, INGRESS_VIP)]
    {
        management.legacy_claim(&cluster, role, POOL).await;
        management.bind(claim, ip).await;
    }
    Some(management)
}

/// Everything about the Cluster's VIPs.
#[derive(Debug)]
pub struct Snapshot {
    cluster: DynamicObject,
    claims: [DynamicObject; 2],
    addresses: [DynamicObject; 2],
}

impl Snapshot {
    pub async fn of(management: &Management) -> Self {
        let (claims, addresses) = (management.claims(), management.addresses());
        Self {
            cluster: management.clusters().get(CLUSTER).await.unwrap(),
            claims: [claims.get(CLAIM).await.unwrap(), claims.get(INGRESS_CLAIM).await.unwrap()],
            addresses: [
                addresses.get(CLAIM).await.unwrap(),
                addresses.get(INGRESS_CLAIM).await.unwrap(),
            ],
        }
    }

    fn versions(&self) -> Vec<Option<String>> {
        let all = self.claims.iter().chain(&self.addresses);
        all.map(|one| one.metadata.resource_version.clone()).collect()
    }
}

/// Metadata without what every write changes, without owners, and without the label of the Cluster.
fn lasting(object: &DynamicObject) -> ObjectMeta {
    let mut metadata = object.metadata.clone();
    metadata.resource_version = None;
    metadata.managed_fields = None;
    metadata.owner_references = None;
    metadata.labels.as_mut().map(|labels| labels.remove("cluster.x-k8s.io/cluster-name"));
    metadata
}

/// Asserts that the VIPs are those of before: the only changes are the label of the Cluster on each claim,
/// and the version of the owner's API if it is served no more.
pub fn assert_kept(before: &Snapshot, after: &Snapshot, generation: Generation) {
    assert_eq!(before.cluster.data["spec"], after.cluster.data["spec"]);
    assert_eq!(lasting(&before.cluster), lasting(&after.cluster));
    for (before, after) in before.claims.iter().zip(&after.claims) {
        assert_eq!(lasting(before), lasting(after), "UID and creation too");
        assert_eq!(before.data, after.data, "the pool, and the address");
        let labels = after.metadata.labels.as_ref().unwrap();
        assert_eq!(labels["cluster.x-k8s.io/cluster-name"], CLUSTER);
        let mut owners = before.metadata.owner_references.clone().unwrap();
        owners[0].api_version = format!("cluster.x-k8s.io/{}", generation.version());
        assert_eq!(after.metadata.owner_references.as_ref(), Some(&owners));
    }
    assert_eq!(before.addresses, after.addresses);
}

/// Waits for an event about a Cluster, and returns its note.
async fn event(arena: &Arena, cluster: &str, reason: &str) -> String {
    arena.node_event(cluster, reason).await
}

/// Creates the page's Cluster with another name.
pub async fn new_cluster(management: &Management, name: &str) {
    let mut cluster = printed("Cluster");
    cluster["metadata"]["name"] = json!(name);
    management.apply(cluster).await.unwrap();
}

/// Waits until both claims of the Cluster have the Cluster's label.
pub async fn claims_are_labelled(management: &Management) {
    let labelled =
        |one: &DynamicObject| one.metadata.labels.as_ref().is_some_and(|labels| labels.len() == 2);
    eventually("both claims have their label", || async {
        let now = Snapshot::of(management).await;
        if now.claims.iter().all(labelled) { Ok(()) } else { Err(now) }
    })
    .await;
}

async fn migrated(on: On, generation: Generation) {
    let Some(management) = served(on, generation).await else { return };
    let predecessor = Predecessor::capi_vip_allocator(&management).await;
    let before = Snapshot::of(&management).await;
    new_cluster(&management, "new").await;
    let replica = management.replica("first");
    replica.leads().await;
    let note = event(&management, "new", "CompetingController").await;
    let lease = format!("{VIPS_NAMESPACE}/{VIPS_LEASE}");
    assert!(note.contains(VIPS_HOLDER) && note.contains(&lease), "{note}");
    assert_eq!(before.versions(), Snapshot::of(&management).await.versions(), "none is written");
    assert!(management.claims().get_opt("vip-cp-new").await.unwrap().is_none());

    drop(predecessor);
    let held = |holder: &str, _: &_| holder.starts_with("pontoon/");
    management.lease_of(VIPS_NAMESPACE, VIPS_LEASE, "held", held).await;
    management.bind("vip-cp-new", "10.0.0.17").await;
    management.endpoint("new", "10.0.0.17").await;
    management.told(CLUSTER, "Allocated").await;
    claims_are_labelled(&management).await;
    let after = Snapshot::of(&management).await;
    assert_kept(&before, &after, generation);

    // A restart writes no claim again.
    replica.terminate().await;
    let replica = management.replica("second");
    replica.leads().await;
    new_cluster(&management, "later").await;
    management.claim("vip-cp-later").await;
    assert_eq!(after.versions(), Snapshot::of(&management).await.versions());
}

async fn no_endpoint_changes_and_no_claim_is_replaced(on: On) {
    migrated(on, Generation::V1Beta1).await;
}

/// The version in which the predecessor names owners is served no more.
async fn owners_in_a_version_that_is_served_no_more_are_rewritten_and_all_else_stays(on: On) {
    migrated(on, Generation::V1Beta2).await;
}

/// A Cluster whose claim the predecessor made and did not see bound.
async fn a_claim_that_the_predecessor_left_unbound_is_used(on: On) {
    let Some(management) = Management::furnished(on, Generation::V1Beta1).await else { return };
    let cluster = management.apply(printed("Cluster")).await.unwrap();
    management.legacy_claim(&cluster, "control-plane", POOL).await;
    let uid = management.claim(CLAIM).await.metadata.uid;
    let _replica = management.replica("only");
    management.bind(CLAIM, VIP).await;
    let cluster: Value = management.endpoint(CLUSTER, VIP).await;
    assert_eq!(variable(&cluster, "clusterVip"), VIP);
    assert_eq!(management.claim(CLAIM).await.metadata.uid, uid);
}

on_both!(
    no_endpoint_changes_and_no_claim_is_replaced,
    owners_in_a_version_that_is_served_no_more_are_rewritten_and_all_else_stays,
    a_claim_that_the_predecessor_left_unbound_is_used,
);
