//! Two installations on one cluster, by mistake.

use std::net::IpAddr;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use pontoon::leadership::LEASE;
use serde_json::json;

use crate::arena::{Arena, On, eventually, on_both};
use crate::replica::Replica;

async fn of_two_installations_the_older_acts_and_the_other_takes_over_from_it(on: On) {
    let Some(arena) = Arena::open(on).await else { return };
    arena.cloud.reserve("198.51.100.1".parse::<IpAddr>().unwrap(), "nyc3");
    for (node, droplet) in [("a", 1), ("b", 2)] {
        arena.serving_node(node, droplet).await;
    }
    let older = Replica::start(&arena, "older", &["POD_NAMESPACE=flipop"]);
    older.leads().await;
    // Creation times are whole seconds: a younger Lease shall be that for certain.
    let leases: Api<Lease> = arena.namespaced();
    let created = leases.get(LEASE).await.unwrap().metadata.creation_timestamp.unwrap().0;
    eventually("the second is over", || async {
        let now = jiff::Timestamp::now();
        if now.as_second() > created.as_second() { Ok(()) } else { Err(now) }
    })
    .await;
    let younger = Replica::start(&arena, "younger", &["POD_NAMESPACE=default"]);
    younger.leads().await;
    eventually("the younger stands aside", || async {
        let log = younger.log();
        if log.contains("another Pontoon") { Ok(()) } else { Err(log) }
    })
    .await;
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    arena.ready("ingress").await;
    let writers = || {
        let all = arena.cloud.mutations().into_iter();
        all.filter_map(|one| one.user_agent).collect::<Vec<_>>()
    };
    assert_eq!(writers(), ["older"]);

    older.terminate().await;
    arena.set_ready("a", false).await;
    arena.held_by("198.51.100.1", Some(2)).await;
    assert_eq!(writers(), ["older", "younger"]);
}

on_both! {
    of_two_installations_the_older_acts_and_the_other_takes_over_from_it,
}
