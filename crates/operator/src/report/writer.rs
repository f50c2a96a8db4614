//! Writes statuses: one writer per object, compared first, at most one write a second.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use pontoon_core::Time;
use pontoon_core::model::PoolKey;
use pontoon_core::plan::Plan;
use pontoon_core::record_verdict::{RecordReason, RecordVerdict};
use pontoon_core::verdict::{Reason, Verdict};
use pontoon_core::world::World;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{record_status, status};
use crate::api::{GROUP, VERSION};
use crate::connect::WRITE_DEADLINE;
use crate::env::Env;
use crate::observe::pool::ObservedPool;
use crate::observe::record_set::ObservedRecordSet;
use crate::observe::version;

/// After the first write, a status is written at most this often.
const PACE: Duration = Duration::from_secs(1);

/// Writes the status of every object.
pub struct StatusWriter {
    client: Client,
    env: Env,
    objects: BTreeMap<PoolKey, Tracked>,
    /// Objects whose status may differ from what it should be.
    pending: BTreeSet<PoolKey>,
    writing: JoinSet<Written>,
}

struct Tracked {
    subject: Subject,
    /// What is to be said of its records.
    records: Option<Box<RecordVerdict>>,
    in_flight: bool,
    not_before: Time,
    failures: u32,
}

/// What a status is made from.
enum Subject {
    Pool(Box<ObservedPool>, Option<Box<Verdict>>),
    RecordSet(Box<ObservedRecordSet>),
}

/// A status that has been written, or not.
#[derive(Debug)]
pub struct Written {
    key: PoolKey,
    uid: String,
    result: Result<Stored, String>,
}

/// How a status is written.
enum Write {
    /// As the whole status.
    Whole(Value),
    /// Over what is there and cannot be read: nothing of it may be lost.
    Over(Value),
}

#[derive(Debug)]
struct Stored {
    version: u64,
    status: Value,
}

impl StatusWriter {
    /// A writer that knows no object yet.
    pub fn new(client: Client, env: Env) -> Self {
        let (objects, pending) = (BTreeMap::new(), BTreeSet::new());
        Self { client, env, objects, pending, writing: JoinSet::new() }
    }

    /// A pool was seen.
    pub fn see_pool(&mut self, mut observed: ObservedPool) {
        let key = observed.pool.key.clone();
        let verdict = match self.objects.get_mut(&key).map(|one| &mut one.subject) {
            Some(Subject::Pool(before, verdict)) if before.pool.uid == observed.pool.uid => {
                if before.pool.version > observed.pool.version {
                    return;
                }
                if !observed.decoded {
                    // What we wrote is all that is known of its status.
                    observed.status = before.status.clone();
                }
                verdict.take()
            }
            _ => None,
        };
        self.see(key, Subject::Pool(Box::new(observed), verdict));
    }

    /// A record set was seen.
    pub fn see_record_set(&mut self, mut observed: ObservedRecordSet) {
        let key = observed.set.key.clone();
        if let Some(Tracked { subject: Subject::RecordSet(before), .. }) = self.objects.get(&key)
            && before.set.uid == observed.set.uid
        {
            if before.set.version > observed.set.version {
                return;
            }
            if !observed.decoded {
                // What we wrote is all that is known of its status.
                observed.status = before.status.clone();
            }
        }
        self.see(key, Subject::RecordSet(Box::new(observed)));
    }

    fn see(&mut self, key: PoolKey, subject: Subject) {
        match self.objects.get_mut(&key) {
            Some(tracked) => {
                tracked.subject = subject;
                if tracked.failures > 0 {
                    // It failed on an older version: this one is worth an attempt.
                    tracked.not_before = Time::default();
                }
            }
            None => {
                let (in_flight, not_before, failures) = (false, Time::default(), 0);
                let tracked = Tracked { subject, records: None, in_flight, not_before, failures };
                self.objects.insert(key.clone(), tracked);
            }
        }
        self.pending.insert(key);
    }

    /// An object is gone.
    pub fn forget(&mut self, key: &PoolKey) {
        self.objects.remove(key);
        self.pending.remove(key);
    }

    /// A term begins or ends: what was under way belongs to another one.
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

    /// Takes in what a plan has to say.
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

    /// Whether a write to this object is under way: its version is about to change.
    pub fn is_writing(&self, key: &PoolKey) -> bool {
        self.objects.get(key).is_some_and(|tracked| tracked.in_flight)
    }

    /// Starts every write that is due. Returns when to look again.
    pub fn flush(&mut self, world: &World, now: Time) -> Option<Time> {
        let mut wake: Option<Time> = None;
        for key in std::mem::take(&mut self.pending) {
            let Some(tracked) = self.objects.get_mut(&key) else { continue };
            // A ledger write under way makes this version stale: it would only conflict.
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

    /// The next write that comes back. Pending for ever while none is under way.
    pub async fn next(&mut self) -> Written {
        loop {
            match self.writing.join_next().await {
                Some(Ok(written)) => return written,
                Some(Err(error)) => tracing::error!(%error, "a status write was lost"),
                None => std::future::pending().await,
            }
        }
    }

    /// Takes in a write that has come back. Returns the version that the object has now.
    pub fn written(&mut self, written: Written, now: Time) -> Option<(PoolKey, String, u64)> {
        let Written { key, uid, result } = written;
        let tracked = self.objects.get_mut(&key)?;
        tracked.in_flight = false;
        self.pending.insert(key.clone());
        match result {
            Ok(stored) => {
                tracked.failures = 0;
                tracked.not_before = now + PACE;
                let version = stored.version;
                tracked.subject.stored(&uid, stored);
                Some((key, uid, version))
            }
            Err(error) => {
                tracked.failures += 1;
                tracked.not_before = now + PACE * 2u32.pow(tracked.failures.min(5)) / 2;
                tracing::debug!(object = %key, error, "status not written; trying again");
                None
            }
        }
    }
}

impl Subject {
    /// The status that the object should have, if it has another one.
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

    /// Our own write is what the object says now: the watch will only repeat it.
    fn stored(&mut self, written_uid: &str, stored: Stored) {
        let Stored { version: written, status } = stored;
        match self {
            Self::Pool(observed, _) => {
                if *observed.pool.uid == *written_uid && written >= observed.pool.version {
                    observed.pool.version = written;
                    observed.status = serde_json::from_value(status).unwrap_or_default();
                }
            }
            Self::RecordSet(observed) => {
                if *observed.set.uid == *written_uid && written >= observed.set.version {
                    observed.set.version = written;
                    observed.status = serde_json::from_value(status).unwrap_or_default();
                }
            }
        }
    }
}

/// Writes a status, with the version that it replaces: a stale view is refused.
async fn put(client: Client, key: PoolKey, uid: String, at: u64, write: Write) -> Written {
    let resource = ApiResource {
        group: GROUP.into(),
        version: VERSION.into(),
        api_version: format!("{GROUP}/{VERSION}"),
        kind: key.kind.into(),
        plural: format!("{}s", key.kind.to_lowercase()),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client, &key.namespace, &resource);
    let metadata = json!({
        "name": *key.name, "namespace": *key.namespace, "uid": uid,
        "resourceVersion": at.to_string(),
    });
    let (api_version, kind) = (&resource.api_version, key.kind);
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
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the API server did not answer in time".to_owned()),
    };
    Written { key, uid, result }
}
