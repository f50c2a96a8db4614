//! Writes `src/openapi/data/openapi.json.gz`, the real API server's description of its kinds.
//!
//! ```text
//! cargo run -p fakekube --example dump_openapi
//! ```
//!
//! Starts the control plane's API server (needs Go or `KUBEBUILDER_ASSETS`) and reads the documents
//! of the groups that fakekube serves. Keeps the paths of the served kinds with the schemas in use,
//! and adds the documents of two custom kinds as templates. Repeat when the control plane's
//! Kubernetes version changes or a built-in kind is added.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use control_plane::ControlPlane;
use fakekube::registry::Registry;
use flate2::Compression;
use flate2::write::GzEncoder;
use kube::Client;
use serde_json::{Map, Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/openapi/data/openapi.json.gz");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let plane = ControlPlane::start().await?.ok_or("no control plane")?;
    let client = plane.client()?;
    let registry = Registry::new();
    let mut documents = Vec::new();
    for group in registry.groups() {
        for version in registry.versions(group) {
            let plurals: Vec<_> =
                registry.of(group, version).map(|kind| kind.plural.as_str()).collect();
            let name = match group {
                "" => format!("api/{version}"),
                group => format!("apis/{group}/{version}"),
            };
            let document = get(&client, &format!("/openapi/v3/{name}")).await?;
            documents.push((name, reduced(document, &plurals)));
        }
    }
    for scope in ["Namespaced", "Cluster"] {
        documents.push((scope.to_owned(), template(&client, scope).await?));
    }
    let mut file = GzEncoder::new(File::create(FILE)?, Compression::best());
    for (name, document) in documents {
        writeln!(file, "{name} {document}")?;
    }
    file.finish()?;
    Ok(())
}

async fn get(client: &Client, path: &str) -> Result<Value, Box<dyn Error>> {
    let text = client.request_text(http::Request::get(path).body(Vec::new())?).await?;
    Ok(serde_json::from_str(&text)?)
}

/// The document of a custom kind with the given scope, with names that are easy to replace.
async fn template(client: &Client, scope: &str) -> Result<Value, Box<dyn Error>> {
    let group = format!("{}.templategroup", scope.to_lowercase());
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("templateplurals.{group}")},
        "spec": {
            "group": group, "scope": scope,
            "names": {
                "kind": "TemplateKind", "listKind": "TemplateKindList",
                "plural": "templateplurals", "singular": "templatesingular",
            },
            "versions": [{
                "name": "v7", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = http::Request::post(path).header("content-type", "application/json");
    client.request_text(request.body(definition.to_string().into_bytes())?).await?;
    let path = format!("/openapi/v3/apis/{group}/v7");
    for _ in 0..100 {
        if let Ok(document) = get(client, &path).await {
            return Ok(document);
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err(format!("no {path}").into())
}

/// The document reduced to the paths of some resources and the schemas in use.
fn reduced(mut document: Value, plurals: &[&str]) -> Value {
    if let Some(paths) = document["paths"].as_object_mut() {
        paths.retain(|path, _| served(path, plurals));
    }
    let schemas = document["components"]["schemas"].take();
    let mut kept = Map::new();
    let mut wanted = references(&document["paths"]);
    while let Some(name) = wanted.pop() {
        if !kept.contains_key(&name) {
            wanted.extend(references(&schemas[&name]));
            kept.insert(name.clone(), schemas[&name].clone());
        }
    }
    document["components"]["schemas"] = Value::Object(kept);
    document
}

/// Whether a path is that of a collection, an object, a status or a scale.
fn served(path: &str, plurals: &[&str]) -> bool {
    let rest = path.split("/v1/").nth(1).unwrap_or_default();
    let rest = match rest.strip_prefix("namespaces/{namespace}/") {
        Some(rest) => rest,
        None => rest,
    };
    let parts: Vec<_> = rest.split('/').collect();
    match parts.as_slice() {
        [plural] | [plural, "{name}"] | [plural, "{name}", "status" | "scale"] => {
            plurals.contains(plural)
        }
        _ => false,
    }
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str);
            let own = own.and_then(|text| text.strip_prefix("#/components/schemas/"));
            let below = fields.values().flat_map(references);
            own.map(str::to_owned).into_iter().chain(below).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
