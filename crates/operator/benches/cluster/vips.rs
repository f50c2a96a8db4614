//! VIPs of Clusters, with the real IPAM provider: the time from its binding of a claim until the Cluster
//! shows the address, in the audit log of the API server.

use std::time::Duration;

use control_plane::{AuditEntry, Generation};
use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::management::USER;
use super::print;
use super::stage::{CLUSTER, Stage, vip};

/// Time that the server may take to log a request.
const LOGGED: Duration = Duration::from_millis(250);

/// Number of Clusters, in turn and at once.
const IN_TURN: usize = 50;
const AT_ONCE: usize = 100;

pub async fn vips() {
    for generation in [Generation::V1Beta2, Generation::V1Beta1] {
        let flags = ["--leader-elect=false", "RUST_LOG=info"];
        let Some(stage) = Stage::alone(generation, &flags).await else { return };
        stage.pool("cp", "control-plane", &["10.1.0.1-10.1.0.250"]).await;
        for number in 0..IN_TURN {
            create(&stage, &name("turn", number)).await;
            served(&stage, &name("turn", number)).await;
        }
        let all = (0..AT_ONCE).map(|number| name("once", number));
        let all: Vec<_> = all.collect();
        join_all(all.iter().map(|name| create(&stage, name))).await;
        for name in &all {
            served(&stage, name).await;
        }
        tokio::time::sleep(LOGGED).await;
        let log = stage.management.plane.audit_log().unwrap();
        tell(&stage, &log);
    }
}

fn name(kind: &str, number: usize) -> String {
    format!("{kind}-{number:03}")
}

/// Without ingress: the provider makes 20 requests a second.
async fn create(stage: &Stage, name: &str) {
    let metadata = json!({"annotations": {vip("ingress-enabled"): "false"}});
    stage.cluster_with(name, metadata, json!({})).await;
}

async fn served(stage: &Stage, name: &str) {
    let host = |one: &Value| one["spec"]["controlPlaneEndpoint"]["host"].is_string();
    stage.until(CLUSTER, name, "endpoint", host).await;
}

fn tell(stage: &Stage, log: &[AuditEntry]) {
    let version = stage.management.generation.version();
    for (kind, number) in [("turn", IN_TURN), ("once", AT_ONCE)] {
        let names: Vec<_> = (0..number).map(|number| name(kind, number)).collect();
        let bound: Vec<_> = names.iter().filter_map(|name| bound_at(stage, log, name)).collect();
        let written: Vec<_> =
            names.iter().filter_map(|name| written_at(stage, log, name)).collect();
        let took = bound.iter().zip(&written).map(|(from, to)| between(*from, *to)).collect();
        let how = if kind == "turn" { "in turn" } else { "at once" };
        print(&format!("claim bound -> endpoint, {number} {how}, {version}"), took);
        if kind == "once" {
            let last = between(*bound.iter().max().unwrap(), *written.iter().max().unwrap());
            println!("{:<44} {last:?}", format!("last address -> last endpoint, {version}"));
        }
    }
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    to.duration_since(from).try_into().unwrap_or_default()
}

/// When the provider had bound the claim of a Cluster.
fn bound_at(stage: &Stage, log: &[AuditEntry], cluster: &str) -> Option<Timestamp> {
    let claim = format!("vip-cp-{cluster}");
    let of_claim = |one: &&AuditEntry| {
        one.namespace == stage.name && one.resource == "ipaddressclaims" && one.name == claim
    };
    let mut all = log.iter().filter(of_claim);
    all.find(|one| one.subresource == "status" && one.code < 300).map(|one| one.completed)
}

/// When the endpoint of a Cluster was written.
fn written_at(stage: &Stage, log: &[AuditEntry], cluster: &str) -> Option<Timestamp> {
    let ours = |one: &&AuditEntry| {
        one.user == USER && one.namespace == stage.name && one.name == cluster && one.code < 300
    };
    let mut all = log.iter().filter(ours);
    all.find(|one| one.request_uri.contains("pontoon-endpoint")).map(|one| one.completed)
}
