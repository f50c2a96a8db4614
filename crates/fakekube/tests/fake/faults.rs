//! Fault rules and carried faults.

use std::time::Duration;

use fakekube::{Answer, FakeKube, Fault, KubeFault, Loss, On, Recording, Rule};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use tokio::time::Instant;

use crate::{nodes, object};

async fn create(fake: &FakeKube, name: &str) -> kube::Result<Node> {
    nodes(fake).create(&PostParams::default(), &object(name)).await
}

fn code(result: kube::Result<Node>) -> Option<u16> {
    match result {
        Err(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_forced_as_often_as_wished() {
    let fake = FakeKube::new(1);
    let path = On::call("POST", "/api/v1/nodes");
    for status in [409, 429, 500, 503] {
        let rule = Rule::new(path.clone(), Fault::Answer(Answer::status(status))).times(2);
        let id = fake.inject(rule);
        for _ in 0..2 {
            assert_eq!(code(create(&fake, "a").await), Some(status));
        }
        assert_eq!(fake.hits(id), 2);
    }
    assert!(create(&fake, "a").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_lost_after_the_effect_or_before() {
    let fake = FakeKube::new(1);
    fake.recording(Recording::All);
    let _ = fake.inject(Rule::new(On::mutations(), Fault::LostAfter).once());
    assert!(create(&fake, "a").await.is_err());
    let _ = fake.inject(Rule::new(On::mutations(), Fault::LostBefore).once());
    assert!(create(&fake, "b").await.is_err());
    let names: Vec<_> = fake.objects("", "nodes");
    assert_eq!(names.len(), 1);
    assert_eq!(names[0]["metadata"]["name"], "a");
    let lost: Vec<_> = fake.exchanges().iter().map(|exchange| exchange.lost).collect();
    assert_eq!(lost, [Some(Loss::AfterEffect), Some(Loss::BeforeEffect)]);
}

#[tokio::test(start_paused = true)]
async fn an_effect_may_be_answered_as_a_failure() {
    let fake = FakeKube::new(1);
    let rule = Rule::new(On::mutations(), Fault::AnswerAfterEffect(Answer::status(504)));
    let id = fake.inject(rule);
    assert_eq!(code(create(&fake, "a").await), Some(504));
    fake.clear(id);
    assert_eq!(code(create(&fake, "a").await), Some(409));
}

#[tokio::test(start_paused = true)]
async fn latency_passes_on_the_paused_clock() {
    let fake = FakeKube::new(1);
    let before = Fault::DelayBefore(Duration::from_secs(2));
    let after = Fault::DelayAfter(Duration::from_secs(3));
    let _ = fake.inject(Rule::new(On::any(), before));
    let _ = fake.inject(Rule::new(On::any(), after));
    let began = Instant::now();
    create(&fake, "a").await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_does_not_undo_the_effect() {
    let fake = FakeKube::new(1);
    let _ = fake.inject(Rule::new(On::any(), Fault::DelayBefore(Duration::from_secs(5))));
    let gone = tokio::time::timeout(Duration::from_secs(1), create(&fake, "a")).await;
    assert!(gone.is_err());
    assert!(fake.objects("", "nodes").is_empty());
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(fake.objects("", "nodes").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_frozen_replica_shows_the_past_until_it_is_thawed() {
    let fake = FakeKube::new(1);
    let api = nodes(&fake);
    create(&fake, "a").await.unwrap();
    let id = fake.freeze(On::path("/api/v1/nodes"));
    let mut events = Box::pin(api.watch(&WatchParams::default(), "1").await.unwrap());
    create(&fake, "b").await.unwrap();
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    let more = tokio::time::timeout(Duration::from_secs(30), events.next()).await;
    assert!(more.is_err(), "{more:?}");
    let cached = ListParams::default().match_any();
    assert_eq!(api.list(&cached).await.unwrap().items.len(), 1, "a read from the cache");
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 2);
    fake.clear(id);
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
    assert_eq!(api.list(&cached).await.unwrap().items.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_watch_breaks_after_its_time() {
    let fake = FakeKube::new(1);
    let rule = Rule::new(On::watches(), Fault::Own(KubeFault::WatchBreaks(Duration::from_secs(7))));
    let _ = fake.inject(rule);
    let began = Instant::now();
    let events = nodes(&fake).watch(&WatchParams::default(), "0").await.unwrap();
    let events: Vec<_> = events.collect().await;
    assert_eq!(began.elapsed().as_secs(), 7);
    assert!(matches!(events.last(), Some(Err(_))), "{events:?}");
    assert_eq!(fake.open_watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_its_caller() {
    let fake = FakeKube::new(1);
    let events = nodes(&fake).watch(&WatchParams::default(), "0").await.unwrap();
    assert_eq!(fake.open_watches(), 1);
    drop(events);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fake.open_watches(), 0);
}
