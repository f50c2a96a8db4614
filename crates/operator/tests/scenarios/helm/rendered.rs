//! The objects that the chart renders.

use std::process::Command;

use pontoon::args::{Cli, Command as Asked, RunArgs};
use pontoon::fronts::Controllers;
use serde_json::{Value, json};

use super::{RELEASE_NAMESPACE, Stage, helm, rendered};
use crate::installing::printed::page;
use crate::installing::{objects_of, root};

/// All options that add objects.
const EVERYTHING: &[&str] = &[
    "clusters.holdVips=true",
    "clusters.runtimeExtension.enabled=true",
    "grafanaDashboard.enabled=true",
    "networkPolicy.enabled=true",
    "podMonitor.enabled=true",
    "policy.rules[0].namespaces[0]=team",
    "prometheusRule.enabled=true",
    "providers.cloudflare.existingSecret=cloudflare",
    "providers.digitalocean.existingSecret=digitalocean",
    "providers.gcp.existingSecret=gcp",
];

fn with(values: &[&str]) -> Option<Vec<Value>> {
    rendered(&values.iter().flat_map(|value| ["--set", value]).collect::<Vec<_>>())
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|one| one["kind"] == kind).collect()
}

fn container(objects: &[Value]) -> Value {
    of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0].clone()
}

fn read(container: &Value) -> RunArgs {
    let args: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
    match Cli::read(["pontoon".to_owned()].into_iter().chain(args)).unwrap().command {
        Asked::Run(args) => *args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_that_is_generated_from_the_chart_or_for_it_is_up_to_date() {
    if helm().is_none() {
        return;
    }
    let check = Command::new(root().join("charts/generate")).arg("--check").output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn helm_finds_no_fault_in_the_chart() {
    let Some(helm) = helm() else { return };
    let lint = ["lint", "--strict", "charts/pontoon"];
    let done = Command::new(helm).args(lint).current_dir(root()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn the_chart_has_the_version_of_the_operator() {
    let chart: Value = serde_saphyr::from_str(&page("charts/pontoon/Chart.yaml")).unwrap();
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    let Some(objects) = with(&[]) else { return };
    assert_eq!(container(&objects)["image"], concat!("pontoon:", env!("CARGO_PKG_VERSION")));
    let digest = format!("sha256:{}", "a".repeat(64));
    let objects = with(&["image.repository=r.test/p", &format!("image.digest={digest}")]).unwrap();
    assert_eq!(container(&objects)["image"], format!("r.test/p@{digest}"));
}

#[test]
fn the_binary_understands_the_values() {
    let Some(objects) = with(&[]) else { return };
    let plain = read(&container(&objects));
    assert!(
        plain.leader_elect && plain.controllers() == Controllers::default() && !plain.vips().holds
    );
    let port = container(&objects)["ports"][0]["containerPort"].clone();
    assert_eq!(plain.metrics_bind_addr, format!(":{port}"));

    let objects = with(&[
        "mode=observe",
        "clusters.holdVips=true",
        "clusters.namespace=team",
        "clusters.defaultPort=7443",
        "clusters.runtimeExtension.enabled=true",
        "clusters.runtimeExtension.name=other",
        "policy.rules[0].namespaces[0]=team",
        "predecessors.namespaces={one,two}",
        "predecessors.ipAddressControllerLease=renamed",
        "extraArgs={--retry-max=1m}",
    ])
    .unwrap();
    let args = read(&container(&objects));
    assert_eq!(format!("{:?}", args.mode), "Observe");
    let vips = args.vips();
    assert_eq!((vips.holds, vips.port, vips.namespace.as_deref()), (true, 7443, Some("team")));
    assert!(args.extension.enable_runtime_extension);
    assert_eq!(args.extension.runtime_extension_name, "other");
    let extension = container(&objects)["ports"][1]["containerPort"].clone();
    assert_eq!(extension, args.extension.runtime_extension_port);
    assert_eq!(args.predecessor_namespaces, ["one", "two"]);
    assert_eq!(args.ip_address_controller_lease_name.as_deref(), Some("renamed"));
    assert_eq!(args.retry_max.as_secs(), 60);
    assert_eq!(args.policy.unwrap().to_str(), Some("/etc/pontoon/policy/policy.yaml"));
    let rules = of_kind(&objects, "ClusterRole").into_iter().flat_map(|role| {
        role["rules"].as_array().unwrap().iter().map(|rule| rule["resourceNames"].clone())
    });
    assert_eq!(rules.filter(|names| *names == json!(["renamed"])).count(), 1);
}

#[test]
fn whatever_selects_pods_selects_those_of_the_deployment_and_of_this_release_alone() {
    let Some(objects) = with(EVERYTHING) else { return };
    let deployment = of_kind(&objects, "Deployment")[0];
    let pod = &deployment["spec"]["template"];
    let selector = &deployment["spec"]["selector"]["matchLabels"];
    assert_eq!(selector["app.kubernetes.io/instance"], "pontoon");
    for (key, value) in selector.as_object().unwrap() {
        assert_eq!(&pod["metadata"]["labels"][key], value);
    }
    let spread = &pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"];
    assert_eq!(spread, selector);
    let of = |kind: &str| of_kind(&objects, kind)[0]["spec"].clone();
    assert_eq!(&of("PodDisruptionBudget")["selector"]["matchLabels"], selector);
    assert_eq!(&of("NetworkPolicy")["podSelector"]["matchLabels"], selector);
    assert_eq!(&of("PodMonitor")["selector"]["matchLabels"], selector);
    let services = of_kind(&objects, "Service");
    assert_eq!(services.len(), 2, "metrics, and the runtime extension");
    assert!(services.iter().all(|service| &service["spec"]["selector"] == selector));
}

#[test]
fn a_service_monitor_finds_the_service_of_the_metrics_alone() {
    let mut values = vec!["serviceMonitor.enabled=true", "clusters.runtimeExtension.enabled=true"];
    values.push("serviceMonitor.labels.release=stack");
    let Some(objects) = with(&values) else { return };
    let monitor = of_kind(&objects, "ServiceMonitor")[0];
    assert_eq!(monitor["metadata"]["labels"]["release"], "stack");
    let wanted = monitor["spec"]["selector"]["matchLabels"].as_object().unwrap().clone();
    let found = |service: &&&Value| {
        wanted.iter().all(|(key, value)| &service["metadata"]["labels"][key] == value)
    };
    let services = of_kind(&objects, "Service");
    let found: Vec<_> = services.iter().filter(found).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["spec"]["ports"][0]["name"], monitor["spec"]["endpoints"][0]["port"]);
}

/// The alerts of the folder `monitoring`, by file.
fn alerts() -> Vec<Value> {
    let folders = ["monitoring", "monitoring/capi"].map(|folder| root().join(folder));
    let files = folders.iter().flat_map(|folder| folder.read_dir().unwrap());
    let files = files.map(|file| file.unwrap().path());
    let yaml = files.filter(|file| file.extension().is_some_and(|end| end == "yaml"));
    yaml.flat_map(objects_of).filter(|object| object["kind"] == "PrometheusRule").collect()
}

/// The rules of kinds that are not served would miss their series and fire.
#[test]
fn alerts_are_those_of_the_folder_monitoring_for_the_kinds_that_are_served() {
    let Some(objects) = with(&["prometheusRule.enabled=true"]) else { return };
    let rules = of_kind(&objects, "PrometheusRule");
    assert_eq!(rules.len(), alerts().len());
    for theirs in alerts() {
        assert!(rules.iter().any(|ours| ours["spec"] == theirs["spec"]), "{}", theirs["metadata"]);
    }
    let alone = with(&["prometheusRule.enabled=true", "controllers={clusters}"]).unwrap();
    let names: Vec<_> = of_kind(&alone, "PrometheusRule")
        .iter()
        .map(|rule| rule["metadata"]["name"].clone())
        .collect();
    assert!(names.contains(&json!("pontoon-capi-vip-allocator")), "{names:?}");
    assert!(!names.contains(&json!("pontoon-ip-address-controller")), "{names:?}");
}

/// Kinds of other projects are not defined in an empty cluster.
fn is_built_in(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap();
    !version.starts_with("monitoring.coreos.com/") && !version.starts_with("cert-manager.io/")
}

#[tokio::test]
async fn an_api_server_takes_every_option_strictly_and_the_pod_meets_the_strictest_standard() {
    let Some(stage) = Stage::open().await else { return };
    stage.run(&format!("kubectl create namespace {RELEASE_NAMESPACE}")).await;
    let enforce = "pod-security.kubernetes.io/enforce=restricted";
    stage.run(&format!("kubectl label namespace {RELEASE_NAMESPACE} {enforce}")).await;
    let mut objects = with(EVERYTHING).unwrap();
    objects.retain(is_built_in);
    let mut pod = of_kind(&objects, "Deployment")[0]["spec"]["template"].clone();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!("pontoon");
    pod["metadata"]["namespace"] = json!(RELEASE_NAMESPACE);
    objects.push(pod);
    let texts: Vec<_> = objects.iter().map(Value::to_string).collect();
    let file = stage.arena.folder().join("all.yaml");
    std::fs::write(&file, texts.join("\n---\n")).unwrap();
    let apply = "kubectl apply --server-side --validate=strict --warnings-as-errors -f";
    let said = stage.run(&format!("{apply} '{}'", file.display())).await;
    assert_eq!(said.lines().count(), objects.len(), "{said}");
}

#[tokio::test]
async fn an_empty_cluster_takes_the_plain_file_strictly_and_the_kustomize_base_is_the_same() {
    let Some(stage) = Stage::open().await else { return };
    let apply = "kubectl apply --server-side --validate=strict --warnings-as-errors";
    let applied = stage.run(&format!("{apply} -f deploy/pontoon.yaml")).await;
    assert_eq!(applied.lines().count(), objects_of("deploy/pontoon.yaml").len());
    stage.run("kubectl diff --server-side -k deploy/base").await;
    removed_without_the_definitions(&stage).await;
    an_overlay_changes_the_base(&stage).await;
}

async fn removed_without_the_definitions(stage: &Stage) {
    let remove = "kubectl delete -f deploy/base/workload.yaml -f deploy/base/rbac.yaml";
    assert!(page("docs/install.md").contains(&format!("`{remove}`")));
    stage.run(remove).await;
    let selected = "-l app.kubernetes.io/instance=pontoon -o name";
    let kinds = "deployment,service,pdb,role,rolebinding,clusterrole,clusterrolebinding,sa";
    assert_eq!(stage.run(&format!("kubectl get {kinds} -A {selected}")).await, "");
    assert_eq!(stage.run(&format!("kubectl get crd {selected}")).await.lines().count(), 3);
}

async fn an_overlay_changes_the_base(stage: &Stage) {
    let folder = stage.arena.folder().join("overlay");
    std::fs::create_dir(&folder).unwrap();
    let base = folder.join("base");
    std::os::unix::fs::symlink(root().join("deploy/base").canonicalize().unwrap(), &base).unwrap();
    let install = page("docs/install.md");
    let (_, overlay) = install.split_once("```yaml\n# kustomization.yaml\n").unwrap();
    let (overlay, _) = overlay.split_once("```").unwrap();
    std::fs::write(folder.join("kustomization.yaml"), overlay).unwrap();
    let text = stage.run(&format!("kubectl kustomize '{}'", folder.display())).await;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(of_kind(&objects, "Namespace")[0]["metadata"]["name"], "edge");
    for binding in of_kind(&objects, "ClusterRoleBinding") {
        assert_eq!(binding["subjects"][0]["namespace"], "edge", "{binding}");
    }
    let container = container(&objects);
    assert_eq!(container["image"], "registry.example.com/pontoon:0.1.0");
    assert!(container["args"].as_array().unwrap().contains(&json!("--mode=observe")));
}
