//! `examples/capi`: applied, served, and rendered as Cluster API's inline patches would.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::arena::On;
use crate::installing::{objects_of, root};
use crate::vip_readme::stage::{Generation, Management, variable};

const CLUSTER: &str = "edge";
const VIP: &str = "192.0.2.10";

/// The kinds of the example that other providers define, with any content.
fn permissive() -> Vec<CustomResourceDefinition> {
    let one = |group: &str, version: &str, kind: &str| {
        let plural = format!("{}s", kind.to_lowercase());
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let root = json!({"type": "object", "properties": {"spec": any}});
        let definition = json!({
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{
                    "name": version, "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": root},
                }],
            },
        });
        serde_json::from_value(definition).unwrap()
    };
    vec![
        one("controlplane.cluster.x-k8s.io", "v1beta2", "RKE2ControlPlaneTemplate"),
        one("bootstrap.cluster.x-k8s.io", "v1beta2", "RKE2ConfigTemplate"),
        one("infrastructure.cluster.x-k8s.io", "v1alpha1", "ProxmoxClusterTemplate"),
        one("infrastructure.cluster.x-k8s.io", "v1alpha1", "ProxmoxMachineTemplate"),
    ]
}

/// A Go template with a value for `clusterVip`: as much of the language as the example uses.
fn template(text: &str, vip: &str) -> String {
    let guard = "{{ if .clusterVip }}true{{ end }}";
    if text == guard {
        return if vip.is_empty() { String::new() } else { "true".to_owned() };
    }
    let rendered = text.replace("{{ .clusterVip }}", vip);
    assert!(!rendered.contains("{{"), "more than this test renders: {text}");
    rendered
}

/// The value of a patch: of a template in YAML, or of the variable.
fn value_of(patch: &Value, vip: &str) -> Value {
    let from = &patch["valueFrom"];
    match from["template"].as_str() {
        Some(text) => serde_saphyr::from_str(&template(text, vip)).unwrap(),
        None => {
            assert_eq!(from["variable"], "clusterVip", "{patch}");
            json!(vip)
        }
    }
}

/// Adds a member to an object. The parent must exist, as RFC 6902 has it.
fn add(object: &mut Value, path: &str, value: Value) {
    assert!(path.starts_with("/spec/"), "Cluster API allows no other part: {path}");
    let (parent, name) = path.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("no parent of {path}"));
    match parent {
        Value::Array(list) if name == "-" => list.push(value),
        Value::Object(fields) => drop(fields.insert(name.to_owned(), value)),
        other => panic!("{path}: {other}"),
    }
}

/// A template of the class with the patches that select it, for a Cluster with this VIP.
fn rendered(class: &Value, mut object: Value, vip: &str) -> Value {
    for patch in class["spec"]["patches"].as_array().unwrap() {
        if patch["enabledIf"].as_str().is_some_and(|text| template(text, vip) != "true") {
            continue;
        }
        for definition in patch["definitions"].as_array().unwrap() {
            let selector = &definition["selector"];
            if (&selector["apiVersion"], &selector["kind"])
                != (&object["apiVersion"], &object["kind"])
            {
                continue;
            }
            for change in definition["jsonPatches"].as_array().unwrap() {
                assert_eq!(change["op"], "add", "{change}");
                let path = change["path"].as_str().unwrap();
                add(&mut object, path, value_of(change, vip));
            }
        }
    }
    object["spec"]["template"]["spec"].take()
}

fn shipped(file: &str, kind: &str) -> Value {
    let all = objects_of(format!("examples/capi/{file}.yaml"));
    all.into_iter().find(|one| one["kind"] == kind).unwrap()
}

/// Every template that the class names is there, under the name and the version that it names.
#[test]
fn the_class_and_its_templates_agree() {
    let class = shipped("clusterclass", "ClusterClass");
    let templates = objects_of("examples/capi/templates.yaml");
    let worker = &class["spec"]["workers"]["machineDeployments"][0];
    let named = [
        &class["spec"]["infrastructure"],
        &class["spec"]["controlPlane"],
        &class["spec"]["controlPlane"]["machineInfrastructure"],
        &worker["bootstrap"],
        &worker["infrastructure"],
    ];
    for part in named {
        let named = &part["templateRef"];
        let is = |one: &Value| {
            one["apiVersion"] == named["apiVersion"]
                && one["kind"] == named["kind"]
                && one["metadata"]["name"] == named["name"]
        };
        assert_eq!(templates.iter().filter(|one| is(one)).count(), 1, "{named}");
    }
    assert_eq!(templates.len(), named.len());
    let topology = &shipped("cluster", "Cluster")["spec"]["topology"];
    assert_eq!(topology["classRef"]["name"], class["metadata"]["name"]);
    assert_eq!(topology["workers"]["machineDeployments"][0]["class"], worker["class"]);
}

#[tokio::test]
async fn the_example_is_accepted_served_and_its_vip_arrives_in_the_manifest_of_kube_vip() {
    let Some(management) = Management::open(On::RealServer, Generation::V1Beta2).await else {
        return;
    };
    management.define(permissive()).await;
    let folder = root().join("examples/capi");
    let strict = ["apply", "--validate=strict", "-f", folder.to_str().unwrap()];
    let applied = management.kubectl(&strict).await.unwrap();
    assert!(applied.status.success() && applied.stderr.is_empty(), "{applied:?}");

    let _replica = management.replica("only");
    management.bind("vip-cp-edge", VIP).await;
    management.bind("vip-ingress-edge", "192.0.2.30").await;
    let cluster = management.endpoint(CLUSTER, VIP).await;
    let annotated = |cluster: &Value| {
        cluster["metadata"]["annotations"]["vip.capi.gorizond.io/ingress-vip"] == "192.0.2.30"
    };
    management.cluster(CLUSTER, "the ingress VIP", annotated).await;
    let vip = variable(&cluster, "clusterVip");
    let vip = vip.as_str().unwrap();

    let classes = management.objects("cluster.x-k8s.io", "ClusterClass");
    let class = serde_json::to_value(classes.get("rke2-proxmox").await.unwrap()).unwrap();
    let machines = shipped("templates", "RKE2ControlPlaneTemplate");
    let control_plane = rendered(&class, machines.clone(), vip);
    assert_eq!(control_plane["registrationAddress"], VIP);
    assert_eq!(control_plane["registrationMethod"], "address");
    assert_eq!(control_plane["serverConfig"]["tlsSan"], json!([VIP]));
    assert_eq!(control_plane["serverConfig"]["cni"], "calico", "the template's own fields stay");
    let file = &control_plane["files"][0];
    assert_eq!(file["path"], "/var/lib/rancher/rke2/server/manifests/kube-vip.yaml");
    let chart: Value = serde_saphyr::from_str(file["content"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&chart["kind"], &chart["spec"]["chart"]),
        (&json!("HelmChart"), &json!("kube-vip"))
    );
    let values = chart["spec"]["valuesContent"].as_str().unwrap();
    let values: Value = serde_saphyr::from_str(values).unwrap();
    assert_eq!(values["config"]["address"], VIP);
    assert_eq!(values["env"]["cp_enable"], "true");

    let infrastructure = shipped("templates", "ProxmoxClusterTemplate");
    let endpoint = rendered(&class, infrastructure.clone(), vip)["controlPlaneEndpoint"].take();
    assert_eq!(endpoint, json!({"host": VIP, "port": 6443}));

    // Before the VIP is known the patches are left out.
    assert_eq!(rendered(&class, machines.clone(), ""), machines["spec"]["template"]["spec"]);
    assert!(rendered(&class, infrastructure, "")["controlPlaneEndpoint"].is_null());
}
