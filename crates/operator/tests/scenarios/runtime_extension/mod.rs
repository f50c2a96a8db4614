//! The runtime extension of a running operator: a new Cluster is held back until its VIP is set.

mod client;
mod definitions;

use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::arena::{Arena, NAMESPACE, On, eventually, on_both};
use crate::replica::{Replica, free_port};
use client::Pair;

const CLUSTER: (&str, &str, &str) = ("cluster.x-k8s.io", "v1beta2", "Cluster");
const CLASS: (&str, &str, &str) = ("cluster.x-k8s.io", "v1beta2", "ClusterClass");
const CLAIM: (&str, &str, &str) = ("ipam.cluster.x-k8s.io", "v1beta2", "IPAddressClaim");
const ADDRESS: (&str, &str, &str) = ("ipam.cluster.x-k8s.io", "v1beta2", "IPAddress");
const POOL: (&str, &str, &str) = ("ipam.cluster.x-k8s.io", "v1alpha2", "GlobalInClusterIPPool");

type Kind = (&'static str, &'static str, &'static str);

fn objects(arena: &Arena, (group, version, kind): Kind) -> Api<DynamicObject> {
    let mut resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    resource.plural = definitions::plural(kind);
    match kind {
        "GlobalInClusterIPPool" => Api::all_with(arena.client.clone(), &resource),
        _ => Api::namespaced_with(arena.client.clone(), NAMESPACE, &resource),
    }
}

async fn create(arena: &Arena, kind: Kind, name: &str, labels: Value, spec: Value) {
    let api_version = format!("{}/{}", kind.0, kind.1);
    let object = json!({"apiVersion": api_version, "kind": kind.2, "spec": spec,
        "metadata": {"name": name, "labels": labels}});
    let object = serde_json::from_value(object).unwrap();
    objects(arena, kind).create(&PostParams::default(), &object).await.unwrap();
}

/// A management cluster with a class, a VIP pool of that class, and a Cluster.
async fn set_up(arena: &Arena) {
    arena.define(definitions::all()).await;
    let variable = json!({"name": "clusterVip", "required": false,
        "schema": {"openAPIV3Schema": {"type": "string", "default": ""}}});
    create(arena, CLASS, "rke2", json!({}), json!({"variables": [variable]})).await;
    let serves = json!({"vip.capi.gorizond.io/cluster-class": "rke2",
        "vip.capi.gorizond.io/role": "control-plane"});
    let addresses = json!({"addresses": ["192.0.2.10-192.0.2.20"], "prefix": 24});
    create(arena, POOL, "vips", serves, addresses).await;
    let topology = json!({"classRef": {"name": "rke2"}, "version": "v1.34.0"});
    create(arena, CLUSTER, "a", json!({}), json!({"topology": topology})).await;
}

/// A replica with the runtime extension, and the port of the latter.
fn start(arena: &Arena, name: &str) -> (Replica, u16) {
    let port = free_port();
    let folder = arena.folder().display();
    let (port_flag, folder) = (
        format!("--runtime-extension-port={port}"),
        format!("--runtime-extension-cert-dir={folder}"),
    );
    let flags = ["--enable-runtime-extension=true", &port_flag, &folder];
    (Replica::start(arena, name, &flags), port)
}

/// The request of Cluster API about the Cluster as stored: without its kind and status.
async fn request(arena: &Arena) -> Value {
    let mut cluster = objects(arena, CLUSTER).get("a").await.unwrap();
    cluster.types = None;
    cluster.metadata.managed_fields = None;
    cluster.data["status"] = json!({});
    json!({"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
        "kind": "BeforeClusterCreateRequest", "cluster": cluster})
}

/// Binds the claim of the Cluster, as an IPAM provider does.
async fn bind(arena: &Arena) {
    let claim = "vip-cp-a";
    let claims = objects(arena, CLAIM);
    eventually("the address is claimed", || claims.get(claim)).await;
    let spec = json!({"address": "192.0.2.10", "prefix": 24,
        "claimRef": {"name": claim}, "poolRef": {"name": "vips", "kind": POOL.2, "apiGroup": POOL.0}});
    create(arena, ADDRESS, claim, json!({}), spec).await;
    let status = json!({"status": {"addressRef": {"name": claim}}});
    let params = PatchParams::default();
    claims.patch_status(claim, &params, &Patch::Merge(status)).await.unwrap();
}

async fn a_new_cluster_is_held_back_by_every_replica_until_its_vip_is_set(on: On) {
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    set_up(&arena).await;
    let pair = Pair::new();
    pair.write(arena.folder());
    let (leader, first) = start(&arena, "leader");
    leader.leads().await;
    let (_follower, second) = start(&arena, "follower");
    for port in [first, second] {
        let expected = "no VIP yet: control plane: waiting for an address of vips";
        eventually("the Cluster is held back, and is told why", async || {
            let answer = pair.gate(port, &request(&arena).await).await?;
            let message = answer["message"].as_str().unwrap_or_default();
            let told = answer["retryAfterSeconds"] == 2 && message == expected;
            if told { Ok(()) } else { Err(answer.to_string()) }
        })
        .await;
    }
    bind(&arena).await;
    for port in [first, second] {
        let answer = eventually("the gate opens", async || {
            let answer = pair.gate(port, &request(&arena).await).await?;
            if answer["retryAfterSeconds"] == 0 { Ok(answer) } else { Err(answer.to_string()) }
        })
        .await;
        assert_eq!(answer["status"], "Success");
        assert_eq!(answer["message"], "the endpoint is 192.0.2.10");
    }
}

on_both! {
    a_new_cluster_is_held_back_by_every_replica_until_its_vip_is_set,
}
