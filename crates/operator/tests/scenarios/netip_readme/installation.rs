//! The page's quick start, its role and its PodMonitor, on a real API server, with our folder in
//! place of the predecessor's; and the commands of our migration page.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::Value;

use super::stage::{IP, QUICK_START, furnish};
use crate::arena::{Arena, On};
use crate::helm::RELEASE_NAMESPACE;
use crate::installing::ALLOCATIONS;
use crate::installing::printed::{blocks, page, run};
use crate::permissions::chart::Chart;
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
    run(&arena, "kubectl apply -f deploy/compat/ip-address-controller/crds.yaml").await;
    run(&arena, "kubectl apply -f deploy/compat/ip-address-controller").await;
    applied(&arena, ROLE).await;
    applied(&arena, &QUICK_START.manifest().to_string()).await;
    let replica = ALLOCATIONS.pod(&arena).await;
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

/// The shipped PodMonitor is the page's, except for what finds the chart's pods.
#[test]
fn the_pod_monitor_is_the_pages_and_finds_our_pods() {
    let Some(chart) = Chart::of(&[], &[]) else { return };
    let mut theirs: Value = serde_saphyr::from_str(POD_MONITOR).unwrap();
    let ours: Value = serde_saphyr::from_str(&page("monitoring/podmonitor.yaml")).unwrap();
    let deployment = chart.objects.iter().find(|one| one["kind"] == "Deployment").unwrap();
    let (spec, pod) = (&ours["spec"], &deployment["spec"]["template"]);
    assert!(selects(&spec["selector"], pod));
    let job = spec["jobLabel"].as_str().unwrap();
    assert!(pod["metadata"]["labels"].get(job).is_some(), "{job}");
    assert_eq!(spec["namespaceSelector"]["matchNames"][0], RELEASE_NAMESPACE);
    let port = &spec["podMetricsEndpoints"][0]["port"];
    assert_eq!(*port, pod["spec"]["containers"][0]["ports"][0]["name"]);
    for changed in ["selector", "namespaceSelector", "jobLabel"] {
        theirs["spec"][changed] = spec[changed].clone();
    }
    theirs["spec"]["podMetricsEndpoints"][0]["port"] = port.clone();
    // The series of other kinds have a label `namespace`, which Prometheus would rename.
    theirs["spec"]["podMetricsEndpoints"][0]["honorLabels"] = Value::Bool(true);
    assert_eq!(ours, theirs, "nothing else differs");
}

fn selects(selector: &Value, pod: &Value) -> bool {
    let labels = selector["matchLabels"].as_object().unwrap();
    labels.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value)
}

#[test]
fn the_pages_own_pod_monitor_finds_the_pods_that_replace_the_predecessors() {
    let monitor: Value = serde_saphyr::from_str(POD_MONITOR).unwrap();
    let pod = ALLOCATIONS.one("Deployment")["spec"]["template"].take();
    assert!(selects(&monitor["spec"]["selector"], &pod));
    let namespaces = &monitor["spec"]["namespaceSelector"]["matchNames"];
    assert_eq!(namespaces[0], ALLOCATIONS.namespace());
    let port = &monitor["spec"]["podMetricsEndpoints"][0]["port"];
    let ports = pod["spec"]["containers"][0]["ports"].as_array().unwrap();
    let found = ports.iter().find(|one| one["name"] == *port).unwrap();
    assert_eq!(found["containerPort"], 9999);
}

#[tokio::test]
async fn the_commands_of_our_migration_page_work_where_the_predecessor_is_installed() {
    let Some(theirs) = others_definition("netip", "net-ip-allocation-crds.yaml") else { return };
    let Some(arena) = Arena::open_without_definitions(On::RealServer).await else { return };
    applied(&arena, &theirs).await;
    run(&arena, "kubectl apply -f crates/operator/tests/netip_manifests/installation.yaml").await;
    applied(&arena, &QUICK_START.manifest().to_string()).await;
    let page = page("docs/migration-from-ip-address-controller.md");
    let commands = blocks(&page, "```sh\n");
    assert_eq!(commands.len(), 5, "replace, the Lease, read, delete the role, the way back");
    drop(Predecessor::ip_address_controller(&arena, "kube-system").await);
    for block in &commands {
        run(&arena, block).await;
    }
    let deployments: Api<Deployment> = Api::namespaced(arena.client.clone(), "kube-system");
    let found = deployments.get("ip-address-controller").await.unwrap().spec.unwrap();
    assert_eq!(found.replicas, Some(0));
    let args = found.template.spec.unwrap().containers[0].args.clone();
    assert_eq!(args.unwrap(), ALLOCATIONS.arguments());
}
