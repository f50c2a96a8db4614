//! The collector's decision about one object. Changes nothing.

use std::sync::Arc;

use serde_json::Value;

use crate::object::{deleting, meta};
use crate::registry::Kind;
use crate::route::key;
use crate::state::State;

use super::kinship::{
    FOREGROUND, ORPHAN, Spot, has_finalizer, owner_uid, references, waits_for_dependents,
};

/// An object to decide about.
pub(super) struct Case {
    pub(super) kind: Arc<Kind>,
    pub(super) object: Arc<Value>,
}

/// What the collector does about an object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing: the object has an owner, has never had one, or is being deleted already.
    Leave,
    /// Nothing until a definition changes: an owner's kind is unknown.
    PutOff,
    /// Deletes the object with a propagation policy.
    Delete(&'static str),
    /// As a deletion with the policy `Foreground`, after a cycle of owners is broken: the object's
    /// references stop blocking its owners.
    UnblockAndDelete,
    /// Removes the references to owners with these UIDs.
    DropOwners(Vec<String>),
    /// Removes the object from the references of its dependents, then the finalizer `orphan`.
    Orphan,
    /// Removes the finalizer `foregroundDeletion`.
    Release,
}

/// The object at a spot; `None` if the object is gone or its kind is not served.
pub(super) fn case(state: &State, (place, key): &Spot) -> Option<Case> {
    let object = Arc::clone(state.store.get(place, key)?);
    let kind = state.registry.kinds().find(|kind| kind.storage == *place)?;
    Some(Case { kind: Arc::clone(kind), object })
}

/// Decides about an object.
pub(super) fn verdict(state: &State, case: &Case) -> Verdict {
    let object = &case.object;
    if !deleting(object) {
        return of_dependent(state, object);
    }
    if has_finalizer(object, ORPHAN) {
        return Verdict::Orphan;
    }
    if has_finalizer(object, FOREGROUND) && !is_blocked(state, object) {
        return Verdict::Release;
    }
    Verdict::Leave
}

/// Whether a dependent blocks the deletion of its owner.
fn is_blocked(state: &State, owner: &Value) -> bool {
    let uid = meta(owner, "uid");
    let blocks = |reference: &Value| {
        owner_uid(reference) == uid && reference["blockOwnerDeletion"] == Value::Bool(true)
    };
    dependents(state, owner).iter().any(|one| references(one).iter().any(blocks))
}

/// The dependents of an object.
fn dependents(state: &State, owner: &Value) -> Vec<Arc<Value>> {
    let Some(kinship) = state.store.kinship() else { return Vec::new() };
    let spots = kinship.dependents(meta(owner, "uid")).into_iter();
    spots.filter_map(|(place, key)| state.store.get(&place, &key).cloned()).collect()
}

/// An owner as its dependent's reference finds it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The owner keeps its dependent.
    Keeps,
    /// The owner waits for the deletion of its dependents.
    Waits,
    /// No such owner exists.
    Absent,
}

fn of_dependent(state: &State, object: &Value) -> Verdict {
    let all = references(object);
    let mut owners = Vec::new();
    for reference in all {
        match owner(state, object, reference) {
            Some(owner) => owners.push((owner, owner_uid(reference))),
            None => return Verdict::PutOff,
        }
    }
    let is = |wanted: Owner| owners.iter().any(|(owner, _)| *owner == wanted);
    if all.is_empty() {
        return Verdict::Leave;
    }
    if is(Owner::Keeps) {
        let lost = owners.iter().filter(|(owner, _)| *owner != Owner::Keeps);
        let lost: Vec<String> = lost.map(|(_, uid)| (*uid).to_owned()).collect();
        return if lost.is_empty() { Verdict::Leave } else { Verdict::DropOwners(lost) };
    }
    let own = dependents(state, object);
    if is(Owner::Waits) && !own.is_empty() {
        let cycle = own.iter().any(|one| waits_for_dependents(one));
        return if cycle { Verdict::UnblockAndDelete } else { Verdict::Delete("Foreground") };
    }
    Verdict::Delete(policy(object))
}

/// The policy by the finalizers that the object has.
fn policy(object: &Value) -> &'static str {
    if has_finalizer(object, ORPHAN) {
        "Orphan"
    } else if has_finalizer(object, FOREGROUND) {
        "Foreground"
    } else {
        "Background"
    }
}

/// Finds an owner in the dependent's own namespace, or among objects without one. `None` if the
/// owner's kind is not served, or can have no dependents without a namespace.
fn owner(state: &State, dependent: &Value, reference: &Value) -> Option<Owner> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let mut kinds = state.registry.kinds();
    let kind = kinds.find(|one| one.kind == kind && one.api_version() == version)?;
    let namespace = Some(meta(dependent, "namespace")).filter(|_| kind.namespaced);
    if namespace == Some("") {
        return None;
    }
    let found = state.store.get(&kind.storage, &key(namespace, text("name")));
    let Some(found) = found.filter(|found| meta(found, "uid") == text("uid")) else {
        return Some(Owner::Absent);
    };
    Some(if waits_for_dependents(found) { Owner::Waits } else { Owner::Keeps })
}
