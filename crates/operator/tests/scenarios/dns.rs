//! The DNS record of a pool, at both hosts.

use std::net::IpAddr;
use std::time::Duration;

use fakecloud::{Exchange, Mark};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{Patch, PatchParams};
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::{Value, json};

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

const IPS: [&str; 2] = ["198.51.100.1", "198.51.100.2"];

/// Two nodes with an ingress, two addresses, a zone, and a pool with this record.
async fn pool_with(on: On, record: Value) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    for (name, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(name, droplet).await;
    }
    for ip in IPS {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
    }
    arena.cloud.domain("example.com");
    arena.pool("ingress", json!({"ips": IPS, "dnsRecordSet": record})).await;
    Some(arena)
}

fn hello() -> Value {
    json!({"zone": "example.com", "recordName": "hello", "ttl": 30})
}

/// The DNS changes since a mark.
fn dns_writes(arena: &Arena, since: Mark) -> Vec<Exchange> {
    let mut writes = arena.cloud.mutations_since(since);
    writes.retain(|one| one.path().contains("records"));
    writes
}

async fn dns_ready(arena: &Arena) -> String {
    arena.condition("ingress", "DNSReady", "True").await.1
}

async fn edit(arena: &Arena, pool: &str, spec: Value) {
    let pools = arena.namespaced::<FloatingIPPool>();
    let patch = Patch::Merge(json!({"spec": spec}));
    pools.patch(pool, &PatchParams::default(), &patch).await.unwrap();
}

async fn a_pools_record_at_digitalocean_follows_its_confirmed_addresses_and_a_restart_writes_nothing(
    on: On,
) {
    let Some(arena) = pool_with(on, hello()).await else { return };
    let start = arena.cloud.mark();
    let first = arena.replica("first");
    arena.ready("ingress").await;
    arena.listed("hello", "A", &IPS).await;
    assert_eq!(dns_ready(&arena).await, "hello.example.com lists 2 addresses");
    assert!(arena.cloud.records("example.com").iter().all(|record| record.ttl == 30));
    assert_eq!(dns_writes(&arena, start).len(), 2, "one call for each record");
    arena.event("ingress", "RecordCurrent").await;
    let held = arena.status("ingress").await.dns_record.unwrap();
    assert_eq!((held.name.as_str(), held.types), ("hello.example.com", vec!["A".to_owned()]));

    // Without a free node, the address leaves the record.
    arena.set_ready("b", false).await;
    arena.listed("hello", "A", &IPS[..1]).await;
    // With a free node, the address returns to the record once the move is confirmed.
    arena.cloud.set(|knobs| knobs.action_time = Duration::from_secs(2));
    arena.serving_node("c", 3).await;
    arena.listed("hello", "A", &IPS).await;
    let log = arena.cloud.log();
    let moved = |one: &&Exchange| one.mutates && one.path().ends_with("198.51.100.2/actions");
    let moved = log.iter().rfind(moved).unwrap().arrived;
    let added = log.iter().rfind(|one| one.mutates && one.path().contains("records")).unwrap();
    assert!(added.arrived >= moved + Duration::from_secs(2), "before it was confirmed");
    arena.ready("ingress").await;
    dns_ready(&arena).await;

    first.kill();
    let before = arena.stored("ingress").await.metadata.resource_version;
    let (mark, from) = (arena.cloud.mark(), arena.cloud.counts().0);
    let second = arena.replica("second");
    let state = "flipop_floatingippoolcontroller_ip_state{dns=\"hello.example.com\",\
                 ip=\"198.51.100.1\",name=\"ingress\",namespace=\"flipop\",\
                 provider=\"digitalocean\",state=\"active\"}";
    second.metric(state, "1").await;
    let read = |one: &Exchange| one.sequence >= from && reads_dns(one);
    arena.cloud.wait_for_call(read).await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    assert_eq!(arena.stored("ingress").await.metadata.resource_version, before);
}

fn reads_dns(one: &Exchange) -> bool {
    one.method == "GET" && one.path().contains("records") && one.answer.is_some()
}

async fn a_pools_record_at_cloudflare_is_read_by_its_name_and_written_in_one_call(on: On) {
    let record = json!({"provider": "cloudflare", "zone": "example.com",
                        "recordName": "hello.example.com"});
    let Some(arena) = pool_with(on, record).await else { return };
    // A foreign record under another name is left alone.
    arena.cloud.record("example.com", "A", "other", "203.0.113.1", 300);
    let start = arena.cloud.mark();
    let _replica = arena.replica("only");
    arena.listed("hello", "A", &IPS).await;
    dns_ready(&arena).await;
    let writes = dns_writes(&arena, start);
    assert_eq!(writes.len(), 1, "{:?}", writes.iter().map(Exchange::path).collect::<Vec<_>>());
    let comments: Vec<_> =
        arena.cloud.records("example.com").into_iter().filter_map(|r| r.comment).collect();
    let cluster: Api<Namespace> = Api::all(arena.client.clone());
    let cluster = cluster.get("kube-system").await.unwrap().metadata.uid.unwrap();
    assert_eq!(comments, vec![format!("pontoon: {cluster} flipop/ingress FloatingIPPool"); 2]);
    arena.listed("other", "A", &["203.0.113.1"]).await;

    // The zone's ID instead of its name.
    let (mark, from) = (arena.cloud.mark(), arena.cloud.counts().0);
    let id = arena.cloud.zone_id("example.com");
    edit(&arena, "ingress", json!({"dnsRecordSet": {"zone": id}})).await;
    let read = |one: &Exchange| one.sequence >= from && reads_dns(one);
    arena.cloud.wait_for_call(read).await;
    dns_ready(&arena).await;
    assert_eq!(dns_writes(&arena, mark).len(), 0);
}

async fn records_that_the_predecessor_wrote_are_adopted_without_a_write(on: On) {
    let Some(arena) = pool_with(on, hello()).await else { return };
    for (ip, droplet) in IPS.into_iter().zip([1, 2]) {
        arena.cloud.reserve_on(ip.parse::<IpAddr>().unwrap(), droplet);
        arena.cloud.record("example.com", "A", "hello", ip, 30);
    }
    let start = arena.cloud.mark();
    let _replica = arena.replica("only");
    arena.ready("ingress").await;
    dns_ready(&arena).await;
    assert_eq!(arena.cloud.mutations_since(start).len(), 0);
}

async fn a_long_429_and_a_restart_in_it_leave_every_record(on: On) {
    let Some(arena) = pool_with(on, hello()).await else { return };
    // Without leases, so that the second replica need not wait for the first lease to expire.
    let replica = Replica::start(&arena, "first", &["--leader-elect=false"]);
    arena.listed("hello", "A", &IPS).await;
    dns_ready(&arena).await;
    replica.kill();
    arena.cloud.throttle_for(Duration::from_secs(20));
    let mark = arena.cloud.mark();
    let replica = Replica::start(&arena, "second", &["--leader-elect=false"]);
    let (reason, _) = arena.condition("ingress", "Ready", "Unknown").await;
    assert_eq!(reason, "CloudThrottled");
    arena.ready("ingress").await;
    replica.metric("pontoon_leader", "1").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    arena.listed("hello", "A", &IPS).await;
}

async fn a_pool_without_a_node_keeps_its_record_unless_it_says_otherwise(on: On) {
    let Some(arena) = pool_with(on, hello()).await else { return };
    let _replica = arena.replica("only");
    arena.listed("hello", "A", &IPS).await;
    for node in ["a", "b"] {
        arena.set_ready(node, false).await;
    }
    eventually("it says why", || async {
        let conditions = arena.status("ingress").await.conditions;
        let told = conditions.iter().any(|one| one.reason == "NothingToList");
        if told { Ok(()) } else { Err(conditions) }
    })
    .await;
    // The first address to leave was removed; the last address stays.
    assert!(!arena.cloud.values("example.com", "hello", "A").is_empty());
    edit(&arena, "ingress", json!({"dnsRecordSet": {"emptyPolicy": "Remove"}})).await;
    arena.listed("hello", "A", &[]).await;
    arena.event("ingress", "RecordRemoved").await;
}

async fn a_zone_that_is_not_there_is_told_and_the_addresses_are_served(on: On) {
    let record = json!({"zone": "example.org", "recordName": "hello"});
    let Some(arena) = pool_with(on, record).await else { return };
    let cloudflare = json!({"provider": "cloudflare", "zone": "example.org", "recordName": "b"});
    arena.record_set("nodes", json!({"dnsRecordSet": cloudflare})).await;
    arena.report("a", &[("ExternalIP", "203.0.113.1")]).await;
    let _replica = Replica::start(&arena, "only", &["--retry-max=2s"]);
    arena.reason("ingress", "Ready", "False", "DNSNotReady").await;
    assert_eq!(arena.status("ingress").await.assigned, "2/2");
    let (reason, message) = arena.condition("ingress", "DNSReady", "False").await;
    assert_eq!(reason, "ZoneNotFound", "{message}");
    assert!(message.contains("example.org"), "{message}");
    let status = arena.record_state("nodes", "error").await;
    assert!(status.error.contains("example.org"), "{}", status.error);
    arena.event("ingress", "ZoneNotFound").await;
    // The zone is found once created.
    arena.cloud.domain("example.org");
    dns_ready(&arena).await;
    arena.ready("ingress").await;
    arena.record_state("nodes", "active").await;
}

async fn a_dns_provider_without_credentials_is_told_and_the_addresses_are_served(on: On) {
    let record = json!({"provider": "cloudflare", "zone": "example.com", "recordName": "hello"});
    let Some(arena) = pool_with(on, record).await else { return };
    let _replica = Replica::start(&arena, "only", &["CLOUDFLARE_TOKEN="]);
    arena.reason("ingress", "Ready", "False", "DNSNotReady").await;
    assert_eq!(arena.status("ingress").await.assigned, "2/2");
    let (reason, message) = arena.condition("ingress", "DNSReady", "False").await;
    assert_eq!(reason, "CredentialsMissing");
    assert!(message.contains("CLOUDFLARE_TOKEN"), "{message}");
}

async fn another_name_is_written_and_the_old_one_is_left_and_told(on: On) {
    let Some(arena) = pool_with(on, hello()).await else { return };
    let _replica = arena.replica("only");
    arena.listed("hello", "A", &IPS).await;
    dns_ready(&arena).await;
    edit(&arena, "ingress", json!({"dnsRecordSet": {"recordName": "new"}})).await;
    arena.listed("new", "A", &IPS).await;
    let note = arena.event("ingress", "RecordLeft").await;
    assert!(note.contains("hello.example.com at digitalocean"), "{note}");
    arena.listed("hello", "A", &IPS).await;

    // Moved to another host, which rejects so short a TTL.
    let record = json!({"provider": "cloudflare", "recordName": "cf"});
    edit(&arena, "ingress", json!({"dnsRecordSet": record})).await;
    let message = arena.event("ingress", "RecordRejected").await;
    assert!(message.contains("TTL"), "{message}");
    // A TTL that the host takes in no zone is a defect of the spec.
    edit(&arena, "ingress", json!({"dnsRecordSet": {"ttl": 7}})).await;
    let message = arena.reason("ingress", "DNSReady", "False", "InvalidRecord").await;
    let words = "spec.dnsRecordSet.ttl is 7, and cloudflare accepts 30 to 86400 seconds, or 1,";
    assert!(message.contains(words), "{message}");
    // A corrected spec is tried at once.
    edit(&arena, "ingress", json!({"dnsRecordSet": {"ttl": 60}})).await;
    arena.listed("cf", "A", &IPS).await;
    arena.listed("new", "A", &IPS).await;
}

async fn of_two_pools_that_ask_for_one_name_the_one_that_has_it_keeps_it(on: On) {
    let Some(arena) = pool_with(on, hello()).await else { return };
    let replica = arena.replica("first");
    arena.listed("hello", "A", &IPS).await;
    dns_ready(&arena).await;
    arena.serving_node("c", 3).await;
    arena.cloud.reserve("198.51.100.3".parse::<IpAddr>().unwrap(), "nyc3");
    let same = json!({"zone": "example.com", "recordName": "Hello.example.com."});
    arena.pool("other", json!({"ips": ["198.51.100.3"], "dnsRecordSet": same})).await;
    let (reason, message) = arena.condition("other", "DNSReady", "False").await;
    assert_eq!(reason, "Conflict");
    assert!(message.contains("FloatingIPPool flipop/ingress"), "{message}");
    arena.reason("other", "Ready", "False", "DNSNotReady").await;
    replica.kill();
    let (mark, from) = (arena.cloud.mark(), arena.cloud.counts().0);
    let _replica = arena.replica("second");
    let read = |one: &Exchange| one.sequence >= from && reads_dns(one);
    arena.cloud.wait_for_call(read).await;
    arena.listed("hello", "A", &IPS).await;
    assert_eq!(dns_writes(&arena, mark).len(), 0);
}

/// In memory alone: the name is read again after two minutes.
#[tokio::test]
async fn a_name_that_somebody_changes_is_told_with_a_warning_and_put_back() {
    let Some(arena) = pool_with(On::FakeKube, hello()).await else { return };
    let replica = arena.replica("only");
    arena.listed("hello", "A", &IPS).await;
    dns_ready(&arena).await;
    arena.cloud.record("example.com", "A", "hello", "203.0.113.1", 30);
    let event = arena.event_with("ingress", "DNSDrift", "hello.example.com").await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    arena.listed("hello", "A", &IPS).await;
    let drifts = "pontoon_drifts_total{kind=\"FloatingIPPool\",name=\"ingress\",namespace=\"flipop\",\
                  subject=\"record\"}";
    replica.metric(drifts, "1").await;
}

on_both! {
    a_pools_record_at_digitalocean_follows_its_confirmed_addresses_and_a_restart_writes_nothing,
    a_pools_record_at_cloudflare_is_read_by_its_name_and_written_in_one_call,
    records_that_the_predecessor_wrote_are_adopted_without_a_write,
    a_long_429_and_a_restart_in_it_leave_every_record,
    a_pool_without_a_node_keeps_its_record_unless_it_says_otherwise,
    a_zone_that_is_not_there_is_told_and_the_addresses_are_served,
    a_dns_provider_without_credentials_is_told_and_the_addresses_are_served,
    another_name_is_written_and_the_old_one_is_left_and_told,
    of_two_pools_that_ask_for_one_name_the_one_that_has_it_keeps_it,
}
