//! Creating objects, by POST or by a PUT that creates.

use fakehttp::seconds;
use serde_json::{Value, json};

use crate::managed::Managers;
use crate::object::{self, forget, meta};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::route::key;
use crate::strategy::{self, Special};
use crate::{accept, decode, lifecycle, validation};

use super::Turn;

/// Attempts to draw a free name for `generateName`.
const TRIES: usize = 8;

impl Turn<'_> {
    /// POST to a collection.
    pub(super) fn create(mut self) -> Result<Reply, Refusal> {
        accept::readable(self.call.content_type())?;
        self.params.check_write("CreateOptions")?;
        let kind = self.kind();
        let mut object = decode::object(&kind, &self.call.body)?;
        validation::unknown_fields(&mut self, &mut object)?;
        self.place(&mut object)?;
        let stored = self.insert(object, None)?;
        self.object_reply(201, &stored)
    }

    /// Checks the object's namespace against the path, or sets it.
    pub(super) fn place(&self, object: &mut Value) -> Result<(), Refusal> {
        let given = meta(object, "namespace");
        match self.target.namespace.as_deref() {
            Some(wanted) if given.is_empty() => object["metadata"]["namespace"] = json!(wanted),
            Some(wanted) if given == wanted => {}
            None if given.is_empty() => {}
            _ => {
                let message = "the namespace of the provided object does not match the namespace sent on the request";
                return Err(Refusal::bad_request(message));
            }
        }
        Ok(())
    }

    /// Completes, checks and stores a new object. `applied` holds the managers of a server-side
    /// apply.
    pub(super) fn insert(
        &mut self,
        mut object: Value,
        applied: Option<Managers>,
    ) -> Result<Value, Refusal> {
        let kind = self.kind();
        if meta(&object, "resourceVersion").parse::<u64>().is_ok_and(|version| version != 0) {
            return Err(Refusal::unexpected(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let generated =
            meta(&object, "name").is_empty() && !meta(&object, "generateName").is_empty();
        self.name(&mut object);
        self.check_namespace(&object)?;
        if !kind.built_in() && lifecycle::definition_goes(self.state, &kind) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(Refusal::forbidden(&kind, meta(&object, "name"), why));
        }
        self.stamp(&mut object);
        strategy::on_create(&kind, &mut object, self.now);
        validation::default(&kind, &mut object);
        validation::check(self, &object, None)?;
        validation::warn(self, &object, true);
        self.own_new(&mut object, applied);
        let mut stored = object::save(&kind, object);
        for _ in 0..TRIES {
            let taken = self.state.store.get(&kind.storage, &self.key_of(&stored)).is_some();
            if !taken || !generated {
                break;
            }
            stored["metadata"]["name"] = json!("");
            self.name(&mut stored);
        }
        let key = self.key_of(&stored);
        if self.state.store.get(&kind.storage, &key).is_some() {
            return Err(Refusal::already_exists(&kind, meta(&stored, "name")));
        }
        if self.params.dry() {
            return Ok(stored);
        }
        let stored = self.state.store.put(&kind.storage, &key, stored);
        lifecycle::after_write(self.state, &kind, &stored, self.now);
        Ok((*stored).clone())
    }

    fn key_of(&self, object: &Value) -> String {
        key(self.target.namespace.as_deref(), meta(object, "name"))
    }

    /// Draws a name for `generateName`.
    fn name(&mut self, object: &mut Value) {
        let base = meta(object, "generateName").to_owned();
        if meta(object, "name").is_empty() && !base.is_empty() {
            object["metadata"]["name"] = json!(self.state.ids.name(&base));
        }
    }

    /// Sets the fields that only the server may set.
    fn stamp(&mut self, object: &mut Value) {
        let special = Special::of(&self.target.kind);
        for field in [
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
            "managedFields",
            "resourceVersion",
        ] {
            forget(object, field);
        }
        object["metadata"]["uid"] = json!(self.state.ids.uid());
        object["metadata"]["creationTimestamp"] = json!(seconds(self.now));
        if special.counts_generations() {
            object["metadata"]["generation"] = json!(1);
        }
    }

    /// Refuses new objects in a namespace that is missing or being deleted.
    fn check_namespace(&self, object: &Value) -> Result<(), Refusal> {
        let Some(namespace) = self.target.namespace.as_deref() else {
            return Ok(());
        };
        let place = (String::new(), "namespaces".to_owned());
        let Some(found) = self.state.store.get(&place, namespace) else {
            return Err(Refusal::no_namespace(namespace));
        };
        if object::deleting(found) {
            let name = meta(object, "name");
            return Err(Refusal::terminating(&self.target.kind, name, namespace));
        }
        Ok(())
    }
}
