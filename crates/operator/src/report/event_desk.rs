//! Writes events, one after the other, in the order in which they were told.
//!
//! | an event | so it |
//! |---|---|
//! | is the same as one of the last ten minutes | counts there (`x7`) |
//! | is another one | is an object of its own, named by its time: lists are in order |
//! | cannot be written now | is tried again, and the others wait behind it |
//! | is refused, or cannot be written for minutes | is left out: counted, and told |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

use super::events::{CONTROLLER, Told, Weight};
use super::metrics::Metrics;
use super::reminders::Reminders;
use super::status::{micro_time, timestamp};
use super::write_metrics::Write;
use crate::connect::WRITE_DEADLINE;
use crate::env::Env;
use crate::execute::api_failure;

/// Longest note that the API server takes, in bytes.
const LONGEST_NOTE: usize = 1024;

/// Longest name of an object that leaves room for the time behind it.
const LONGEST_NAME: usize = 253 - 1 - 20;

/// The same event within this time is counted, not written again.
const SERIES: Duration = Duration::from_secs(600);

/// So many different events are remembered before those that are over are forgotten.
const REMEMBERED: usize = 1024;

/// An event that cannot be written now is tried so often.
const ATTEMPTS: u32 = 8;

/// Waits between two attempts: doubled from the first to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Writes events.
pub(super) struct EventDesk {
    client: Client,
    env: Env,
    metrics: Metrics,
    instance: String,
    left_out: Arc<AtomicU64>,
    series: BTreeMap<Subject, Series>,
    /// The time in the last name: names of later events are greater.
    last_named: i64,
    reminders: Reminders,
}

/// What makes two events the same.
type Subject = (String, String, Weight, String, String);

/// An event that was written.
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
        left_out: Arc<AtomicU64>,
    ) -> Self {
        let (series, reminders) = (BTreeMap::new(), Reminders::default());
        Self { client, env, metrics, instance, left_out, series, last_named: 0, reminders }
    }

    /// Writes whatever comes, until no more can come.
    pub async fn write_all(mut self, mut from: Receiver<Told>, home: ObjectReference) {
        while let Some(told) = from.recv().await {
            if !self.write(&told).await {
                self.metrics.left_out();
                self.left_out.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            match self.left_out.swap(0, Ordering::SeqCst) {
                0 => {}
                count => self.tell_left_out(count, &home).await,
            }
        }
    }

    /// Events can be written again: how many could not.
    async fn tell_left_out(&mut self, count: u64, home: &ObjectReference) {
        let note = format!("{count} events were left out: they could not be written in time");
        tracing::warn!("{note}");
        let (about, reason) = (home.clone(), "EventsLeftOut".to_owned());
        let told = Told { about, weight: Weight::Warning, reason, note, at: self.env.now() };
        if !self.write(&told).await {
            self.left_out.fetch_add(count, Ordering::SeqCst);
        }
    }

    /// Writes an event. Returns whether it is written.
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
                // The API server forgets events after a while.
                Err(failure) if failure.kind == FailureKind::NotFound => {}
                written => {
                    let series = Series { name, count, last: told.at };
                    return written.map(|_| drop(self.series.insert(subject, series)));
                }
            }
        }
        let event = self.event(told, name, namespace);
        match sent(api.create(&PostParams::default(), &event)).await {
            // An earlier attempt had come through.
            Err(failure) if failure.kind == FailureKind::Conflict => {}
            written => drop(written?),
        }
        if self.series.len() >= REMEMBERED {
            self.series.retain(|_, series| series.goes_on(told.at));
        }
        let series = Series { name: name.to_owned(), count: 1, last: told.at };
        self.series.insert(subject, series);
        Ok(())
    }

    /// Object and time: a list of events, which is ordered by name, is ordered by time for each
    /// object.
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

/// Events about objects that have no namespace live in `default`.
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

/// The beginning of a text, at most so many bytes, without half a character.
fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
