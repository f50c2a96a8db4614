//! The metrics after typical events: see `scrape.rs`.

use std::net::IpAddr;
use std::time::Duration;

use fakecloud::{Answer, Fault, On as Calls, Rule};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use pontoon::fronts::node_dns_record_set::NodeDNSRecordSet;
use serde_json::json;

use crate::arena::{Arena, On, on_both};
use crate::replica::Replica;

const IPS: [&str; 3] = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];

/// Long back-offs, so that a failed state stays visible.
const PATIENT: &[&str] = &["--retry-initial=10m", "--retry-max=10m"];

/// Nodes with an ingress pod on droplets 1, 2, ... and three addresses.
async fn nodes(on: On, names: &[&str]) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    for (name, droplet) in names.iter().zip(1..) {
        arena.serving_node(name, droplet).await;
    }
    for ip in IPS {
        arena.cloud.reserve(ip.parse::<IpAddr>().unwrap(), "nyc3");
    }
    Some(arena)
}

async fn placed_failed_over_stranded_and_deleted_on_leader_and_follower(on: On) {
    let Some(arena) = nodes(on, &["a", "b"]).await else { return };
    arena.pool("ingress", json!({"ips": IPS})).await;
    let leader = arena.replica("leader");
    leader.leads().await;
    let follower = arena.replica("follower");
    arena.marked("a", Some(IPS[0])).await;
    arena.marked("b", Some(IPS[1])).await;
    leader.shows("two_of_three_placed", None).await;

    arena.edit("ingress", json!({"ips": [IPS[0], IPS[1]]})).await;
    arena.names("ingress", &IPS[..2]).await;
    arena.serving_node("c", 3).await;
    arena.set_ready("a", false).await;
    arena.marked("c", Some(IPS[0])).await;
    leader.shows("failed_over", None).await;

    // Without a free node, the address stays in place.
    arena.set_ready("b", false).await;
    leader.shows("stranded", None).await;
    follower.shows_its_process_alone().await;

    let pools = arena.namespaced::<FloatingIPPool>();
    pools.delete("ingress", &DeleteParams::default()).await.unwrap();
    leader.shows("no_objects", None).await;
    follower.shows_its_process_alone().await;
}

async fn what_failed_is_counted_and_what_is_lacking_is_shown(on: On) {
    let Some(arena) = nodes(on, &["a"]).await else { return };
    for call in ["/v2/reserved_ips/*/actions", "/v2/reserved_ips"] {
        let rule = Rule::new(Calls::call("POST", call), Fault::Answer(Answer::status(503)));
        arena.cloud.inject(rule);
    }
    arena.pool("ingress", json!({"ips": [IPS[0]]})).await;
    let spec = json!({"desiredIPs": 2, "region": "nyc3", "ips": [IPS[1]],
                      "match": {"nodeLabel": "pool=other"}});
    arena.pool("wanting", spec).await;
    let replica = Replica::start(&arena, "only", PATIENT);
    replica.shows("failed", None).await;
}

async fn an_address_on_its_way(on: On) {
    let Some(arena) = nodes(on, &["a"]).await else { return };
    arena.cloud.set(|knobs| knobs.action_time = Duration::from_secs(600));
    arena.pool("ingress", json!({"ips": [IPS[0]]})).await;
    let replica = arena.replica("only");
    replica.shows("on_its_way", None).await;
}

async fn a_reserved_address_and_disabled_ones(on: On) {
    let Some(arena) = nodes(on, &["a", "b"]).await else { return };
    arena.label("a", "role", "reserved").await;
    arena.label("b", "role", "listed").await;
    let spec = json!({"desiredIPs": 1, "region": "nyc3", "match": {"nodeLabel": "role=reserved"}});
    arena.pool("reserved", spec).await;
    let spec = json!({"desiredIPs": 1, "ips": IPS, "match": {"nodeLabel": "role=listed"}});
    arena.pool("listed", spec).await;
    let replica = arena.replica("only");
    arena.ready("reserved").await;
    arena.ready("listed").await;
    let new = arena.status("reserved").await.created_ips.remove(0);
    replica.shows("reserved_and_disabled", Some(&new)).await;
}

async fn names_in_dns_on_and_gone_and_leadership_lost(on: On) {
    let Some(arena) = nodes(on, &["a", "b"]).await else { return };
    arena.cloud.domain("example.com");
    arena.report("a", &[("ExternalIP", "203.0.113.1")]).await;
    arena.report("b", &[("ExternalIP", "203.0.113.2")]).await;
    let record = |name: &str, provider: &str| json!({"zone": "example.com", "recordName": name, "provider": provider});
    let spec = json!({"ips": [IPS[0]], "dnsRecordSet": record("hello", "digitalocean")});
    arena.pool("ingress", spec).await;
    let spec = json!({"dnsRecordSet": record("nodes.example.com", "cloudflare")});
    arena.record_set("nodes", spec).await;
    let replica = arena.replica("only");
    arena.listed("hello", "A", &[IPS[0]]).await;
    arena.listed("nodes", "A", &["203.0.113.1", "203.0.113.2"]).await;
    replica.shows("names_in_dns", None).await;

    // A new name changes the labels at once; counters under the old name stay.
    arena.edit("ingress", json!({"dnsRecordSet": {"recordName": "moved"}})).await;
    arena.listed("moved", "A", &[IPS[0]]).await;
    let sets = arena.namespaced::<NodeDNSRecordSet>();
    sets.delete("nodes", &DeleteParams::default()).await.unwrap();
    replica.shows("another_name", None).await;

    // Another holder has the Lease for good.
    let leases: Api<Lease> = Api::namespaced(arena.client.clone(), "default");
    let now =
        k8s_openapi::jiff::Timestamp::now() + k8s_openapi::jiff::SignedDuration::from_hours(1);
    let spec = json!({"holderIdentity": "somebody", "leaseDurationSeconds": 3600,
                      "renewTime": format!("{now:.6}")});
    let patch = Patch::Merge(json!({"spec": spec}));
    leases.patch("pontoon", &PatchParams::default(), &patch).await.unwrap();
    replica.shows_its_process_alone().await;
}

on_both! {
    placed_failed_over_stranded_and_deleted_on_leader_and_follower,
    what_failed_is_counted_and_what_is_lacking_is_shown,
    an_address_on_its_way,
    a_reserved_address_and_disabled_ones,
    names_in_dns_on_and_gone_and_leadership_lost,
}
