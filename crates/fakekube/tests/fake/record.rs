//! The record of exchanges, and its repeatability.

use std::time::Duration;

use fakekube::{Exchange, FakeKube, Recording};
use futures::StreamExt;
use http::Request;
use kube::api::{PostParams, WatchParams};
use serde_json::Value;

use crate::{client, maps, nodes, object};

async fn traffic(seed: u64) -> Vec<Exchange> {
    let fake = FakeKube::new(seed);
    fake.recording(Recording::All);
    let mut events = Box::pin(nodes(&fake).watch(&WatchParams::default(), "0").await.unwrap());
    for name in ["a", "b"] {
        nodes(&fake).create(&PostParams::default(), &object(name)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(700)).await;
        events.next().await.unwrap().unwrap();
    }
    let generated = serde_json::json!({"metadata": {"generateName": "x-"}});
    maps(&fake).create(&PostParams::default(), &crate::from(generated)).await.unwrap();
    fake.exchanges()
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_the_same_bytes() {
    let (one, again, other) = (traffic(1).await, traffic(1).await, traffic(2).await);
    assert_eq!(one, again);
    assert_ne!(one, other);
}

#[tokio::test(start_paused = true)]
async fn exchanges_hold_both_sides_and_the_events_of_watches() {
    let exchanges = traffic(1).await;
    let shown: Vec<String> = exchanges
        .iter()
        .map(|exchange| format!("{} {} {:?}", exchange.method, exchange.path, exchange.status))
        .collect();
    assert_eq!(shown[1], "POST /api/v1/nodes? Some(201)");
    let created: Value = serde_json::from_slice(&exchanges[1].response).unwrap();
    assert_eq!(created["metadata"]["name"], "a");
    let events = String::from_utf8(exchanges[0].response.clone()).unwrap();
    assert_eq!(events.lines().count(), 3, "two objects and the end of the initial ones");
}

#[tokio::test]
async fn what_is_not_known_is_answered_with_501_and_noted() {
    let fake = FakeKube::new(1);
    let client = client(&fake);
    for path in ["/apis/batch/v1/jobs", "/api/v1/services", "/openapi/v2", "/api/v1/watch/nodes"] {
        let request = Request::get(path).body(kube::client::Body::empty()).unwrap();
        assert_eq!(client.send(request).await.unwrap().status(), 501, "{path}");
    }
    let request = Request::patch("/api/v1/nodes/a?fieldManager=x")
        .header("content-type", "application/apply-patch+yaml")
        .body(kube::client::Body::from(b"a: b".to_vec()))
        .unwrap();
    assert_eq!(client.send(request).await.unwrap().status(), 501);
    let unknown = fake.unknown_requests();
    assert_eq!(unknown.len(), 5);
    assert_eq!(unknown[1], "GET /api/v1/services: fakekube does not support services");
}
