//! Reports failed writes to Kubernetes.

use std::time::Duration;

use pontoon_core::action::{Action, Eviction, Failure, FailureKind, Finished};
use pontoon_core::model::ObjectKey;

use super::events::{Weight, about};
use super::write_metrics::Write;
use super::writer::Wrote;
use super::{Announcer, Objects};
use crate::observe::schema::UPGRADE;

impl Announcer {
    /// Counts a failed write to Kubernetes. Returns whether the same refusal was logged within the
    /// last minute; the verdict reports the refusal in any case.
    pub(super) fn unwritten(&mut self, finished: &Finished) -> bool {
        let Err(failure) = &finished.outcome.result else { return false };
        let overtaken = failure.kind == FailureKind::Conflict;
        let (write, subject) = match &finished.outcome.action {
            Action::Ledger(write) => (Write::Ledger, format!("ledger of {}", write.pool)),
            // A refusal concerns all nodes alike, so all nodes share a reminder.
            Action::Mark(_) => (Write::Annotation, "annotations".to_owned()),
            Action::Evict(eviction) => (Write::Eviction, format!("eviction of {:?}", eviction.pod)),
            Action::Vip(_) if overtaken => return false,
            Action::Vip(action) => (Write::Vip, format!("VIPs of {}", action.cluster())),
            Action::Address(_) | Action::Record(_) => return false,
        };
        self.metrics.unwritten(write, failure.kind);
        failure.kind.is_refusal() && !self.reminders.is_due(&subject, self.env.now())
    }

    /// Reports the result of a status write.
    pub fn status_written(&mut self, wrote: &Wrote) {
        let Wrote { key, uid, result, dropped } = wrote;
        match result {
            Err(failure) => self.status_failed(key, uid, failure),
            Ok(_) if !dropped.is_empty() => self.status_dropped(key, uid, dropped),
            Ok(_) => {}
        }
    }

    /// Reports an eviction, or its refusal.
    pub(super) fn evicted(&mut self, objects: &Objects, eviction: &Eviction, finished: &Finished) {
        let Eviction { owner, namespace, name, node, .. } = eviction;
        let Some(object) = objects.get(owner) else { return };
        let about = about(owner, &object.uid);
        match &finished.outcome.result {
            Ok(_) => {
                let note = format!(
                    "{namespace}/{name} evicted from {node}, which has none of the addresses any more"
                );
                self.events.tell(about, Weight::Normal, "Evicted", &note);
            }
            Err(failure) => {
                let note = format!("evicting {namespace}/{name} from {node}: {}", failure.message);
                self.events.tell(about, Weight::Warning, "EvictionRefused", &note);
            }
        }
    }

    /// Accepts no more events, and waits until the queued events are written.
    pub async fn finish(&mut self, limit: Duration) {
        self.events.finish(limit).await;
    }

    /// Reports a refused status write with an event, because the status cannot be written.
    fn status_failed(&mut self, key: &ObjectKey, uid: &str, failure: &Failure) {
        self.metrics.unwritten(Write::Status, failure.kind);
        let error = &*failure.message;
        let subject = format!("status of {key}");
        if !failure.kind.is_refusal() || !self.reminders.is_due(&subject, self.env.now()) {
            tracing::debug!(object = %key, error, "status not written; trying again");
            return;
        }
        let note = format!(
            "the status is out of date, because the API server refuses its write: {error}. Grant what \
             the chart's roles grant, or have the admission policy admit the write"
        );
        tracing::warn!(object = %key, "{note}");
        self.events.tell(about(key, uid), Weight::Warning, "StatusRefused", &note);
    }

    /// Reports that the API server silently stored only a part of the status.
    fn status_dropped(&mut self, key: &ObjectKey, uid: &str, dropped: &[String]) {
        let note = format!(
            "the API server does not store {} as it is sent: the definition of this kind is older \
             than Pontoon; upgrade it with: {UPGRADE}",
            dropped.join(", ")
        );
        if self.reminders.is_due(&format!("definition of {}", key.kind), self.env.now()) {
            tracing::warn!(object = %key, "{note}");
        }
        self.events.tell(about(key, uid), Weight::Warning, "StatusDropped", &note);
    }
}
