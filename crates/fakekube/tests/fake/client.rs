//! The ordinary kube client on fakekube, under a paused clock.

use std::time::Duration;

use fakekube::{FakeKube, On};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::{client, from, maps, nodes, object};

/// Short forms of a watcher's next events.
async fn next(
    events: &mut (impl StreamExt<Item = watcher::Result<Event<Node>>> + Unpin),
    count: usize,
) -> Vec<String> {
    let mut seen = Vec::new();
    for _ in 0..count {
        let event = tokio::time::timeout(Duration::from_secs(900), events.next()).await;
        seen.push(match event.expect("an event").expect("no end") {
            Ok(Event::Init) => "init".to_owned(),
            Ok(Event::InitDone) => "done".to_owned(),
            Ok(Event::InitApply(node)) => format!("init {}", node.name_any()),
            Ok(Event::Apply(node)) => format!("apply {}", node.name_any()),
            Ok(Event::Delete(node)) => format!("delete {}", node.name_any()),
            Err(_) => "error".to_owned(),
        });
    }
    seen
}

#[tokio::test(start_paused = true)]
async fn a_watcher_follows_the_nodes() {
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let fake = FakeKube::new(1);
        let api = nodes(&fake);
        api.create(&PostParams::default(), &object("a")).await.unwrap();
        let mut events = Box::pin(watcher::watcher(api.clone(), config));
        assert_eq!(next(&mut events, 3).await, ["init", "init a", "done"]);
        api.create(&PostParams::default(), &object("b")).await.unwrap();
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        api.patch_status("b", &PatchParams::default(), &Patch::Strategic(&ready)).await.unwrap();
        api.delete("a", &Default::default()).await.unwrap();
        assert_eq!(next(&mut events, 3).await, ["apply b", "apply b", "delete a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_outlives_hours_drops_and_compactions() {
    let fake = FakeKube::new(1);
    let api = nodes(&fake);
    let mut events = Box::pin(watcher::watcher(api.clone(), watcher::Config::default()));
    assert_eq!(next(&mut events, 2).await, ["init", "done"]);
    let hours = tokio::time::timeout(Duration::from_secs(3 * 3600), events.next()).await;
    assert!(hours.is_err(), "nothing happens");
    api.create(&PostParams::default(), &object("a")).await.unwrap();
    assert_eq!(next(&mut events, 1).await, ["apply a"]);
    assert_eq!(fake.drop_watches(&On::watches()), 1);
    assert_eq!(next(&mut events, 1).await, ["error"]);
    api.create(&PostParams::default(), &object("b")).await.unwrap();
    assert_eq!(next(&mut events, 1).await, ["apply b"]);
    fake.drop_watches(&On::watches());
    assert_eq!(next(&mut events, 1).await, ["error"]);
    api.create(&PostParams::default(), &object("c")).await.unwrap();
    fake.compact();
    let seen = next(&mut events, 6).await;
    assert_eq!(seen, ["error", "init", "init a", "init b", "init c", "done"]);
}

#[tokio::test(start_paused = true)]
async fn typed_calls_work() {
    let fake = FakeKube::new(1);
    let api = maps(&fake);
    let created = api.create(&PostParams::default(), &object("a")).await.unwrap();
    let mut next: ConfigMap = created.clone();
    next.data = Some([("k".to_owned(), "v".to_owned())].into());
    api.replace("a", &PostParams::default(), &next).await.unwrap();
    let stale = api.replace("a", &PostParams::default(), &created).await.unwrap_err();
    assert!(matches!(stale, kube::Error::Api(status) if status.is_conflict()));
    let metadata: Api<PartialObjectMeta<Node>> = Api::all(client(&fake));
    nodes(&fake).create(&PostParams::default(), &object("n")).await.unwrap();
    let patch = json!({"metadata": {"labels": {"x": "y"}}});
    let params = PatchParams::default();
    let patched = metadata.patch("n", &params, &Patch::Merge(&patch)).await.unwrap();
    assert_eq!(patched.labels()["x"], "y");
    assert_eq!(metadata.list(&ListParams::default().labels("x=y")).await.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_taken_and_given_up() {
    let fake = FakeKube::new(1);
    let api: Api<Lease> = Api::default_namespaced(client(&fake));
    let lease: Lease = from(json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a",
        "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"}}));
    let mut held = api.create(&PostParams::default(), &lease).await.unwrap();
    held.spec.as_mut().unwrap().holder_identity = Some("b".to_owned());
    let replaced = api.replace("l", &PostParams::default(), &held).await.unwrap();
    assert_eq!(replaced.spec.unwrap().holder_identity.as_deref(), Some("b"));
    assert!(api.replace("l", &PostParams::default(), &held).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_every_minute_and_a_watch_ends_in_time() {
    let fake = FakeKube::new(1);
    let api = nodes(&fake);
    let params = WatchParams::default().timeout(200);
    let events = api.watch(&params, "1").await.unwrap();
    let began = tokio::time::Instant::now();
    let events: Vec<_> = events.try_collect().await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 200);
    let bookmarks = events.iter().filter(|event| matches!(event, WatchEvent::Bookmark(_))).count();
    assert_eq!((events.len(), bookmarks), (4, 4), "after 60, 120, 180 and 198 seconds");
}
