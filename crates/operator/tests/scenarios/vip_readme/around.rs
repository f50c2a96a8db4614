//! The page's command line, health checks and leader election.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use serde_json::json;

use super::stage::{CLAIM, CLUSTER, Generation, Management, printed};
use crate::allocations::stage::create;
use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::{Replica, free_port, page};

/// The binary, started as the page's container starts its own: without a command.
struct Manager {
    process: Child,
    log: PathBuf,
}

impl Manager {
    fn start(arena: &Arena, args: &[&str]) -> Self {
        let log = arena.folder().join("manager.log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pontoon"));
        command.args(args).arg("-kubeconfig").arg(arena.kubeconfig()).env("POD_NAME", "manager");
        command.stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        Self { process: command.spawn().unwrap(), log }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // Fails if the process has already ended, which is fine.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The page's flags, in Go's style and without a command.
async fn the_pages_command_line_serves_health_and_sets_its_port(on: On) {
    let Some(management) = Management::furnished(on, Generation::V1Beta1).await else { return };
    let [metrics, probes] = [free_port(), free_port()];
    let args = [
        "-leader-elect",
        &format!("-metrics-bind-address=127.0.0.1:{metrics}"),
        &format!("-health-probe-bind-address=127.0.0.1:{probes}"),
        "-enable-reconciler=true",
        "-default-port",
        "6444",
        "-zap-log-level=debug",
        "--zap-encoder=json",
    ];
    let manager = Manager::start(&management, &args);
    for path in ["/healthz", "/readyz"] {
        eventually(path, || async {
            let answer = page(probes, path).await.unwrap_or_default();
            if answer.starts_with("HTTP/1.1 200 ") { Ok(()) } else { Err(answer) }
        })
        .await;
    }
    management.apply(printed("Cluster")).await.unwrap();
    management.bind(CLAIM, "10.0.0.15").await;
    let cluster = management.endpoint(CLUSTER, "10.0.0.15").await;
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"]["port"], 6444);
    assert!(page(metrics, "/metrics").await.unwrap().contains("capi_vip_allocator_"));
    let log = manager.log();
    assert!(log.lines().all(|line| line.starts_with('{')), "{log}");
    assert!(log.contains("\"level\":\"DEBUG\""), "{log}");
}

async fn without_the_reconciler_nothing_is_claimed(on: On) {
    let Some(management) = Management::furnished(on, Generation::V1Beta1).await else { return };
    management.apply(printed("Cluster")).await.unwrap();
    let off = Replica::start(&management, "off", &["--enable-reconciler=false"]);
    off.leads().await;
    off.terminate().await;
    assert!(management.claims().get_opt(CLAIM).await.unwrap().is_none());
    let _on = management.replica("on");
    management.claim(CLAIM).await;
}

/// With a second Cluster in another namespace, which is none of the replica's business.
async fn with_a_namespace_other_namespaces_are_left_alone(on: On) {
    let Some(management) = Management::furnished(on, Generation::V1Beta2).await else { return };
    let team = json!({"metadata": {"name": "team"}});
    create(&Api::<Namespace>::all(management.client.clone()), team).await;
    let mut theirs = printed("Cluster");
    theirs["metadata"]["namespace"] = json!("team");
    theirs["spec"]["topology"]["classNamespace"] = json!("default");
    management.apply(theirs).await.unwrap();
    let within = Replica::start(&management, "within", &["--namespace=default"]);
    management.apply(printed("Cluster")).await.unwrap();
    management.bind(CLAIM, "10.0.0.15").await;
    management.endpoint(CLUSTER, "10.0.0.15").await;
    let claims = management.everywhere("ipam.cluster.x-k8s.io", "IPAddressClaim");
    assert_eq!(claims.list(&Default::default()).await.unwrap().items.len(), 1);
    within.terminate().await;
    let _everywhere = management.replica("everywhere");
    eventually("two claims", || async {
        let found = claims.list(&Default::default()).await.unwrap().items.len();
        if found == 2 { Ok(()) } else { Err(found) }
    })
    .await;
}

async fn another_replica_takes_over(on: On) {
    let Some(management) = Management::furnished(on, Generation::V1Beta1).await else { return };
    let first = management.replica("first");
    first.leads().await;
    let second = management.replica("second");
    management.apply(printed("Cluster")).await.unwrap();
    management.claim(CLAIM).await;
    first.terminate().await;
    second.leads().await;
    management.bind(CLAIM, "10.0.0.15").await;
    management.endpoint(CLUSTER, "10.0.0.15").await;
}

on_both!(
    the_pages_command_line_serves_health_and_sets_its_port,
    without_the_reconciler_nothing_is_claimed,
    with_a_namespace_other_namespaces_are_left_alone,
    another_replica_takes_over,
);
