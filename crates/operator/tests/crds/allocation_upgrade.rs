//! Allocations that ip-address-controller's definitions stored, after the upgrade to ours by
//! kubectl.

use control_plane::ControlPlane;
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::accepted::applied;
use crate::refused::with;
use crate::{allocation, api_of, create, decoded, shared, try_create};

/// Our definitions, as shipped.
const OURS: &str = include_str!("../../../../deploy/crds.yaml");

/// The definition of the second generation, as published.
fn theirs() -> Option<String> {
    let folder = shared("crds/netip")?;
    Some(std::fs::read_to_string(folder.join("net-ip-allocation-crds.yaml")).unwrap())
}

/// The definition of the first generation, which is not published: `deploymentRef` in place of
/// `workloadRef`.
fn first_generation(second: &str) -> String {
    let mut crd: Value = serde_saphyr::from_str(second).unwrap();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let fields = crd.pointer_mut(spec).unwrap().as_object_mut().unwrap();
    fields.remove("workloadRef").unwrap();
    let text = json!({"type": "string"});
    let reference = json!({"type": "object", "properties": {"name": text, "namespace": text}});
    fields.insert("deploymentRef".to_owned(), reference);
    crd.to_string()
}

/// An allocation with some fields changed.
fn stored(name: &str, changes: Value) -> Value {
    let spec = json!({"reservedIPs": ["192.0.2.1"], "cloud": {"provider": "gcp"}});
    with(allocation(name, spec), changes)
}

/// Allocations that the predecessor's definition accepts, and that each break a rule of ours.
fn broken() -> Vec<Value> {
    let many: Vec<_> = (0..300).map(|n| format!("2001:db8::{n}")).collect();
    let zones: Vec<_> = (0..300).map(|n| format!("us-central1-{n}")).collect();
    let labels: serde_json::Map<_, _> = (0..70).map(|n| (format!("l{n}"), json!("x"))).collect();
    vec![
        stored("aws", json!({"cloud": {"provider": "aws", "region": "us-east-1"}})),
        stored("azure", json!({"cloud": {"provider": "azure"}})),
        stored("no-address", json!({"reservedIPs": ["my-address"]})),
        stored("octal-address", json!({"reservedIPs": ["010.0.0.1"]})),
        stored("long-address", json!({"reservedIPs": ["x".repeat(80)]})),
        stored("duplicates", json!({"reservedIPs": ["192.0.2.1", "192.0.2.1"]})),
        stored("many-addresses", json!({"reservedIPs": many})),
        stored("many-zones", json!({"cloud": {"provider": "gcp", "zones": zones}})),
        stored("many-labels", json!({"nodeSelector": labels})),
    ]
}

/// Allocations that break no rule, and are unusual.
fn unusual() -> Vec<Value> {
    let workload = json!({"kind": "StatefulSet", "name": ""});
    vec![
        stored("nothing", json!({"reservedIPs": [], "cloud": {}})),
        stored("no-name", json!({"workloadRef": workload})),
        stored("long-interval", json!({"reconcileInterval": i64::from(i32::MAX) * 4})),
    ]
}

#[tokio::test]
async fn what_the_predecessor_stored_stays_readable_and_updatable() {
    let Some(theirs) = theirs() else { return };
    let Some(plane) = ControlPlane::start().await.unwrap() else { return };
    let client = plane.client().unwrap();
    established(&plane, &theirs).await;
    for object in broken().iter().chain(&unusual()) {
        create(&client, object).await;
    }
    applied(&plane, &["--validate=strict"], OURS);
    until_ours_is_served(&client).await;
    for object in &broken() {
        assert!(try_create(&client, &renamed(object)).await.is_err(), "breaks no rule: {object}");
    }
    for object in broken().iter().chain(&unusual()) {
        is_as_before(&client, object).await;
        edited(&client, object, json!({"metadata": {"labels": {"team": "edge"}}})).await;
        // Fields beside the broken one.
        let spec = json!({"reconcileInterval": 60, "cloud": {"region": "us-west1"}});
        edited(&client, object, json!({"spec": spec})).await;
        a_status_can_be_written(&client, object).await;
    }
}

fn renamed(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["name"] = json!("new");
    object
}

async fn is_as_before(client: &Client, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let found = api_of(client, object).get(name).await.unwrap();
    assert_eq!(found.data["spec"], object["spec"], "{name}");
}

async fn edited(client: &Client, object: &Value, changes: Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let params = PatchParams::default();
    let answer = api_of(client, object).patch(name, &params, &Patch::Merge(&changes)).await;
    answer.unwrap_or_else(|error| panic!("{name}, {changes}: {error}"));
}

async fn a_status_can_be_written(client: &Client, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    let api = api_of(client, object);
    let mut found = api.get(name).await.unwrap();
    found.data["status"] = json!({"attached": "1/1"});
    let answer = api.replace_status(name, &PostParams::default(), &found).await;
    let written = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(written.data["status"], json!({"attached": "1/1"}), "{name}");
}

/// The definition of the second generation hides a field of the first, which is still stored.
#[tokio::test]
async fn the_deployment_of_an_object_of_the_first_generation_is_there_again() {
    let Some(second) = theirs() else { return };
    let Some(plane) = ControlPlane::start().await.unwrap() else { return };
    let client = plane.client().unwrap();
    established(&plane, &first_generation(&second)).await;
    let old = stored("old-way", json!({"deploymentRef": {"name": "web", "namespace": "voice"}}));
    create(&client, &old).await;

    established(&plane, &second).await;
    let new = stored("new-way", json!({"workloadRef": {"kind": "DaemonSet", "name": "web"}}));
    until_taken(&client, &new).await;
    let hidden = api_of(&client, &old).get("old-way").await.unwrap();
    assert_eq!(hidden.data["spec"]["deploymentRef"], Value::Null, "their definition drops it");

    applied(&plane, &["--validate=strict"], OURS);
    until_ours_is_served(&client).await;
    is_as_before(&client, &old).await;
    is_as_before(&client, &new).await;
    edited(&client, &old, json!({"metadata": {"labels": {"team": "edge"}}})).await;
    is_as_before(&client, &old).await;
}

/// Applies a definition of the predecessor, and waits until it is served.
async fn established(plane: &ControlPlane, definition: &str) {
    applied(plane, &[], definition);
    let wait = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
    let waited = plane.kubectl().args(wait).output().unwrap();
    assert!(waited.status.success(), "{waited:?}");
    // The endpoint follows the condition a moment later.
    let client = plane.client().unwrap();
    let probe = stored("probe", json!({}));
    tokio::time::timeout(crate::PATIENCE, async {
        while api_of(&client, &probe).list(&kube::api::ListParams::default()).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
}

/// Waits until our schema refuses what theirs accepts.
async fn until_ours_is_served(client: &Client) {
    let aws = stored("probe", json!({"cloud": {"provider": "aws"}}));
    tokio::time::timeout(crate::PATIENCE, async {
        while try_create(client, &aws).await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
}

/// Creates an object once the served definition stores all of its fields.
async fn until_taken(client: &Client, object: &Value) {
    let api = api_of(client, object);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    tokio::time::timeout(crate::PATIENCE, async {
        while api.create(&dry, &decoded(object)).await.unwrap().data["spec"] != object["spec"] {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
    create(client, object).await;
}
