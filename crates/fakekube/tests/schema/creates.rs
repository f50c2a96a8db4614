//! New objects: both servers accept or refuse the same objects, with the same violations and
//! results.

use fakekube::registry::Kind;
use fakekube::schema::{Cause, Structural, invalid_message};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::{ask, install, kind_of, mutations, ours, path_of, real, shared};

/// A violation in comparable form.
type Finding = (String, String, String);

/// A server's answer to a new object.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The stored object, without its metadata.
    Stored(Value),
    /// The violations, sorted.
    Refused(Vec<Finding>),
    /// Unknown fields, sorted.
    Unknown(Vec<String>),
    /// Refused before validation: an embedded object has malformed metadata.
    Undecodable,
}

/// The answer of fakekube's schema.
pub fn judged(structural: &Structural, object: &Value, old: Option<&Value>) -> Answer {
    let unknown = structural.unknown_fields(object);
    if !unknown.is_empty() {
        return Answer::Unknown(unknown);
    }
    let mut stored = object.clone();
    structural.prune(&mut stored);
    structural.default(&mut stored);
    let causes = structural.validate(&stored, old);
    if causes.is_empty() { Answer::Stored(without_meta(stored)) } else { refused(&causes) }
}

pub fn refused(causes: &[Cause]) -> Answer {
    let finding =
        |cause: &Cause| (cause.field.clone(), cause.reason.to_owned(), cause.message.clone());
    let mut findings: Vec<_> = causes.iter().map(finding).collect();
    findings.sort();
    Answer::Refused(findings)
}

/// Converts the real server's answer.
pub fn answered(status: u16, answer: &Value) -> Answer {
    match status {
        200 | 201 => Answer::Stored(without_meta(answer.clone())),
        400 => {
            let message = answer["message"].as_str().unwrap();
            let Some((_, fields)) = message.split_once("strict decoding error: ") else {
                return Answer::Undecodable;
            };
            let mut unknown: Vec<_> = fields
                .split(", ")
                .map(|text| {
                    text.trim_start_matches("unknown field \"").trim_end_matches('"').to_owned()
                })
                .collect();
            unknown.sort();
            Answer::Unknown(unknown)
        }
        _ => {
            let causes =
                answer["details"]["causes"].as_array().unwrap_or_else(|| panic!("{answer}"));
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let finding = |cause: &Value| {
                (text(&cause["field"]), text(&cause["reason"]), text(&cause["message"]))
            };
            let mut findings: Vec<_> = causes.iter().map(finding).collect();
            findings.sort();
            Answer::Refused(findings)
        }
    }
}

fn without_meta(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("metadata");
    object
}

pub fn object(kind: &Kind, name: &str, fields: Value) -> Value {
    let mut object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name},
    });
    if kind.namespaced {
        object["metadata"]["namespace"] = json!("default");
    }
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

/// Posts a valid object and all its mutations to both servers.
async fn compare(client: &Client, definition: &Value, spec: Value) {
    let kind = kind_of(definition);
    let structural = kind.structural.clone().unwrap();
    let path = format!("{}?dryRun=All&fieldValidation=Strict", path_of(&kind));
    let good = object(&kind, "good", json!({"spec": spec}));
    let mut objects = vec![good.clone()];
    objects.extend(mutations::of(&good, &["spec"]));
    let mut wrong = Vec::new();
    let (mut stored, mut refused) = (0, 0);
    for object in &objects {
        let (status, answer) = ask(client, Method::POST, &path, object).await;
        let (theirs, ours) = (answered(status, &answer), judged(&structural, object, None));
        if theirs == Answer::Undecodable {
            continue;
        }
        if answer["message"].as_str().is_some_and(|text| text.contains("got []interface {}")) {
            // A list in place of a formatted text passes the real server's type check, and its
            // rules then fail with a Go message.
            assert!(matches!(ours, Answer::Refused(_)));
            continue;
        }
        match &theirs {
            Answer::Stored(_) => stored += 1,
            Answer::Refused(_) | Answer::Unknown(_) | Answer::Undecodable => refused += 1,
        }
        if theirs != ours {
            wrong.push(format!("{object}\n  real: {theirs:?}\n  ours: {ours:?}"));
        }
        if let Answer::Refused(findings) = &theirs
            && findings.len() == 1
        {
            let mut stored = object.clone();
            structural.prune(&mut stored);
            structural.default(&mut stored);
            let causes = structural.validate(&stored, None);
            let ours = invalid_message(&kind.qualified_kind(), "good", &causes);
            assert_eq!(answer["message"], json!(ours));
        }
    }
    let count = wrong.len();
    wrong.truncate(5);
    assert!(wrong.is_empty(), "{}: {count} of {}:\n{}", kind.kind, objects.len(), wrong.join("\n"));
    assert!(stored > 0 && refused > 10, "{}: {stored} stored, {refused} refused", kind.kind);
}

fn definition<'a>(definitions: &'a [Value], kind: &str) -> &'a Value {
    definitions.iter().find(|definition| definition["spec"]["names"]["kind"] == kind).unwrap()
}

fn pool() -> Value {
    json!({
        "provider": "digitalocean", "region": "nyc3", "desiredIPs": 2,
        "assignmentCoolOffSeconds": 20, "ips": ["192.0.2.1", "2001:db8::1"],
        "dnsRecordSet": {"recordName": "a", "zone": "example.com", "ttl": 30, "provider": "digitalocean"},
        "match": {"podNamespace": "ingress", "podLabel": "app=web", "nodeLabel": "a in (b,c)",
            "tolerations": [{"key": "k", "effect": "NoSchedule", "operator": "Exists"}]},
    })
}

fn record_set() -> Value {
    json!({
        "provider": "digitalocean", "addressType": "ExternalIP",
        "dnsRecordSet": {"recordName": "a", "zone": "example.com", "ttl": 30},
        "match": {"nodeLabel": "a=b", "tolerations": [{"key": "k", "effect": "NoSchedule"}]},
    })
}

#[tokio::test]
async fn objects_of_our_kinds() {
    let Some(client) = real().await else { return };
    let definitions = ours();
    for definition in &definitions {
        install(&client, definition).await;
    }
    compare(&client, definition(&definitions, "FloatingIPPool"), pool()).await;
    compare(&client, definition(&definitions, "NodeDNSRecordSet"), record_set()).await;
}

#[tokio::test]
async fn objects_of_the_predecessors_kinds() {
    let Some(client) = real().await else { return };
    let allocation = json!({
        "reservedIPs": ["192.0.2.1"], "workloadRef": {"kind": "Deployment", "name": "a", "namespace": "b"},
        "nodeSelector": {"a": "b"}, "cloud": {"provider": "gcp", "region": "r", "zones": ["z"]},
        "reconcileInterval": 30,
    });
    for (file, spec) in [
        ("flipop/flipop.floatingippool.crd.yaml", pool()),
        ("flipop/flipop.nodednsrecordset.crd.yaml", record_set()),
        ("netip/net-ip-allocation-crds.yaml", allocation),
    ] {
        let Some(definitions) = shared(file, "before.") else { return };
        install(&client, &definitions[0]).await;
        compare(&client, &definitions[0], spec).await;
    }
}

#[tokio::test]
async fn objects_of_cluster_api_kinds() {
    let Some(client) = real().await else { return };
    let reference = json!({"apiGroup": "ipam.example.com", "kind": "Pool", "name": "p"});
    let condition = json!({"type": "Odd", "status": "False", "timeoutSeconds": 30});
    let check = json!({
        "checks": {"nodeStartupTimeoutSeconds": 5, "unhealthyMachineConditions": [condition]},
        "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}},
    });
    let taint = json!({"key": "k", "effect": "NoSchedule", "propagation": "Always", "value": "v"});
    let cluster = json!({
        "availabilityGates": [{"conditionType": "a.b/Ready", "polarity": "Positive"}],
        "clusterNetwork": {"apiServerPort": 6443, "pods": {"cidrBlocks": ["10.0.0.0/8"]}},
        "controlPlaneRef": reference, "paused": false,
        "topology": {
            "classRef": {"name": "c"}, "version": "v1.30.0",
            "controlPlane": {
                "healthCheck": check, "replicas": 3, "rollout": {"after": "2024-01-01T00:00:00Z"},
                "taints": [taint], "metadata": {"labels": {"a": "b"}},
            },
            "variables": [{"name": "v", "value": {"any": 1}}],
        },
    });
    for (file, spec) in [
        (
            "v1beta2/ipam.cluster.x-k8s.io_inclusterippools.yaml",
            json!({"addresses": ["10.0.0.1-10.0.0.9"], "prefix": 24, "gateway": "10.0.0.254", "allocateReservedIPAddresses": true}),
        ),
        (
            "v1beta2/ipam.cluster.x-k8s.io_ipaddressclaims.yaml",
            json!({"clusterName": "c", "poolRef": reference}),
        ),
        (
            "v1beta2/ipam.cluster.x-k8s.io_ipaddresses.yaml",
            json!({"address": "10.0.0.1", "claimRef": {"name": "c"}, "gateway": "10.0.0.254", "poolRef": reference, "prefix": 24}),
        ),
        (
            "v1beta2/runtime.cluster.x-k8s.io_extensionconfigs.yaml",
            json!({"clientConfig": {"caBundle": "YQ==", "service": {"name": "s", "namespace": "n", "port": 443}}, "settings": {"a": "b"}}),
        ),
        ("v1beta2/cluster.x-k8s.io_clusters.yaml", cluster),
    ] {
        let Some(definitions) = shared(file, "two.") else { return };
        install(&client, &definitions[0]).await;
        compare(&client, &definitions[0], spec).await;
    }
}

#[tokio::test]
async fn all_definitions_are_accepted_by_both() {
    let Some(client) = real().await else { return };
    for file in [
        "v1beta1/cluster.x-k8s.io_clusterclasses.yaml",
        "v1beta1/cluster.x-k8s.io_clusters.yaml",
        "v1beta1/ipam.cluster.x-k8s.io_globalinclusterippools.yaml",
        "v1beta1/ipam.cluster.x-k8s.io_inclusterippools.yaml",
        "v1beta1/ipam.cluster.x-k8s.io_ipaddressclaims.yaml",
        "v1beta1/ipam.cluster.x-k8s.io_ipaddresses.yaml",
        "v1beta1/runtime.cluster.x-k8s.io_extensionconfigs.yaml",
        "v1beta2/cluster.x-k8s.io_clusterclasses.yaml",
        "v1beta2/ipam.cluster.x-k8s.io_globalinclusterippools.yaml",
        "v1beta2/ipam.cluster.x-k8s.io_globalinclusterprefixpools.yaml",
        "v1beta2/ipam.cluster.x-k8s.io_inclusterprefixpools.yaml",
    ] {
        let prefix = if file.starts_with("v1beta1") { "one." } else { "two." };
        let Some(definitions) = shared(file, prefix) else { return };
        install(&client, &definitions[0]).await;
    }
}

/// A definition with the schema features that the other definitions lack.
fn features() -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "properties": {
            "port": {"x-kubernetes-int-or-string": true},
            "rate": {"type": "number", "minimum": 0.5, "exclusiveMinimum": true, "maximum": 9.25},
            "step": {"type": "integer", "multipleOf": 5, "maximum": 1000, "exclusiveMaximum": true},
            "choice": {"type": "string", "enum": ["A", "B"], "default": "A"},
            "level": {"type": "integer", "enum": [1, 2]},
            "maybe": {"type": "string", "nullable": true},
            "filled": {"type": "object", "default": {}, "properties": {
                "size": {"type": "integer", "default": 3}}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}, "maxItems": 3},
            "unique": {"type": "array", "minItems": 1, "items": {"type": "integer"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
            "inner": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "map": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "string", "minLength": 2}},
            "ip": {"type": "string", "format": "ipv4"}, "cidr": {"type": "string", "format": "cidr"},
            "at": {"type": "string", "format": "date-time"}, "day": {"type": "string", "format": "date"},
            "wait": {"type": "string", "format": "duration"}, "id": {"type": "string", "format": "uuid"},
            "mail": {"type": "string", "format": "email"}, "host": {"type": "string", "format": "hostname"},
            "link": {"type": "string", "format": "uri"}, "mac": {"type": "string", "format": "mac"},
            "odd": {"type": "string", "format": "no-such-format"},
            "one": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            "any": {"type": "string", "anyOf": [{"pattern": "^a"}, {"minLength": 4}]},
            "all": {"type": "integer", "allOf": [{"minimum": 2}, {"maximum": 5}]},
            "never": {"type": "string", "not": {"pattern": "^x"}},
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.step) || self.step < 500", "message": "too far", "fieldPath": ".step"},
            {"rule": "!has(self.wait) || self.wait > duration('1s')"},
            {"rule": "!has(self.map) || self.map.all(k, k != 'bad')", "reason": "FieldValueForbidden", "message": "bad key"},
            {"rule": "!has(self.at) || self.at.getFullYear() > 2000", "messageExpression": "'too long ago, ' + 'by far'"},
            {"rule": "!has(self.free) || !has(self.free.known) || size(self.free.known.a) > 0", "message": "needs a"},
            {"rule": "!has(self.port) || (type(self.port) == int ? self.port > 0 : self.port != 'zero')", "message": "no port"},
        ],
    }}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "features.test.example"},
        "spec": {
            "group": "test.example", "scope": "Namespaced",
            "names": {"kind": "Feature", "listKind": "FeatureList", "plural": "features", "singular": "feature"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

#[tokio::test]
async fn objects_of_a_kind_with_everything_that_a_schema_may_say() {
    let Some(client) = real().await else { return };
    let definition = features();
    install(&client, &definition).await;
    let spec = json!({
        "port": 80, "rate": 1.5, "step": 10, "choice": "B", "level": 1, "maybe": "m",
        "filled": {"size": 1}, "set": ["a", "b"], "unique": [1, 2],
        "free": {"any": {"thing": 1}, "known": {"a": "b"}},
        "inner": {"apiVersion": "v1", "kind": "Pod", "spec": {"x": 1}},
        "map": {"key": "value"}, "ip": "192.0.2.1", "cidr": "192.0.2.0/24",
        "at": "2024-01-01T00:00:00Z", "day": "2024-01-01", "wait": "5s",
        "id": "c5bd1e1e-3b0e-4d6b-8f6f-1c2d3e4f5a6b", "mail": "a@example.com", "host": "example.com",
        "link": "https://example.com/", "mac": "00:00:5e:00:53:01", "odd": "x",
        "one": {"a": "x"}, "any": "abc", "all": 3, "never": "y",
    });
    compare(&client, &definition, spec).await;
}

#[tokio::test]
async fn metadata_is_judged_alike() {
    let Some(client) = real().await else { return };
    let definitions = ours();
    let definition = definition(&definitions, "FloatingIPPool");
    install(&client, definition).await;
    let kind = kind_of(definition);
    let structural = kind.structural.clone().unwrap();
    let path = format!("{}?dryRun=All&fieldValidation=Strict", path_of(&kind));
    let owner = |controller: bool| json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": controller});
    for meta in [
        json!({"name": "Upper_case"}),
        json!({"name": "a".repeat(254)}),
        json!({"name": "a..b"}),
        json!({"name": "a", "labels": {"": "x"}}),
        json!({"name": "a", "labels": {"a/b/c": "x"}}),
        json!({"name": "a", "labels": {"/b": "-x"}}),
        json!({"name": "a", "labels": {"A.B/c": "x".repeat(64)}}),
        json!({"name": "a", "annotations": {"no space": "x", "Example.com/Fine": "any text"}}),
        json!({"name": "a", "annotations": {"big": "x".repeat(257 * 1024)}}),
        json!({"name": "a", "finalizers": ["no space", "example.com/fine"]}),
        json!({"name": "a", "ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}),
        json!({"name": "a", "ownerReferences": [owner(true), owner(false)]}),
        json!({"generateName": "UPPER-"}),
    ] {
        let mut object = object(&kind, "a", json!({"spec": pool()}));
        object["metadata"] = meta;
        object["metadata"]["namespace"] = json!("default");
        let (status, answer) = ask(&client, Method::POST, &path, &object).await;
        let theirs = answered(status, &answer);
        if object["metadata"]["name"].is_null() {
            // The server generated the name.
            object["metadata"]["name"] = answer["details"]["name"].clone();
            continue;
        }
        assert_eq!(theirs, judged(&structural, &object, None), "{}", object["metadata"]["name"]);
    }
}
