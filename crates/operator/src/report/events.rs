//! Kubernetes events: queued here, written in order by `event_desk.rs`.
//!
//! Events use the core group's form: the form of `events.k8s.io` cannot have the timestamps and the
//! count that `kubectl describe` and `kubectl get events` sort by and show.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use pontoon_core::Time;
use pontoon_core::model::{Node, ObjectKey, Scope};
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::event_desk::EventDesk;
use super::metrics::Metrics;
use super::reminders::Reminders;
use crate::env::Env;

/// Our name as a reporting controller.
pub const CONTROLLER: &str = "pontoon";

/// Length of the queue: enough for a thousand pools at once.
const QUEUE: usize = 4096;

/// Importance of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Expected behaviour.
    Normal,
    /// Needs a person's attention.
    Warning,
}

/// An event in the queue.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub about: ObjectReference,
    pub weight: Weight,
    pub reason: String,
    pub note: String,
    pub at: Time,
}

/// Accepts events and writes them in a task.
pub struct Events {
    env: Env,
    metrics: Metrics,
    /// `None` after [`Events::finish`].
    to: Option<Sender<Told>>,
    desk: JoinSet<()>,
    tally: Arc<Tally>,
    reminders: Reminders,
}

/// Counts events that are not written.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Events in the queue or being written.
    pub waiting: AtomicU64,
    /// Events left out since the last report.
    pub left_out: AtomicU64,
}

impl Events {
    /// Events of the replica `instance`. Reports about events left out refer to `home`.
    pub fn new(
        client: Client,
        env: Env,
        metrics: Metrics,
        instance: String,
        home: ObjectReference,
    ) -> Self {
        let (to, from) = channel(QUEUE);
        let (tally, mut desk) = (Arc::<Tally>::default(), JoinSet::new());
        let writer = EventDesk::new(client, env.clone(), metrics.clone(), instance, tally.clone());
        env.spawn(&mut desk, writer.write_all(from, home));
        Self { env, metrics, to: Some(to), desk, tally, reminders: Reminders::default() }
    }

    /// Queues an event about an object. Never waits; an event that does not fit the queue is
    /// counted and reported later.
    pub fn tell(&mut self, about: ObjectReference, weight: Weight, reason: &str, note: &str) {
        let (reason, note, at) = (reason.to_owned(), note.to_owned(), self.env.now());
        let told = Told { about, weight, reason, note, at };
        // Counted first: the writer may be faster than this task.
        self.tally.waiting.fetch_add(1, Ordering::SeqCst);
        let queued = self.to.as_ref().is_some_and(|to| to.try_send(told).is_ok());
        if !queued {
            self.tally.waiting.fetch_sub(1, Ordering::SeqCst);
            self.metrics.left_out(1);
            let so_far = self.tally.left_out.fetch_add(1, Ordering::SeqCst) + 1;
            if self.reminders.is_due("queue", at) {
                tracing::warn!(so_far, "events are left out: too many wait to be written");
            }
        }
    }

    /// Accepts no more events, and waits until the queued events are written, at most `limit`. The others
    /// are counted and left out.
    pub async fn finish(&mut self, limit: Duration) {
        self.to = None;
        if timeout(limit, self.desk.join_next()).await.is_err() {
            self.desk.abort_all();
            let left_out = self.tally.waiting.swap(0, Ordering::SeqCst);
            self.metrics.left_out(left_out);
            tracing::warn!(left_out, "events could not be written before the end");
        }
    }
}

/// A reference to an object of ours.
pub fn about(key: &ObjectKey, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(key.kind.api_version()),
        kind: Some(key.kind.name.to_owned()),
        namespace: (key.kind.scope == Scope::Namespaced).then(|| key.namespace.to_string()),
        name: Some(key.name.to_string()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

/// A reference to a node.
pub fn about_node(node: &Node) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name.to_string()),
        uid: Some(node.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// A reference to the election's Lease.
pub fn about_lease(namespace: &str, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("coordination.k8s.io/v1".to_owned()),
        kind: Some("Lease".to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}
