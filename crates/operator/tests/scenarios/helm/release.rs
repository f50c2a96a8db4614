//! The life of a release: install, upgrade, uninstall.

use std::path::PathBuf;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use super::{RELEASE_NAMESPACE, Stage};
use crate::arena::eventually;
use crate::installing::printed::{blocks, page};
use crate::replica::Replica;
use crate::upgrade::earlier_definitions;

/// The heading of the commands that install the chart.
const INSTALL: &str = "## In the cluster";

const LISTED: &str = "198.51.100.1";

/// The commands of a page's first block below a heading, with a real token.
fn commands(heading: &str) -> Vec<String> {
    let page = page("docs/install.md");
    let (_, below) = page.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
    let block = blocks(below, "```console\n").remove(0).replace("=...", "=canary-token");
    let command = |line: &str| line.strip_prefix("$ ").map(ToOwned::to_owned);
    block.lines().filter_map(command).collect()
}

async fn definitions(stage: &Stage) -> Vec<CustomResourceDefinition> {
    let crds: Api<CustomResourceDefinition> = Api::all(stage.arena.client.clone());
    crds.list(&ListParams::default()).await.unwrap().items
}

fn assert_nothing_was_forbidden(stage: &Stage, replica: &Replica) {
    let log = replica.log();
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");
    let all = stage.arena.plane().audit_log().unwrap();
    let denied: Vec<_> = all.into_iter().filter(|entry| entry.code == 403).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}

/// The page's commands, with the emulated cloud: the pod starts as soon as its Deployment is there, before
/// its token is.
#[tokio::test]
async fn the_pages_commands_give_a_working_pool() {
    let Some(stage) = Stage::open().await else { return };
    let arena = &stage.arena;
    arena.cloud.domain("example.com");
    for (name, droplet) in [("a", 1), ("b", 2)] {
        arena.node(name, droplet).await;
    }
    let mut pod = None;
    for command in commands(INSTALL) {
        if command.starts_with("helm install ") {
            let notes = stage.run(&format!("{command} {}", stage.to_the_cloud())).await;
            assert!(notes.contains("kubectl apply -f pool.yaml"), "{notes}");
            assert!(notes.contains("kubectl wait --for=condition=Ready"), "{notes}");
            pod = Some(stage.pod("pontoon-1").await);
        } else if command.starts_with("kubectl wait ") {
            ingress_pod(&stage, "a").await;
            let said = stage.run(&format!("{command} --timeout=120s")).await;
            assert!(said.contains("condition met"), "{said}");
        } else {
            stage.run(&command).await;
            stage.refresh_volumes("pontoon-1").await;
        }
    }
    let columns = "custom-columns=A:.status.assigned,IP:.status.createdIPs[0]";
    let get = format!("kubectl get fippool ingress -n ingress --no-headers -o {columns}");
    let told = stage.run(&get).await;
    let ip = told.strip_prefix("1/1").unwrap_or_else(|| panic!("{told}")).trim();
    arena.marked("a", Some(ip)).await;
    arena.listed("hello", "A", &[ip]).await;
    assert_nothing_was_forbidden(&stage, &pod.unwrap());
}

/// A ready pod of the example's ingress.
async fn ingress_pod(stage: &Stage, node: &str) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "ingress", "namespace": "ingress", "labels": {"app": "ingress"}},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    });
    let status = json!({"status": {
        "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
    }});
    stage.run(&format!("echo '{pod}' | kubectl create -f -")).await;
    let patch = "kubectl patch pod ingress -n ingress --subresource=status -p";
    stage.run(&format!("{patch} '{status}'")).await;
}

/// An earlier release of the chart: another version, and definitions that lack a part of the status.
async fn previous_chart(stage: &Stage) -> PathBuf {
    let folder = stage.arena.folder().join("previous");
    let copy = format!("cp -r charts/pontoon '{}'", folder.display());
    stage.run(&copy).await;
    let chart = page("charts/pontoon/Chart.yaml").replace(env!("CARGO_PKG_VERSION"), "0.0.9");
    std::fs::write(folder.join("Chart.yaml"), chart).unwrap();
    for crd in earlier_definitions() {
        let name = crd.spec.names.plural.clone();
        let file = folder.join("files/crds").join(format!("{name}.yaml"));
        assert!(file.exists(), "{name}");
        std::fs::write(file, serde_saphyr::to_string(&crd).unwrap()).unwrap();
    }
    let target = stage.arena.folder().display();
    stage.run(&format!("helm package '{}' -d '{target}'", folder.display())).await;
    stage.arena.folder().join("pontoon-0.0.9.tgz")
}

/// Installs a chart, with values that differ from the defaults.
async fn install(stage: &Stage, chart: &str) {
    let values = "replicas=1,providers.digitalocean.existingSecret=tokens,\
                  providers.digitalocean.tokenKey=OLD_KEY,priorityClassName=,\
                  policy.rules[0].namespaces[0]=flipop,policy.rules[0].zones[0]=example.com";
    let cloud = stage.to_the_cloud();
    let install = format!("helm install pontoon '{chart}' -n {RELEASE_NAMESPACE}");
    stage.run(&format!("{install} --set '{values}' {cloud}")).await;
}

/// A pool with an address on a node and in DNS, served by the previous chart.
async fn served_by_the_previous_chart(stage: &Stage) -> Replica {
    let arena = &stage.arena;
    arena.cloud.domain("example.com");
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.reserve(LISTED.parse::<std::net::IpAddr>().unwrap(), "nyc3");
    let secret = "create secret generic tokens --from-literal=OLD_KEY=canary-token";
    stage.run(&format!("kubectl create namespace {RELEASE_NAMESPACE}")).await;
    stage.run(&format!("kubectl -n {RELEASE_NAMESPACE} {secret}")).await;
    let chart = previous_chart(stage).await;
    install(stage, chart.to_str().unwrap()).await;
    let pod = stage.pod("pontoon-old").await;
    let record = json!({"zone": "example.com", "recordName": "hello"});
    arena.pool("ingress", json!({"ips": [LISTED], "dnsRecordSet": record})).await;
    arena.ready("ingress").await;
    arena.listed("hello", "A", &[LISTED]).await;
    pod
}

async fn the_pool_is_as_before(stage: &Stage, writes: usize) {
    let arena = &stage.arena;
    assert_eq!(arena.cloud.mutations().len(), writes, "{:#?}", arena.cloud.mutations());
    assert_eq!(arena.cloud.holder(LISTED.parse::<std::net::IpAddr>().unwrap()), Some(1));
    assert_eq!(arena.cloud.values("example.com", "hello", "A"), [LISTED]);
    assert!(arena.stored("ingress").await.metadata.deletion_timestamp.is_none());
}

/// Objects that the release has brought, besides its definitions.
async fn of_the_release(stage: &Stage) -> String {
    let kinds = "deployment,service,pdb,role,rolebinding,clusterrole,clusterrolebinding,sa";
    stage
        .run(&format!("kubectl get {kinds} -A -l app.kubernetes.io/instance=pontoon -o name"))
        .await
}

#[tokio::test]
async fn an_upgrade_and_an_uninstall_leave_addresses_records_definitions_and_objects_in_place() {
    let Some(stage) = Stage::open().await else { return };
    let arena = &stage.arena;
    let old = served_by_the_previous_chart(&stage).await;
    let writes = arena.cloud.mutations().len();
    assert_eq!(arena.status("ingress").await.observed_generation, None, "the field is not there");

    let upgrade = &commands("## Upgrade")[0];
    stage.run(upgrade).await;
    let new = stage.pod("pontoon-new").await;
    old.terminate().await;
    new.leads().await;
    eventually("the upgraded definition stores the whole status", || async {
        let status = arena.status("ingress").await;
        status.observed_generation.ok_or(status)
    })
    .await;
    arena.ready("ingress").await;
    the_pool_is_as_before(&stage, writes).await;
    assert_nothing_was_forbidden(&stage, &new);

    // Definitions that leave the release are kept too.
    stage.run(&format!("{upgrade} --set crds.enabled=false")).await;
    assert_eq!(definitions(&stage).await.len(), 3);
    stage.run(&format!("{upgrade} --set crds.enabled=true")).await;

    assert!(!of_the_release(&stage).await.is_empty());
    let uninstall = commands("## Remove");
    assert_eq!(uninstall.len(), 1);
    let said = stage.run(&uninstall[0]).await;
    assert!(said.contains("[CustomResourceDefinition] floatingippools"), "what is kept: {said}");
    new.terminate().await;
    assert_eq!(of_the_release(&stage).await, "");
    assert_eq!(definitions(&stage).await.len(), 3);
    the_pool_is_as_before(&stage, writes).await;

    // Back again, in the same place.
    install(&stage, "charts/pontoon").await;
    let again = stage.pod("pontoon-again").await;
    again.leads().await;
    let change = r#"{"spec": {"gracePeriodSeconds": 1}}"#;
    stage.run(&format!("kubectl patch fippool ingress -n flipop --type=merge -p '{change}'")).await;
    let generation = arena.stored("ingress").await.metadata.generation;
    eventually("the pool is served again", || async {
        let status = arena.status("ingress").await;
        if status.observed_generation == generation { Ok(()) } else { Err(status) }
    })
    .await;
    arena.ready("ingress").await;
    the_pool_is_as_before(&stage, writes).await;
}

#[test]
fn the_readmes_commands_are_the_first_of_that_page() {
    let readme = page("README.md");
    let (_, use_it) = readme.split_once("## Use it").unwrap();
    let theirs = blocks(use_it, "```console\n").remove(0);
    let ours = blocks(page("docs/install.md").split_once(INSTALL).unwrap().1, "```console\n");
    assert!(ours[0].starts_with(&theirs), "{theirs}");
    assert!(theirs.contains("helm install "));
    assert!(use_it.contains(&format!("`{}`", commands("## Remove")[0])));
}
