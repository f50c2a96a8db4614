//! Reconstructs requests from log entries.

use control_plane::AuditEntry;
use http::Request;
use kube::client::Body;
use serde_json::Value;

use super::names::Names;

pub(super) fn of(entry: &AuditEntry, names: &Names) -> Request<Body> {
    let body = match &entry.request_object {
        Value::Null => Vec::new(),
        object => names.translated(object).to_string().into_bytes(),
    };
    Request::builder()
        .method(method(&entry.verb))
        .uri(names.text(&entry.request_uri))
        .header("accept", accept(&entry.response_object))
        .header("content-type", content_type(entry))
        .body(Body::from(body))
        .unwrap()
}

fn method(verb: &str) -> &str {
    match verb {
        "get" | "list" => "GET",
        "create" | "post" => "POST",
        "update" | "put" => "PUT",
        "patch" => "PATCH",
        "delete" | "deletecollection" => "DELETE",
        other => panic!("what is the method of {other}?"),
    }
}

/// The `Accept` header, which the log lacks, derived from the answer's kind. A refusal is a
/// `Status` for any header.
fn accept(answer: &Value) -> &'static str {
    match answer["kind"].as_str() {
        Some("PartialObjectMetadata") => {
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
        }
        Some("PartialObjectMetadataList") => {
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        }
        Some("Table") => "application/json;as=Table;g=meta.k8s.io;v=v1",
        _ => "application/json",
    }
}

/// The content type, which the log lacks. Our clients send these patches:
/// - a patch with `force` can only be a server-side apply; our clients never apply without;
/// - an array can only be a JSON patch;
/// - the arena alone patches the status of nodes and pods, with strategic merge patches;
/// - kubectl uses strategic merge patches for built-in kinds;
/// - all other patches, including the operator's, are merge patches.
fn content_type(entry: &AuditEntry) -> &'static str {
    let by_kubelet = entry.api_group.is_empty() && entry.subresource == "status";
    let by_kubectl = entry.user_agent.starts_with("kubectl/") && !entry.api_group.contains('.');
    match &entry.request_object {
        _ if entry.verb != "patch" => "application/json",
        _ if entry.request_uri.contains("force=") => "application/apply-patch+yaml",
        Value::Array(_) => "application/json-patch+json",
        _ if by_kubelet || by_kubectl => "application/strategic-merge-patch+json",
        _ => "application/merge-patch+json",
    }
}
