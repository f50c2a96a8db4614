//! Consequences of writes: definitions add and remove kinds, and namespaces take their objects
//! along.
//!
//! In a real cluster controllers do this work a little later; fakekube does it before the answer.

use std::sync::Arc;

use fakehttp::seconds;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::crd;
use crate::object::{deleting, held, meta};
use crate::registry::Kind;
use crate::state::State;
use crate::store::Place;
use crate::strategy::{self, Special};
use crate::verbs::marked as marked_object;

const FIRST_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn namespaces() -> Place {
    (String::new(), "namespaces".to_owned())
}

fn definitions() -> Place {
    ("apiextensions.k8s.io".to_owned(), "customresourcedefinitions".to_owned())
}

/// Creates the initial namespaces.
pub(crate) fn begin(state: &mut State, now: Timestamp) {
    let Some(kind) = state.registry.get("", "v1", "namespaces").cloned() else {
        return;
    };
    for name in FIRST_NAMESPACES {
        let (uid, at) = (state.ids.uid(), seconds(now));
        let mut object = json!({"metadata": {"name": name, "uid": uid, "creationTimestamp": at}});
        strategy::on_create(&kind, &mut object, now);
        state.store.put(&kind.storage, name, object);
    }
}

/// Serves the kinds of a newly written definition.
pub(crate) fn after_write(state: &mut State, kind: &Kind, stored: &Arc<Value>, now: Timestamp) {
    if Special::of(kind) != Special::Definition || deleting(stored) {
        return;
    }
    // The definition was validated before it was stored.
    if state.registry.install(stored).is_err() {
        return;
    }
    state.store.open(&crd::storage(stored));
    let mut established = (**stored).clone();
    crd::establish(&mut established, &seconds(now));
    if established != **stored {
        state.store.put(&kind.storage, meta(stored, "name"), established);
    }
}

/// Marks a namespace or a definition as being deleted.
pub(crate) fn marked(kind: &Kind, found: &Value, at: &str) -> Value {
    let mut object = found.clone();
    object["metadata"]["deletionTimestamp"] = json!(at);
    if Special::of(kind) == Special::Namespace {
        object["status"]["phase"] = json!("Terminating");
        return object;
    }
    match object["metadata"]["finalizers"].as_array_mut() {
        Some(names) => names.push(json!(CLEANUP)),
        None => object["metadata"]["finalizers"] = json!([CLEANUP]),
    }
    crd::terminate(&mut object, at);
    object
}

/// Deletes the objects of a namespace or a definition. Objects with finalizers stay, marked as
/// being deleted.
pub(crate) fn empty(state: &mut State, kind: &Kind, key: &str, now: Timestamp) {
    if Special::of(kind) == Special::Namespace {
        let prefix = format!("{key}/");
        let places: Vec<Place> = places(state, |kind| kind.namespaced);
        for place in places {
            clear(state, &place, &prefix, now);
        }
    } else if let Some(definition) = state.store.get(&kind.storage, key).cloned() {
        clear(state, &crd::storage(&definition), "", now);
    }
}

fn places(state: &State, wanted: impl Fn(&Kind) -> bool) -> Vec<Place> {
    let kinds = state.registry.kinds().filter(|kind| wanted(kind));
    let mut places: Vec<Place> = kinds.map(|kind| kind.storage.clone()).collect();
    places.sort();
    places.dedup();
    places
}

fn clear(state: &mut State, place: &Place, prefix: &str, now: Timestamp) {
    let objects = state.store.objects(place).into_owned();
    for (key, object) in objects.range(prefix.to_owned()..) {
        if !key.starts_with(prefix) {
            break;
        }
        if !held(object) {
            state.store.delete(place, key);
        } else if !deleting(object) {
            state.store.put(place, key, marked_object(object, 0, now));
        }
    }
}

/// Removes the namespaces and definitions that are being deleted and empty.
pub(crate) fn settle(state: &mut State) {
    for (name, object) in state.store.objects(&definitions()).into_owned() {
        let (going, place) = (deleting(&object), crd::storage(&object));
        if going && only_cleanup(&object) && state.store.objects(&place).is_empty() {
            state.registry.remove(&object);
            state.store.delete(&definitions(), &name);
            state.store.close(&place);
        }
    }
    for (name, object) in state.store.objects(&namespaces()).into_owned() {
        if !deleting(&object) || held(&object) {
            continue;
        }
        let prefix = format!("{name}/");
        let places = places(state, |kind| kind.namespaced);
        let lives = |place: &Place| {
            let objects = state.store.objects(place);
            objects.range(prefix.clone()..).next().is_some_and(|(key, _)| key.starts_with(&prefix))
        };
        if !places.iter().any(lives) {
            state.store.delete(&namespaces(), &name);
        }
    }
}

/// Whether the definition of a custom kind is being deleted.
pub(crate) fn definition_goes(state: &State, kind: &Kind) -> bool {
    let name = format!("{}.{}", kind.plural, kind.group);
    state.store.get(&definitions(), &name).is_some_and(|definition| deleting(definition))
}

fn only_cleanup(definition: &Value) -> bool {
    let names = definition["metadata"]["finalizers"].as_array();
    names.is_none_or(|names| names.iter().all(|name| name == CLEANUP))
}
