//! The API server's audit log as values: requests, users, times and answers.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::Error;

/// A request with a complete answer. Fields that do not apply to the request are empty, as in
/// Kubernetes' own types.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditEntry {
    /// As in RBAC rules: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`. For requests without a resource, the HTTP method in lower case.
    pub verb: String,
    /// The resource's API group; empty for the core group.
    pub api_group: String,
    /// The resource in the plural, such as `nodes`.
    pub resource: String,
    /// The subresource, such as `status`.
    pub subresource: String,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name; empty for lists, watches and most creates.
    pub name: String,
    /// The user's name; `admin` is the plane's own, `system:apiserver` the server itself.
    pub user: String,
    /// The client's `User-Agent` header.
    pub user_agent: String,
    /// The HTTP status of the answer.
    pub code: u16,
    /// Path and query of the request.
    pub request_uri: String,
    /// Time at which the request arrived.
    pub received: Timestamp,
    /// Time at which the last byte of the answer was sent; for a watch, the end of the watch.
    pub completed: Timestamp,
    /// The body of the request on a recording plane, else null. For a patch: the patch (the log
    /// omits the content type). For a delete: the options. For a create or an update: the decoded
    /// object, with defaults and without unknown fields.
    pub request_object: Value,
    /// The body of the answer to a request for a resource on a recording plane, else null; for a
    /// refusal a `Status`. Without `managedFields`.
    pub response_object: Value,
}

/// A former end of the log, with its time. Entries before a moment are skipped.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    /// Start of the first line after the moment, in bytes.
    offset: u64,
    time: Option<Timestamp>,
}

impl Moment {
    pub(crate) fn now(log: &Path) -> Result<Self, Error> {
        let text = fs::read(log).map_err(Error::io("reading the audit log"))?;
        let offset = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        Ok(Self { offset: offset as u64, time: Some(Timestamp::now()) })
    }
}

/// The answered requests that arrived after a moment.
pub(crate) fn read(log: &Path, since: &Moment) -> Result<Vec<AuditEntry>, Error> {
    let mut text = String::new();
    let all = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(since.offset))?;
        file.read_to_string(&mut text)
    });
    all.map_err(Error::io("reading the audit log"))?;
    let mut entries = parse(&text)?;
    entries.retain(|entry| since.time.is_none_or(|time| entry.received >= time));
    Ok(entries)
}

/// Parses the log. Skips an incomplete last line, which the server is still writing.
pub(crate) fn parse(log: &str) -> Result<Vec<AuditEntry>, Error> {
    let whole = log.rfind('\n').map_or("", |end| log.get(..end).unwrap_or_default());
    let events = whole.lines().enumerate().map(|(index, line)| {
        serde_json::from_str::<Event>(line)
            .map_err(|source| Error::AuditLog { line: index + 1, source })
    });
    events
        .filter(|event| !matches!(event, Ok(event) if event.stage != "ResponseComplete"))
        .map(|event| event.map(AuditEntry::from))
        .collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: Object,
    #[serde(default)]
    response_status: Status,
    request_received_timestamp: MicroTime,
    stage_timestamp: MicroTime,
    #[serde(default)]
    request_object: Value,
    #[serde(default)]
    response_object: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Object {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
}

impl From<Event> for AuditEntry {
    fn from(event: Event) -> Self {
        Self {
            verb: event.verb,
            api_group: event.object_ref.api_group,
            resource: event.object_ref.resource,
            subresource: event.object_ref.subresource,
            namespace: event.object_ref.namespace,
            name: event.object_ref.name,
            user: event.user.username,
            user_agent: event.user_agent,
            code: event.response_status.code,
            request_uri: event.request_uri,
            received: event.request_received_timestamp.0,
            completed: event.stage_timestamp.0,
            request_object: event.request_object,
            response_object: event.response_object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = r#"{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/nodes/a/status?fieldManager=t","verb":"patch","user":{"username":"admin","groups":["system:masters"]},"userAgent":"test/1","objectRef":{"resource":"nodes","subresource":"status","name":"a","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-11-15T03:52:46.850326Z","stageTimestamp":"2026-11-15T03:52:46.859001Z"}"#;

    #[test]
    fn a_complete_response_becomes_an_entry() {
        let entries = parse(&format!("{PATCH}\n")).unwrap();

        let [entry] = entries.as_slice() else {
            panic!("{entries:?}");
        };
        assert_eq!(
            (entry.verb.as_str(), entry.resource.as_str(), entry.subresource.as_str()),
            ("patch", "nodes", "status")
        );
        assert_eq!((entry.name.as_str(), entry.namespace.as_str()), ("a", ""));
        assert_eq!((entry.user.as_str(), entry.code), ("admin", 200));
        let took = entry.completed.duration_since(entry.received);
        assert_eq!(took.as_micros(), 8_675);
    }

    #[test]
    fn bodies_are_kept_where_they_are_logged() {
        let bodies = r#"{"requestObject":[1],"responseObject":{"kind":"Node"},"kind""#;
        let with_bodies = PATCH.replacen(r#"{"kind""#, bodies, 1);
        let entries = parse(&format!("{PATCH}\n{with_bodies}\n")).unwrap();

        let got = entries.iter().map(|entry| (&entry.request_object, &entry.response_object));
        let null = Value::Null;
        let bodies = (&serde_json::json!([1]), &serde_json::json!({"kind": "Node"}));
        assert_eq!(got.collect::<Vec<_>>(), [(&null, &null), bodies]);
    }

    #[test]
    fn other_stages_and_a_half_written_last_line_are_left_out() {
        let started = PATCH.replace("ResponseComplete", "ResponseStarted");
        let half = PATCH.get(..40).unwrap();

        assert_eq!(parse(&format!("{started}\n{PATCH}\n{half}")).unwrap().len(), 1);
        assert_eq!(parse("").unwrap().len(), 0);
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = parse(&format!("{PATCH}\nnot json\n")).unwrap_err().to_string();

        assert!(error.starts_with("audit log line 2: "), "{error}");
    }
}
