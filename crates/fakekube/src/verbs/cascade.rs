//! What becomes of the objects that a deleted object owns.
//!
//! The garbage collector cares for them: only the finalizer for the collector is set.

use serde_json::{Value, json};

use crate::garbage::{FOREGROUND, ORPHAN};
use crate::object;
use crate::schema::Cause;

/// A propagation policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cascade {
    /// The owned objects are deleted after their owner.
    Background,
    /// The owned objects are deleted before their owner.
    Foreground,
    /// The owned objects stay.
    Orphan,
}

impl Cascade {
    /// The policy that a request names, by its name or by the older `orphanDependents`.
    pub(super) fn read(
        policy: Option<&str>,
        orphan: Option<bool>,
        causes: &mut Vec<Cause>,
    ) -> Option<Self> {
        let field = "propagationPolicy";
        if let (Some(policy), Some(_)) = (policy, orphan) {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid(field, &json!(policy), why));
        }
        match (policy, orphan) {
            (Some("Foreground"), _) => Some(Self::Foreground),
            (Some("Background"), _) | (None, Some(false)) => Some(Self::Background),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Self::Orphan),
            (Some(other), _) => {
                let known = ["Foreground", "Background", "Orphan", "nil"].map(str::to_owned);
                causes.push(Cause::not_supported(field, &json!(other), &known));
                None
            }
            (None, None) => None,
        }
    }

    /// Sets the policy's finalizer on an object that is being deleted, and removes those of others.
    pub(super) fn set(self, object: &mut Value) {
        let own = match self {
            Self::Background => None,
            Self::Foreground => Some(FOREGROUND),
            Self::Orphan => Some(ORPHAN),
        };
        let names = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let is_own = |name: &Value| own.is_some_and(|own| name == own);
        let is_other = |name: &Value| (name == ORPHAN || name == FOREGROUND) && !is_own(name);
        if !names.iter().any(is_other) && (own.is_none() || names.iter().any(is_own)) {
            return;
        }
        let kept = names.into_iter().filter(|name| !is_other(name) && !is_own(name));
        let names: Vec<Value> = kept.chain(own.map(Value::from)).collect();
        if names.is_empty() {
            object::forget(object, "finalizers");
        } else {
            object["metadata"]["finalizers"] = Value::Array(names);
        }
    }
}
