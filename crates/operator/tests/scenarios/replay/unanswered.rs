//! Writes without an answer: the client left, or the server failed. The storage may have carried
//! them out, also later; the sightings of the object tell.

use control_plane::AuditEntry;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::order::{is_write, kind, version, version_given};

pub(super) fn is_unanswered(write: &AuditEntry) -> bool {
    is_write(write) && matches!(write.code, 0 | 500..)
}

/// Whether an unanswered write took effect, as [`complete`] found.
pub(super) fn took_effect(write: &AuditEntry) -> bool {
    is_unanswered(write) && version_given(write).is_some()
}

/// Gives each unanswered write that took effect the version of its object, as an answer would, and
/// extends its time to the first sighting of that version.
pub(super) fn complete(log: &mut [AuditEntry]) {
    log.sort_by_key(|entry| entry.completed);
    for index in 0..log.len() {
        let Some((version, seen)) = effect(&log[index], log) else { continue };
        let write = &mut log[index];
        write.response_object = json!({"metadata": {"resourceVersion": version.to_string()}});
        write.completed = write.completed.max(seen);
    }
    log.sort_by_key(|entry| entry.completed);
}

/// The first version that no other write gave, in an answer that ended after the write began, and the
/// time of that answer; `None` if the object does not show what the write asked for.
fn effect(write: &AuditEntry, log: &[AuditEntry]) -> Option<(u64, Timestamp)> {
    if !is_unanswered(write) {
        return None;
    }
    let same_kind = || log.iter().filter(|other| kind(other) == kind(write));
    let sightings = || {
        same_kind().flat_map(|other| {
            let mine = objects(&other.response_object).filter(|object| is_about(write, object));
            mine.filter_map(move |object| Some((other, object, version(object)?)))
        })
    };
    let is_known = |sighted: u64| {
        let given = same_kind().any(|other| version_given(other) == Some(sighted));
        given || sightings().any(|(by, _, old)| old == sighted && by.completed <= write.received)
    };
    let (by, object, version) = sightings().find(|(_, _, version)| !is_known(*version))?;
    shows(object, write).then_some((version, by.received))
}

fn objects(answer: &Value) -> impl Iterator<Item = &Value> {
    let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
    items.iter().chain([answer])
}

fn is_about(write: &AuditEntry, object: &Value) -> bool {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    text("name") == write.name && text("namespace") == write.namespace
}

/// Whether an object, or its metadata alone, is what a write asked for. Patches are not compared.
fn shows(object: &Value, write: &AuditEntry) -> bool {
    let part = if write.subresource == "status" { "status" } else { "spec" };
    let comparable = write.verb == "update" && !object[part].is_null();
    !comparable || object[part] == write.request_object[part]
}
