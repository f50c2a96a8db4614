//! `deploy/capi`: what clusterctl installs, held against clusterctl's contract, the folder `deploy` and
//! an API server.

use std::collections::BTreeSet;

use control_plane::ControlPlane;
use pontoon::args::{Cli, Command};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{container, objects_of, root, shipped};

const COMPONENTS: &str = "deploy/capi/addon-components.yaml";

/// The label by which clusterctl finds the objects of a provider.
const PROVIDER: (&str, &str) = ("cluster.x-k8s.io/provider", "addon-pontoon");

/// clusterctl's metadata, which refuses unknown fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Metadata {
    api_version: String,
    kind: String,
    release_series: Vec<Series>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    major: u32,
    minor: u32,
    contract: String,
}

#[test]
fn the_metadata_has_the_series_of_this_version_with_the_current_contract() {
    let text = std::fs::read_to_string(root().join("deploy/capi/metadata.yaml")).unwrap();
    let metadata: Metadata = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(metadata.api_version, "clusterctl.cluster.x-k8s.io/v1alpha3");
    assert_eq!(metadata.kind, "Metadata");
    let version = env!("CARGO_PKG_VERSION");
    let ours = |one: &&Series| version.starts_with(&format!("{}.{}.", one.major, one.minor));
    let series: Vec<_> = metadata.release_series.iter().filter(ours).collect();
    assert_eq!(series.len(), 1, "one series of {version}");
    assert_eq!(series[0].contract, "v1beta2");
}

fn one(kind: &str) -> Value {
    let all: Vec<_> =
        objects_of(COMPONENTS).into_iter().filter(|one| one["kind"] == kind).collect();
    assert_eq!(all.len(), 1, "one {kind}");
    all[0].clone()
}

#[test]
fn the_components_keep_clusterctls_contract() {
    let namespace = one("Namespace")["metadata"]["name"].clone();
    let cluster_wide = ["Namespace", "ClusterRole", "ClusterRoleBinding"];
    for object in objects_of(COMPONENTS) {
        let metadata = &object["metadata"];
        assert_eq!(metadata["labels"][PROVIDER.0], PROVIDER.1, "{object}");
        let wide = cluster_wide.iter().any(|kind| object["kind"] == *kind);
        assert_eq!(metadata["namespace"], if wide { Value::Null } else { namespace.clone() });
        for subject in object["subjects"].as_array().into_iter().flatten() {
            assert_eq!(subject["namespace"], namespace, "{object}");
        }
    }
    let pod = one("Deployment")["spec"]["template"]["spec"].take();
    assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
    assert_eq!(pod["containers"][0]["name"], "manager");
    let text = std::fs::read_to_string(root().join(COMPONENTS)).unwrap();
    assert!(!text.contains("${"), "clusterctl would ask for a variable");
}

/// The arguments of the container, with another namespace to watch, as the parser understands them.
#[test]
fn the_container_is_told_by_a_flag_which_namespace_to_watch() {
    let args = one("Deployment")["spec"]["template"]["spec"]["containers"][0]["args"].take();
    let mut args: Vec<String> = serde_json::from_value(args).unwrap();
    let read = |args: &[String]| match Cli::read(
        ["pontoon"].into_iter().chain(args.iter().map(String::as_str)),
    ) {
        Ok(Cli { command: Command::Run(args) }) => args.vips(),
        other => panic!("{other:?}"),
    };
    assert!(read(&args).enabled);
    assert_eq!(read(&args).namespace, None);
    args.iter_mut().for_each(|one| *one = one.replace("--namespace=", "--namespace=team"));
    assert_eq!(read(&args).namespace.as_deref(), Some("team"));
}

/// Namespaces, labels, the container's name, its arguments and the tokens of clouds differ; nothing else.
#[test]
fn the_workload_is_that_of_the_folder() {
    let plain = |mut object: Value| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("namespace");
        if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            labels.remove(PROVIDER.0);
        }
        metadata.retain(|_, value| *value != json!({}));
        object
    };
    for kind in ["PodDisruptionBudget", "Service"] {
        assert_eq!(plain(one(kind)), plain(shipped(kind)), "{kind}");
    }
    let mut theirs = plain(one("Deployment"));
    let mut ours = plain(shipped("Deployment"));
    let [theirs_container, ours_container] = [&mut theirs, &mut ours]
        .map(|deployment| deployment["spec"]["template"]["spec"]["containers"][0].take());
    assert_eq!(theirs, ours);
    let rest = |mut container: Value| {
        let fields = container.as_object_mut().unwrap();
        for differs in ["name", "args", "env"] {
            fields.remove(differs);
        }
        container
    };
    let variables = |container: &Value| -> BTreeSet<String> {
        let all = container["env"].as_array().unwrap().iter();
        let own = all.filter(|one| one["valueFrom"]["secretKeyRef"].is_null());
        own.map(Value::to_string).collect()
    };
    assert_eq!(variables(&theirs_container), variables(&container()));
    assert_eq!(theirs_container["env"].as_array().unwrap().len(), variables(&container()).len());
    assert_eq!(rest(theirs_container), rest(ours_container));
}

#[tokio::test]
async fn an_empty_cluster_takes_the_components_and_each_file_of_rights_strictly() {
    let Some(plane) = ControlPlane::start().await.unwrap() else { return };
    let kubectl = |args: &[&str]| {
        let done = plane.kubectl().current_dir(root()).args(args).output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{args:?}: {done:?}");
        String::from_utf8_lossy(&done.stdout).lines().count()
    };
    let rights = ["deploy/capi/rbac.yaml", "deploy/capi/rbac-holders.yaml"];
    for file in [COMPONENTS].into_iter().chain(rights) {
        let strict = ["apply", "--server-side", "--validate=strict", "-f", file];
        assert_eq!(kubectl(&strict), objects_of(file).len(), "{file}");
        kubectl(&["diff", "--server-side", "-f", file]);
    }
}

/// capi-vip-allocator's Deployment and Service, as far as its users refer to them.
const THEIRS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: capi-vip-allocator-controller-manager, namespace: capi-system}
spec:
  selector: {matchLabels: {control-plane: capi-vip-allocator-controller-manager}}
  template:
    metadata: {labels: {control-plane: capi-vip-allocator-controller-manager}}
    spec: {containers: [{name: manager, image: i, command: [/manager]}]}
---
apiVersion: v1
kind: Service
metadata: {name: capi-vip-allocator-controller-manager-metrics-service, namespace: capi-system}
spec:
  selector: {control-plane: capi-vip-allocator-controller-manager}
  ports: [{name: metrics, port: 8080, targetPort: 8080}]
";

/// The commands in the file, where the predecessor is installed.
#[tokio::test]
async fn the_predecessors_names_can_be_kept() {
    let Some(plane) = ControlPlane::start().await.unwrap() else { return };
    let said = |args: &[&str]| {
        let done = plane.kubectl().current_dir(root()).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    said(&["create", "namespace", "capi-system"]);
    let theirs = plane.folder().join("theirs.yaml");
    std::fs::write(&theirs, THEIRS).unwrap();
    said(&["apply", "-f", theirs.to_str().unwrap()]);
    let folder = "deploy/capi-vip-allocator";
    let text = std::fs::read_to_string(root().join(folder).join("kustomization.yaml")).unwrap();
    let commands: Vec<_> =
        text.lines().filter_map(|line| line.strip_prefix("#   kubectl ")).collect();
    assert_eq!(commands.len(), 2, "delete, apply");
    for command in commands {
        said(&command.split(' ').collect::<Vec<_>>());
    }

    let selected = "control-plane=capi-vip-allocator-controller-manager";
    let found = said(&["get", "deployments", "-n", "capi-system", "-l", selected, "-o", "json"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    let pod = &found["items"][0]["spec"]["template"];
    assert_eq!(pod["spec"]["serviceAccountName"], "capi-vip-allocator-controller-manager");
    assert_eq!(pod["spec"]["containers"][0]["command"], Value::Null, "nothing of theirs is left");
    let service = ["get", "service", "-n", "capi-system", "-o", "json"];
    let services: Value = serde_json::from_str(&said(&service)).unwrap();
    let names: Vec<_> = services["items"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 1, "theirs, and no other");
    assert_eq!(names[0]["spec"]["ports"][0]["name"], "metrics");
    let selector = names[0]["spec"]["selector"].as_object().unwrap();
    assert!(selector.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value));
    let account = "--as=system:serviceaccount:capi-system:capi-vip-allocator-controller-manager";
    for right in [&["create", "leases", "-n", "capi-system"][..], &["create", "events", "-A"]] {
        assert_eq!(said(&[&["auth", "can-i"], right, &[account]].concat()), "yes\n", "{right:?}");
    }
    let namespaces = said(&["get", "namespaces", "-o", "name"]);
    assert!(!namespaces.contains("pontoon-system"), "{namespaces}");
}
