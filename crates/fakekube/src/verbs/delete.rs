//! Deletion: immediate, or delayed by finalizers or a grace period.

use std::sync::Arc;

use fakehttp::seconds;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::object::{self, deleting, held, meta};
use crate::params::{self, Params, dry_run};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::route::key;
use crate::strategy::Special;
use crate::{accept, lifecycle};

use super::Turn;
use super::cascade::Cascade;
use super::list::Page;

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// The options of a delete.
pub(super) struct Options {
    pub(super) cascade: Option<Cascade>,
    pub(super) grace: Option<i64>,
    pub(super) uid: Option<String>,
    pub(super) version: Option<String>,
    pub(super) dry: bool,
}

impl Options {
    /// Parses the options from a body, possibly null, or else the query.
    pub(super) fn read(params: &Params, body: &Value) -> Result<Self, Refusal> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut directives = params.dry_run.clone();
        directives.extend(body["dryRun"].as_array().into_iter().flatten().filter_map(text));
        let mut causes = dry_run(&directives);
        let policy = text(&body["propagationPolicy"]).or(params.propagation.clone());
        let orphan = body["orphanDependents"].as_bool();
        let cascade = Cascade::read(policy.as_deref(), orphan, &mut causes);
        params::refuse("DeleteOptions", &causes)?;
        Ok(Self {
            cascade,
            grace: body["gracePeriodSeconds"].as_i64().or(params.grace),
            uid: text(&body["preconditions"]["uid"]),
            version: text(&body["preconditions"]["resourceVersion"]),
            dry: !directives.is_empty(),
        })
    }
}

/// The result of a delete for an object.
pub(super) struct Fate {
    object: Arc<Value>,
    gone: bool,
}

impl Turn<'_> {
    /// DELETE of an object.
    pub(super) fn delete(mut self) -> Result<Reply, Refusal> {
        let options = self.options()?;
        let kind = self.kind();
        let name = self.target.name.clone().unwrap_or_default();
        let key = self.target.key();
        let Fate { object, gone } = self.delete_one(&key, &name, &options)?;
        if gone && !Special::of(&kind).returns_deleted() {
            let mut details =
                json!({"name": name, "kind": kind.plural, "uid": meta(&object, "uid")});
            if !kind.group.is_empty() {
                details["group"] = json!(kind.group);
            }
            let status = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            });
            return Ok(Reply::json(200, status));
        }
        self.object_reply(200, &object)
    }

    /// DELETE of a collection. The answer lists the deleted objects.
    pub(super) fn delete_collection(mut self) -> Result<Reply, Refusal> {
        let options = self.options()?;
        let kind = self.kind();
        let Page { objects, mut meta } = self.page()?;
        let mut items = Vec::new();
        for stored in objects {
            let name = object::meta(&stored, "name").to_owned();
            let key = key(self.target.namespace.as_deref(), &name);
            self.delete_one(&key, &name, &options)?;
            items.push(object::load_item(&kind, &stored));
        }
        if !kind.built_in() {
            meta["continue"] = json!("");
        }
        let list = json!({
            "kind": kind.list_kind, "apiVersion": kind.api_version(), "metadata": meta, "items": items,
        });
        Ok(Reply::json(200, list))
    }

    /// Parses the options from the body, or else the query.
    fn options(&self) -> Result<Options, Refusal> {
        let mut body = Value::Null;
        if !self.call.body.is_empty() {
            accept::readable(self.call.content_type())?;
            body = serde_json::from_slice(&self.call.body)
                .map_err(|error| Refusal::bad_request(error.to_string()))?;
        }
        Options::read(&self.params, &body)
    }

    pub(super) fn delete_one(
        &mut self,
        key: &str,
        name: &str,
        options: &Options,
    ) -> Result<Fate, Refusal> {
        let kind = self.kind();
        let special = Special::of(&kind);
        if special == Special::Namespace && IMMORTAL.contains(&name) {
            let why = "this namespace may not be deleted";
            return Err(Refusal::forbidden(&kind, name, why));
        }
        let found = self.state.store.get(&kind.storage, key).cloned();
        let found = found.ok_or_else(|| Refusal::not_found(&kind, name))?;
        self.check_preconditions(name, &found, options)?;
        if matches!(special, Special::Namespace | Special::Definition) {
            return Ok(self.delete_owner(key, &found, options.dry));
        }
        let grace = if special == Special::Pod { pod_grace(&found, options.grace) } else { 0 };
        let mut marked = marked(&found, grace, self.now);
        if let Some(cascade) = options.cascade
            && !matches!(special, Special::Event | Special::NewEvent)
        {
            cascade.set(&mut marked);
        }
        let gone = !held(&marked) && grace == 0;
        if options.dry {
            let object = if gone { found } else { Arc::new(marked) };
            return Ok(Fate { object, gone });
        }
        if gone && special != Special::Pod {
            let object = self.state.store.delete(&kind.storage, key).unwrap_or(found);
            lifecycle::settle(self.state);
            return Ok(Fate { object, gone });
        }
        let mut object = Arc::clone(&found);
        if marked != *found {
            object = self.state.store.put(&kind.storage, key, marked);
        }
        if gone {
            object = self.state.store.delete(&kind.storage, key).unwrap_or(object);
            lifecycle::settle(self.state);
        }
        Ok(Fate { object, gone })
    }

    pub(super) fn check_preconditions(
        &self,
        name: &str,
        found: &Value,
        options: &Options,
    ) -> Result<(), Refusal> {
        let kind = &self.target.kind;
        let uid = meta(found, "uid");
        if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
            let why = format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
            );
            return Err(Refusal::precondition(kind, name, &why));
        }
        let version = meta(found, "resourceVersion");
        if let Some(wanted) = options.version.as_deref().filter(|wanted| *wanted != version) {
            let why = format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            );
            return Err(Refusal::precondition(kind, name, &why));
        }
        Ok(())
    }

    /// Deletes a namespace or a definition after all its objects.
    fn delete_owner(&mut self, key: &str, found: &Arc<Value>, dry: bool) -> Fate {
        let kind = self.kind();
        if deleting(found) || dry {
            return Fate { object: Arc::clone(found), gone: false };
        }
        let marked = lifecycle::marked(&kind, found, &seconds(self.now));
        let object = self.state.store.put(&kind.storage, key, marked);
        lifecycle::empty(self.state, &kind, key, self.now);
        lifecycle::settle(self.state);
        Fate { object, gone: false }
    }
}

/// Grace period of a pod, by the server's rules.
fn pod_grace(pod: &Value, asked: Option<i64>) -> i64 {
    let usual = pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or_default();
    let scheduled = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    match asked.unwrap_or(usual) {
        _ if !scheduled || over => 0,
        negative if negative < 0 => 1,
        period => period,
    }
}

/// The object marked as being deleted, or with a shorter grace period.
pub(crate) fn marked(object: &Value, grace: i64, now: Timestamp) -> Value {
    let mut marked = object.clone();
    let given = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if let Ok(until) = meta(object, "deletionTimestamp").parse::<Timestamp>() {
        let given = given.unwrap_or_default();
        if grace < given {
            let until = until + SignedDuration::from_secs(grace - given);
            marked["metadata"]["deletionTimestamp"] = json!(seconds(until));
            marked["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        }
        return marked;
    }
    let until = now + SignedDuration::from_secs(grace);
    marked["metadata"]["deletionTimestamp"] = json!(seconds(until));
    marked["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
    if let Some(generation) = object["metadata"]["generation"].as_i64().filter(|count| *count > 0) {
        marked["metadata"]["generation"] = json!(generation + 1);
    }
    marked
}
