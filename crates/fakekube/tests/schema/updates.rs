//! Updates: unchanged parts from a looser schema pass, changed parts are checked.

use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::{Duration, sleep, timeout};

use crate::creates::{Answer, answered, judged, object, refused};
use crate::{PATIENCE, ask, install, kind_of, path_of, real};

fn definition(schema: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ratchets.test.example"},
        "spec": {
            "group": "test.example", "scope": "Namespaced",
            "names": {"kind": "Ratchet", "listKind": "RatchetList", "plural": "ratchets", "singular": "ratchet"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// The schema, with or without its strict parts.
fn schema(strict: bool) -> Value {
    let rule = |rule: &str| json!([{"rule": rule, "message": rule}]);
    let item = json!({"type": "object", "required": ["k"], "properties": {
        "k": {"type": "string"}, "v": {"type": "string", "maxLength": 3},
        "n": {"type": "integer", "x-kubernetes-validations": rule("self < 10")}}});
    let mut spec = json!({
        "type": "object",
        "required": ["must"],
        "properties": {
            "must": {"type": "string"},
            "short": {"type": "string", "maxLength": 3},
            "choice": {"type": "string", "enum": ["A"]},
            "ips": {"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 50, "x-kubernetes-validations": rule("isIP(self)")}},
            "map": {"type": "array", "maxItems": 9, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item},
            "plain": {"type": "array", "maxItems": 9, "items": item},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "count": {"type": "integer", "x-kubernetes-validations": rule("self >= oldSelf")},
            "inner": {"type": "object", "required": ["a"], "properties": {
                "a": {"type": "string"}, "short": {"type": "string", "maxLength": 3}},
                "x-kubernetes-validations": rule("!has(self.short) || self.short != 'no'")},
        },
        "x-kubernetes-validations": [
            {"rule": "self.must != 'bad'", "message": "bad must"},
            {"rule": "has(self.count) || (oldSelf.hasValue() && !has(oldSelf.value().count))",
                "message": "count needed", "optionalOldSelf": true, "fieldPath": ".count", "reason": "FieldValueRequired"},
        ],
    });
    if !strict {
        spec = loosened(spec);
    }
    let mut status = json!({"type": "object", "properties": {
        "phase": {"type": "string", "enum": ["Up", "Down"], "x-kubernetes-validations": rule("self != 'Down'")},
        "list": {"type": "array", "items": {"type": "integer", "minimum": 0}}}});
    if !strict {
        status = loosened(status);
    }
    json!({"type": "object", "properties": {"spec": spec, "status": status}})
}

fn loosened(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| {
                !matches!(
                    name.as_str(),
                    "required"
                        | "maxLength"
                        | "enum"
                        | "minimum"
                        | "x-kubernetes-validations"
                        | "x-kubernetes-list-type"
                        | "x-kubernetes-list-map-keys"
                )
            });
            Value::Object(kept.map(|(name, value)| (name, loosened(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(loosened).collect()),
        other => other,
    }
}

/// Objects stored before the schema was strict: (name, spec, status).
fn stored() -> Vec<(&'static str, Value, Value)> {
    vec![
        ("empty", json!({}), json!({})),
        (
            "broken",
            json!({
                "short": "too long", "choice": "Z", "ips": ["x", "192.0.2.1"], "must": "bad",
                "map": [{"k": "a", "v": "too long", "n": 11}, {"k": "b", "n": 1}],
                "plain": [{"k": "a", "v": "too long", "n": 11}], "set": ["a", "a"], "count": 5,
                "inner": {"short": "too long"},
            }),
            json!({"phase": "Odd", "list": [-1]}),
        ),
        (
            "fine",
            json!({"must": "ok", "count": 1, "map": [{"k": "a", "n": 1}], "set": ["a"]}),
            json!({"phase": "Up"}),
        ),
    ]
}

/// Changes of a spec, as merge patches.
fn changes() -> Vec<Value> {
    vec![
        json!({}),
        json!({"must": "new"}),
        json!({"must": "bad"}),
        json!({"must": null}),
        json!({"short": "new but long"}),
        json!({"short": "ok"}),
        json!({"choice": "Y"}),
        json!({"ips": ["x"]}),
        json!({"ips": ["x", "192.0.2.2"]}),
        json!({"ips": ["192.0.2.3"]}),
        json!({"map": [{"k": "b", "n": 1}, {"k": "a", "v": "too long", "n": 11}]}),
        json!({"map": [{"k": "a", "v": "too long", "n": 12}]}),
        json!({"map": [{"k": "a", "v": "longer still", "n": 11}]}),
        json!({"map": [{"k": "c", "n": 13}]}),
        json!({"map": [{"k": "a"}, {"k": "a"}]}),
        json!({"map": [{"v": "x"}]}),
        json!({"plain": [{"k": "a", "v": "too long", "n": 11}, {"k": "b"}]}),
        json!({"plain": [{"k": "a", "v": "too long", "n": 11}]}),
        json!({"set": ["a", "a", "b"]}),
        json!({"set": ["b", "b"]}),
        json!({"count": 4}),
        json!({"count": 9}),
        json!({"count": null}),
        json!({"inner": {"short": "no"}}),
        json!({"inner": {"a": "x"}}),
        json!({"inner": {"a": "x", "short": "also long"}}),
        json!({"inner": {"a": 7}}),
    ]
}

async fn strict_server() -> Option<(Client, Value)> {
    let client = real().await?;
    let loose = definition(schema(false));
    install(&client, &loose).await;
    let kind = kind_of(&loose);
    for (name, spec, status) in stored() {
        let new = object(&kind, name, json!({"spec": spec}));
        let path = path_of(&kind);
        let (code, answer) = ask(&client, Method::POST, &path, &new).await;
        assert!(code == 201, "{answer}");
        let path = format!("{path}/{name}/status");
        let (code, answer) = ask(&client, Method::PATCH, &path, &json!({"status": status})).await;
        assert!(code == 200, "{answer}");
    }
    let strict = definition(schema(true));
    install(&client, &strict).await;
    let probe = object(&kind, "probe", json!({"spec": {}}));
    let path = format!("{}?dryRun=All", path_of(&kind));
    timeout(PATIENCE, async {
        while ask(&client, Method::POST, &path, &probe).await.0 == 201 {
            sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
    Some((client, strict))
}

#[tokio::test]
async fn what_an_update_leaves_alone_is_not_judged() {
    let Some((client, strict)) = strict_server().await else { return };
    let kind = kind_of(&strict);
    let structural = kind.structural.clone().unwrap();
    let mut wrong = Vec::new();
    for (name, _, _) in stored() {
        let path = format!("{}/{name}", path_of(&kind));
        let (_, old) = ask(&client, Method::GET, &path, &Value::Null).await;
        for change in changes() {
            let mut new = old.clone();
            merge(&mut new["spec"], &change);
            let path = format!("{path}?dryRun=All&fieldValidation=Strict");
            let (status, answer) = ask(&client, Method::PUT, &path, &new).await;
            let theirs = answered(status, &answer);
            let ours = judged(&structural, &new, Some(&old));
            if theirs != ours {
                wrong.push(format!("{name} {change}\n  real: {theirs:?}\n  ours: {ours:?}"));
            }
        }
        for status in [
            json!({}),
            json!({"phase": "Down"}),
            json!({"phase": "None"}),
            json!({"phase": 7}),
            json!({"list": [-1, 2]}),
            json!({"list": [-1], "phase": "Up"}),
        ] {
            let mut new = old.clone();
            new["status"] = status;
            let path = format!("{path}/status?dryRun=All");
            let (code, answer) = ask(&client, Method::PUT, &path, &new).await;
            let theirs = answered(code, &answer);
            let causes = structural.validate_status(&new, &old);
            let same = match &theirs {
                Answer::Stored(_) => causes.is_empty(),
                _ => theirs == refused(&causes),
            };
            if !same {
                wrong.push(format!(
                    "{name} {}\n  real: {theirs:?}\n  ours: {causes:?}",
                    new["status"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let fields = target.as_object_mut().unwrap();
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
