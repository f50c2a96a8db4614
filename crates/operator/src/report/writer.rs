//! Writes statuses: one writer per object, only on a change, at most one write a second.
//!
//! An object counts as having the status that we sent, even if the API server stored less (a
//! definition older than this program). Nothing is sent again until the wanted status or the
//! definition changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use pontoon_core::Time;
use pontoon_core::action::{Failure, FailureKind};
use pontoon_core::addresses::verdict::{Reason, Verdict};
use pontoon_core::model::{Kind, ObjectKey, Scope};
use pontoon_core::plan::Plan;
use pontoon_core::records::verdict::{RecordReason, RecordVerdict};
use pontoon_core::world::World;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::dropped::dropped;
use super::{record_status, status};
use crate::api::objects;
use crate::connect::WRITE_DEADLINE;
use crate::env::Env;
use crate::execute::api_failure;
use crate::fronts::floating_ip_pool::ObservedPool;
use crate::fronts::node_dns_record_set::ObservedRecordSet;
use crate::observe::version;

/// Shortest time between two writes of a status.
const PACE: Duration = Duration::from_secs(1);

/// Writes the status of every object.
pub struct StatusWriter {
    client: Client,
    env: Env,
    objects: BTreeMap<ObjectKey, Tracked>,
    /// Objects with a status that may differ from the wanted status.
    pending: BTreeSet<ObjectKey>,
    writing: JoinSet<Written>,
}

struct Tracked {
    subject: Subject,
    /// The last verdict on the object's records.
    records: Option<Box<RecordVerdict>>,
    in_flight: bool,
    not_before: Time,
    failures: u32,
    /// Whether the last write was refused. A new version of the object does not help.
    refused: bool,
    pruned: Option<Pruned>,
}

/// A status that the API server stored only in part.
struct Pruned {
    sent: Value,
    stored: Value,
    /// The parts that were not stored.
    dropped: Vec<String>,
}

/// The inputs of a status.
enum Subject {
    Pool(Box<ObservedPool>, Option<Box<Verdict>>),
    RecordSet(Box<ObservedRecordSet>),
}

/// A finished write.
#[derive(Debug)]
pub struct Written {
    key: ObjectKey,
    uid: String,
    sent: Value,
    result: Result<Stored, Failure>,
}

/// The result of a status write.
#[derive(Debug)]
pub struct Wrote {
    /// Key of the object.
    pub key: ObjectKey,
    /// UID of the object.
    pub uid: String,
    /// The new version of the object, or why the write failed.
    pub result: Result<u64, Failure>,
    /// The parts that the API server did not store, unless already reported.
    pub dropped: Vec<String>,
}

/// How a status is written.
enum Write {
    /// Replaces the whole status.
    Whole(Value),
    /// Merge patch, for an object that could not be decoded: fields that we cannot read must
    /// survive.
    Over(Value),
}

#[derive(Debug)]
struct Stored {
    version: u64,
    status: Value,
}

impl StatusWriter {
    /// A writer without objects.
    pub fn new(client: Client, env: Env) -> Self {
        let (objects, pending) = (BTreeMap::new(), BTreeSet::new());
        Self { client, env, objects, pending, writing: JoinSet::new() }
    }

    /// Handles a pool that appeared or changed.
    pub fn see_pool(&mut self, mut observed: ObservedPool) {
        let key = observed.pool.key.clone();
        let verdict = match self.objects.get_mut(&key) {
            Some(Tracked { subject: Subject::Pool(before, verdict), pruned, .. })
                if before.pool.uid == observed.pool.uid =>
            {
                if before.pool.version > observed.pool.version {
                    return;
                }
                if !observed.decoded {
                    // The stored status is unreadable; our last write is all we know.
                    observed.status = before.status.clone();
                }
                unprune(pruned.as_ref(), &mut observed.status);
                verdict.take()
            }
            _ => None,
        };
        self.see(key, Subject::Pool(Box::new(observed), verdict));
    }

    /// Handles a record set that appeared or changed.
    pub fn see_record_set(&mut self, mut observed: ObservedRecordSet) {
        let key = observed.set.key.clone();
        if let Some(Tracked { subject: Subject::RecordSet(before), pruned, .. }) =
            self.objects.get(&key)
            && before.set.uid == observed.set.uid
        {
            if before.set.version > observed.set.version {
                return;
            }
            if !observed.decoded {
                // The stored status is unreadable; our last write is all we know.
                observed.status = before.status.clone();
            }
            unprune(pruned.as_ref(), &mut observed.status);
        }
        self.see(key, Subject::RecordSet(Box::new(observed)));
    }

    fn see(&mut self, key: ObjectKey, subject: Subject) {
        match self.objects.get_mut(&key) {
            Some(tracked) => {
                if tracked.subject.uid() != subject.uid() {
                    tracked.pruned = None;
                }
                tracked.subject = subject;
                if tracked.failures > 0 && !tracked.refused {
                    // The write failed on an older version, so a new version deserves an attempt.
                    tracked.not_before = Time::default();
                }
            }
            None => {
                self.objects.insert(key.clone(), Tracked::new(subject));
            }
        }
        self.pending.insert(key);
    }

    /// Handles a changed definition, which may store fields that were dropped before.
    pub fn redefined(&mut self, kind: &Kind) {
        for (key, tracked) in self.objects.iter_mut().filter(|(key, _)| key.kind == kind) {
            if let Some(Pruned { stored, .. }) = tracked.pruned.take() {
                tracked.subject.says(stored);
                self.pending.insert(key.clone());
            }
        }
    }

    /// Removes an object.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
        self.pending.remove(key);
    }

    /// Starts a new term. Writes under way belong to the old term and are dropped.
    pub fn restart(&mut self) {
        self.writing = JoinSet::new();
        for (key, tracked) in &mut self.objects {
            tracked.in_flight = false;
            tracked.not_before = Time::default();
            tracked.records = None;
            if let Subject::Pool(_, verdict) = &mut tracked.subject {
                *verdict = None;
            }
            self.pending.insert(key.clone());
        }
    }

    /// Takes the verdicts of a plan.
    pub fn take(&mut self, plan: &Plan) {
        for (key, new) in &plan.verdicts {
            if let Some(Tracked { subject: Subject::Pool(_, verdict), .. }) =
                self.objects.get_mut(key)
                && verdict.as_deref() != Some(new)
            {
                *verdict = Some(Box::new(new.clone()));
                self.pending.insert(key.clone());
            }
        }
        for (key, new) in &plan.records {
            if let Some(tracked) = self.objects.get_mut(key)
                && tracked.records.as_deref() != Some(new)
            {
                tracked.records = Some(Box::new(new.clone()));
                self.pending.insert(key.clone());
            }
        }
    }

    /// Whether a write to this object is under way, so that its version is about to change.
    pub fn is_writing(&self, key: &ObjectKey) -> bool {
        self.objects.get(key).is_some_and(|tracked| tracked.in_flight)
    }

    /// Starts every write that is due. Returns the time of the next call.
    pub fn flush(&mut self, world: &World, now: Time) -> Option<Time> {
        let mut wake: Option<Time> = None;
        for key in std::mem::take(&mut self.pending) {
            let Some(tracked) = self.objects.get_mut(&key) else { continue };
            // A ledger write under way makes this version stale, so a status write would conflict.
            let stale = world.pool(&key).is_some_and(|entry| entry.is_writing_ledger());
            if tracked.in_flight || stale {
                self.pending.insert(key);
                continue;
            }
            let records = tracked.records.as_deref();
            let Some((uid, at, status)) = tracked.subject.correction(records, now) else {
                continue;
            };
            if now < tracked.not_before {
                wake = Some(wake.map_or(tracked.not_before, |wake| wake.min(tracked.not_before)));
                self.pending.insert(key);
                continue;
            }
            tracked.in_flight = true;
            let put = put(self.client.clone(), key, uid, at, status);
            self.env.spawn(&mut self.writing, put);
        }
        wake
    }

    /// The next finished write. Pending for ever while nothing is under way.
    pub async fn next(&mut self) -> Written {
        loop {
            match self.writing.join_next().await {
                Some(Ok(written)) => return written,
                Some(Err(error)) => tracing::error!(%error, "a status write was lost"),
                None => std::future::pending().await,
            }
        }
    }

    /// Handles a finished write. `None` if the object is gone.
    pub fn written(&mut self, written: Written, now: Time) -> Option<Wrote> {
        let Written { key, uid, sent, result } = written;
        let tracked = self.objects.get_mut(&key)?;
        tracked.in_flight = false;
        self.pending.insert(key.clone());
        let mut dropped = Vec::new();
        let result = match result {
            Ok(stored) => {
                (tracked.failures, tracked.refused) = (0, false);
                tracked.not_before = now + PACE;
                dropped = tracked.keep(&uid, sent, &stored);
                Ok(stored.version)
            }
            Err(failure) => {
                tracked.failures += 1;
                tracked.refused = failure.kind.is_refusal();
                tracked.not_before = now + PACE * 2u32.pow(tracked.failures.min(6)) / 2;
                Err(failure)
            }
        };
        Some(Wrote { key, uid, result, dropped })
    }
}

impl Tracked {
    fn new(subject: Subject) -> Self {
        let (records, in_flight, not_before, pruned) = (None, false, Time::default(), None);
        Self { subject, records, in_flight, not_before, failures: 0, refused: false, pruned }
    }

    /// Notes the sent status as the object's status. Returns the parts that were not stored, unless
    /// already reported.
    fn keep(&mut self, uid: &str, sent: Value, stored: &Stored) -> Vec<String> {
        self.subject.stored(uid, stored.version, sent.clone());
        let missing = dropped(&sent, &stored.status);
        let before = self.pruned.take();
        if missing.is_empty() {
            return missing;
        }
        let told = before.is_some_and(|before| before.dropped == missing);
        let (stored, dropped) = (stored.status.clone(), missing.clone());
        self.pruned = Some(Pruned { sent, stored, dropped });
        if told { Vec::new() } else { missing }
    }
}

/// Replaces a status that the API server pruned with the status that we sent.
fn unprune<T>(pruned: Option<&Pruned>, status: &mut T)
where
    T: DeserializeOwned + PartialEq + Default,
{
    let Some(Pruned { sent, stored, .. }) = pruned else { return };
    let read = |value: &Value| serde_json::from_value::<T>(value.clone()).unwrap_or_default();
    if *status == read(stored) {
        *status = read(sent);
    }
}

impl Subject {
    fn uid(&self) -> &str {
        match self {
            Self::Pool(observed, _) => &observed.pool.uid,
            Self::RecordSet(observed) => &observed.set.uid,
        }
    }

    /// The wanted status, if different from the object's status.
    fn correction(
        &self,
        records: Option<&RecordVerdict>,
        now: Time,
    ) -> Option<(String, u64, Write)> {
        match self {
            Self::Pool(observed, Some(verdict)) if verdict.reason != Reason::Reading => {
                let status = status::pool(observed, verdict, records, now);
                let value = serde_json::to_value(&status).ok()?;
                let (uid, version) = (observed.pool.uid.to_string(), observed.pool.version);
                let write = if observed.decoded { Write::Whole(value) } else { Write::Over(value) };
                (status != observed.status).then_some((uid, version, write))
            }
            Self::Pool(..) => None,
            Self::RecordSet(observed) => {
                let verdict = records.filter(|one| one.reason != RecordReason::Reading)?;
                let status = record_status::record_set(observed, verdict, now);
                let value = serde_json::to_value(&status).ok()?;
                let (uid, version) = (observed.set.uid.to_string(), observed.set.version);
                let write = if observed.decoded { Write::Whole(value) } else { Write::Over(value) };
                (status != observed.status).then_some((uid, version, write))
            }
        }
    }

    /// Notes our own write, which the watch will only repeat.
    fn stored(&mut self, written_uid: &str, written: u64, sent: Value) {
        let (uid, version) = match self {
            Self::Pool(observed, _) => (&observed.pool.uid, &mut observed.pool.version),
            Self::RecordSet(observed) => (&observed.set.uid, &mut observed.set.version),
        };
        if **uid == *written_uid && written >= *version {
            *version = written;
            self.says(sent);
        }
    }

    /// Sets the object's status.
    fn says(&mut self, status: Value) {
        match self {
            Self::Pool(observed, _) => {
                observed.status = serde_json::from_value(status).unwrap_or_default();
            }
            Self::RecordSet(observed) => {
                observed.status = serde_json::from_value(status).unwrap_or_default();
            }
        }
    }
}

/// Writes a status with the version that the write is based on, so that the server refuses a stale
/// view.
async fn put(client: Client, key: ObjectKey, uid: String, at: u64, write: Write) -> Written {
    let api = objects(client, key.kind, &key.namespace);
    let mut metadata = json!({
        "name": *key.name, "uid": uid, "resourceVersion": at.to_string(),
    });
    if key.kind.scope == Scope::Namespaced {
        metadata["namespace"] = json!(*key.namespace);
    }
    let (api_version, kind) = (key.kind.api_version(), key.kind.name);
    let value = match &write {
        Write::Whole(status) | Write::Over(status) => status.clone(),
    };
    let sent = async {
        match write {
            Write::Whole(status) => {
                let object = json!({
                    "apiVersion": api_version, "kind": kind, "metadata": metadata, "status": status,
                });
                let object = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
                api.replace_status(&key.name, &PostParams::default(), &object).await
            }
            Write::Over(status) => {
                let patch = json!({"metadata": metadata, "status": status});
                let params = PatchParams::default();
                api.patch_status(&key.name, &params, &Patch::Merge(patch)).await
            }
        }
    };
    let result = match tokio::time::timeout(WRITE_DEADLINE, sent).await {
        Ok(Ok(mut stored)) => Ok(Stored {
            version: version(stored.metadata.resource_version.as_deref()),
            status: stored.data["status"].take(),
        }),
        Ok(Err(error)) => Err(api_failure(error)),
        Err(_) => {
            let message = "the API server did not answer in time";
            Err(Failure::plain(FailureKind::NoAnswer, message))
        }
    };
    Written { key, uid, sent: value, result }
}
