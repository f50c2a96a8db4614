//! Corrupted objects of the corpus, and arbitrary objects made of known words.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Larger files of the corpus are not corrupted; testing them unchanged is enough.
const LARGE: usize = 4096;

#[derive(Clone, Debug)]
enum Fault {
    Drop,
    Replace(Value),
    /// Wraps the value in a list.
    Wrap,
    /// Adds another member to an object.
    Beside(String, Value),
    /// Repeats the elements of a list.
    Double,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => Just(Fault::Drop),
        5 => scalar().prop_map(Fault::Replace),
        1 => value().prop_map(Fault::Replace),
        1 => Just(Fault::Wrap),
        2 => (key(), value()).prop_map(|(key, value)| Fault::Beside(key, value)),
        1 => Just(Fault::Double),
    ]
}

/// An object of the corpus with up to three faults, as text.
pub(crate) fn faulty(corpus: BTreeMap<String, String>) -> impl Strategy<Value = String> {
    let small = corpus.into_values().filter(|text| text.len() < LARGE);
    let seeds: Vec<Value> = small.filter_map(|text| serde_json::from_str(&text).ok()).collect();
    (select(seeds), vec((any::<Index>(), fault()), 0..4)).prop_map(|(mut object, faults)| {
        for (at, fault) in faults {
            let places = places(&object, "");
            let place = places[at.index(places.len())].clone();
            apply(&mut object, &place, fault);
        }
        object.to_string()
    })
}

/// An API version and kind, or `None`.
pub(crate) fn kinds() -> impl Strategy<Value = Option<(&'static str, &'static str)>> {
    let ours = "flipop.digitalocean.com/v1alpha1";
    select(vec![
        None,
        Some((ours, "FloatingIPPool")),
        Some((ours, "FloatingIPPool")),
        Some((ours, "NodeDNSRecordSet")),
        Some(("v1", "Node")),
        Some(("v1", "Pod")),
        Some(("apiextensions.k8s.io/v1", "CustomResourceDefinition")),
        Some(("coordination.k8s.io/v1", "Lease")),
    ])
}

fn key() -> impl Strategy<Value = String> {
    let known = [
        "metadata",
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "labels",
        "annotations",
        "pontoon.dev/addresses",
        "pontoon.dev/resolve-create",
        "flipop.digitalocean.com/ipv4-reserved-ip",
        "spec",
        "provider",
        "region",
        "ips",
        "desiredIPs",
        "assignmentCoolOffSeconds",
        "gracePeriodSeconds",
        "deletionPolicy",
        "match",
        "nodeLabel",
        "podLabel",
        "podNamespace",
        "tolerations",
        "operator",
        "key",
        "dnsRecordSet",
        "providerID",
        "taints",
        "nodeName",
        "status",
        "conditions",
        "type",
        "phase",
        "createdIPs",
        "lastAssignmentTime",
        "created",
        "intents",
        "id",
    ];
    prop_oneof![12 => select(known.to_vec()).prop_map(ToOwned::to_owned), 1 => "\\PC{0,4}"]
}

/// A value other than a list or an object.
fn scalar() -> impl Strategy<Value = Value> {
    let known = [
        json!(null),
        json!(true),
        json!(0),
        json!(7),
        json!(-1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e300),
        json!(0.5),
        json!(""),
        json!(" "),
        json!("7"),
        json!("True"),
        json!("Ready"),
        json!("Running"),
        json!("Exists"),
        json!("digitalocean"),
        json!("digitalocean://12"),
        json!("192.0.2.1"),
        json!("2001:db8::1"),
        json!("192.0.2.1/32"),
        json!("role=edge"),
        json!("role in (edge,"),
        json!("2026-11-15T03:35:57Z"),
        json!("9999-12-31T23:59:59.999999Z"),
        json!("-009999-01-01T00:00:00Z"),
        json!("{\"created\":[\"192.0.2.1\"]}"),
        json!("[[]]"),
        json!("\u{0}\u{202e}\u{1F600}"),
    ];
    prop_oneof![
        14 => select(known.to_vec()),
        1 => "\\PC{0,8}".prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
    ]
}

/// An arbitrary value made of known words.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 32, 5, |inner| {
        let object = vec((key(), inner.clone()), 0..6);
        prop_oneof![
            1 => vec(inner, 0..4).prop_map(Value::Array),
            3 => object.prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}

/// Every place in a value, as JSON pointers.
fn places(value: &Value, here: &str) -> Vec<String> {
    let mut all = vec![here.to_owned()];
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                all.extend(places(value, &format!("{here}/{key}")));
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                all.extend(places(value, &format!("{here}/{index}")));
            }
        }
        _ => {}
    }
    all
}

fn apply(value: &mut Value, place: &str, fault: Fault) {
    if matches!(fault, Fault::Drop) {
        return drop_at(value, place);
    }
    let Some(target) = value.pointer_mut(place) else { return };
    match (fault, target) {
        (Fault::Replace(with), target) => *target = with,
        (Fault::Wrap, target) => *target = json!([target.take()]),
        (Fault::Beside(key, with), Value::Object(members)) => drop(members.insert(key, with)),
        (Fault::Double, Value::Array(elements)) => elements.extend(elements.clone()),
        (Fault::Drop | Fault::Beside(..) | Fault::Double, _) => {}
    }
}

fn drop_at(value: &mut Value, place: &str) {
    let Some((parent, last)) = place.rsplit_once('/') else {
        *value = json!({});
        return;
    };
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            drop(members.remove(&last.replace("~1", "/").replace("~0", "~")));
        }
        Some(Value::Array(elements)) => {
            if let Ok(index) = last.parse::<usize>() {
                drop(elements.remove(index));
            }
        }
        _ => {}
    }
}
