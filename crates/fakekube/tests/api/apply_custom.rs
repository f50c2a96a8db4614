//! Server-side apply of custom objects: lists and maps by the rules of the definition's schema.

use serde_json::{Value, json};

use crate::both;
use crate::server::Server;

/// A kind with each sort of list and map.
fn definition(group: &str) -> Value {
    let text = json!({"type": "string"});
    let keyed = |keys: Value, properties: Value| {
        json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "items": {"type": "object", "required": keys, "properties": properties}})
    };
    let spec = json!({"type": "object", "properties": {
        "endpoint": {"type": "object", "properties": {"host": text, "port": {"type": "integer"}}},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text},
        "marks": {"type": "object", "additionalProperties": text},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "mode": {"type": "string", "default": "auto"},
        "on": {"type": "boolean"},
        "when": {"type": "string", "format": "date-time"},
        "variables": keyed(json!(["name"]), json!({
            "name": text, "value": {"x-kubernetes-preserve-unknown-fields": true}})),
        "ports": keyed(json!(["port", "protocol"]), json!({"port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"}, "name": text})),
        "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "steps": {"type": "array", "items": text},
    }});
    let status = json!({"type": "object", "properties": {
        "phase": text,
        "conditions": keyed(json!(["type"]), json!({"type": text, "status": text})),
    }});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("racks.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "racks", "kind": "Rack"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}],
        },
    })
}

/// The kind's objects on a server.
struct Racks<'a> {
    s: &'a Server,
    version: String,
}

impl<'a> Racks<'a> {
    async fn of(s: &'a Server) -> Self {
        let group = format!("{}.example", s.namespace());
        s.define(&definition(&group)).await;
        s.with_managers();
        Self { s, version: format!("{group}/v1") }
    }

    fn path(&self, rest: &str) -> String {
        self.s.group(&self.version, &format!("racks{rest}"))
    }

    fn rack(&self, part: &str, value: &Value) -> Value {
        json!({"apiVersion": self.version, "kind": "Rack", "metadata": {"name": "a"}, part: value})
    }

    async fn create(&self, spec: Value) {
        let path = self.path("?fieldManager=user");
        let created = self.s.post(&path, &self.rack("spec", &spec)).await;
        assert_eq!(created.status, 201, "{}", created.body);
    }

    /// Applies a spec; returns the status, and the spec of the answer.
    async fn apply(&self, manager: &str, spec: Value) -> (u16, Value) {
        let path = self.path("/a");
        let answer = self.s.apply(&path, manager, &self.rack("spec", &spec)).await;
        (answer.status, answer.body["spec"].clone())
    }

    async fn force(&self, manager: &str, spec: Value) -> (u16, Value) {
        let path = self.path("/a?force=true");
        let answer = self.s.apply(&path, manager, &self.rack("spec", &spec)).await;
        (answer.status, answer.body["spec"].clone())
    }
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_applied_entry_of_a_list_joins_the_others_and_goes_alone() {
    both("ssa-entries", async |s| {
        let racks = Racks::of(s).await;
        let variable = |name: &str, value: Value| json!({"name": name, "value": value});
        let of = |all: Value| json!({"variables": all});
        racks.create(of(json!([variable("a", json!(1)), variable("b", json!({"x": 1}))]))).await;
        let c = variable("c", json!("v"));
        let (_, spec) = racks.apply("vip", of(json!([c]))).await;
        assert_eq!(names(&spec["variables"]), ["a", "b", "c"]);
        // Nothing changes, and neither does the resource version.
        assert_eq!(racks.apply("vip", of(json!([c]))).await, (200, spec));
        let (_, spec) = racks.apply("vip", of(json!([variable("d", json!([1, 2])), c]))).await;
        assert_eq!(names(&spec["variables"]), ["a", "b", "d", "c"]);
        let (_, spec) = racks.apply("vip", of(json!([variable("d", json!([1, 2]))]))).await;
        assert_eq!(names(&spec["variables"]), ["a", "b", "d"]);
        let (_, spec) = racks.apply("vip", json!({"mode": "auto"})).await;
        assert_eq!(names(&spec["variables"]), ["a", "b"]);
        // An entry of the same value is owned by both, and stays when one of them leaves it out.
        assert_eq!(racks.apply("vip", of(json!([variable("a", json!(1))]))).await.0, 200);
        let (_, spec) = racks.apply("vip", json!({})).await;
        assert_eq!(names(&spec["variables"]), ["a", "b"]);
    })
    .await;
}

#[tokio::test]
async fn entries_of_others_are_in_conflict_until_forced() {
    both("ssa-conflicts", async |s| {
        let racks = Racks::of(s).await;
        let of = |name: &str, value: Value| json!({"variables": [{"name": name, "value": value}]});
        racks.create(of("a", json!("")).clone()).await;
        let mine = of("a", json!("192.0.2.1"));
        assert_eq!(racks.apply("vip", mine.clone()).await.0, 409);
        assert_eq!(racks.force("vip", mine.clone()).await.0, 200);
        assert_eq!(racks.apply("vip", mine.clone()).await.0, 200);
        let both_fields = json!({"variables": [{"name": "a", "value": "x"}], "mode": "man"});
        assert_eq!(racks.apply("other", both_fields.clone()).await.0, 409);
        // The same manager by update and by apply is two managers.
        let path = racks.path("/a?fieldManager=vip");
        let host = json!({"spec": {"endpoint": {"host": "h", "port": 1}}});
        assert_eq!(s.merge(&path, &host).await.status, 200);
        let mut all = both_fields;
        all["endpoint"] = json!({"host": "other", "port": 2});
        assert_eq!(racks.apply("other", all.clone()).await.0, 409);
        assert_eq!(racks.apply("vip", json!({"endpoint": {"host": "g"}})).await.0, 409);
        assert_eq!(racks.force("other", all).await.0, 200);
        let (_, spec) = racks.apply("vip", mine).await;
        assert_eq!(spec, Value::Null);
        // Parts of a value are owned one by one.
        assert_eq!(racks.force("vip", of("a", json!({"x": 1, "y": [1]}))).await.0, 200);
        assert_eq!(racks.apply("one", of("a", json!({"z": 1}))).await.0, 200);
        assert_eq!(racks.apply("one", of("a", json!({"x": 2}))).await.0, 409);
        assert_eq!(racks.apply("one", of("a", json!({"y": [1, 2]}))).await.0, 409);
    })
    .await;
}

#[tokio::test]
async fn a_default_belongs_to_the_creator() {
    both("ssa-defaults", async |s| {
        let racks = Racks::of(s).await;
        racks.create(json!({"on": true})).await;
        assert_eq!(racks.apply("vip", json!({"mode": "man"})).await.0, 409);
        assert_eq!(racks.apply("vip", json!({"mode": "auto"})).await.0, 200);
        assert_eq!(racks.force("vip", json!({"mode": "man"})).await.0, 200);
        let (_, spec) = racks.apply("vip", json!({})).await;
        assert_eq!(spec["mode"], "auto");
        assert_eq!(s.delete(&racks.path("/a")).await.status, 200);
        // A default of an applied object belongs to nobody.
        assert_eq!(racks.apply("vip", json!({"on": true})).await.0, 201);
        assert_eq!(racks.apply("other", json!({"mode": "man"})).await.0, 200);
    })
    .await;
}

#[tokio::test]
async fn entries_are_told_apart_by_all_their_keys() {
    both("ssa-keys", async |s| {
        let racks = Racks::of(s).await;
        let of = |all: Value| json!({"ports": all});
        let first = of(json!([{"port": 80, "name": "web"}, {"port": 443, "name": "tls"}]));
        assert_eq!(racks.apply("one", first).await.0, 201);
        let udp = of(json!([{"port": 80, "protocol": "UDP", "name": "quic"}]));
        let (_, spec) = racks.apply("two", udp).await;
        assert_eq!(names(&spec["ports"]), ["web", "tls", "quic"]);
        // The key that the first manager left out has a default.
        let taken = of(json!([{"port": 80, "protocol": "TCP", "name": "mine"}]));
        assert_eq!(racks.apply("two", taken.clone()).await.0, 409);
        let (_, spec) = racks.force("two", taken).await;
        assert_eq!(names(&spec["ports"]), ["mine", "tls"]);
        let (_, spec) = racks.apply("one", of(json!([{"port": 443, "name": "tls"}]))).await;
        assert_eq!(names(&spec["ports"]), ["mine", "tls"]);
        let (_, spec) = racks.apply("two", json!({})).await;
        assert_eq!(names(&spec["ports"]), ["tls"]);
    })
    .await;
}

#[tokio::test]
async fn sets_and_maps_are_merged_and_whole_values_replaced() {
    both("ssa-sets", async |s| {
        let racks = Racks::of(s).await;
        let first = json!({
            "tags": ["b", "a"], "steps": ["x", "y"], "whole": {"k": "v"},
            "marks": {"k": "v"}, "free": {"deep": {"k": "v"}, "list": [1]},
        });
        assert_eq!(racks.apply("one", first).await.0, 201);
        let more = json!({"tags": ["c", "a"], "marks": {"l": "w"}, "free": {"deep": {"l": "w"}}});
        let (_, spec) = racks.apply("two", more).await;
        assert_eq!(spec["marks"], json!({"k": "v", "l": "w"}));
        assert_eq!(spec["free"]["deep"], json!({"k": "v", "l": "w"}));
        for taken in [
            json!({"steps": ["x"]}),
            json!({"whole": {"l": "w"}}),
            json!({"marks": {"k": "w"}}),
            json!({"free": {"list": [1, 2], "deep": {"k": "w"}}}),
        ] {
            assert_eq!(racks.apply("two", taken).await.0, 409);
        }
        let whole = json!({"whole": {"l": "w"}, "steps": ["z"]});
        let (_, spec) = racks.force("two", whole).await;
        assert_eq!((&spec["whole"], &spec["steps"]), (&json!({"l": "w"}), &json!(["z"])));
        assert_eq!(spec["tags"], json!(["b", "a"]));
        let (_, spec) = racks.apply("one", json!({"tags": ["b"], "free": {"deep": {}}})).await;
        assert_eq!(spec["tags"], json!(["b"]));
        assert_eq!(racks.apply("two", json!({})).await.0, 200);
    })
    .await;
}

#[tokio::test]
async fn a_configuration_must_fit_the_schema() {
    both("ssa-unfit", async |s| {
        let racks = Racks::of(s).await;
        for spec in [
            json!({"odd": 1}),
            json!({"endpoint": {"host": "h", "odd": 1}}),
            json!({"endpoint": {"host": 1}}),
            json!({"endpoint": {"port": "80"}}),
            json!({"endpoint": "text"}),
            json!({"endpoint": ["text"]}),
            json!({"on": "yes"}),
            json!({"tags": "text"}),
            json!({"tags": [{"a": 1}]}),
            json!({"tags": ["a", "a"]}),
            json!({"variables": [{"name": "a", "value": 1}, {"name": "a", "value": 2}]}),
            json!({"variables": [{"value": 1}]}),
            json!({"variables": ["text"]}),
            json!({"variables": [{"name": "a", "odd": 1}, {"name": "b", "odd": 1}]}),
            json!({"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}),
            json!({"steps": [1]}),
            json!({"mode": {"a": [1, "b", true]}}),
        ] {
            let (status, _) = racks.apply("one", spec.clone()).await;
            assert_eq!(status, 500, "{spec}");
        }
        // The schema's further rules are checked after the merge.
        let half = json!({"ports": [{"protocol": "UDP"}]});
        assert_eq!(racks.apply("one", half).await.0, 422);
        assert_eq!(racks.apply("one", json!({"when": "text"})).await.0, 422);
    })
    .await;
}

#[tokio::test]
async fn a_configuration_with_a_uid_creates_nothing() {
    both("ssa-uid", async |s| {
        let racks = Racks::of(s).await;
        let path = racks.path("/a");
        let mut config = racks.rack("spec", &json!({"on": true}));
        config["metadata"]["uid"] = json!("11111111-2222-3333-4444-555555555555");
        assert_eq!(s.apply(&path, "vip", &config).await.status, 409);
        assert_eq!(s.get(&path).await.status, 404);
        racks.create(json!({"mode": "man"})).await;
        // Another object of the same name is left alone.
        assert_eq!(s.apply(&path, "vip", &config).await.status, 422);
        let status = format!("{path}/status");
        assert_eq!(s.apply(&status, "vip", &config).await.status, 200);
        config["metadata"]["uid"] = json!(s.get(&path).await.uid());
        assert_eq!(s.apply(&path, "vip", &config).await.status, 200);
        // A core kind, too.
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "m", "uid": "11111111-2222-3333-4444-555555555555"}});
        assert_eq!(s.apply(&s.core("configmaps/m"), "vip", &map).await.status, 409);
    })
    .await;
}

#[tokio::test]
async fn a_configuration_with_a_version_applies_to_that_version_alone() {
    both("ssa-version", async |s| {
        let racks = Racks::of(s).await;
        let path = racks.path("/a");
        let mut config = racks.rack("spec", &json!({"on": true}));
        config["metadata"]["resourceVersion"] = json!("1");
        // No version is checked where no object is.
        assert_eq!(s.apply(&path, "vip", &config).await.status, 201);
        assert_eq!(s.delete(&path).await.status, 200);
        racks.create(json!({"mode": "man"})).await;
        assert_eq!(s.apply(&path, "vip", &config).await.status, 409);
        let found = s.get(&path).await;
        config["metadata"]["resourceVersion"] = json!(found.version());
        let applied = s.apply(&path, "vip", &config).await;
        assert_eq!(applied.status, 200);
        assert_ne!(applied.version(), found.version());
        assert_eq!(s.apply(&path, "vip", &config).await.status, 409);
    })
    .await;
}

#[tokio::test]
async fn a_status_is_applied_apart_from_the_rest() {
    both("ssa-status", async |s| {
        let racks = Racks::of(s).await;
        racks.create(json!({"on": true})).await;
        let path = racks.path("/a/status");
        let condition = |name: &str, status: &str| json!({"type": name, "status": status});
        let of = |all: Value| racks.rack("status", &json!({"conditions": all}));
        let first = of(json!([condition("Ready", "True"), condition("Old", "True")]));
        assert_eq!(s.apply(&path, "one", &first).await.status, 200);
        assert_eq!(s.apply(&path, "one", &first).await.status, 200);
        let own = of(json!([condition("VIPReady", "False")]));
        assert_eq!(s.apply(&path, "vip", &own).await.status, 200);
        let taken = of(json!([condition("Ready", "False")]));
        assert_eq!(s.apply(&path, "vip", &taken).await.status, 409);
        let left = s.apply(&path, "one", &of(json!([condition("Ready", "True")]))).await;
        let conditions = left.body["status"]["conditions"].as_array().unwrap();
        assert_eq!(conditions.len(), 2);
        // Each path ignores the part of the other. Something else changes in the same call: for an
        // ignored part alone a real API server writes a new time, if a second has passed since the last.
        let mut whole = of(json!([condition("VIPReady", "True")]));
        whole["spec"] = json!({"mode": "man"});
        whole["metadata"]["labels"] = json!({"l": "v"});
        let answer = s.apply(&path, "vip", &whole).await;
        assert_eq!((answer.status, &answer.body["spec"]["mode"]), (200, &json!("auto")));
        whole["status"]["phase"] = json!("odd");
        let answer = s.apply(&racks.path("/a?force=true"), "vip", &whole).await;
        assert_eq!(answer.body["spec"]["mode"], "man");
        assert_eq!(answer.body["status"].get("phase"), None);
        assert_eq!(s.apply(&racks.path("/none/status"), "vip", &own).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn references_to_owners_and_finalizers_are_applied_one_by_one() {
    both("ssa-owners", async |s| {
        let racks = Racks::of(s).await;
        let path = racks.path("/a");
        let owner = |name: &str, digit: &str| {
            let uid = format!("1111111{digit}-2222-3333-4444-555555555555");
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
        };
        let of = |owners: Value, finalizers: Value| {
            let mut rack = racks.rack("spec", &json!({"on": true}));
            rack["metadata"]["ownerReferences"] = owners;
            rack["metadata"]["finalizers"] = finalizers;
            rack
        };
        let (one, two) = (owner("one", "1"), owner("two", "2"));
        let first = of(json!([one]), json!(["x.y/one"]));
        assert_eq!(s.apply(&path, "one", &first).await.status, 201);
        let second = of(json!([two]), json!(["x.y/two"]));
        let joined = s.apply(&path, "two", &second).await;
        assert_eq!(joined.body["metadata"]["ownerReferences"], json!([one, two]));
        assert_eq!(s.apply(&path, "one", &racks.rack("spec", &json!({}))).await.status, 200);
        let mut renamed = two.clone();
        renamed["name"] = json!("three");
        let taken = of(json!([renamed]), json!(["x.y/two"]));
        assert_eq!(s.apply(&path, "one", &taken).await.status, 409);
        // What is being deleted can still be applied to, and goes with its last finalizer.
        assert_eq!(s.delete(&path).await.status, 200);
        assert_eq!(s.apply(&path, "two", &of(json!([two]), json!(["x.y/two"]))).await.status, 200);
        assert_eq!(s.apply(&path, "two", &of(json!([two]), json!([]))).await.status, 200);
        assert_eq!(s.get(&path).await.status, 404);
    })
    .await;
}
