//! The cost of an idle cluster.

use std::time::Duration;

use fakecloud::Exchange;
use serde_json::json;

use crate::arena::{Arena, On, eventually};

/// Two listing periods, and a little more.
const REST: Duration = Duration::from_secs(130);

const ADDRESSES: u64 = 100;

/// Only on the real API server, because the test mostly waits.
#[tokio::test]
async fn a_hundred_addresses_and_two_replicas_at_rest_cost_two_listings_a_minute_at_most() {
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    let ips: Vec<_> = (1..=ADDRESSES).map(|number| format!("198.51.100.{number}")).collect();
    for (number, ip) in (1..).zip(&ips) {
        arena.serving_node(&format!("node-{number:03}"), number).await;
        arena.cloud.reserve_on(ip.parse::<std::net::IpAddr>().unwrap(), number);
    }
    arena.cloud.domain("example.com");
    let record = json!({"zone": "example.com", "recordName": "hello"});
    arena.pool("ingress", json!({"ips": ips, "dnsRecordSet": record})).await;
    let (first, second) = (arena.replica("first"), arena.replica("second"));
    arena.ready("ingress").await;
    arena.condition("ingress", "DNSReady", "True").await;
    eventually("both replicas are ready", || async {
        let pages = [first.page("/readyz").await, second.page("/readyz").await];
        let ready = |page: &Option<String>| {
            page.as_deref().is_some_and(|page| page.starts_with("HTTP/1.1 200"))
        };
        if pages.iter().all(ready) { Ok(()) } else { Err(pages) }
    })
    .await;

    let mark = arena.cloud.mark();
    let version = arena.stored("ingress").await.metadata.resource_version;
    // A plain sleep, because at rest there is no event to wait for.
    tokio::time::sleep(REST).await;
    let asked: Vec<_> = arena.cloud.log_since(mark).iter().map(words).collect();
    eprintln!("{} calls in {} s at rest: {asked:#?}", asked.len(), REST.as_secs());
    let most = 2 * REST.as_secs() / 60;
    assert!(!asked.is_empty() && asked.len() as u64 <= most, "{asked:#?}");
    assert!(asked.iter().all(|call| call.contains("GET ")), "{asked:#?}");
    assert_eq!(arena.stored("ingress").await.metadata.resource_version, version);
    // At rest the heartbeat alone tells that the main loop runs.
    for replica in [&first, &second] {
        let page = replica.page("/healthz").await.unwrap_or_default();
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    }
}

fn words(call: &Exchange) -> String {
    let who = call.user_agent.as_deref().unwrap_or_default();
    format!("{} {who}: {} {}", call.at, call.method, call.target)
}
