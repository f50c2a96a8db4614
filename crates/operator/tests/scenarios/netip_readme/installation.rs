//! The page's quick start, its role and its PodMonitor, on a real API server, with our folder in
//! place of the predecessor's; and the commands of our migration page.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::Value;

use super::stage::{IP, QUICK_START, furnish};
use crate::arena::{Arena, On};
use crate::flipop_readme::installation::{pod_of_the_deployment, role_is_in_force};
use crate::installing::printed::{blocks, page, run};
use crate::installing::{container, shipped};
use crate::predecessor::Predecessor;
use crate::upgrade::others_definition;

const ROLE: &str = include_str!("../../netip_manifests/role.yaml");
const POD_MONITOR: &str = include_str!("../../netip_manifests/pod_monitor.yaml");

/// What a command prints.
async fn printed(arena: &Arena, command: &str) -> String {
    let done = arena.shell(command).await.unwrap();
    assert!(done.status.success(), "{command}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// `kubectl apply -f -` with a document, as the page has it.
async fn applied(arena: &Arena, document: &str) {
    printed(arena, &format!("kubectl apply -f - <<'END'\n{document}\nEND")).await;
}

/// The page's steps: install the definitions, deploy, create, verify.
#[tokio::test]
async fn the_quick_start_attaches_the_address_and_labels_the_node() {
    let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
    furnish(&arena, QUICK_START, &["a", "b"]).await;
    run(&arena, "kubectl apply -f deploy/crds.yaml").await;
    run(&arena, "kubectl apply -f deploy").await;
    applied(&arena, ROLE).await;
    applied(&arena, &QUICK_START.manifest().to_string()).await;
    role_is_in_force(&arena).await;
    let replica = pod_of_the_deployment(&arena).await;
    arena.tells(QUICK_START.name, "Ready", "AllAssigned").await;
    arena.labelled("a", true).await;
    arena.attached(QUICK_START.name, IP, "a").await;

    let table = printed(&arena, "kubectl get netipallocations").await;
    let row: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().take(3).collect();
    assert_eq!(row, ["my-app-ips", "True", "1/1"], "{table}");
    assert_eq!(printed(&arena, "kubectl get nia -o name").await.lines().count(), 1);
    let nodes = printed(&arena, "kubectl get nodes -l ip.ready=true -o name").await;
    assert_eq!(nodes, "node/a\n");
    let log = replica.log();
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");
}

/// The shipped PodMonitor is the page's, except for what finds our pods.
#[test]
fn the_pod_monitor_is_the_pages_and_finds_our_pods() {
    let mut theirs: Value = serde_saphyr::from_str(POD_MONITOR).unwrap();
    let ours: Value = serde_saphyr::from_str(&page("monitoring/podmonitor.yaml")).unwrap();
    let (spec, deployment) = (&ours["spec"], shipped("Deployment"));
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(&spec["selector"]["matchLabels"], labels);
    assert!(labels.get(spec["jobLabel"].as_str().unwrap()).is_some(), "{labels}");
    assert_eq!(spec["namespaceSelector"]["matchNames"][0], deployment["metadata"]["namespace"]);
    let port = &spec["podMetricsEndpoints"][0]["port"];
    assert_eq!(*port, container()["ports"][0]["name"]);
    for changed in ["selector", "namespaceSelector", "jobLabel"] {
        theirs["spec"][changed] = spec[changed].clone();
    }
    theirs["spec"]["podMetricsEndpoints"][0]["port"] = port.clone();
    assert_eq!(ours, theirs, "nothing else differs");
}

/// The predecessor's Deployment, as far as the page tells about it.
const THEIRS: &str = "kubectl -n kube-system create deployment ip-address-controller --image=i";

#[tokio::test]
async fn the_commands_of_our_migration_page_work_where_the_predecessor_is_installed() {
    let Some(theirs) = others_definition("netip", "net-ip-allocation-crds.yaml") else { return };
    let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
    applied(&arena, &theirs).await;
    run(&arena, THEIRS).await;
    applied(&arena, &QUICK_START.manifest().to_string()).await;
    let page = page("docs/migration-from-ip-address-controller.md");
    let commands = blocks(&page, "```sh\n");
    assert_eq!(commands.len(), 5, "install, read, stop the predecessor, the Lease, the way back");
    let theirs: Api<Deployment> = Api::namespaced(arena.client.clone(), "kube-system");
    let replicas = async |deployments: &Api<Deployment>, name: &str| {
        deployments.get(name).await.unwrap().spec.unwrap().replicas
    };
    for block in &commands[..3] {
        run(&arena, block).await;
    }
    assert_eq!(replicas(&theirs, "ip-address-controller").await, Some(0));
    drop(Predecessor::ip_address_controller(&arena, "kube-system").await);
    run(&arena, &commands[3]).await;
    run(&arena, &commands[4]).await;
    assert_eq!(replicas(&theirs, "ip-address-controller").await, Some(1));
    assert_eq!(replicas(&arena.namespaced(), "pontoon").await, Some(0));
}
