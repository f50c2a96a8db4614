//! The writes of the controllers, as requests to the API server.

use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use pontoon_core::model::Kind;
use serde_json::{Value, json};

use super::{Key, Object};
use crate::api::objects;

/// A write of a controller.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Creates an object.
    Create(&'static Kind, Value),
    /// Merges a patch into an object, unless the object has another version by now.
    Patch(&'static Kind, Key, Value),
    /// Merges a patch into the status of an object, unless the object has another version by now.
    Tell(&'static Kind, Key, Value),
    /// Deletes the object with this UID.
    Delete(&'static Kind, Key, String),
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The object was created or changed.
    Set(&'static Kind, Value),
    /// The object is gone.
    Gone(&'static Kind, Key),
}

impl Write {
    /// Adds a finalizer to an object.
    pub(super) fn add(kind: &'static Kind, object: Object<'_>, finalizer: &str) -> Self {
        let mut all = object.finalizers();
        all.push(finalizer);
        Self::finalizers(kind, object, &all)
    }

    /// Removes a finalizer from an object.
    pub(super) fn drop(kind: &'static Kind, object: Object<'_>, finalizer: &str) -> Self {
        let mut all = object.finalizers();
        all.retain(|one| *one != finalizer);
        Self::finalizers(kind, object, &all)
    }

    fn finalizers(kind: &'static Kind, object: Object<'_>, all: &[&str]) -> Self {
        let metadata =
            json!({"resourceVersion": object.text("resourceVersion"), "finalizers": all});
        Self::Patch(kind, object.key(), json!({"metadata": metadata}))
    }

    /// Writes a part of an object's status.
    pub(super) fn tell(kind: &'static Kind, object: Object<'_>, status: &Value) -> Self {
        let metadata = json!({"resourceVersion": object.text("resourceVersion")});
        Self::Tell(kind, object.key(), json!({"metadata": metadata, "status": status}))
    }

    /// Sends the write. Returns the change that it made.
    ///
    /// # Errors
    /// The answer of the API server, in particular if the object has another version by now.
    pub async fn send(&self, client: &Client) -> kube::Result<Change> {
        let to = |kind: &Kind, key: &Key| objects(client.clone(), kind, &key.0);
        let params = PatchParams::default();
        let (kind, stored) = match self {
            Self::Create(kind, object) => {
                let key = Object(object).key();
                let object =
                    serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
                (*kind, to(kind, &key).create(&PostParams::default(), &object).await?)
            }
            Self::Patch(kind, key, patch) => {
                (*kind, to(kind, key).patch(&key.1, &params, &Patch::Merge(patch)).await?)
            }
            Self::Tell(kind, key, patch) => {
                (*kind, to(kind, key).patch_status(&key.1, &params, &Patch::Merge(patch)).await?)
            }
            Self::Delete(kind, key, uid) => {
                let only = Preconditions { uid: Some(uid.clone()), resource_version: None };
                let params = DeleteParams { preconditions: Some(only), ..DeleteParams::default() };
                match to(kind, key).delete(&key.1, &params).await?.left() {
                    Some(left) if left.metadata.finalizers.is_some() => (*kind, left),
                    _ => return Ok(Change::Gone(kind, key.clone())),
                }
            }
        };
        // The last finalizer of a deleted object was its last hold.
        let metadata = &stored.metadata;
        let held = metadata.finalizers.as_ref().is_some_and(|all| !all.is_empty());
        let stored = serde_json::to_value(&stored).map_err(kube::Error::SerdeError)?;
        Ok(match metadata.deletion_timestamp.is_some() && !held {
            true => Change::Gone(kind, Object(&stored).key()),
            false => Change::Set(kind, stored),
        })
    }
}
