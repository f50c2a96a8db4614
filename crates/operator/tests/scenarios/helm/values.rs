//! The chart's values.

use serde_json::{Value, json};

use super::{rendered, template};
use crate::installing::printed::page;

fn schema() -> Value {
    serde_json::from_str(&page("charts/pontoon/values.schema.json")).unwrap()
}

fn defaults() -> Value {
    serde_saphyr::from_str(&page("charts/pontoon/values.yaml")).unwrap()
}

/// Holds a part of the schema against the same part of the defaults.
fn compare(path: &str, schema: &Value, default: &Value) {
    assert!(schema["description"].is_string(), "{path} is not described");
    let Some(properties) = schema["properties"].as_object() else { return };
    assert_eq!(schema["additionalProperties"], false, "{path} takes unknown keys");
    let known = default.as_object().unwrap_or_else(|| panic!("{path}: no defaults"));
    for key in known.keys() {
        assert!(properties.contains_key(key), "{path}.{key} is not in the schema");
    }
    for (key, below) in properties {
        // Helm itself puts this value into every chart.
        if key != "global" {
            let default = known.get(key).unwrap_or_else(|| panic!("{path}.{key}: no default"));
            compare(&format!("{path}.{key}"), below, default);
        }
    }
}

#[test]
fn every_value_is_described_has_a_default_and_stands_alone() {
    compare("values", &schema(), &defaults());
}

/// A key that no schema knows, at every level.
fn with_typos(schema: &Value) -> Value {
    let mut all = json!({"typo": 1});
    for (key, below) in schema["properties"].as_object().unwrap() {
        if below["properties"].is_object() {
            all[key] = with_typos(below);
        }
    }
    all
}

fn levels(schema: &Value) -> usize {
    let below = schema["properties"].as_object().into_iter().flatten();
    let objects = below.filter(|(_, below)| below["properties"].is_object());
    1 + objects.map(|(_, below)| levels(below)).sum::<usize>()
}

#[test]
fn a_typo_is_refused_by_name_at_every_level() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.json");
    std::fs::write(&file, with_typos(&schema()).to_string()).unwrap();
    let Some(done) = template(&["-f", file.to_str().unwrap()]) else { return };
    let message = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success(), "{message}");
    let named = message.lines().filter(|line| line.contains("typo")).count();
    assert_eq!(named, levels(&schema()), "{message}");
}

#[test]
fn values_that_contradict_each_other_are_refused_by_name() {
    let only_pools = "controllers={floatingippools}";
    for (values, named) in [
        (&["controllers={floatingipools}"][..], "controllers.0"),
        (&[only_pools, "clusters.holdVips=true"], "clusters.holdVips"),
        (&[only_pools, "clusters.runtimeExtension.enabled=true"], "clusters.runtimeExtension"),
        (&["podMonitor.enabled=true", "serviceMonitor.enabled=true"], "serviceMonitor.enabled"),
        (&["serviceAccount.create=false"], "serviceAccount.name"),
        (&["image.digest=latest"], "image.digest"),
    ] {
        let args: Vec<_> = values.iter().flat_map(|value| ["--set", value]).collect();
        let Some(done) = template(&args) else { return };
        let message = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success() && message.contains(named), "{values:?}: {message}");
    }
}

#[test]
fn no_credential_can_be_written_into_values() {
    let providers = schema()["properties"]["providers"]["properties"].take();
    for (provider, values) in providers.as_object().unwrap() {
        for key in values["properties"].as_object().unwrap().keys() {
            let harmless = ["existingSecret", "tokenKey", "credentialsKey", "projectID", "project"];
            assert!(harmless.contains(&&**key), "{provider}.{key}");
        }
    }
    let Some(objects) = rendered(&[]) else { return };
    assert!(objects.iter().all(|one| one["kind"] != "Secret"));
}
