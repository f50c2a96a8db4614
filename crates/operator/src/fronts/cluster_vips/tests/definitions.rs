use serde_json::{Value, json};

use super::super::{CLUSTER, GENERATIONS};
use crate::observe::schema::{Definition, DefinitionView, Schema};
use crate::observe::{Observation, Watch};

/// A served version of the definition of Clusters.
fn version(name: &str, variables: &str, status: Value) -> Value {
    let variables = json!({"type": "array", "x-kubernetes-list-type": variables});
    let topology = json!({"properties": {"variables": variables}});
    let spec = json!({"properties": {"topology": topology}});
    let root = json!({"properties": {"spec": spec, "status": {"properties": status}}});
    json!({"name": name, "served": true, "schema": {"openAPIV3Schema": root}})
}

fn seen(versions: &[Value]) -> Option<usize> {
    let definition: DefinitionView = serde_json::from_value(json!({
        "metadata": {"name": "clusters.cluster.x-k8s.io"},
        "spec": {"versions": versions},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }))
    .unwrap();
    match Definition::of(&CLUSTER, &GENERATIONS).seen(definition) {
        Some(Observation::Schema(_, Schema::Theirs(used))) => {
            GENERATIONS.iter().position(|one| std::ptr::eq(one, used))
        }
        Some(Observation::Schema(_, Schema::Missing)) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_newest_generation_is_used_with_what_its_definition_can_hold() {
    let shared = || json!({"x-kubernetes-list-type": "map"});
    let under = json!({"conditions": {}, "v1beta2": {"properties": {"conditions": shared()}}});
    let new = version("v1beta2", "map", json!({"conditions": shared()}));
    let since_1_9 = version("v1beta1", "map", under);
    assert_eq!(seen(&[since_1_9.clone(), new]), Some(0));
    assert_eq!(seen(&[since_1_9]), Some(1));
    assert_eq!(seen(&[version("v1beta1", "map", json!({"conditions": {}}))]), Some(2));
    assert_eq!(seen(&[version("v1beta1", "atomic", json!({"conditions": {}}))]), Some(3));
    assert_eq!(seen(&[version("v1alpha4", "map", json!({}))]), None);
}
