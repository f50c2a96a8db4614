//! Writes statuses: one writer per object, only on a change, at most one write a second. States on the
//! way to a VIP are written if they last.
//!
//! An object counts as having the status that we sent, even if the API server stored less (a
//! definition older than this program). Nothing is sent again until the wanted status or the
//! definition changes.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use pontoon_core::Time;
use pontoon_core::action::{Failure, FailureKind};
use pontoon_core::model::{Kind, ObjectKey, Scope};
use pontoon_core::plan::Plan;
use pontoon_core::verdict::Outlook;
use pontoon_core::vips::verdict::VipVerdict;
use pontoon_core::world::World;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::dropped::dropped;
use super::objects::{Object, Objects};
use crate::api::{api_failure, objects_within};
use crate::connect::{MOST_STATUSES, WRITE_DEADLINE};
use crate::env::Env;
use crate::fronts::Face;
use crate::fronts::observed::Shared;
use crate::observe::objects::ObjectView;
use crate::observe::version;

/// Shortest time between two writes of a status.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Writes the status of every object.
pub struct StatusWriter {
    client: Client,
    env: Env,
    /// Objects with a status that may differ from the wanted status.
    pending: BTreeSet<ObjectKey>,
    writes: JoinSet<Written>,
}

/// How the status of an object is being written.
#[derive(Debug, Default)]
pub(super) struct Writing {
    pub in_flight: bool,
    not_before: Time,
    failures: u32,
    /// Whether the last write was refused. A new version of the object does not help.
    refused: bool,
    /// Since when the verdict is of work in progress, which as a rule ends before a write is due.
    passing_since: Option<Time>,
    pruned: Option<Pruned>,
}

/// A status that the API server stored only in part.
#[derive(Debug)]
struct Pruned {
    sent: Value,
    stored: Value,
    /// The parts that were not stored.
    dropped: Vec<String>,
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
    /// Server-side apply, for a status with other writers: only our part is sent.
    Part(Value, Shared),
}

#[derive(Debug)]
struct Stored {
    version: u64,
    status: Value,
}

impl StatusWriter {
    /// A writer without objects.
    pub fn new(client: Client, env: Env) -> Self {
        Self { client, env, pending: BTreeSet::new(), writes: JoinSet::new() }
    }

    /// Handles an object that appeared or changed.
    pub fn seen(&mut self, key: ObjectKey) {
        self.pending.insert(key);
    }

    /// Handles a changed definition, which may store fields that were dropped before.
    pub fn redefined(&mut self, objects: &mut Objects, kind: &Kind) {
        for (key, object) in objects.of_kind(kind) {
            if let Some(Pruned { stored, .. }) = object.writing.pruned.take() {
                object.face.store(stored);
                self.pending.insert(key.clone());
            }
        }
    }

    /// Starts a new term. Writes under way belong to the old term and are dropped.
    pub fn restart(&mut self, objects: &mut Objects) {
        self.writes = JoinSet::new();
        objects.restart();
        self.pending.extend(objects.keys().cloned());
    }

    /// Takes the verdicts of a plan.
    pub fn take(&mut self, objects: &mut Objects, plan: &Plan) {
        for (key, new) in &plan.verdicts {
            if let Some(object) = objects.get_mut(key)
                && object.verdict.as_deref() != Some(new)
            {
                object.verdict = Some(Box::new(new.clone()));
                self.pending.insert(key.clone());
            }
        }
        for (key, new) in &plan.records {
            if let Some(object) = objects.get_mut(key)
                && object.records.as_deref() != Some(new)
            {
                object.records = Some(Box::new(new.clone()));
                self.pending.insert(key.clone());
            }
        }
        for (key, new) in &plan.vips {
            if let Some(object) = objects.get_mut(key)
                && object.vips.as_deref() != Some(new)
            {
                object.vips = Some(Box::new(new.clone()));
                self.pending.insert(key.clone());
            }
        }
    }

    /// Starts every write that is due. Returns the time of the next call.
    pub fn flush(&mut self, objects: &mut Objects, world: &World, now: Time) -> Option<Time> {
        let mut wake: Option<Time> = None;
        let mut waiting = std::mem::take(&mut self.pending);
        // The end of a write leads here again, so that the others have their turn.
        while self.writes.len() < MOST_STATUSES
            && let Some(key) = waiting.pop_first()
        {
            let Some(object) = objects.get_mut(&key) else { continue };
            // A write under way makes this version stale, so that one of the two would conflict.
            let stale = world.pool(&key).is_some_and(|entry| entry.is_writing_ledger())
                || world.is_writing_cluster(&key);
            // The condition names the generation that it is about, so the watch has to show ours.
            let unseen = world.cluster(&key).is_some_and(|one| one.version > object.version);
            if object.writing.in_flight || stale || unseen {
                self.pending.insert(key);
                continue;
            }
            let Some(write) = object.correction(now) else { continue };
            let not_before = object.writing.not_before.max(object.settled_at(now));
            if now < not_before {
                wake = Some(wake.map_or(not_before, |wake| wake.min(not_before)));
                self.pending.insert(key);
                continue;
            }
            object.writing.in_flight = true;
            let (uid, at) = (object.uid.to_string(), object.version);
            let put = put(self.client.clone(), key, uid, at, write);
            self.env.spawn(&mut self.writes, put);
        }
        self.pending.append(&mut waiting);
        wake
    }

    /// The next finished write. Pending for ever while nothing is under way.
    pub async fn next(&mut self) -> Written {
        loop {
            match self.writes.join_next().await {
                Some(Ok(written)) => return written,
                Some(Err(error)) => {
                    tracing::error!(%error, "the task of a status write ended without a result")
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Handles a finished write. `None` if the object is gone.
    pub fn written(&mut self, objects: &mut Objects, written: Written, now: Time) -> Option<Wrote> {
        let Written { key, uid, sent, result } = written;
        let object = objects.get_mut(&key)?;
        object.writing.in_flight = false;
        self.pending.insert(key.clone());
        let mut dropped = Vec::new();
        let result = match result {
            Ok(stored) => {
                let writing = &mut object.writing;
                (writing.failures, writing.refused) = (0, false);
                writing.not_before = now + WRITE_INTERVAL;
                dropped = object.wrote(&uid, sent, &stored);
                Ok(stored.version)
            }
            Err(failure) => {
                let writing = &mut object.writing;
                writing.failures += 1;
                writing.refused = failure.kind.is_refusal();
                writing.not_before = now + WRITE_INTERVAL * 2u32.pow(writing.failures.min(6)) / 2;
                Err(failure)
            }
        };
        Some(Wrote { key, uid, result, dropped })
    }
}

impl Writing {
    /// The state for another object of the same name: what the server stores is not known.
    pub fn of_another(self) -> Self {
        Self { pruned: None, ..self }.retried()
    }

    /// Handles a new version of the object. A write that failed on an older version deserves an
    /// attempt.
    pub fn retry(&mut self) {
        if self.failures > 0 && !self.refused {
            self.not_before = Time::default();
        }
    }

    fn retried(mut self) -> Self {
        self.retry();
        self
    }

    /// Forgets a write under way.
    pub fn restart(&mut self) {
        (self.in_flight, self.not_before) = (false, Time::default());
    }

    /// Replaces a status that the API server pruned with the status that we sent.
    pub fn unprune(&self, face: &mut dyn Face) {
        if let Some(Pruned { sent, stored, .. }) = &self.pruned
            && face.stored() == *stored
        {
            face.store(sent.clone());
        }
    }
}

impl Object {
    /// When the verdict is worth a write. A state on the way to a VIP passes within a second as a rule,
    /// and a write of it would make the version stale that the next step rests on.
    fn settled_at(&mut self, now: Time) -> Time {
        let passes = |verdict: &VipVerdict| {
            verdict.withheld.is_none() && verdict.outlook() == Outlook::Working
        };
        if !self.vips.as_deref().is_some_and(passes) {
            self.writing.passing_since = None;
            return now;
        }
        *self.writing.passing_since.get_or_insert(now) + WRITE_INTERVAL
    }

    /// The wanted status, if different from the object's status.
    fn correction(&self, now: Time) -> Option<Write> {
        let wanted = self.face.wanted(self.verdicts(), now)?;
        if wanted == self.face.stored() {
            return None;
        }
        Some(match self.face.shared() {
            Some(shared) => Write::Part(wanted, shared),
            None if self.decoded => Write::Whole(wanted),
            None => Write::Over(wanted),
        })
    }

    /// Notes the sent status as the object's status, which the watch will only repeat. Returns the
    /// parts that were not stored, unless already reported.
    fn wrote(&mut self, uid: &str, sent: Value, stored: &Stored) -> Vec<String> {
        let status = match self.face.shared() {
            Some(_) => self.read_back(stored.status.clone()),
            None => stored.status.clone(),
        };
        let missing = dropped(&sent, &status);
        let before = self.writing.pruned.take();
        let told = before.is_some_and(|before| before.dropped == missing);
        if !missing.is_empty() {
            let stored = self.read_back(stored.status.clone());
            self.writing.pruned =
                Some(Pruned { sent: sent.clone(), stored, dropped: missing.clone() });
        }
        if *self.uid == *uid && stored.version >= self.version {
            self.version = stored.version;
            self.face.store(sent);
        }
        if told { Vec::new() } else { missing }
    }

    /// A stored status, as an observation of it would show.
    fn read_back(&mut self, status: Value) -> Value {
        let before = self.face.stored();
        self.face.store(status);
        let read = self.face.stored();
        self.face.store(before);
        read
    }
}

/// Writes a status with the version that the write is based on, so that the server refuses a stale
/// view.
async fn put(client: Client, key: ObjectKey, uid: String, at: u64, write: Write) -> Written {
    let in_version = match &write {
        Write::Part(_, shared) => shared.version,
        Write::Whole(_) | Write::Over(_) => key.kind.version,
    };
    let api: Api<ObjectView> = objects_within(client, key.kind, in_version, Some(&*key.namespace));
    let mut metadata = json!({
        "name": *key.name, "uid": uid, "resourceVersion": at.to_string(),
    });
    if key.kind.scope == Scope::Namespaced {
        metadata["namespace"] = json!(*key.namespace);
    }
    let (api_version, kind) = (key.kind.api_version(), key.kind.name);
    let value = match &write {
        Write::Whole(status) | Write::Over(status) | Write::Part(status, _) => status.clone(),
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
            Write::Part(status, shared) => apply(&api, &key, &uid, status, shared).await,
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

/// Applies our part of a status with other writers. The part has no other writer, so the version does
/// not matter; the UID refuses another object of the same name.
async fn apply(
    api: &Api<ObjectView>,
    key: &ObjectKey,
    uid: &str,
    status: Value,
    shared: Shared,
) -> Result<ObjectView, kube::Error> {
    let applied = json!({
        "apiVersion": format!("{}/{}", key.kind.group, shared.version), "kind": key.kind.name,
        "metadata": {"name": *key.name, "uid": uid}, "status": status,
    });
    let params = PatchParams::apply(shared.manager).force();
    api.patch_status(&key.name, &params, &Patch::Apply(&applied)).await
}
