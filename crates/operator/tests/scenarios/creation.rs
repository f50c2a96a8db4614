//! Reserved addresses: no address is lost, and never too many are reserved.

use std::time::Duration;

use fakecloud::{Answer, Fault, On as Calls, Rule};
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

/// Without an election, so that a restart does not wait for a lease to expire.
const ALONE: &[&str] = &["--leader-elect=false"];

async fn two_nodes(on: On) -> Option<Arena> {
    let arena = Arena::open(on).await?;
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    Some(arena)
}

fn reserve() -> Calls {
    Calls::call("POST", "/v2/reserved_ips")
}

/// Kills the operator repeatedly at chosen moments, then lets it finish.
async fn five_kills_inside_creation_leave_exactly_one_address(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    for kill in 0..5 {
        let replica = Replica::start(&arena, &format!("victim-{kill}"), ALONE);
        // In turn: killed before the effect (which still happens), after the effect but before the
        // answer, and right after the write of the intent.
        let wait = Duration::from_secs(2);
        let rule = match kill % 3 {
            0 => Some(Rule::new(reserve(), Fault::DelayBefore(wait))),
            1 => Some(Rule::new(reserve(), Fault::DelayAfter(wait))),
            _ => None,
        };
        let rule = rule.map(|rule| arena.cloud.inject(rule));
        eventually("an intent, an address, or all is done", || async {
            let pool = arena.stored("ingress").await;
            let annotations = pool.metadata.annotations.unwrap_or_default();
            let ledger = annotations.get(pontoon::api::ADDRESSES_ANNOTATION).cloned();
            let sent = rule.is_some_and(|rule| arena.cloud.hits(rule) > 0);
            let done = pool.status.is_some_and(|status| status.assigned == "1/1");
            let written = rule.is_none() && ledger.is_some();
            if sent || written || done { Ok(()) } else { Err(ledger) }
        })
        .await;
        replica.kill();
        if let Some(rule) = rule {
            arena.cloud.clear(rule);
        }
    }
    let _last = Replica::start(&arena, "last", ALONE);
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.addresses().len(), 1);
    let status = arena.status("ingress").await;
    assert_eq!(status.created_ips.len(), 1);
    arena.marked("a", Some(&status.created_ips[0])).await;
}

async fn an_answer_that_is_lost_after_the_cloud_did_the_work_costs_no_second_address(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.cloud.inject(Rule::new(reserve(), Fault::LostAfter).once());
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let _replica = Replica::start(&arena, "only", ALONE);
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.addresses().len(), 1);
}

async fn a_pool_gets_the_addresses_that_it_lacks_and_a_reapplied_manifest_changes_nothing(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.cloud.reserve("198.51.100.200".parse::<std::net::IpAddr>().unwrap(), "nyc3");
    let spec = json!({"ips": ["198.51.100.200"], "desiredIPs": 2, "region": "nyc3"});
    arena.pool("ingress", spec.clone()).await;
    let replica = Replica::start(&arena, "only", ALONE);
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.addresses().len(), 2);
    let before = arena.stored("ingress").await;
    assert_eq!(before.spec.ips, ["198.51.100.200"], "the spec is the user's");

    let mark = arena.cloud.mark();
    let manifest = arena.folder().join("pool.json");
    let object = json!({
        "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "FloatingIPPool",
        "metadata": {"name": "ingress", "namespace": crate::arena::NAMESPACE},
        "spec": {
            "provider": "digitalocean", "ips": spec["ips"], "desiredIPs": 2, "region": "nyc3",
            "match": {"nodeLabel": "pool=edge", "podLabel": "app=ingress"},
        },
    });
    std::fs::write(&manifest, object.to_string()).unwrap();
    for _ in 0..3 {
        let apply = ["apply", "-f", manifest.to_str().unwrap()];
        let Some(applied) = arena.kubectl(&apply).await else { break };
        assert!(applied.status.success(), "{applied:?}");
    }
    // A tool that replaces the whole object strips our annotation; the status still has the
    // address.
    let stripped = json!({"metadata": {"annotations": {pontoon::api::ADDRESSES_ANNOTATION: null}}});
    let params = kube::api::PatchParams::default();
    let api = arena.namespaced::<pontoon::fronts::floating_ip_pool::FloatingIPPool>();
    api.patch("ingress", &params, &kube::api::Patch::Merge(stripped)).await.unwrap();
    eventually("the annotation is back", || async {
        let ledger = arena.ledger("ingress").await;
        if ledger["created"].as_array().is_some_and(|all| all.len() == 1) {
            Ok(())
        } else {
            Err(ledger)
        }
    })
    .await;

    arena.set_ready("a", false).await;
    arena.condition("ingress", "Ready", "False").await;
    arena.set_ready("a", true).await;
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    assert_eq!(arena.cloud.addresses().len(), 2);
    drop(replica);
}

async fn an_account_without_room_is_said_so_and_served_once_there_is_some(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.cloud.set(|knobs| knobs.address_limit = 0);
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let _replica = Replica::start(&arena, "only", &["--leader-elect=false", "--retry-max=2s"]);
    let (reason, message) = arena.condition("ingress", "Stalled", "True").await;
    assert_eq!(reason, "QuotaExceeded", "{message}");
    arena.cloud.set(|knobs| knobs.address_limit = 3);
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.addresses().len(), 1);
}

async fn a_region_that_does_not_exist_is_an_error_until_it_is_corrected(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nope1"})).await;
    let _replica = Replica::start(&arena, "only", &["--leader-elect=false", "--retry-max=2s"]);
    let (reason, message) = arena.condition("ingress", "Stalled", "True").await;
    assert_eq!(reason, "CreateRejected", "{message}");
    arena.condition("ingress", "Reconciling", "False").await;
    assert!(arena.status("ingress").await.error.contains("refuses to reserve"));
    arena.edit("ingress", json!({"region": "nyc3"})).await;
    arena.condition("ingress", "Stalled", "False").await;
    eventually("an address, and no error", || async {
        let status = arena.status("ingress").await;
        if status.created_ips.len() == 1 && status.error.is_empty() { Ok(()) } else { Err(status) }
    })
    .await;
}

async fn a_reservation_that_fails_is_in_the_status_as_the_predecessor_has_it(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.inject(Rule::new(reserve(), Fault::Answer(Answer::status(503))));
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let _replica = Replica::start(&arena, "only", &["--leader-elect=false", "--retry-max=2s"]);
    eventually("the error", || async {
        let status = arena.status("ingress").await;
        let said = status.error.starts_with("reserving an address failed: ");
        if said { Ok(()) } else { Err(status) }
    })
    .await;
    arena.condition("ingress", "Stalled", "False").await;
}

async fn the_provider_of_a_pool_with_reserved_addresses_cannot_be_changed(on: On) {
    let Some(arena) = two_nodes(on).await else { return };
    arena.pool("ingress", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let _replica = arena.replica("only");
    arena.ready("ingress").await;
    let reserved = arena.status("ingress").await.created_ips;
    arena.edit("ingress", json!({"provider": "gcp"})).await;
    let message = arena.reason("ingress", "Ready", "False", "ProviderChanged").await;
    assert!(message.contains("set spec.provider to digitalocean"), "{message}");
    arena.edit("ingress", json!({"provider": "digitalocean"})).await;
    arena.ready("ingress").await;
    assert_eq!(arena.status("ingress").await.created_ips, reserved);
    assert_eq!(arena.cloud.mutations().len(), 1, "the address was reserved once, and stayed");
}

on_both! {
    five_kills_inside_creation_leave_exactly_one_address,
    an_answer_that_is_lost_after_the_cloud_did_the_work_costs_no_second_address,
    a_pool_gets_the_addresses_that_it_lacks_and_a_reapplied_manifest_changes_nothing,
    an_account_without_room_is_said_so_and_served_once_there_is_some,
    a_region_that_does_not_exist_is_an_error_until_it_is_corrected,
    the_provider_of_a_pool_with_reserved_addresses_cannot_be_changed,
    a_reservation_that_fails_is_in_the_status_as_the_predecessor_has_it,
}
