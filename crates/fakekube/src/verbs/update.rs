//! Replacing objects, and the parts shared with patches.

use serde_json::{Value, json};

use crate::managed::Managers;
use crate::object::{self, copy, deleting, forget, held, meta};
use crate::refusal::Refusal;
use crate::registry::Kind;
use crate::reply::Reply;
use crate::schema::Cause;
use crate::strategy::{self, Special};
use crate::{accept, decode, lifecycle, validation};

use super::Turn;

impl Turn<'_> {
    /// PUT of an object or a subresource.
    pub(super) fn update(mut self) -> Result<Reply, Refusal> {
        accept::readable(self.call.content_type())?;
        self.params.check_write("UpdateOptions")?;
        let kind = self.kind();
        let mut object = decode::object(&kind, &self.call.body)?;
        validation::unknown_fields(&mut self, &mut object)?;
        self.check_name(&object)?;
        self.place(&mut object)?;
        let Some(old) = self.state.store.get(&kind.storage, &self.target.key()).cloned() else {
            return self.create_by_put(object);
        };
        self.check_version(&object, &old)?;
        if self.target.sub.as_deref() == Some("finalize") {
            return self.finalize(&object, &old);
        }
        let stored = self.replace(object, &old, None)?;
        self.object_reply(200, &stored)
    }

    /// Requires the name in the object to match the path.
    pub(super) fn check_name(&self, object: &Value) -> Result<(), Refusal> {
        let wanted = self.target.name.as_deref().unwrap_or_default();
        let given = meta(object, "name");
        if given.is_empty() {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
            )));
        }
        if given != wanted {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({wanted})"
            )));
        }
        Ok(())
    }

    /// PUT to a missing name.
    fn create_by_put(mut self, mut object: Value) -> Result<Reply, Refusal> {
        let kind = self.kind();
        let name = self.target.name.clone().unwrap_or_default();
        if !Special::of(&kind).creates_on_update() || self.target.sub.is_some() {
            return Err(Refusal::not_found(&kind, &name));
        }
        let uid = meta(&object, "uid").to_owned();
        if !uid.is_empty() {
            return Err(uid_conflict(&kind, &self.target.key(), &name, &uid, ""));
        }
        forget(&mut object, "resourceVersion");
        let stored = self.insert(object, None)?;
        self.object_reply(201, &stored)
    }

    /// Checks UID and resource version (optimistic concurrency).
    pub(super) fn check_version(&self, object: &Value, old: &Value) -> Result<(), Refusal> {
        let kind = &self.target.kind;
        let name = meta(old, "name");
        let version = meta(object, "resourceVersion");
        let number: u64 = if version.is_empty() {
            0
        } else {
            version.parse().map_err(|_| {
                Refusal::unexpected(format!(
                    "strconv.ParseUint: parsing {version:?}: invalid syntax"
                ))
            })?
        };
        let uid = meta(object, "uid");
        if !uid.is_empty() && uid != meta(old, "uid") {
            return Err(uid_conflict(kind, &self.target.key(), name, uid, meta(old, "uid")));
        }
        if number == 0 && !Special::of(kind).unconditional() {
            let what = "must be specified for an update";
            let cause = Cause::invalid("metadata.resourceVersion", &json!(0), what);
            return Err(Refusal::invalid_as(&kind.group, &kind.plural, name, &[cause]));
        }
        if number != 0 && version != meta(old, "resourceVersion") {
            return Err(Refusal::modified(kind, name));
        }
        Ok(())
    }

    /// Replaces a stored object, or deletes it if it only waited for finalizers. Returns the object
    /// to show.
    pub(super) fn replace(
        &mut self,
        mut object: Value,
        stored_old: &Value,
        applied: Option<Managers>,
    ) -> Result<Value, Refusal> {
        let kind = self.kind();
        let given = object["metadata"]["managedFields"].take();
        let old = object::load(&kind, stored_old);
        let status_only = self.status_only();
        carry_metadata(&kind, &mut object, &old, status_only);
        strategy::on_update(&kind, &mut object, &old, status_only);
        validation::default(&kind, &mut object);
        count_generation(&kind, &mut object, &old, status_only);
        validation::check(self, &object, Some(&old))?;
        validation::warn(self, &object, false);
        self.own(&mut object, &old, &given, applied);
        let object = object::save(&kind, object);
        if object == *stored_old || self.params.dry() {
            return Ok(object);
        }
        let key = self.target.key();
        if finished(&kind, &object) {
            self.state.store.delete(&kind.storage, &key);
            lifecycle::settle(self.state);
            return Ok(object);
        }
        let stored = self.state.store.put(&kind.storage, &key, object);
        lifecycle::after_write(self.state, &kind, &stored, self.now);
        Ok((*stored).clone())
    }

    /// PUT of a namespace's `finalize`; only `spec.finalizers` is used.
    fn finalize(self, object: &Value, old: &Value) -> Result<Reply, Refusal> {
        let kind = self.kind();
        let mut new = old.clone();
        match object["spec"]["finalizers"].as_array().filter(|names| !names.is_empty()) {
            Some(names) => new["spec"] = json!({"finalizers": names}),
            None => new["spec"] = json!({}),
        }
        let key = self.target.key();
        if !self.params.dry() && new != *old {
            if finished(&kind, &new) {
                self.state.store.delete(&kind.storage, &key);
            } else {
                new = (*self.state.store.put(&kind.storage, &key, new)).clone();
            }
        }
        self.object_reply(200, &new)
    }
}

fn uid_conflict(kind: &Kind, key: &str, name: &str, given: &str, found: &str) -> Refusal {
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}/{key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, UID in object meta: {found}",
        storage_prefix(kind),
    );
    Refusal::conflict(kind, name, &why)
}

/// The resource's prefix in etcd, for messages.
fn storage_prefix(kind: &Kind) -> String {
    match kind.plural.as_str() {
        "nodes" if kind.built_in() => "minions".to_owned(),
        plural if kind.group == "apiextensions.k8s.io" => format!("{}/{plural}", kind.group),
        plural if kind.built_in() => plural.to_owned(),
        plural => format!("{}/{plural}", kind.group),
    }
}

/// Restores the metadata fields that a client cannot change.
fn carry_metadata(kind: &Kind, object: &mut Value, old: &Value, status_only: bool) {
    let (new_meta, old_meta) = (&mut object["metadata"], &old["metadata"]);
    for field in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
    ] {
        copy(new_meta, old_meta, field);
    }
    if new_meta["uid"].as_str().unwrap_or_default().is_empty() {
        copy(new_meta, old_meta, "uid");
    }
    if let Some(fields) = new_meta.as_object_mut() {
        fields.remove("managedFields");
        fields.remove("selfLink");
        fields.retain(|_, value| !is_empty(value));
    }
    if status_only && !Special::of(kind).status_takes_metadata() {
        object["metadata"] = old["metadata"].clone();
    }
}

/// Whether the server omits a metadata field with this value.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Increments `metadata.generation` if the desired state changed: everything except metadata and
/// status. Without a status subresource, the status of a custom object counts too.
fn count_generation(kind: &Kind, object: &mut Value, old: &Value, status_only: bool) {
    let special = Special::of(kind);
    if !special.counts_generations() || status_only {
        return;
    }
    let wanted = |object: &Value| {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            for name in ["apiVersion", "kind", "metadata"] {
                fields.remove(name);
            }
            if special != Special::Custom || kind.status_subresource {
                fields.remove("status");
            }
        }
        object
    };
    // Annotations of a Deployment are copied to its ReplicaSets.
    let annotated = special == Special::Deployment
        && object["metadata"].get("annotations") != old["metadata"].get("annotations");
    if annotated || wanted(object) != wanted(old) {
        let before = old["metadata"]["generation"].as_i64().unwrap_or_default();
        object["metadata"]["generation"] = json!(before + 1);
    }
}

/// Whether an object is being deleted and nothing delays the deletion any more.
pub(super) fn finished(kind: &Kind, object: &Value) -> bool {
    let waits = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or_default() > 0;
    let in_use = kind.built_in()
        && kind.plural == "namespaces"
        && object["spec"]["finalizers"].as_array().is_some_and(|names| !names.is_empty());
    deleting(object) && !held(object) && !waits && !in_use
}
