//! Which object owns which, kept write by write, and the objects that a write concerns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::object::{deleting, meta};
use crate::store::Place;

/// The finalizer of an object whose dependents are to be orphaned before its deletion.
pub(crate) const ORPHAN: &str = "orphan";
/// The finalizer of an object whose dependents are to be deleted before the object itself.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// The location of an object: storage place, and key there.
pub(crate) type Spot = (Place, String);

/// Owners and dependents of all objects.
#[derive(Debug, Default)]
pub(crate) struct Kinship {
    /// Objects by UID.
    spots: BTreeMap<String, Spot>,
    /// The objects that refer to a UID as their owner's.
    dependents: BTreeMap<String, BTreeSet<Spot>>,
    /// The objects to judge in the next round.
    due: BTreeSet<Spot>,
    /// The objects that cannot be judged, mostly because an owner's kind is not served. They become
    /// due again with the next change of a definition.
    put_off: BTreeSet<Spot>,
}

impl Kinship {
    /// Takes note of a write.
    pub(crate) fn note(
        &mut self,
        place: &Place,
        key: &str,
        before: Option<&Value>,
        after: Option<&Value>,
    ) {
        if place.1 == "customresourcedefinitions" {
            self.due.append(&mut self.put_off);
        }
        if is_ignored(place) || before.map(bonds) == after.map(bonds) {
            return;
        }
        let spot = (place.clone(), key.to_owned());
        for reference in before.into_iter().flat_map(references) {
            self.part(owner_uid(reference), &spot);
        }
        for reference in after.into_iter().flat_map(references) {
            let all = self.dependents.entry(owner_uid(reference).to_owned()).or_default();
            all.insert(spot.clone());
        }
        match (before, after) {
            (_, Some(after)) => self.keep(spot, after),
            (Some(before), None) => self.lose(&spot, before),
            (None, None) => {}
        }
    }

    /// The dependent no longer refers to the owner, which may wait for that.
    fn part(&mut self, owner: &str, dependent: &Spot) {
        if let Some(all) = self.dependents.get_mut(owner) {
            all.remove(dependent);
            if all.is_empty() {
                self.dependents.remove(owner);
            }
        }
        self.due.extend(self.spots.get(owner).cloned());
    }

    fn keep(&mut self, spot: Spot, object: &Value) {
        let uid = meta(object, "uid");
        self.spots.insert(uid.to_owned(), spot.clone());
        if waits_for_dependents(object) {
            self.due.extend(self.dependents(uid));
        }
        if has_references(object) || deleting(object) {
            self.due.insert(spot);
        }
    }

    fn lose(&mut self, spot: &Spot, object: &Value) {
        let uid = meta(object, "uid");
        self.spots.remove(uid);
        self.put_off.remove(spot);
        self.due.remove(spot);
        self.due.extend(self.dependents(uid));
    }

    /// The objects that refer to a UID as their owner's.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Spot> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Whether any object is to be judged.
    pub(super) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes the objects to judge.
    pub(super) fn take(&mut self) -> BTreeSet<Spot> {
        std::mem::take(&mut self.due)
    }

    /// Leaves an object until a definition changes.
    pub(super) fn put_off(&mut self, spot: Spot) {
        self.put_off.insert(spot);
    }
}

/// Events have no owners.
fn is_ignored(place: &Place) -> bool {
    place.0.is_empty() && place.1 == "events"
}

/// The parts of an object that matter for the collector.
fn bonds(object: &Value) -> [Option<&Value>; 3] {
    ["ownerReferences", "finalizers", "deletionTimestamp"]
        .map(|field| object["metadata"].get(field))
}

/// The owner references of an object.
pub(super) fn references(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map_or(&[], Vec::as_slice)
}

fn has_references(object: &Value) -> bool {
    !references(object).is_empty()
}

/// The UID in an owner reference.
pub(super) fn owner_uid(reference: &Value) -> &str {
    reference["uid"].as_str().unwrap_or_default()
}

/// Whether an object has a finalizer.
pub(super) fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    let names = object["metadata"]["finalizers"].as_array();
    names.is_some_and(|names| names.iter().any(|name| name == finalizer))
}

/// Whether an object is being deleted by the policy `Foreground`, and waits for its dependents.
pub(super) fn waits_for_dependents(object: &Value) -> bool {
    deleting(object) && has_finalizer(object, FOREGROUND)
}
