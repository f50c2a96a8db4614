//! Exclusive writers among two replicas. Only the real API server distinguishes their accounts.

use std::path::{Path, PathBuf};

use control_plane::AuditEntry;
use fakecloud::Exchange;
use rustix::process::Signal;
use serde_json::json;

use crate::arena::{Arena, On, eventually};
use crate::installing::{FLIPOP, root};
use crate::replica::Replica;

const IP: &str = "198.51.100.1";

/// A separate service account with the shipped rights.
async fn account(arena: &Arena, name: &str) -> PathBuf {
    let rights = std::fs::read_to_string(root().join(FLIPOP.0).join("rbac.yaml")).unwrap();
    let file = arena.folder().join(format!("{name}.yaml"));
    let own = rights.replace("name: pontoon-flipop\n", &format!("name: {name}\n"));
    let own = own.replace("name: flipop\n    namespace", &format!("name: {name}\n    namespace"));
    let own = own.replace("name: flipop\n  namespace", &format!("name: {name}\n  namespace"));
    std::fs::write(&file, own).unwrap();
    let applied = arena.plane().kubectl().arg("apply").arg("-f").arg(file).output().unwrap();
    assert!(applied.status.success(), "{applied:?}");
    arena.plane().kubeconfig_for("flipop", name).await.unwrap()
}

fn start(arena: &Arena, name: &str, account: &Path) -> Replica {
    let (account, chosen) = (account.to_str().unwrap(), &FLIPOP.arguments()[1]);
    Replica::start(arena, name, &["POD_NAMESPACE=flipop", "--kubeconfig", account, chosen])
}

fn droplet(node: &str) -> u64 {
    if node == "a" { 1 } else { 2 }
}

/// Makes the nodes ready in turns, so that the address moves between them.
async fn to_and_fro(arena: &Arena, times: u64) {
    for _ in 0..times {
        let (from, to) = if arena.droplet_of(IP) == Some(1) { ("a", 2) } else { ("b", 1) };
        let target = if to == 1 { "a" } else { "b" };
        arena.set_ready(target, true).await;
        arena.set_ready(from, false).await;
        arena.held_by(IP, Some(to)).await;
        arena.marked(target, Some(IP)).await;
    }
}

/// Whether an entry is a successful decision: no election, no event, no write that was refused for
/// its version.
fn is_decision(entry: &&AuditEntry) -> bool {
    let writes = ["create", "update", "patch", "delete"].contains(&&*entry.verb);
    let writes = writes && entry.code < 300;
    let ours = entry.user.starts_with("system:serviceaccount:flipop:");
    writes && ours && !["leases", "events"].contains(&&*entry.resource)
}

/// Writers in the order of their writes, without repetitions.
fn turns(writers: impl Iterator<Item = String>) -> Vec<String> {
    let mut turns: Vec<_> = writers.collect();
    turns.dedup();
    turns
}

#[tokio::test]
async fn of_two_replicas_one_writes_at_a_time_to_the_cloud_and_to_the_cluster() {
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    let accounts = [account(&arena, "first").await, account(&arena, "second").await];
    arena.cloud.reserve(IP.parse::<std::net::IpAddr>().unwrap(), "nyc3");
    arena.cloud.domain("example.com");
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    let record = json!({"zone": "example.com", "recordName": "hello"});
    arena.pool("ingress", json!({"ips": [IP], "dnsRecordSet": record})).await;

    let first = start(&arena, "first", &accounts[0]);
    first.leads().await;
    let second = start(&arena, "second", &accounts[1]);
    arena.held_by(IP, Some(1)).await;
    to_and_fro(&arena, 6).await;
    // The leader freezes, the other replica takes over, and the first wakes up.
    first.signal(Signal::STOP);
    to_and_fro(&arena, 1).await;
    // The version stops a write that the frozen leader was about to send, once the other replica
    // has written.
    let holder = arena.droplet_of(IP);
    eventually("the other one has written the status", || async {
        let node = arena.status("ingress").await.ips[IP].node_name.clone();
        if Some(droplet(&node)) == holder { Ok(()) } else { Err(node) }
    })
    .await;
    first.signal(Signal::CONT);
    to_and_fro(&arena, 6).await;
    first.metric("pontoon_leader", "0").await;
    second.terminate().await;
    to_and_fro(&arena, 2).await;

    let in_turn = ["first", "second", "first"];
    let calls = arena.cloud.mutations();
    let agents = calls.iter().filter_map(|call: &Exchange| call.user_agent.clone());
    assert_eq!(turns(agents), in_turn, "calls to the cloud");
    let mut log = arena.plane().audit_log().unwrap();
    log.sort_by_key(|entry| entry.received);
    let decisions: Vec<_> = log.iter().filter(is_decision).collect();
    let told: Vec<_> = decisions.iter().map(|entry| words(entry)).collect();
    let users = decisions.iter().map(|entry| name(entry).to_owned());
    assert_eq!(turns(users), in_turn, "writes to the cluster: {told:#?}");
}

fn name(entry: &AuditEntry) -> &str {
    entry.user.rsplit(':').next().unwrap_or_default()
}

fn words(entry: &AuditEntry) -> String {
    let AuditEntry { received, verb, request_uri, code, .. } = entry;
    format!("{received} {}: {verb} {request_uri} {code}", name(entry))
}
