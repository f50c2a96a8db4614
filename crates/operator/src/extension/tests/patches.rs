use serde_json::{Value, json};

use super::Stage;

/// The item of a template of the infrastructure, with this endpoint.
fn item(endpoint: Option<Value>) -> Value {
    let mut spec = json!({"dnsServers": ["192.0.2.53"]});
    if let Some(endpoint) = endpoint {
        spec["controlPlaneEndpoint"] = endpoint;
    }
    json!({
        "uid": "i1",
        "holderReference": {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "namespace": "infra", "name": "a", "fieldPath": "spec.infrastructureRef"},
        "object": {"kind": "ProxmoxClusterTemplate", "spec": {"template": {"spec": spec}}},
        "variables": [],
    })
}

fn variables(vip: &str) -> Value {
    json!([{"name": "cni", "value": "calico"}, {"name": "clusterVip", "value": vip}])
}

async fn patches(variables: Value, items: Vec<Value>) -> Value {
    let request = json!({"variables": variables, "items": items});
    let stage = Stage::open().await;
    let handler = "vip-allocator-generate-patches";
    let answer = stage.call("GeneratePatches", handler, request).await;
    assert_eq!(answer["status"], "Success", "{answer}");
    answer["items"].clone()
}

#[tokio::test]
async fn an_endpoint_that_a_template_leaves_open_gets_the_vip() {
    let empty = item(Some(json!({"host": "", "port": 6443})));
    let answer = patches(variables("192.0.2.5"), vec![empty]).await;
    // {"spec":{"template":{"spec":{"controlPlaneEndpoint":{"host":"192.0.2.5"}}}}}
    let patch = "eyJzcGVjIjp7InRlbXBsYXRlIjp7InNwZWMiOnsiY29udHJvbFBsYW5lRW5kcG9pbnQiOnsiaG9zdCI6\
                 IjE5Mi4wLjIuNSJ9fX19fQ==";
    let expected = json!([{"uid": "i1", "patchType": "JSONMergePatch", "patch": patch}]);
    assert_eq!(answer, expected);
}

#[tokio::test]
async fn a_template_with_a_host_or_without_an_endpoint_and_every_other_template_stay() {
    let mut other = item(Some(json!({"host": ""})));
    other["holderReference"]["fieldPath"] = json!("spec.controlPlaneRef");
    let odd = item(Some(json!("192.0.2.1:6443")));
    let items = vec![item(Some(json!({"host": "192.0.2.1"}))), item(None), other, odd, json!(7)];
    assert_eq!(patches(variables("192.0.2.5"), items).await, json!([]));
}

#[tokio::test]
async fn without_a_vip_there_is_no_patch() {
    for variables in [variables(""), json!([]), json!(null)] {
        assert_eq!(patches(variables, vec![item(Some(json!({})))]).await, json!([]));
    }
}
