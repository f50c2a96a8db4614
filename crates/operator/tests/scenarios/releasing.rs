//! A deleted pool releases its reserved addresses, if its policy says so.

use std::time::Duration;

use fakecloud::{Fault, On as Calls, Rule};
use kube::api::DeleteParams;
use pontoon::api::RELEASE_FINALIZER;
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

/// Without an election, so that a restart does not wait for a lease to expire.
const ALONE: &[&str] = &["--leader-elect=false"];

const LISTED: &str = "198.51.100.200";

/// A pool with a listed and a reserved address, both assigned.
async fn listed_and_reserved(on: On) -> Option<(Arena, Replica)> {
    let arena = Arena::open(on).await?;
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.reserve(LISTED.parse::<std::net::IpAddr>().unwrap(), "nyc3");
    let spec = json!({
        "ips": [LISTED], "desiredIPs": 2, "region": "nyc3", "deletionPolicy": "Release",
    });
    arena.pool("ingress", spec).await;
    let replica = Replica::start(&arena, "first", ALONE);
    arena.ready("ingress").await;
    assert_eq!(arena.cloud.addresses().len(), 2);
    Some((arena, replica))
}

impl Arena {
    async fn delete(&self, pool: &str) {
        let pools = self.namespaced::<FloatingIPPool>();
        pools.delete(pool, &DeleteParams::default()).await.unwrap();
    }

    async fn is_gone(&self, pool: &str) {
        eventually(&format!("{pool} is gone"), || async {
            match self.namespaced::<FloatingIPPool>().get_opt(pool).await.unwrap() {
                None => Ok(()),
                Some(left) => Err(left.status),
            }
        })
        .await;
    }

    /// Waits until the pool has our finalizer, or has lost it.
    async fn is_guarded(&self, pool: &str, guarded: bool) {
        eventually(&format!("{pool} guarded: {guarded}"), || async {
            let finalizers = self.stored(pool).await.metadata.finalizers.unwrap_or_default();
            let found = finalizers.iter().any(|one| one == RELEASE_FINALIZER);
            if found == guarded { Ok(()) } else { Err(finalizers) }
        })
        .await;
    }
}

async fn a_pool_that_says_so_gives_back_what_was_reserved_for_it_and_nothing_else(on: On) {
    let Some((arena, _replica)) = listed_and_reserved(on).await else { return };
    arena.is_guarded("ingress", true).await;
    arena.delete("ingress").await;
    arena.is_gone("ingress").await;
    let left: Vec<_> = arena.cloud.addresses().iter().map(|one| one.ip.to_string()).collect();
    assert_eq!(left, [LISTED]);
    assert_eq!(arena.droplet_of(LISTED), Some(1), "it stays where it was");
    arena.marked("a", Some(LISTED)).await;
    arena.marked("b", None).await;
    assert!(arena.event("ingress", "Released").await.contains("released"));
}

async fn a_pool_that_changes_its_mind_goes_at_once_and_leaves_everything(on: On) {
    let Some((arena, _replica)) = listed_and_reserved(on).await else { return };
    arena.is_guarded("ingress", true).await;
    arena.edit("ingress", json!({"deletionPolicy": "Retain"})).await;
    arena.is_guarded("ingress", false).await;
    let mark = arena.cloud.mark();
    arena.delete("ingress").await;
    arena.is_gone("ingress").await;
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    assert_eq!(arena.cloud.addresses().len(), 2);
}

/// The call takes effect three seconds after it was sent.
async fn a_pool_that_changes_its_mind_during_a_call_goes_after_the_call(on: On) {
    let Some((arena, _replica)) = listed_and_reserved(on).await else { return };
    arena.is_guarded("ingress", true).await;
    let reserved = arena.cloud.addresses().into_iter().map(|one| one.ip.to_string());
    let reserved: Vec<_> = reserved.filter(|ip| *ip != LISTED).collect();
    let [reserved] = reserved.as_slice() else { panic!("reserved: {reserved:?}") };
    let unassign = Calls::call("POST", "/v2/reserved_ips/*/actions");
    let slow = Fault::DelayBefore(Duration::from_secs(3));
    let rule = arena.cloud.inject(Rule::new(unassign, slow));
    arena.delete("ingress").await;
    eventually("the call is sent", || async {
        if arena.cloud.hits(rule) > 0 { Ok(()) } else { Err("not yet") }
    })
    .await;
    arena.edit("ingress", json!({"deletionPolicy": "Retain"})).await;
    arena.is_gone("ingress").await;
    assert_eq!(arena.droplet_of(reserved), None, "the pool outlives its call");
    assert_eq!(arena.cloud.addresses().len(), 2, "nothing is released");
}

async fn without_credentials_a_deletion_says_what_it_waits_for_and_how_to_end_it(on: On) {
    let Some((arena, replica)) = listed_and_reserved(on).await else { return };
    arena.is_guarded("ingress", true).await;
    replica.kill();
    let extra = ["--leader-elect=false", "DIGITALOCEAN_ACCESS_TOKEN="];
    let _second = Replica::start(&arena, "second", &extra);
    arena.delete("ingress").await;
    eventually("it is said what it waits for", || async {
        let conditions = arena.status("ingress").await.conditions;
        let told = |message: &str| message.contains("set deletionPolicy to Retain");
        let found = conditions.iter().find(|one| one.type_ == "Ready" && told(&one.message));
        found.map(|one| assert_eq!(one.reason, "CredentialsMissing")).ok_or(conditions)
    })
    .await;
    arena.event("ingress", "CredentialsMissing").await;
    arena.edit("ingress", json!({"deletionPolicy": "Retain"})).await;
    arena.is_gone("ingress").await;
    assert_eq!(arena.cloud.addresses().len(), 2);
}

on_both! {
    a_pool_that_says_so_gives_back_what_was_reserved_for_it_and_nothing_else,
    a_pool_that_changes_its_mind_goes_at_once_and_leaves_everything,
    a_pool_that_changes_its_mind_during_a_call_goes_after_the_call,
    without_credentials_a_deletion_says_what_it_waits_for_and_how_to_end_it,
}
