//! Selects and orders the requests to replay, and decides which answers are comparable.

use std::time::Duration;

use control_plane::AuditEntry;
use serde_json::Value;

use super::unanswered::{self, is_unanswered, took_effect};

/// Paths that are not replayed, and why. A path with a trailing slash includes everything below.
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

/// Longest lag of the cache behind lists with `resourceVersion=0`: usually milliseconds, more on an
/// overloaded machine.
const CACHE_LAG: Duration = Duration::from_secs(1);

/// Time after a write of a definition in which the real server may serve its kind as before, or not
/// at all.
const SETTLING: Duration = Duration::from_secs(1);

/// A request, and how to treat its answer.
pub(super) struct Step {
    pub(super) entry: AuditEntry,
    pub(super) answer: Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The answer is determined, and compared.
    Certain,
    /// A write of the same kind overlapped. The log does not tell whether a read or a refused write
    /// came before or after the write, and either answer is right, so the request is not replayed.
    Raced,
    /// The client left, or the server failed, but the write took effect. The request is replayed
    /// for its effect.
    Nobodys,
}

/// The steps in the order of their effects.
pub(super) fn steps(mut log: Vec<AuditEntry>) -> Vec<Step> {
    unanswered::complete(&mut log);
    let writes: Vec<AuditEntry> = log.iter().filter(|one| may_change(one)).cloned().collect();
    let answer = |entry: &AuditEntry| match entry.code {
        _ if took_effect(entry) => Some(Answer::Nobodys),
        // Temporary failures of the server, or a client that was gone.
        0 | 429 | 500.. => None,
        // The version determines the place of the write in the order.
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
    // All users except the server itself are `admin`.
    entry.user == "admin" && entry.verb != "watch" && !excluded
}

pub(super) fn is_write(entry: &AuditEntry) -> bool {
    let writes = ["create", "update", "patch", "delete", "deletecollection"];
    writes.contains(&entry.verb.as_str())
}

/// Whether the entry is a write that was not refused.
fn may_change(entry: &AuditEntry) -> bool {
    is_write(entry) && entry.code < 300 || is_unanswered(entry)
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

/// The kind of an entry. Events are the same kind in two groups.
pub(super) fn kind(entry: &AuditEntry) -> (&str, &str) {
    let group = if entry.resource == "events" { "" } else { &entry.api_group };
    (group, &entry.resource)
}

pub(super) fn version(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

pub(super) fn version_given(entry: &AuditEntry) -> Option<u64> {
    version(&entry.response_object).filter(|_| may_change(entry))
}

/// Sorts overlapping writes by their versions, because the order of completion may differ from the
/// order of effect. A write moves before the writes that it overlapped and that gave a higher
/// version, and before the deletion of its object, which gives no version.
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
