//! Writes events one by one, in the order of their arrival.
//!
//! | event | written as |
//! |---|---|
//! | same as an event of the last ten minutes | a higher count of the earlier event (`x7`) |
//! | different | a new object, named by its time, so that lists are in order |
//! | cannot be written now | retried; later events wait |
//! | refused, or not writable for minutes | left out, counted, and reported |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time as KubeTime};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use pontoon_core::Time;
use pontoon_core::action::{Failure, FailureKind};
use serde_json::json;
use tokio::sync::mpsc::Receiver;
use tokio::time::{sleep, timeout};

use super::events::{CONTROLLER, Tally, Told, Weight};
use super::metrics::Metrics;
use super::reminders::Reminders;
use super::write_metrics::Write;
use crate::api::api_failure;
use crate::connect::WRITE_DEADLINE;
use crate::env::Env;
use crate::fronts::conditions::{micro_time, timestamp};

/// Longest note that the API server accepts, in bytes.
const LONGEST_NOTE: usize = 1024;

/// Longest part of an object's name in an event's name; the time follows.
const LONGEST_NAME: usize = 253 - 1 - 20;

/// Equal events within this time are counted instead of written again.
const SERIES: Duration = Duration::from_secs(600);

/// Number of remembered events at which expired events are forgotten.
const FORGET_EXPIRED_FROM: usize = 1024;

/// Attempts to write an event.
const ATTEMPTS: u32 = 8;

/// Wait between two attempts: doubles from the first to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Writes events.
pub(super) struct EventDesk {
    client: Client,
    env: Env,
    metrics: Metrics,
    instance: String,
    tally: Arc<Tally>,
    series: BTreeMap<Subject, Series>,
    /// The time in the last name. Names strictly increase.
    last_named: i64,
    reminders: Reminders,
}

/// The key of equal events.
type Subject = (String, String, Weight, String, String);

/// A written event and its count.
struct Series {
    name: String,
    count: i32,
    last: Time,
}

impl EventDesk {
    pub fn new(
        client: Client,
        env: Env,
        metrics: Metrics,
        instance: String,
        tally: Arc<Tally>,
    ) -> Self {
        let (series, reminders) = (BTreeMap::new(), Reminders::default());
        Self { client, env, metrics, instance, tally, series, last_named: 0, reminders }
    }

    /// Writes events until the channel closes.
    pub async fn write_all(mut self, mut from: Receiver<Told>, home: ObjectReference) {
        while let Some(told) = from.recv().await {
            let written = self.write(&told).await;
            self.tally.waiting.fetch_sub(1, Ordering::SeqCst);
            if !written {
                self.metrics.left_out(1);
                self.tally.left_out.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            match self.tally.left_out.swap(0, Ordering::SeqCst) {
                0 => {}
                count => self.tell_left_out(count, &home).await,
            }
        }
    }

    /// Reports the number of events left out, once events can be written again.
    async fn tell_left_out(&mut self, count: u64, home: &ObjectReference) {
        let note = format!(
            "{count} events were not written: the queue was full, or the API server refused them or did not answer"
        );
        tracing::warn!("{note}");
        let (about, reason) = (home.clone(), "EventsLeftOut".to_owned());
        let told = Told { about, weight: Weight::Warning, reason, note, at: self.env.now() };
        if !self.write(&told).await {
            self.tally.left_out.fetch_add(count, Ordering::SeqCst);
        }
    }

    /// Writes an event. Returns whether the write succeeded.
    async fn write(&mut self, told: &Told) -> bool {
        let name = self.name(told);
        for attempt in 0..ATTEMPTS {
            let Err(failure) = self.attempt(told, &name).await else { return true };
            self.metrics.unwritten(Write::Event, failure.kind);
            let lasting = failure.kind.is_refusal() || failure.kind == FailureKind::NotFound;
            if self.reminders.is_due(if lasting { "refused" } else { "failed" }, self.env.now()) {
                let (reason, error) = (&told.reason, &*failure.message);
                tracing::warn!(reason, error, lasting, "an event cannot be written");
            }
            if lasting {
                return false;
            }
            sleep(FIRST_WAIT.saturating_mul(1 << attempt).min(LONGEST_WAIT)).await;
        }
        false
    }

    async fn attempt(&mut self, told: &Told, name: &str) -> Result<(), Failure> {
        let namespace = namespace(&told.about);
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let subject = subject(told);
        if let Some(series) = self.series.get(&subject).filter(|one| one.goes_on(told.at)) {
            let (count, name) = (series.count.saturating_add(1), series.name.clone());
            let last = timestamp(told.at).map(KubeTime);
            let patch = json!({"count": count, "lastTimestamp": last});
            let patch = Patch::Merge(patch);
            match sent(api.patch(&name, &PatchParams::default(), &patch)).await {
                // The API server deletes events after a while.
                Err(failure) if failure.kind == FailureKind::NotFound => {}
                written => {
                    let series = Series { name, count, last: told.at };
                    return written.map(|_| drop(self.series.insert(subject, series)));
                }
            }
        }
        let event = self.event(told, name, namespace);
        match sent(api.create(&PostParams::default(), &event)).await {
            // An earlier attempt has succeeded.
            Err(failure) if failure.kind == FailureKind::Conflict => {}
            written => drop(written?),
        }
        if self.series.len() >= FORGET_EXPIRED_FROM {
            self.series.retain(|_, series| series.goes_on(told.at));
        }
        let series = Series { name: name.to_owned(), count: 1, last: told.at };
        self.series.insert(subject, series);
        Ok(())
    }

    /// Object and time. Lists of events are ordered by name, hence by time for each object.
    fn name(&mut self, told: &Told) -> String {
        self.last_named = told.at.as_micros().max(self.last_named.saturating_add(1));
        let object = cut(told.about.name.as_deref().unwrap_or_default(), LONGEST_NAME);
        let token = self.env.token();
        format!("{}.{:015x}{}", object.trim_end_matches(['.', '-']), self.last_named, &token[..4])
    }

    fn event(&self, told: &Told, name: &str, namespace: String) -> Event {
        let at = timestamp(told.at).map(KubeTime);
        Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            event_time: micro_time(told.at),
            first_timestamp: at.clone(),
            last_timestamp: at,
            count: Some(1),
            action: Some(told.reason.clone()),
            reason: Some(told.reason.clone()),
            message: Some(cut(&told.note, LONGEST_NOTE).to_owned()),
            involved_object: told.about.clone(),
            source: Some(EventSource { component: Some(CONTROLLER.to_owned()), host: None }),
            reporting_component: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(word(told.weight).to_owned()),
            ..Event::default()
        }
    }
}

impl Series {
    fn goes_on(&self, now: Time) -> bool {
        now.since(self.last) < SERIES
    }
}

async fn sent<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    match timeout(WRITE_DEADLINE, call).await {
        Ok(result) => result.map_err(api_failure),
        Err(_) => Err(Failure::plain(FailureKind::NoAnswer, "no answer in time")),
    }
}

fn subject(told: &Told) -> Subject {
    let Told { about, weight, reason, note, .. } = told;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let place = format!("{}/{}/{}", text(&about.kind), text(&about.namespace), text(&about.name));
    (place, text(&about.uid), *weight, reason.clone(), note.clone())
}

/// The namespace of an event: `default` for objects without a namespace.
fn namespace(about: &ObjectReference) -> String {
    let namespace = about.namespace.clone().filter(|name| !name.is_empty());
    namespace.unwrap_or_else(|| "default".to_owned())
}

fn word(weight: Weight) -> &'static str {
    match weight {
        Weight::Normal => "Normal",
        Weight::Warning => "Warning",
    }
}

/// The longest prefix of at most `bytes` bytes that ends between characters.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
