//! Discovery and OpenAPI: both servers describe the same kinds alike.

use fakekube::kubectl::{discovery, documents};
use fakekube::registry::Registry;
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{Duration, sleep, timeout};

use crate::{PATIENCE, ask, ask_as, install, ours, real};

async fn both() -> Option<(Client, Registry)> {
    let client = real().await?;
    let mut registry = Registry::new();
    for definition in ours() {
        install(&client, &definition).await;
        registry.install(&definition).unwrap();
    }
    Some((client, registry))
}

async fn get(client: &Client, path: &str) -> Value {
    let (status, answer) = ask(client, Method::GET, path, &Value::Null).await;
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

/// The real server's entries that fakekube has too, sorted by a key.
fn common(theirs: &Value, ours: &Value, key: &str) -> Vec<Value> {
    let names: Vec<_> = ours.as_array().unwrap().iter().map(|entry| &entry[key]).collect();
    let mut common: Vec<_> = theirs.as_array().unwrap().clone();
    common.retain(|entry| names.contains(&&entry[key]));
    common.sort_by_key(|entry| entry[key].to_string());
    common
}

fn sorted(ours: &Value, key: &str) -> Vec<Value> {
    let mut sorted = ours.as_array().unwrap().clone();
    sorted.sort_by_key(|entry| entry[key].to_string());
    sorted
}

#[tokio::test]
async fn resources_are_listed_alike() {
    let Some((client, registry)) = both().await else { return };
    for group in registry.groups() {
        for version in registry.versions(group) {
            let path = match group {
                "" => format!("/api/{version}"),
                group => format!("/apis/{group}/{version}"),
            };
            let mut theirs = get(&client, &path).await;
            let mut ours = discovery::resource_list(&registry, group, version).unwrap();
            for resource in theirs["resources"].as_array_mut().unwrap() {
                resource.as_object_mut().unwrap().remove("storageVersionHash");
            }
            let [their_resources, our_resources] =
                [&mut theirs, &mut ours].map(|list| list["resources"].take());
            assert_eq!(theirs, ours);
            assert_eq!(
                common(&their_resources, &our_resources, "name"),
                sorted(&our_resources, "name"),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn groups_are_listed_alike() {
    let Some((client, registry)) = both().await else { return };
    let (theirs, ours) = (get(&client, "/apis").await, discovery::api_group_list(&registry));
    let names: Vec<_> =
        ours["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
    let mut theirs = theirs["groups"].as_array().unwrap().clone();
    theirs.retain(|group| names.contains(&&group["name"]));
    assert_eq!(json!(theirs), ours["groups"]);

    let path = "/apis/flipop.digitalocean.com";
    assert_eq!(
        get(&client, path).await,
        discovery::api_group(&registry, "flipop.digitalocean.com").unwrap()
    );
    assert_eq!(
        get(&client, "/api").await["versions"],
        discovery::api_versions(&registry)["versions"]
    );
}

#[tokio::test]
async fn everything_at_once_is_listed_alike() {
    let Some((client, registry)) = both().await else { return };
    for (path, core) in [("/api", true), ("/apis", false)] {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let (_, theirs) =
            ask_as(&client, Method::GET, path, &Value::Null, &[("accept", accept)]).await;
        let ours = discovery::aggregated(&registry, core);
        let strip = |list: &Value| {
            let mut rest = list.clone();
            rest["items"] = Value::Null;
            rest
        };
        assert_eq!(strip(&theirs), strip(&ours));
        for group in ours["items"].as_array().unwrap() {
            let mut others = theirs["items"].as_array().unwrap().iter();
            let other = others.find(|other| other["metadata"] == group["metadata"]).unwrap();
            for version in group["versions"].as_array().unwrap() {
                let mut others = other["versions"].as_array().unwrap().iter();
                let other = others.find(|other| other["version"] == version["version"]).unwrap();
                assert_eq!(version["freshness"], other["freshness"]);
                for resource in version["resources"].as_array().unwrap() {
                    let mut others = other["resources"].as_array().unwrap().iter();
                    let other =
                        others.find(|other| other["resource"] == resource["resource"]).unwrap();
                    let mut other = other.clone();
                    without_further_subresources(&mut other);
                    assert_eq!(&other, resource);
                }
            }
        }
    }
}

/// Removes subresources that fakekube lacks: all except status, scale and the eviction of pods.
fn without_further_subresources(resource: &mut Value) {
    let Some(fields) = resource.as_object_mut() else { return };
    let left = match fields.get_mut("subresources").and_then(Value::as_array_mut) {
        Some(list) => {
            list.retain(|entry| {
                ["status", "scale", "eviction"].iter().any(|known| entry["subresource"] == *known)
            });
            list.len()
        }
        None => return,
    };
    if left == 0 {
        fields.remove("subresources");
    }
}

#[tokio::test]
async fn the_documents_of_custom_kinds_are_the_same() {
    let Some((client, registry)) = both().await else { return };
    let path = "/openapi/v3/apis/flipop.digitalocean.com/v1alpha1";
    let ours = documents::document(&registry, "flipop.digitalocean.com", "v1alpha1").unwrap();
    // The real server publishes with a delay, kind by kind.
    let equal = timeout(PATIENCE, async {
        loop {
            let (_, theirs) = ask(&client, Method::GET, path, &Value::Null).await;
            if theirs == ours {
                return;
            }
            sleep(Duration::from_millis(200)).await;
        }
    });
    if equal.await.is_err() {
        let theirs = get(&client, path).await;
        let mut found = Vec::new();
        differences(&theirs, &ours, "", &mut found);
        panic!("{}", found.join("\n"));
    }
}

fn differences(theirs: &Value, ours: &Value, path: &str, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for name in names {
                let path = format!("{path}/{name}");
                differences(
                    a.get(name).unwrap_or(&Value::Null),
                    b.get(name).unwrap_or(&Value::Null),
                    &path,
                    found,
                );
            }
        }
        (a, b) if a != b => found.push(format!("{path}: {a} / {b}")),
        _ => {}
    }
}

#[tokio::test]
async fn the_documents_of_built_in_kinds_are_those_of_this_version() {
    let Some((client, registry)) = both().await else { return };
    for (group, version, name) in [
        ("", "v1", "api/v1"),
        ("coordination.k8s.io", "v1", "apis/coordination.k8s.io/v1"),
        ("apps", "v1", "apis/apps/v1"),
        ("events.k8s.io", "v1", "apis/events.k8s.io/v1"),
        ("policy", "v1", "apis/policy/v1"),
        ("apiextensions.k8s.io", "v1", "apis/apiextensions.k8s.io/v1"),
    ] {
        let theirs = get(&client, &format!("/openapi/v3/{name}")).await;
        let ours = documents::document(&registry, group, version).unwrap();
        for part in ["/paths", "/components/schemas"] {
            for (key, value) in ours.pointer(part).unwrap().as_object().unwrap() {
                let again = "cargo run -p fakekube --example dump_openapi";
                assert_eq!(&theirs.pointer(part).unwrap()[key], value, "{key}: run `{again}`");
            }
        }
    }
}
