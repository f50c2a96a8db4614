//! Which requests are asked again, in which order, and which answers may be compared.

use std::collections::BTreeSet;
use std::time::Duration;

use control_plane::AuditEntry;
use serde_json::Value;

/// Paths that are not asked again, and why; one that ends in a slash includes what is below.
const EXCLUDED: &[(&str, &str)] = &[
    ("/readyz", "asked by the control plane while it starts, answered or not"),
    ("/api/v1/namespaces/default", "asked by the control plane while it starts"),
    ("/api", "lists the kinds, and fakekube has some only; its own suite compares those"),
    ("/apis", "the same"),
    ("/openapi/v2", "fakekube has version 3 only"),
    ("/openapi/v3", "asked with the real server's ETag, which is not in the log"),
    ("/openapi/v3/", "asked with the hash of the real server's document"),
    ("/apis/rbac.authorization.k8s.io/", "fakekube has no authorization"),
];

/// How far the cache that answers lists with `resourceVersion=0` may be behind: milliseconds
/// usually, more on a machine that has more to do than it can.
const CACHE_LAG: Duration = Duration::from_secs(1);

/// How long after a write of a definition the real server may serve its kind as before, or
/// not at all.
const SETTLING: Duration = Duration::from_secs(1);

/// A request and what may be said about its answer.
pub(super) struct Step {
    pub(super) entry: AuditEntry,
    pub(super) answer: Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// There is one right answer.
    Certain,
    /// A write of the same kind went on at the same time. The log does not tell whether a
    /// read, or a write that was refused, came before it or after it, and either answer is
    /// right: it is not asked again.
    Raced,
    /// A write whose client was killed before the answer, but it took effect: it is asked
    /// again for that.
    Nobodys,
}

/// The steps in the order in which they took effect.
pub(super) fn steps(mut log: Vec<AuditEntry>) -> Vec<Step> {
    log.sort_by_key(|entry| entry.completed);
    let writes: Vec<AuditEntry> = log.iter().filter(|one| may_change(one)).cloned().collect();
    let given: BTreeSet<u64> = log.iter().filter_map(version_given).collect();
    let answer = |entry: &AuditEntry| match entry.code {
        504 if took_effect(entry, &log, &given) => Some(Answer::Nobodys),
        // The server's troubles of the day, or a client that was gone.
        0 | 429 | 500.. => None,
        // Its place in the order is known by its version.
        ..300 if may_change(entry) => Some(Answer::Certain),
        _ if writes.iter().any(|write| raced(entry, write)) => Some(Answer::Raced),
        _ => Some(Answer::Certain),
    };
    let asked = log.iter().filter(|entry| is_asked_again(entry));
    let mut steps: Vec<Step> = asked
        .filter_map(|entry| Some(Step { answer: answer(entry)?, entry: entry.clone() }))
        .collect();
    by_version(&mut steps);
    steps
}

fn is_asked_again(entry: &AuditEntry) -> bool {
    let path = entry.request_uri.split('?').next().unwrap_or_default();
    let excluded = EXCLUDED.iter().any(|(excluded, _)| {
        path == *excluded || excluded.ends_with('/') && path.starts_with(excluded)
    });
    // Everybody but the server itself is the admin.
    entry.user == "admin" && entry.verb != "watch" && !excluded
}

/// Whether it is a write that was not refused.
fn may_change(entry: &AuditEntry) -> bool {
    let writes = ["create", "update", "patch", "delete", "deletecollection"];
    writes.contains(&entry.verb.as_str()) && (entry.code < 300 || entry.code == 504)
}

fn raced(entry: &AuditEntry, write: &AuditEntry) -> bool {
    let cached = entry.request_uri.contains("resourceVersion=0");
    let definition = format!("{}.{}", entry.resource, entry.api_group);
    let slack = match () {
        () if kind(entry) == kind(write) && cached => CACHE_LAG,
        () if kind(entry) == kind(write) => Duration::ZERO,
        () if write.resource == "customresourcedefinitions" && write.name == definition => SETTLING,
        () => return false,
    };
    entry.received - slack < write.completed && write.received < entry.completed
}

/// Events are one kind in two groups.
fn kind(entry: &AuditEntry) -> (&str, &str) {
    let group = if entry.resource == "events" { "" } else { &entry.api_group };
    (group, &entry.resource)
}

/// Whether a write without an answer took effect: then its object is next seen in a version
/// that was not seen before, and that no other write gave.
fn took_effect(entry: &AuditEntry, log: &[AuditEntry], given: &BTreeSet<u64>) -> bool {
    let sightings = log.iter().filter(|other| kind(other) == kind(entry)).flat_map(|other| {
        let mine = objects(&other.response_object).filter(|object| is_about(entry, object));
        mine.map(move |object| (other, version(object)))
    });
    let (before, after): (Vec<_>, Vec<_>) =
        sightings.partition(|(other, _)| other.completed <= entry.completed);
    let next = after.first().and_then(|(_, version)| *version);
    next.is_some_and(|next| {
        !given.contains(&next) && before.iter().all(|(_, version)| *version != Some(next))
    })
}

fn objects(answer: &Value) -> impl Iterator<Item = &Value> {
    let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
    items.iter().chain([answer])
}

fn is_about(entry: &AuditEntry, object: &Value) -> bool {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    text("name") == entry.name && text("namespace") == entry.namespace
}

fn version(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

fn version_given(entry: &AuditEntry) -> Option<u64> {
    version(&entry.response_object).filter(|_| may_change(entry))
}

/// Writes that overlapped are completed in one order and may have taken effect in another:
/// the versions that they gave tell. A write goes before those that it overlapped and that
/// gave a higher version, and before the deletion of what it wrote to, which gives none.
fn by_version(steps: &mut [Step]) {
    for index in 1..steps.len() {
        let moved = &steps[index].entry;
        let Some(given) = version_given(moved) else { continue };
        let later = |other: &Step| {
            let overlapped = other.entry.completed > moved.received;
            let higher = version_given(&other.entry).is_some_and(|other| other > given);
            overlapped && (higher || removes_what_was_written(&other.entry, moved))
        };
        if let Some(first) = steps[..index].iter().position(later) {
            steps[first..=index].rotate_right(1);
        }
    }
}

fn removes_what_was_written(removal: &AuditEntry, write: &AuditEntry) -> bool {
    let removed = &removal.response_object["details"]["uid"];
    removal.verb == "delete"
        && removed.is_string()
        && *removed == write.response_object["metadata"]["uid"]
}
