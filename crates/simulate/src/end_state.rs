//! The final state of a run without times, UIDs and versions. Two runs that differ only in the time
//! of a crash end in equal states.

use fakecloud::Record;
use serde_json::{Map, Value, json};

use crate::names::Host;
use crate::stage::Stage;
use pontoon::api::ADDRESSES_ANNOTATION;

/// Fields that differ between runs without meaning.
const MASKED: [&str; 11] = [
    "uid",
    "resourceVersion",
    "generation",
    "observedGeneration",
    "creationTimestamp",
    "lastTransitionTime",
    "lastAssignmentTime",
    "ineligibleSince",
    "since",
    "managedFields",
    "pontoon.dev/held-for-uid",
];

/// The nodes, pools, addresses and records of a stage. Events and the Lease describe the course of
/// a run, and are left out.
pub fn of(stage: &Stage) -> Value {
    let all = |group: &str, plural: &str| -> Vec<Value> {
        let objects = stage.kube.objects(group, plural);
        objects.iter().map(|object| masked(object)).collect()
    };
    let addresses = stage.cloud.addresses();
    let addresses: Map<String, Value> =
        addresses.iter().map(|one| (one.ip.to_string(), json!(one.holder))).collect();
    json!({
        "nodes": all("", "nodes"),
        "pools": all("flipop.digitalocean.com", "floatingippools"),
        "addresses": addresses,
        "egress": egress(stage),
        "allocations": all("netinfra.darkbrains.com", "netipallocations"),
        "listings": all("flipop.digitalocean.com", "nodednsrecordsets"),
        "names": names(stage),
        "clusters": all("cluster.x-k8s.io", "clusters"),
        "claims": all("ipam.cluster.x-k8s.io", "ipaddressclaims"),
        "vips": all("ipam.cluster.x-k8s.io", "ipaddresses"),
        "holders": all("", "configmaps"),
    })
}

/// Whether each machine has an external address. Its own address is another one each time.
fn egress(stage: &Stage) -> Map<String, Value> {
    stage.cloud.look(|state| {
        let open = |id| state.external(id, 0).is_some();
        state.machines().map(|one| (one.id.to_string(), json!(open(one.id)))).collect()
    })
}

/// All records of all zones, without identifiers.
fn names(stage: &Stage) -> Vec<String> {
    let mut all = Vec::new();
    for zone in Host::ALL.map(Host::zone) {
        let records = stage.cloud.records(zone);
        let words =
            |one: &Record| format!("{}.{zone} {} {} {}", one.name, one.ttl, one.kind, one.data);
        all.extend(records.iter().map(words));
    }
    all.sort_unstable();
    all
}

fn masked(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !MASKED.contains(&key.as_str()));
            Value::Object(kept.map(|(key, value)| (key.clone(), field(key, value))).collect())
        }
        Value::Array(items) => items.iter().map(masked).collect(),
        other => other.clone(),
    }
}

fn field(key: &str, value: &Value) -> Value {
    // The ledger lists addresses in order of creation.
    if key == ADDRESSES_ANNOTATION
        && let Some(Ok(Value::Object(mut ledger))) = value.as_str().map(serde_json::from_str)
    {
        if let Some(Value::Array(created)) = ledger.get_mut("created") {
            created.sort_by_key(ToString::to_string);
        }
        return Value::Object(ledger);
    }
    if key == "createdIPs"
        && let Value::Array(created) = value
    {
        let mut created = created.clone();
        created.sort_by_key(ToString::to_string);
        return Value::Array(created);
    }
    masked(value)
}
