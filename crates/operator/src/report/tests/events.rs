//! All events arrive, in order and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fakekube::{Answer, FakeKube, Fault, On, Rule};
use kube::Client;
use pontoon_core::Time;
use pontoon_core::model::ObjectKey;
use serde_json::Value;

use crate::env::Env;
use crate::report::events::{Events, Weight, about, about_lease};
use crate::report::metrics::Metrics;

/// Longer than a busy machine takes for the longest of these tests.
const LONG: Duration = Duration::from_mins(10);

/// An API server, events, and a clock that advances by a millisecond per event.
struct Stage {
    kube: FakeKube,
    events: Events,
    metrics: Metrics,
    clock: Arc<AtomicU64>,
}

fn stage() -> Stage {
    let (kube, clock) = (FakeKube::new(1), Arc::<AtomicU64>::default());
    let time = Arc::clone(&clock);
    let elapsed = move || Duration::from_millis(time.load(Ordering::SeqCst));
    let started = Time::from_micros(1_800_000_000_000_000);
    let env = Env::new(elapsed, started, fastrand::Rng::with_seed(1));
    let client = Client::new(kube.service(), "default");
    let (metrics, home) = (Metrics::new().unwrap(), about_lease("default", "pontoon"));
    let events = Events::new(client, env, metrics.clone(), "one_1".to_owned(), home);
    Stage { kube, events, metrics, clock }
}

impl Stage {
    fn tell(&mut self, reason: &str, note: &str) {
        self.clock.fetch_add(1, Ordering::SeqCst);
        let key = ObjectKey {
            kind: &crate::fronts::floating_ip_pool::FLOATING_IP_POOL,
            namespace: "default".into(),
            name: "p".into(),
        };
        self.events.tell(about(&key, "uid"), Weight::Normal, reason, note);
    }

    /// The stored events, in the order of a list.
    fn stored(&self) -> Vec<Arc<Value>> {
        self.kube.objects("", "events")
    }
}

#[tokio::test]
async fn two_hundred_events_at_once_all_arrive_in_order_with_times_that_kubectl_sorts_by() {
    let mut stage = stage();
    for n in 0..200 {
        stage.tell("Assigned", &format!("move {n}"));
    }
    stage.events.finish(LONG).await;
    let notes: Vec<_> =
        stage.stored().iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect();
    assert_eq!(notes, (0..200).map(|n| format!("move {n}")).collect::<Vec<_>>());
    for event in stage.stored() {
        for time in ["eventTime", "firstTimestamp", "lastTimestamp"] {
            assert!(event[time].is_string(), "{time}: {event}");
        }
        assert_eq!((&event["count"], &event["type"]), (&1.into(), &"Normal".into()));
    }
}

#[tokio::test]
async fn the_same_event_again_is_counted() {
    let mut stage = stage();
    for _ in 0..7 {
        stage.tell("AssignFailed", "assigning 192.0.2.1 to a failed: busy");
        stage.tell("AssignFailed", "assigning 192.0.2.1 to b failed: busy");
    }
    stage.clock.fetch_add(5_000, Ordering::SeqCst);
    stage.tell("AssignFailed", "assigning 192.0.2.1 to a failed: busy");
    stage.events.finish(LONG).await;
    let counts: Vec<_> = stage.stored().iter().map(|one| one["count"].clone()).collect();
    assert_eq!(counts, [8, 7]);
    let first = &stage.stored()[0];
    assert_ne!(first["firstTimestamp"], first["lastTimestamp"]);
}

#[tokio::test]
async fn the_same_event_after_a_long_time_or_once_the_server_forgot_it_is_another() {
    let mut stage = stage();
    stage.tell("AllAssigned", "well");
    stage.clock.fetch_add(601_000, Ordering::SeqCst);
    stage.tell("AllAssigned", "well");
    stage.events.finish(LONG).await;
    let counts: Vec<_> = stage.stored().iter().map(|one| one["count"].clone()).collect();
    assert_eq!(counts, [1, 1]);
}

#[tokio::test]
async fn a_note_is_cut_in_bytes_and_between_characters() {
    let mut stage = stage();
    stage.tell("Assigned", &format!("a{}", "→".repeat(600)));
    stage.events.finish(LONG).await;
    let message = stage.stored()[0]["message"].as_str().unwrap().to_owned();
    assert_eq!((message.len(), message.chars().count()), (1 + 341 * 3, 342));
}

#[tokio::test]
async fn what_finds_no_place_in_the_queue_is_counted_and_told() {
    let mut stage = stage();
    // The writer task has no chance to run in between.
    for n in 0..4106 {
        stage.tell("Assigned", &format!("move {n}"));
    }
    stage.events.finish(LONG).await;
    let stored = stage.stored();
    assert_eq!(stored.len(), 4096 + 1);
    let told = stored.iter().find(|one| one["reason"] == "EventsLeftOut").unwrap();
    assert_eq!(told["involvedObject"]["kind"], "Lease");
    assert!(told["message"].as_str().unwrap().starts_with("10 events were not written"), "{told}");
    let page = stage.metrics.page();
    assert!(page.contains("pontoon_events_left_out_total 10"), "{page}");
}

#[tokio::test]
async fn an_event_that_cannot_be_written_now_is_tried_again_and_one_that_is_refused_is_counted() {
    let mut stage = stage();
    let events = || On::call("POST", "/api/v1/namespaces/*/events");
    let busy = Rule::new(events().with_body("move 0"), Fault::Answer(Answer::status(503)));
    let _busy = stage.kube.inject(busy.times(1));
    let refused = Rule::new(events().with_body("move 1"), Fault::Answer(Answer::status(403)));
    let _refused = stage.kube.inject(refused);
    for n in 0..3 {
        stage.tell("Assigned", &format!("move {n}"));
    }
    stage.events.finish(LONG).await;
    let told = |one: &Arc<Value>| one["message"].as_str().unwrap_or_default().to_owned();
    let notes: Vec<_> = stage.stored().iter().map(told).collect();
    assert!(notes.contains(&"move 0".to_owned()) && notes.contains(&"move 2".to_owned()));
    assert!(notes.iter().any(|note| note.starts_with("1 events were not written")), "{notes:?}");
    let page = stage.metrics.page();
    for error in ["refused", "unavailable"] {
        let series =
            format!("pontoon_kubernetes_write_errors_total{{error=\"{error}\",write=\"event\"}} 1");
        assert!(page.contains(&series), "{page}");
    }
}

#[tokio::test]
async fn events_that_are_not_written_before_the_end_are_counted() {
    let mut stage = stage();
    let events = || On::call("POST", "/api/v1/namespaces/*/events");
    let busy = Rule::new(events().with_body("move 1"), Fault::Answer(Answer::status(503)));
    let _busy = stage.kube.inject(busy);
    for n in 0..4 {
        stage.tell("Assigned", &format!("move {n}"));
    }
    let failed = "pontoon_kubernetes_write_errors_total{error=\"unavailable\",write=\"event\"}";
    while !stage.metrics.page().contains(failed) {
        tokio::task::yield_now().await;
    }
    stage.events.finish(Duration::ZERO).await;
    assert_eq!(stage.stored().len(), 1);
    let page = stage.metrics.page();
    assert!(page.contains("pontoon_events_left_out_total 3"), "{page}");
}
