//! Memory of a management cluster: 1,000 Clusters with the VIPs of both roles, 2,000 claims.
//!
//! The operator is a process of its own; the API server is in this one. Every VIP is in place before
//! the operator starts.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use pontoon::api::objects;
use pontoon::management::{ADDRESS, CLAIM, CLASS, CLUSTER, GLOBAL_POOL, IPAM, definitions, names};
use pontoon_core::model::Kind;
use serde_json::{Value, json};

use super::arena::{Arena, NAMESPACE, On, eventually};
use super::replica::Replica;
use super::{QUIET, address, create, memory};

const CLUSTERS: u64 = 1_000;

pub async fn many_clusters() {
    let Some(arena) = Arena::open_without_definitions(On::FakeKube).await else { return };
    arena.define(definitions().unwrap()).await;
    let variables = json!([{"name": names::VARIABLE, "schema": {"openAPIV3Schema": {}}}]);
    put(&arena, &CLASS, "c", json!({"spec": {"variables": variables}})).await;
    for number in 0..CLUSTERS {
        settled(&arena, number).await;
    }
    let replica = Replica::start(&arena, "bench", QUIET);
    for number in 0..CLUSTERS {
        has_condition(&arena, &name(number)).await;
    }
    let what = "1,000 Clusters, 2,000 claims";
    println!(
        "{what:<44} {} resident, {} at most",
        memory(&replica, "VmRSS:"),
        memory(&replica, "VmHWM:")
    );
}

fn name(number: u64) -> String {
    format!("cluster-{number:04}")
}

/// A Cluster that has its VIPs, about as large as a real one.
async fn settled(arena: &Arena, number: u64) {
    let (name, [host, ingress]) = (name(number), [address(2 * number), address(2 * number + 1)]);
    let settings = json!({"name": "settings", "value": "v".repeat(3_000)});
    let variables = json!([{"name": names::VARIABLE, "value": host}, settings]);
    let object = json!({
        "metadata": {
            "annotations": {names::INGRESS_VIP: ingress, "padding": "x".repeat(1_000)},
            "labels": {names::INGRESS_VIP: ingress}, "finalizers": [names::GUARD],
        },
        "spec": {
            "controlPlaneEndpoint": {"host": host, "port": 6443},
            "topology": {"classRef": {"name": "c"}, "version": "v1.34.0", "variables": variables},
        },
    });
    let cluster = put(arena, &CLUSTER, &name, object).await;
    for (prefix, role, ip) in
        [("vip-cp", "control-plane", host), ("vip-ingress", "ingress", ingress)]
    {
        let claim_name = format!("{prefix}-{name}");
        let pool = json!({"apiGroup": IPAM, "kind": GLOBAL_POOL.name, "name": "vips"});
        let metadata = json!({
            "labels": {names::ROLES: role, names::CLUSTER_NAME: name},
            "ownerReferences": [owner(&CLUSTER, &cluster)],
        });
        let spec = json!({"clusterName": name, "poolRef": pool});
        let claim =
            put(arena, &CLAIM, &claim_name, json!({"metadata": metadata, "spec": spec})).await;
        let spec = json!({
            "address": ip, "prefix": 16, "claimRef": {"name": claim_name}, "poolRef": pool,
        });
        let metadata = json!({"ownerReferences": [owner(&CLAIM, &claim)]});
        put(arena, &ADDRESS, &claim_name, json!({"metadata": metadata, "spec": spec})).await;
        let bound = Patch::Merge(json!({"status": {"addressRef": {"name": claim_name}}}));
        let params = PatchParams::default();
        all(arena, &CLAIM).patch_status(&claim_name, &params, &bound).await.unwrap();
    }
}

fn owner(kind: &Kind, object: &DynamicObject) -> Value {
    let metadata = &object.metadata;
    json!({
        "apiVersion": format!("{}/{}", kind.group, kind.version), "kind": kind.name,
        "name": metadata.name, "uid": metadata.uid, "controller": true,
    })
}

fn all(arena: &Arena, kind: &Kind) -> Api<DynamicObject> {
    objects(arena.client.clone(), kind, NAMESPACE)
}

async fn put(arena: &Arena, kind: &Kind, name: &str, mut object: Value) -> DynamicObject {
    object["apiVersion"] = json!(format!("{}/{}", kind.group, kind.version));
    object["kind"] = json!(kind.name);
    object["metadata"]["name"] = json!(name);
    create(&all(arena, kind), object).await
}

async fn has_condition(arena: &Arena, cluster: &str) {
    eventually(&format!("{cluster} has its VIPs"), || async {
        let object = all(arena, &CLUSTER).get(cluster).await.unwrap();
        let conditions = object.data["status"]["conditions"].clone();
        let ready = |one: &Value| one["type"] == names::CONDITION && one["status"] == "True";
        match conditions.as_array().into_iter().flatten().any(ready) {
            true => Ok(()),
            false => Err(conditions),
        }
    })
    .await;
}
