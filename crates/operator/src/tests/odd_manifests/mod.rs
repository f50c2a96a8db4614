//! Arbitrary input from the API server: nothing panics, an object that cannot be decoded gets a
//! finding, and decoded objects can be planned and reported.
//!
//! `tests/corpus/manifests` holds one object per file. Every watch gets every object, and the
//! objects are the seeds of the mutations. A new surprise becomes a new file.

mod cluster;
mod faults;

use std::collections::BTreeMap;
use std::path::PathBuf;

use pontoon_core::model::Taint;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fronts::ledger;
use cluster::Cluster;
pub(crate) use faults::{faulty, kinds, value};

/// Every file of the corpus, as JSON text, by its name.
pub(crate) fn corpus() -> BTreeMap<String, String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/manifests");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let text = if name.ends_with(".yaml") { from_yaml(&name, &text) } else { text };
        (name, text)
    });
    texts.collect()
}

fn from_yaml(name: &str, yaml: &str) -> String {
    let value: Value =
        serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{name}: {error}"));
    value.to_string()
}

#[test]
fn every_object_of_the_corpus_is_taken_in_planned_and_reported() {
    let all = corpus();
    for text in all.values() {
        let mut cluster = Cluster::new();
        cluster.take(text);
        cluster.plan();
    }
    // All objects together, in a working cluster.
    let mut cluster = Cluster::new();
    all.values().for_each(|text| cluster.take(text));
    cluster.plan();
}

#[test]
fn what_is_wrong_with_an_object_of_the_corpus_is_told_on_that_object() {
    let all = corpus();
    let found = |name: &str| {
        let mut cluster = Cluster::new();
        cluster.take(&all[&format!("pool-{name}.yaml")]);
        cluster.finding().unwrap_or_else(|| panic!("nothing is wrong with {name}"))
    };
    for (name, reason) in [
        ("spec-is-text", "Undecodable"),
        ("wrong-types", "Undecodable"),
        ("wrong-types-in-its-status", "Undecodable"),
        ("wants-beyond", "Undecodable"),
        ("wants-most", "TooManyAddresses"),
        ("cools-off-text", "Undecodable"),
        ("empty", "UnknownProvider"),
        ("provider-of-spaces", "UnknownProvider"),
        ("no-addresses", "NoAddresses"),
        ("odd-addresses", "InvalidAddress"),
        ("address-with-unicode", "InvalidAddress"),
        ("selector-emoji", "InvalidSelector"),
        ("pod-selector-garbage", "InvalidSelector"),
        ("ledger-garbage", "UnreadableLedger"),
        ("ledger-array", "UnreadableLedger"),
        ("ledger-of-null", "UnreadableLedger"),
        ("ledger-twice", "UnreadableLedger"),
    ] {
        assert_eq!(found(name), reason, "{name}");
    }
}

#[test]
fn every_toleration_of_the_corpus_means_what_it_should() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/tolerations.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut pool: Value = serde_json::from_str(&corpus()["pool-plain.yaml"]).unwrap();
    for case in cases {
        pool["spec"]["match"]["tolerations"] = json!([case["toleration"]]);
        let mut cluster = Cluster::new();
        cluster.take(&pool.to_string());
        let word = |field: &str| case["taint"][field].as_str().unwrap();
        let (key, value) = (word("key").into(), word("value").into());
        let taint = Taint { key, value, effect: word("effect").into() };
        let meant = match cluster.tolerates(&taint) {
            Some(true) => "tolerates",
            Some(false) => "does not tolerate",
            None => "nothing",
        };
        assert_eq!(meant, case["means"], "{case}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_object_that_somebody_spoiled_does_any_harm(
        objects in proptest::collection::vec(faulty(corpus()), 1..4),
    ) {
        let mut cluster = Cluster::new();
        objects.iter().for_each(|text| cluster.take(text));
        cluster.plan();
    }

    #[test]
    fn no_object_whatever_does_any_harm(
        kind in kinds(),
        mut object in value(),
    ) {
        if let (Some(object), Some((version, kind))) = (object.as_object_mut(), kind) {
            object.insert("apiVersion".into(), version.into());
            object.insert("kind".into(), kind.into());
        }
        let mut cluster = Cluster::new();
        cluster.take(&object.to_string());
        cluster.plan();
    }

    #[test]
    fn an_annotation_is_a_ledger_or_an_error_and_never_another_ledger(
        text in prop_oneof![
            value().prop_map(|value| value.to_string()),
            r#"[\[\]{}:,"a-z0-9. ]{0,40}"#,
            "\\PC{0,40}",
        ],
    ) {
        if let Ok(read) = ledger::read(Some(&text)) {
            prop_assert_eq!(ledger::read(Some(&ledger::write(&read))), Ok(read.clone()));
            let stored: Value = serde_json::from_str(&text).unwrap_or_default();
            let created = stored["created"].as_array().map_or(0, Vec::len);
            prop_assert!(text.trim().is_empty() || stored["created"].is_array(), "{:?}", read);
            prop_assert_eq!(read.created.len(), created);
        }
        std::hint::black_box(ledger::resolution(Some(&text)));
    }
}
