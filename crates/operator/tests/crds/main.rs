//! The custom resource definitions on a real API server: accepted and refused objects, messages,
//! columns, and upgrades of objects that FLIPOP's definitions stored.

// Tests may panic; clippy allows panics only in `#[test]` functions, not in their helpers.
#![allow(clippy::unwrap_used, clippy::panic)]

mod accepted;
mod allocation_upgrade;
mod allocations;
mod predecessor;
mod refused;
mod shown;

use std::path::PathBuf;
use std::time::Duration;

use control_plane::ControlPlane;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Error};
use pontoon::fronts::crds;
use pontoon::fronts::flipop::{GROUP, VERSION};
use pontoon::fronts::net_ip_allocation::NET_IP_ALLOCATION;
use pontoon_core::model::Kind;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::{sleep, timeout};

/// Time limit for the API server.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the shared plane, with our definitions; `None` without a plane.
async fn ours() -> Option<(&'static ControlPlane, Client)> {
    let plane = ControlPlane::shared().await.unwrap()?;
    let client = plane.client().unwrap();
    let install = async || {
        apply(&client, "pontoon", &crds()).await;
        until_ours_are_served(&client).await;
    };
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    INSTALLED.get_or_init(install).await;
    Some((plane, client))
}

/// Applies definitions, over existing ones, and waits until they are established.
async fn apply(client: &Client, manager: &str, crds: &[CustomResourceDefinition]) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in crds {
        let name = crd.metadata.name.as_deref().unwrap();
        let params = PatchParams::apply(manager).force();
        api.patch(name, &params, &Patch::Apply(crd)).await.unwrap();
        let established = await_condition(api.clone(), name, is_crd_established());
        timeout(PATIENCE, established).await.unwrap().unwrap();
    }
}

/// Waits until our schema refuses something, because a changed schema is served a moment after its
/// storage.
async fn until_ours_are_served(client: &Client) {
    let wrong = [
        pool("probe", json!({"provider": "unknown", "ips": ["192.0.2.1"]})),
        record_set("probe", json!({"provider": "unknown"})),
        allocation(
            "probe",
            json!({"reservedIPs": ["192.0.2.1"], "cloud": {"provider": "unknown"}}),
        ),
    ];
    for object in &wrong {
        timeout(PATIENCE, async {
            while try_create(client, object).await.is_ok() {
                sleep(Duration::from_millis(50)).await;
            }
        })
        .await
        .unwrap();
    }
}

/// The manifest of a pool.
fn pool(name: &str, spec: Value) -> Value {
    object("FloatingIPPool", name, spec)
}

/// The manifest of a record set.
fn record_set(name: &str, spec: Value) -> Value {
    object("NodeDNSRecordSet", name, spec)
}

/// The manifest of an allocation.
fn allocation(name: &str, spec: Value) -> Value {
    let Kind { group, version, name: kind, .. } = &NET_IP_ALLOCATION;
    json!({
        "apiVersion": format!("{group}/{version}"), "kind": kind,
        "metadata": {"name": name}, "spec": spec,
    })
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind,
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

/// The API of a manifest's kind.
fn api_of(client: &Client, manifest: &Value) -> Api<DynamicObject> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (api_version, kind) = (text(&manifest["apiVersion"]), text(&manifest["kind"]));
    let (group, version) = api_version.split_once('/').unwrap();
    let resource = ApiResource {
        group: group.into(),
        version: version.into(),
        plural: format!("{}s", kind.to_lowercase()),
        api_version: api_version.clone(),
        kind,
    };
    match manifest["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// Creates an object as a dry run.
async fn try_create(client: &Client, manifest: &Value) -> Result<(), String> {
    let params = PostParams { dry_run: true, ..PostParams::default() };
    answer(api_of(client, manifest).create(&params, &decoded(manifest)).await)
}

/// Creates an object.
async fn create(client: &Client, manifest: &Value) -> DynamicObject {
    let api = api_of(client, manifest);
    let created = api.create(&PostParams::default(), &decoded(manifest)).await;
    created.unwrap_or_else(|error| panic!("{manifest}: {error}"))
}

fn decoded(manifest: &Value) -> DynamicObject {
    serde_json::from_value(manifest.clone()).unwrap()
}

/// The API server's message, without the name of the object.
fn answer<T>(result: Result<T, Error>) -> Result<(), String> {
    match result {
        Ok(_) => Ok(()),
        Err(Error::Api(status)) => {
            let (_, why) =
                status.message.split_once(" is invalid: ").unwrap_or(("", &status.message));
            Err(why.to_owned())
        }
        Err(other) => panic!("{other}"),
    }
}

/// The team's reference data beside the workspace. Without the data a test is skipped with a
/// message, except with `CI=true`, which forbids skipping.
fn shared(path: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path);
    if folder.exists() {
        return Some(folder);
    }
    let missing = format!("SKIPPED: {} is not there", folder.display());
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}");
    // Not `eprintln!`: the test harness captures its output, and a passing test would hide the
    // message.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{missing}\n").as_bytes());
    None
}
