//! API servers accept the folder of FLIPOP's users.

use control_plane::ControlPlane;
use serde_json::{Value, json};

use super::FLIPOP;
use crate::arena::{Arena, On};

fn kubectl(plane: &ControlPlane, args: &[&str]) {
    FLIPOP.kubectl(plane, args);
}

#[tokio::test]
async fn its_pods_meet_the_strictest_of_the_pod_security_standards() {
    let Some(plane) = ControlPlane::borrow().await.unwrap() else { return };
    kubectl(&plane, &["apply", "-f", "deploy/compat/flipop/namespace.yaml"]);
    let enforce = "pod-security.kubernetes.io/enforce=restricted";
    kubectl(&plane, &["label", "namespace", "flipop", enforce]);
    let mut pod = FLIPOP.one("Deployment")["spec"]["template"].take();
    pod["apiVersion"] = json!("v1");
    pod["kind"] = json!("Pod");
    pod["metadata"]["name"] = json!("pontoon");
    let file = plane.folder().join("pod.json");
    let file = file.to_str().unwrap();
    std::fs::write(file, pod.to_string()).unwrap();
    kubectl(&plane, &["create", "-n", "flipop", "-f", file]);

    // The restrictions are enforced in this namespace.
    pod["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
    std::fs::write(file, pod.to_string()).unwrap();
    let create = ["create", "-n", "flipop", "-f", file];
    let refused = plane.kubectl().args(create).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("PodSecurity"), "{refused:?}");
}

#[tokio::test]
async fn the_api_server_in_memory_takes_the_kinds_that_it_knows() {
    let Some(arena) = Arena::open_without_definitions(On::FakeKube).await else { return };
    let known = ["Namespace", "ServiceAccount", "CustomResourceDefinition"];
    let is_known = |object: &Value| known.iter().any(|kind| object["kind"] == *kind);
    let documents: Vec<_> =
        FLIPOP.objects().iter().filter(|one| is_known(one)).map(Value::to_string).collect();
    let file = arena.folder().join("known.yaml");
    std::fs::write(&file, documents.join("\n---\n")).unwrap();
    let apply = ["apply", "--validate=strict", "-f", file.to_str().unwrap()];
    let Some(done) = arena.kubectl(&apply).await else { return };
    assert!(done.status.success(), "{done:?}");
    assert_eq!(String::from_utf8_lossy(&done.stdout).lines().count(), 4);
}
