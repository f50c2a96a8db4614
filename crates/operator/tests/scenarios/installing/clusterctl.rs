//! `deploy/capi`: what clusterctl installs, held against clusterctl's contract, the chart and an API server.

use control_plane::ControlPlane;
use pontoon::args::{Cli, Command};
use serde::Deserialize;
use serde_json::Value;

use super::{objects_of, root};
use crate::permissions::chart::Chart;
use crate::permissions::rights::rights_in;

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
        Ok(Cli { command: Command::Run(args) }) => {
            assert_eq!(args.controllers().to_string(), "clusters");
            args.vips()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(read(&args).namespace, None);
    args.iter_mut().for_each(|one| *one = one.replace("--namespace=", "--namespace=team"));
    assert_eq!(read(&args).namespace.as_deref(), Some("team"));
}

/// Namespaces, names, labels, the container's arguments and the tokens of clouds differ; nothing else.
#[test]
fn the_pod_is_that_of_the_chart() {
    let Some(chart) = Chart::of(&["clusters"], &[]) else { return };
    let plain = |deployment: &Value| {
        let mut pod = deployment["spec"]["template"]["spec"].clone();
        pod.as_object_mut().unwrap().remove("topologySpreadConstraints");
        let container = pod["containers"][0].as_object_mut().unwrap();
        for differs in ["name", "args", "image"] {
            container.remove(differs);
        }
        pod
    };
    let charts = chart.objects.iter().find(|one| one["kind"] == "Deployment").unwrap();
    assert_eq!(plain(&one("Deployment")), plain(charts));
}

/// The role is another file, for clusterctl alone; its rights are those that `permissions` proves.
#[test]
fn the_rights_are_those_of_the_chart_for_clusters() {
    let Some(chart) = Chart::of(&["clusters"], &[]) else { return };
    let ours = rights_in(&objects_of(COMPONENTS));
    let charts = chart.rights();
    let differing: Vec<_> = ours.symmetric_difference(&charts).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[tokio::test]
async fn an_empty_cluster_takes_the_components_strictly() {
    let Some(plane) = ControlPlane::borrow().await.unwrap() else { return };
    let kubectl = |args: &[&str]| {
        let done = plane.kubectl().current_dir(root()).args(args).output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{args:?}: {done:?}");
        String::from_utf8_lossy(&done.stdout).lines().count()
    };
    let strict = ["apply", "--server-side", "--validate=strict", "-f", COMPONENTS];
    assert_eq!(kubectl(&strict), objects_of(COMPONENTS).len());
    kubectl(&["diff", "--server-side", "-f", COMPONENTS]);
}
