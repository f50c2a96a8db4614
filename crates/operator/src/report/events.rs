//! Kubernetes events: what is told is queued here, and written in order by `event_desk.rs`.
//!
//! They are written in the core group's form: that of `events.k8s.io` may not have the
//! timestamps and the count that `kubectl describe` and `kubectl get events` sort and show.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use pontoon_core::Time;
use pontoon_core::model::{Node, PoolKey};
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::event_desk::EventDesk;
use super::metrics::Metrics;
use super::reminders::Reminders;
use crate::api::{GROUP, VERSION};
use crate::env::Env;

/// The name under which we report.
pub const CONTROLLER: &str = "pontoon";

/// So many events wait to be written, at most: what a thousand pools have to tell at once.
const QUEUE: usize = 4096;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// As it should be.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An event that is to be written.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub about: ObjectReference,
    pub weight: Weight,
    pub reason: String,
    pub note: String,
    pub at: Time,
}

/// Takes events and has them written, one after the other.
pub struct Events {
    env: Env,
    metrics: Metrics,
    /// None once no more are taken.
    to: Option<Sender<Told>>,
    desk: JoinSet<()>,
    /// Events that were not queued, and nobody was told of yet.
    left_out: Arc<AtomicU64>,
    reminders: Reminders,
}

impl Events {
    /// Events of the replica that is called `instance`. How many were left out is told of
    /// `home`.
    pub fn new(
        client: Client,
        env: Env,
        metrics: Metrics,
        instance: String,
        home: ObjectReference,
    ) -> Self {
        let (to, from) = channel(QUEUE);
        let (left_out, mut desk) = (Arc::<AtomicU64>::default(), JoinSet::new());
        let writer =
            EventDesk::new(client, env.clone(), metrics.clone(), instance, left_out.clone());
        env.spawn(&mut desk, writer.write_all(from, home));
        Self { env, metrics, to: Some(to), desk, left_out, reminders: Reminders::default() }
    }

    /// Tells something about an object. Nothing waits for it to be written; what finds no place
    /// in the queue is counted, and the count is told.
    pub fn tell(&mut self, about: ObjectReference, weight: Weight, reason: &str, note: &str) {
        let (reason, note, at) = (reason.to_owned(), note.to_owned(), self.env.now());
        let told = Told { about, weight, reason, note, at };
        let queued = self.to.as_ref().is_some_and(|to| to.try_send(told).is_ok());
        if !queued {
            self.metrics.left_out();
            let so_far = self.left_out.fetch_add(1, Ordering::SeqCst) + 1;
            if self.reminders.is_due("queue", at) {
                tracing::warn!(so_far, "events are left out: too many wait to be written");
            }
        }
    }

    /// Takes no more, and waits until those that were told are written, at most `limit`.
    pub async fn finish(&mut self, limit: Duration) {
        self.to = None;
        if timeout(limit, self.desk.join_next()).await.is_err() {
            tracing::warn!("not every event could be written before the end");
        }
    }
}

/// A pool, for events about it.
pub fn about_pool(key: &PoolKey, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(format!("{GROUP}/{VERSION}")),
        kind: Some(key.kind.to_owned()),
        namespace: Some(key.namespace.to_string()),
        name: Some(key.name.to_string()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

/// A node, for events about it.
pub fn about_node(node: &Node) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name.to_string()),
        uid: Some(node.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// The Lease that replicas stand for, for events about the election.
pub fn about_lease(namespace: &str, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("coordination.k8s.io/v1".to_owned()),
        kind: Some("Lease".to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}
