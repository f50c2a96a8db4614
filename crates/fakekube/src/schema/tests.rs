//! All steps of a create or update, in the server's order.
use serde_json::{Value, json};

use super::*;

fn structural() -> Structural {
    let rule = |rule: &str, message: &str| json!({"rule": rule, "message": message});
    Structural::from_crd_version(&json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 5},
            "count": {"type": "integer", "minimum": 1, "x-kubernetes-validations": [
                rule("self != 13", "must not be 13"),
                rule("self >= oldSelf", "must not shrink"),
            ]},
            "ips": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [
                {"rule": "isIP(self)", "messageExpression": "'\"' + self + '\" is no address'"}]}},
        },
        "x-kubernetes-validations": [{
            "rule": "has(self.ips) || (oldSelf.hasValue() && !has(oldSelf.value().ips))",
            "message": "needed", "fieldPath": ".ips", "reason": "FieldValueRequired",
            "optionalOldSelf": true,
        }],
    }}}))
    .unwrap()
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n", "namespace": "d"}, "spec": spec})
}

fn said(new: Value, old: Option<Value>) -> Vec<String> {
    let [new, old] = [Some(new), old].map(|spec| spec.map(object));
    let causes = structural().validate(&new.unwrap(), old.as_ref());
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

#[test]
fn a_good_object_passes() {
    assert_eq!(said(json!({"name": "a", "count": 1, "ips": ["192.0.2.1"]}), None), [""; 0]);
}

#[test]
fn rules_speak_in_the_words_of_the_schema() {
    assert_eq!(
        said(json!({"name": "a", "count": 13, "ips": ["x"]}), None),
        [
            "spec.count: Invalid value: 13: must not be 13",
            r#"spec.ips[0]: Invalid value: "x": "x" is no address"#,
        ]
    );
    assert_eq!(said(json!({"name": "a"}), None), ["spec.ips: Required value: needed"]);
}

#[test]
fn values_are_checked_before_rules_and_may_block_them() {
    assert_eq!(
        said(json!({"count": 13, "ips": []}), None),
        [
            "spec.name: Required value",
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
        ]
    );
    assert_eq!(
        said(json!({"name": "a", "count": 0, "ips": []}), None),
        ["spec.count: Invalid value: 0: spec.count in body should be greater than or equal to 1"]
    );
}

#[test]
fn what_stays_as_it_was_is_not_checked_again() {
    let broken = json!({"name": "too-long", "count": 13});
    let mut edited = broken.clone();
    edited["name"] = json!("a");
    assert_eq!(said(broken.clone(), Some(broken.clone())), [""; 0]);
    assert_eq!(said(edited, Some(broken)), [""; 0]);
}

#[test]
fn a_rule_that_compares_runs_on_updates_only() {
    let spec = |count: i64| json!({"name": "a", "count": count, "ips": []});
    assert_eq!(said(spec(2), None), [""; 0]);
    assert_eq!(said(spec(3), Some(spec(2))), [""; 0]);
    assert_eq!(said(spec(2), Some(spec(3))), ["spec.count: Invalid value: 2: must not shrink"]);
}

#[test]
fn a_rule_that_is_not_cel_is_an_error() {
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": "self +"}]});
    assert!(Structural::from_crd_version(&schema).is_err());
}
