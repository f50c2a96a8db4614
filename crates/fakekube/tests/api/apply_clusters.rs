//! Server-side apply to Clusters of Cluster API, by its own definitions.

use serde_json::{Value, json};

use crate::both;
use crate::reference::shared;
use crate::server::Server;

/// A generation of Cluster API.
struct Generation {
    version: &'static str,
    /// The part of the topology that names the class.
    class: Value,
}

impl Generation {
    fn definition(&self) -> Option<Value> {
        let file = format!("{}/cluster.x-k8s.io_clusters.yaml", self.version);
        shared(&file, &format!("api-{}-", self.version))?.pop()
    }
}

/// The endpoint and its variable, as an operator applies them.
fn applied(version: &str, host: &str) -> Value {
    json!({
        "apiVersion": version, "kind": "Cluster", "metadata": {"name": "a"},
        "spec": {
            "controlPlaneEndpoint": {"host": host, "port": 6443},
            "topology": {"variables": [{"name": "clusterVip", "value": host}]},
        },
    })
}

async fn endpoint_is_applied(s: &Server, generation: &Generation, definition: &Value) {
    s.define(definition).await;
    s.with_managers();
    let group = definition["spec"]["group"].as_str().unwrap();
    let version = format!("{group}/{}", generation.version);
    let mut topology = generation.class.clone();
    topology["version"] = json!("v1.34.0");
    topology["variables"] =
        json!([{"name": "size", "value": {"cpu": 2}}, {"name": "clusterVip", "value": ""}]);
    let cluster = json!({"apiVersion": version, "kind": "Cluster", "metadata": {"name": "a"},
        "spec": {"topology": topology}});
    let created = s.post(&s.group(&version, "clusters?fieldManager=user"), &cluster).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let path = s.group(&version, "clusters/a");
    let mut ours = applied(&version, "192.0.2.1");
    ours["metadata"]["uid"] = json!(created.uid());
    // The variable with its default belongs to the creator.
    assert_eq!(s.apply(&path, "vip", &ours).await.status, 409);
    let forced = format!("{path}?force=true");
    let done = s.apply(&forced, "vip", &ours).await;
    assert_eq!(done.status, 200, "{}", done.body);
    let variables = done.body["spec"]["topology"]["variables"].as_array().unwrap();
    assert_eq!(variables.len(), 2);
    assert_eq!(s.apply(&forced, "vip", &ours).await.version(), done.version());
    assert_eq!(s.apply(&path, "other", &applied(&version, "192.0.2.2")).await.status, 409);
    ours["metadata"]["uid"] = json!("11111111-2222-3333-4444-555555555555");
    assert_eq!(s.apply(&forced, "vip", &ours).await.status, 422);
    let condition = json!([{"type": "vip.example/Ready", "status": "True", "reason": "Allocated",
        "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let status = match generation.version {
        "v1beta1" => json!({"v1beta2": {"conditions": condition}}),
        _ => json!({"conditions": condition}),
    };
    let config = json!({"apiVersion": version, "kind": "Cluster", "metadata": {"name": "a"}, "status": status});
    let reported = s.apply(&format!("{path}/status"), "vip", &config).await;
    assert_eq!(reported.status, 200, "{}", reported.body);
    assert_eq!(s.delete(&path).await.status, 200);
}

#[tokio::test]
async fn an_endpoint_and_its_variable_are_applied_to_a_cluster() {
    for (name, generation) in [
        ("clusters-old", Generation { version: "v1beta1", class: json!({"class": "c"}) }),
        (
            "clusters-new",
            Generation { version: "v1beta2", class: json!({"classRef": {"name": "c"}}) },
        ),
    ] {
        let Some(definition) = generation.definition() else { return };
        both(name, async |s| endpoint_is_applied(s, &generation, &definition).await).await;
    }
}
