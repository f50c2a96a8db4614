//! The steps over objects in memory, with an API server that stores what the steps write.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use pontoon_core::model::Kind;
use serde_json::{Value, json};

use super::*;

const MACHINES_TAKE: Duration = Duration::from_secs(5);

/// Stored objects, and the time.
struct Desk {
    stored: Stored,
    version: u64,
    now: Timestamp,
}

impl Desk {
    fn new() -> Self {
        Self { stored: Stored::default(), version: 0, now: Timestamp::UNIX_EPOCH }
    }

    fn put(&mut self, kind: &'static Kind, namespace: &str, name: &str, rest: Value) {
        let metadata = json!({"namespace": namespace, "name": name, "uid": format!("uid-{name}")});
        let mut object = json!({"metadata": metadata});
        merge(&mut object, &rest);
        self.store(kind, object);
    }

    fn store(&mut self, kind: &'static Kind, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let one = Object(&object);
        if one.is_deleting() && one.finalizers().is_empty() {
            self.stored.remove(kind, &one.key());
        } else {
            self.stored.set(kind, object);
        }
    }

    fn object(&self, kind: &'static Kind, namespace: &str, name: &str) -> Option<Value> {
        let key = (namespace.to_owned(), name.to_owned());
        self.stored.get(kind, &key).map(|object| object.0.clone())
    }

    fn change(&mut self, kind: &'static Kind, (namespace, name): (&str, &str), patch: Value) {
        let mut object = self.object(kind, namespace, name).unwrap();
        merge(&mut object, &patch);
        self.store(kind, object);
    }

    fn delete(&mut self, kind: &'static Kind, at: (&str, &str)) {
        let patch = json!({"metadata": {"deletionTimestamp": self.now.to_string()}});
        self.change(kind, at, patch);
    }

    /// Takes steps until none is left. Returns when the controllers want to look again.
    fn settle(&mut self) -> Option<Timestamp> {
        for _ in 0..20 {
            let steps = step(&self.stored, self.now, MACHINES_TAKE);
            if steps.writes.is_empty() {
                return steps.wake;
            }
            for write in steps.writes {
                match write {
                    Write::Create(kind, mut object) => {
                        let name = Object(&object).text("name").to_owned();
                        object["metadata"]["uid"] = json!(format!("uid-{name}"));
                        self.store(kind, object);
                    }
                    Write::Patch(kind, (namespace, name), patch)
                    | Write::Tell(kind, (namespace, name), patch) => {
                        self.change(kind, (&namespace, &name), patch);
                    }
                    Write::Delete(kind, (namespace, name), _) => {
                        self.delete(kind, (&namespace, &name));
                    }
                }
            }
        }
        panic!("the controllers never come to rest");
    }

    fn pool(&mut self, name: &str, addresses: &str) {
        let spec = json!({"addresses": [addresses], "prefix": 24, "gateway": "192.0.2.254"});
        self.put(&GLOBAL_POOL, "", name, json!({"spec": spec}));
    }

    fn claim(&mut self, name: &str, cluster: &str, pool: &str) {
        let reference = json!({"apiGroup": IPAM, "kind": "GlobalInClusterIPPool", "name": pool});
        let mut spec = json!({"poolRef": reference});
        if !cluster.is_empty() {
            spec["clusterName"] = json!(cluster);
        }
        self.put(&CLAIM, "a", name, json!({"spec": spec}));
    }

    fn address(&self, claim: &str) -> Option<String> {
        let bound = self.object(&CLAIM, "a", claim)?["status"]["addressRef"]["name"].is_string();
        let address = self.object(&ADDRESS, "a", claim).filter(|_| bound)?;
        address["spec"]["address"].as_str().map(str::to_owned)
    }

    fn counts(&self, pool: &str) -> Value {
        self.object(&GLOBAL_POOL, "", pool).unwrap()["status"]["ipAddresses"].clone()
    }
}

/// Merges a patch, as the API server does.
fn merge(into: &mut Value, patch: &Value) {
    match patch {
        Value::Object(fields) if into.is_object() => {
            for (name, value) in fields {
                merge(&mut into[name], value);
            }
        }
        other => *into = other.clone(),
    }
}

#[test]
fn claims_get_different_addresses_and_their_pool_is_counted() {
    let mut desk = Desk::new();
    desk.pool("p", "192.0.2.1-192.0.2.3");
    desk.claim("one", "", "p");
    desk.claim("two", "", "p");
    desk.settle();
    assert_eq!(desk.address("one").as_deref(), Some("192.0.2.1"));
    assert_eq!(desk.address("two").as_deref(), Some("192.0.2.2"));
    assert_eq!(desk.counts("p"), json!({"total": 3, "used": 2, "free": 1}));
    let address = desk.object(&ADDRESS, "a", "one").unwrap();
    let owners = &address["metadata"]["ownerReferences"];
    assert_eq!((&owners[0]["uid"], &owners[0]["controller"]), (&json!("uid-one"), &json!(true)));
    assert_eq!(owners[1]["kind"], "GlobalInClusterIPPool");
    let finalizers = |object: Value| object["metadata"]["finalizers"][0].clone();
    assert_eq!(finalizers(address), PROTECT_ADDRESS);
    assert_eq!(finalizers(desk.object(&CLAIM, "a", "one").unwrap()), RELEASE);
    assert_eq!(finalizers(desk.object(&GLOBAL_POOL, "", "p").unwrap()), PROTECT_POOL);
}

#[test]
fn a_deleted_claim_frees_its_address_for_a_claim_that_waits() {
    let mut desk = Desk::new();
    desk.pool("p", "192.0.2.1");
    desk.claim("one", "", "p");
    desk.settle();
    desk.claim("two", "", "p");
    desk.settle();
    assert_eq!(desk.address("two"), None);
    desk.delete(&CLAIM, ("a", "one"));
    desk.settle();
    assert_eq!(desk.object(&CLAIM, "a", "one"), None);
    assert_eq!(desk.address("two").as_deref(), Some("192.0.2.1"));
    assert_eq!(desk.counts("p"), json!({"total": 1, "used": 1, "free": 0}));
}

#[test]
fn an_address_that_the_collector_took_from_its_claim_is_freed_all_the_same() {
    let mut desk = Desk::new();
    desk.pool("p", "192.0.2.1");
    desk.claim("one", "", "p");
    desk.settle();
    let owners = desk.object(&ADDRESS, "a", "one").unwrap()["metadata"]["ownerReferences"].clone();
    let patch = json!({"metadata": {"ownerReferences": [owners[1].clone()]}});
    desk.change(&ADDRESS, ("a", "one"), patch);
    desk.delete(&CLAIM, ("a", "one"));
    desk.settle();
    assert_eq!(desk.object(&ADDRESS, "a", "one"), None);
    assert_eq!(desk.counts("p")["used"], 0);
}

#[test]
fn claims_of_paused_and_missing_clusters_wait() {
    let mut desk = Desk::new();
    desk.pool("p", "192.0.2.1-192.0.2.9");
    desk.put(&CLUSTER, "a", "c", json!({"spec": {"paused": true}}));
    desk.claim("paused", "c", "p");
    desk.claim("missing", "nobody", "p");
    desk.settle();
    assert_eq!((desk.address("paused"), desk.address("missing")), (None, None));
    desk.change(&CLUSTER, ("a", "c"), json!({"spec": {"paused": false}}));
    desk.settle();
    assert!(desk.address("paused").is_some());
    // The address of a claim whose Cluster is gone is freed all the same.
    desk.stored.remove(&CLUSTER, &("a".to_owned(), "c".to_owned()));
    desk.delete(&CLAIM, ("a", "paused"));
    desk.settle();
    assert_eq!(desk.counts("p")["used"], 0);
}

#[test]
fn paused_and_deleted_pools_hand_out_nothing() {
    let mut desk = Desk::new();
    desk.pool("p", "192.0.2.1-192.0.2.9");
    desk.claim("one", "", "p");
    desk.settle();
    desk.change(&GLOBAL_POOL, ("", "p"), json!({"metadata": {"annotations": {names::PAUSED: ""}}}));
    desk.claim("two", "", "p");
    desk.settle();
    assert_eq!(desk.address("two"), None);
    desk.delete(&GLOBAL_POOL, ("", "p"));
    desk.settle();
    assert!(desk.object(&GLOBAL_POOL, "", "p").is_some(), "an address is in use");
    desk.delete(&CLAIM, ("a", "one"));
    desk.settle();
    assert_eq!(desk.object(&GLOBAL_POOL, "", "p"), None);
}

#[test]
fn a_pool_in_a_namespace_serves_that_namespace_alone() {
    let mut desk = Desk::new();
    let spec = json!({"spec": {"addresses": ["192.0.2.1"], "prefix": 24}});
    desk.put(&LOCAL_POOL, "b", "p", spec);
    let reference = json!({"apiGroup": IPAM, "kind": "InClusterIPPool", "name": "p"});
    for namespace in ["a", "b"] {
        desk.put(&CLAIM, namespace, "one", json!({"spec": {"poolRef": reference}}));
    }
    desk.settle();
    assert!(desk.object(&ADDRESS, "b", "one").is_some());
    assert_eq!(desk.object(&ADDRESS, "a", "one"), None);
}

#[test]
fn a_deleted_cluster_stays_until_its_machines_are_gone() {
    let mut desk = Desk::new();
    desk.put(&CLUSTER, "a", "c", json!({"spec": {"topology": {}}}));
    desk.settle();
    let cluster = desk.object(&CLUSTER, "a", "c").unwrap();
    assert_eq!(cluster["metadata"]["finalizers"], json!([names::GUARD]));
    assert_eq!(cluster["status"]["phase"], "Provisioning");
    desk.change(&CLUSTER, ("a", "c"), json!({"spec": {"controlPlaneEndpoint": {"host": "x"}}}));
    desk.settle();
    assert_eq!(desk.object(&CLUSTER, "a", "c").unwrap()["status"]["phase"], "Provisioned");
    desk.delete(&CLUSTER, ("a", "c"));
    let gone = desk.now + MACHINES_TAKE;
    assert_eq!(desk.settle(), Some(gone));
    assert_eq!(desk.object(&CLUSTER, "a", "c").unwrap()["status"]["phase"], "Deleting");
    desk.now = gone;
    assert_eq!(desk.settle(), None);
    assert_eq!(desk.object(&CLUSTER, "a", "c"), None);
}

fn ranges(spec: Value) -> (i64, Vec<String>) {
    let ranges = Ranges::of_pool(&spec);
    let (mut used, mut all) = (BTreeSet::<IpAddr>::new(), Vec::new());
    while let Some(ip) = ranges.first_free(&used).filter(|_| all.len() < 9) {
        used.insert(ip);
        all.push(ip.to_string());
    }
    (ranges.total(), all)
}

#[test]
fn gateway_exclusions_and_the_ends_of_the_network_are_not_handed_out() {
    let spec = json!({
        "addresses": ["192.0.2.0/29", "192.0.2.6-192.0.2.7"], "prefix": 29,
        "gateway": "192.0.2.1", "excludedAddresses": ["192.0.2.3-192.0.2.4"],
    });
    let all = ["192.0.2.2", "192.0.2.5", "192.0.2.6"].map(str::to_owned);
    assert_eq!(ranges(spec.clone()), (3, all.to_vec()));
    let mut whole = spec;
    whole["allocateReservedIPAddresses"] = json!(true);
    assert_eq!(ranges(whole).0, 5);
}

#[test]
fn pools_of_ipv6_are_as_large_as_they_like() {
    let spec = json!({"addresses": ["2001:db8::/48"], "prefix": 48});
    let (total, first) = ranges(spec);
    assert_eq!((total, first[0].as_str()), (i64::MAX, "2001:db8::1"));
    assert_eq!(ranges(json!({"addresses": ["nonsense"], "prefix": 24})), (0, Vec::new()));
}

#[test]
fn every_kind_that_pontoon_reads_is_defined() {
    let names: BTreeSet<_> =
        definitions().unwrap().into_iter().filter_map(|one| one.metadata.name).collect();
    let kinds = KINDS.into_iter().chain([&CLASS]);
    assert_eq!(names, kinds.map(|kind| kind.definition()).collect());
}
