//! Tells people of writes to Kubernetes that do not work.

use std::time::Duration;

use pontoon_core::action::{Action, Failure};
use pontoon_core::model::PoolKey;

use super::Narrator;
use super::events::{Weight, about_pool};
use super::write_metrics::Write;
use super::writer::Wrote;
use crate::execute::Finished;
use crate::observe::schema::UPGRADE;

impl Narrator {
    /// Counts an action that writes to Kubernetes and failed. Returns whether the same refusal
    /// was told less than a minute ago; the verdict tells it anyway.
    pub(super) fn unwritten(&mut self, finished: &Finished) -> bool {
        let Err(failure) = &finished.outcome.result else { return false };
        let (write, subject) = match &finished.outcome.action {
            Action::WriteLedger { pool, .. } => (Write::Ledger, format!("ledger of {pool}")),
            // What is refused on one node is refused on all: one of them stands for the others.
            Action::Mark { .. } => (Write::Annotation, "annotations".to_owned()),
            _ => return false,
        };
        self.metrics.unwritten(write, failure.kind);
        failure.kind.is_refusal() && !self.reminders.is_due(&subject, self.env.now())
    }

    /// A status was written, or not.
    pub fn status_written(&mut self, wrote: &Wrote) {
        let Wrote { key, uid, result, dropped } = wrote;
        match result {
            Err(failure) => self.status_failed(key, uid, failure),
            Ok(_) if !dropped.is_empty() => self.status_dropped(key, uid, dropped),
            Ok(_) => {}
        }
    }

    /// Takes no more events, and waits until those that were told are written.
    pub async fn finish(&mut self, limit: Duration) {
        self.events.finish(limit).await;
    }

    /// A status cannot say itself that it cannot be written.
    fn status_failed(&mut self, key: &PoolKey, uid: &str, failure: &Failure) {
        self.metrics.unwritten(Write::Status, failure.kind);
        let error = &*failure.message;
        let subject = format!("status of {key}");
        if !failure.kind.is_refusal() || !self.reminders.is_due(&subject, self.env.now()) {
            tracing::debug!(object = %key, error, "status not written; trying again");
            return;
        }
        let note = format!(
            "the status is not what Pontoon would say: the API server refuses to write it: {error}. \
             Grant what deploy/rbac.yaml grants, or let the admission policy pass it"
        );
        tracing::warn!(object = %key, "{note}");
        self.events.tell(about_pool(key, uid), Weight::Warning, "StatusRefused", &note);
    }

    /// The API server stored less than it was sent, and called that success.
    fn status_dropped(&mut self, key: &PoolKey, uid: &str, dropped: &[String]) {
        let note = format!(
            "the API server does not store {} as it is sent: the definition of this kind is older \
             than Pontoon; upgrade it with: {UPGRADE}",
            dropped.join(", ")
        );
        if self.reminders.is_due(&format!("definition of {}", key.kind), self.env.now()) {
            tracing::warn!(object = %key, "{note}");
        }
        self.events.tell(about_pool(key, uid), Weight::Warning, "StatusDropped", &note);
    }
}
