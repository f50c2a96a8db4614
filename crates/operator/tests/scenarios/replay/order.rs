//! Which requests are asked again, in which order, and which answers may be compared.

use std::time::Duration;

use control_plane::AuditEntry;

/// Requests that fakekube does not answer, by design: the beginning of the path, and why.
const EXCLUDED: &[(&str, &str)] = &[
    ("/readyz", "the control plane's own start"),
    ("/api/v1/namespaces/default?", "the control plane's own start"),
    ("/api/v1/namespaces/default", "the control plane's own start"),
    ("/apis/rbac.authorization.k8s.io/", "fakekube has no authorization"),
];

/// How far the cache that answers lists with `resourceVersion=0` may be behind: usually
/// milliseconds, but on a machine with more to do than it can.
const CACHE_LAG: Duration = Duration::from_secs(1);

pub(super) struct Step {
    pub(super) entry: AuditEntry,
    pub(super) meeting: Meeting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Nothing else went on: there is one right answer.
    Alone,
    /// A write of the same kind went on at the same time. The log does not tell whether a
    /// read, or a write that was refused, came before it or after it, and either answer is
    /// right: it is not asked again.
    Raced,
}

/// The steps in the order in which they took effect.
pub(super) fn steps(log: Vec<AuditEntry>) -> Vec<Step> {
    let writes: Vec<AuditEntry> = log.iter().filter(|one| is_write(one)).cloned().collect();
    let mut asked: Vec<AuditEntry> = log.into_iter().filter(is_replayed).collect();
    asked.sort_by_key(|entry| entry.completed);
    by_version(&mut asked);
    let step = |entry: AuditEntry| {
        let raced = !is_write(&entry) && writes.iter().any(|write| raced(&entry, write));
        Step { meeting: if raced { Meeting::Raced } else { Meeting::Alone }, entry }
    };
    asked.into_iter().map(step).collect()
}

fn is_replayed(entry: &AuditEntry) -> bool {
    let excluded = EXCLUDED.iter().any(|(path, _)| entry.request_uri.starts_with(path));
    entry.user == "admin" && entry.verb != "watch" && !excluded
}

/// Whether it changed something, or may have.
fn is_write(entry: &AuditEntry) -> bool {
    let writes = ["create", "update", "patch", "delete", "deletecollection"];
    writes.contains(&entry.verb.as_str()) && entry.code < 300
}

fn raced(entry: &AuditEntry, write: &AuditEntry) -> bool {
    let cached = entry.request_uri.contains("resourceVersion=0");
    let from = if cached { entry.received - CACHE_LAG } else { entry.received };
    kind(entry) == kind(write) && from < write.completed && write.received < entry.completed
}

/// Events are one kind in two groups.
fn kind(entry: &AuditEntry) -> (&str, &str) {
    let group = if entry.resource == "events" { "" } else { &entry.api_group };
    (group, &entry.resource)
}

/// Writes that overlapped are completed in one order and may have taken effect in another:
/// the versions that they gave tell. A write goes before those that it overlapped and that
/// gave a higher version.
fn by_version(asked: &mut [AuditEntry]) {
    for index in 1..asked.len() {
        let Some(given) = version(&asked[index]) else { continue };
        let later = |other: &AuditEntry| {
            other.completed > asked[index].received
                && version(other).is_some_and(|other| other > given)
        };
        if let Some(first) = asked[..index].iter().position(later) {
            asked[first..=index].rotate_right(1);
        }
    }
}

fn version(entry: &AuditEntry) -> Option<u64> {
    let version = entry.response_object["metadata"]["resourceVersion"].as_str()?;
    version.parse().ok().filter(|_| is_write(entry))
}
