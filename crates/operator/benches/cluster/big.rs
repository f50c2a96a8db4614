//! Memory in a big cluster: 10,000 nodes, 100,000 matching pods, 1,000 pools, and 300 large foreign
//! definitions.
//!
//! No etcd is needed: nodes, pods and definitions are generated page by page, and everything else
//! comes from the in-memory API server.

use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, Response};
use fakekube::FakeKube;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::ServiceExt;

use super::arena::{ApiServer, Arena, On, eventually};
use super::replica::Replica;
use super::{QUIET, memory};

const NODES: usize = 10_000;
const PODS: usize = 100_000;
const DEFINITIONS: usize = 300;
const POOLS: usize = 1_000;

pub async fn big() {
    let Some(arena) = Arena::open(On::FakeKube).await else { return };
    for number in 0..POOLS {
        let matching = json!({"nodeLabel": format!("group=g{number}"), "podLabel": "app=web"});
        let ip = super::address(number as u64);
        arena.cloud.reserve(ip, "nyc3");
        let spec = json!({"provider": "digitalocean", "ips": [ip], "match": matching});
        arena.raw_pool(&format!("pool-{number}"), spec).await;
    }
    let ApiServer::Fake { kube, .. } = &arena.server else { return };
    let address = serve(kube.clone()).await;
    let text = std::fs::read_to_string(arena.kubeconfig()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["clusters"][0]["cluster"]["server"] = format!("http://{address}").into();
    let file = arena.folder().join("big");
    std::fs::write(&file, config.to_string()).unwrap();
    // Observe mode, because the generated nodes cannot be marked.
    let file = file.to_str().unwrap();
    let extra = [QUIET[0], "--leader-elect=false", "--mode=observe", "--kubeconfig", file];
    let replica = Replica::start(&arena, "big", &extra);
    eventually("everything is listed", || async {
        let page = replica.page("/readyz").await.unwrap_or_default();
        if page.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(page) }
    })
    .await;
    arena.condition("pool-0", "Ready", "False").await;
    let what = "10,000 nodes, 100,000 pods, 300 definitions";
    println!(
        "{what:<44} {} resident, {} at most",
        memory(&replica, "VmRSS:"),
        memory(&replica, "VmHWM:")
    );
}

async fn serve(kube: FakeKube) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().fallback(move |request: Request| answer(kube.clone(), request));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Kind of a list, its length, and a generator of its items.
type Pages = (&'static str, usize, fn(usize) -> Value);

async fn answer(kube: FakeKube, request: Request) -> Response<Body> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let made_up = request.method() == Method::GET && !query.contains("watch=");
    let page: Option<Pages> = match request.uri().path() {
        "/api/v1/nodes" => Some(("NodeList", NODES, node)),
        "/api/v1/pods" => Some(("PodList", PODS, pod)),
        // Definitions requested by name are real.
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            if !query.contains("fieldSelector") =>
        {
            Some(("CustomResourceDefinitionList", DEFINITIONS, definition))
        }
        _ => None,
    };
    match page.filter(|_| made_up) {
        Some((kind, count, one)) => list(&kube, &query, kind, count, one),
        None => kube.service().oneshot(request).await.unwrap().map(Body::new),
    }
}

fn list(
    kube: &FakeKube,
    query: &str,
    kind: &str,
    count: usize,
    one: fn(usize) -> Value,
) -> Response<Body> {
    let parameter = |name: &str| {
        query.split('&').find_map(|part| part.strip_prefix(name)?.parse::<usize>().ok())
    };
    let from = parameter("continue=").unwrap_or(0);
    let to = count.min(from + parameter("limit=").unwrap_or(count));
    let mut items: Vec<_> = (from..to).map(one).collect();
    let ours = kind == "CustomResourceDefinitionList" && from == 0;
    if ours {
        let ours = kube.objects("apiextensions.k8s.io", "customresourcedefinitions");
        items.extend(ours.iter().map(|one| (**one).clone()));
    }
    let mut metadata = json!({"resourceVersion": kube.revision().to_string()});
    if to < count {
        metadata["continue"] = to.to_string().into();
    }
    let list = json!({"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": items});
    Response::new(Body::from(list.to_string()))
}

/// About as large as a real node, with images.
fn node(number: usize) -> Value {
    json!({
        "metadata": {
            "name": format!("node-{number:05}"), "uid": uid(1, number), "resourceVersion": "1",
            "labels": {
                "group": format!("g{}", number % POOLS),
                "kubernetes.io/hostname": format!("node-{number:05}"),
                "topology.kubernetes.io/region": "nyc3",
                "node.kubernetes.io/instance-type": "s-4vcpu-8gb",
            },
            "annotations": {"padding": "x".repeat(1_000)},
        },
        "spec": {"providerID": format!("digitalocean://{}", number + 1)},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "images": [{"names": ["y".repeat(8_000)], "sizeBytes": 1}],
        },
    })
}

fn pod(number: usize) -> Value {
    json!({
        "metadata": {
            "name": format!("web-{number:06}"), "namespace": "web", "uid": uid(2, number),
            "resourceVersion": "1",
            "labels": {"app": "web", "pod-template-hash": format!("{:010x}", number % 200)},
            "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": "z".repeat(2_000)}}],
        },
        "spec": {
            "nodeName": format!("node-{:05}", number % NODES),
            "containers": [{"name": "web", "image": "i", "env": [{"name": "x", "value": "v".repeat(2_000)}]}],
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A definition of 300 objects with descriptions.
fn definition(number: usize) -> Value {
    let part = json!({
        "type": "object", "description": "d".repeat(400),
        "properties": {"value": {"type": "string", "description": "d".repeat(100)}},
    });
    let parts: serde_json::Map<_, _> =
        (0..300).map(|part_number| (format!("part{part_number}"), part.clone())).collect();
    let name = format!("thing{number}");
    json!({
        "metadata": {"name": format!("{name}s.example.com"), "uid": uid(3, number), "resourceVersion": "1"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": format!("Thing{number}"), "plural": format!("{name}s")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": parts},
                }}},
            }],
        },
    })
}

fn uid(kind: usize, number: usize) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012x}")
}
