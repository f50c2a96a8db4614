//! The collector's changes, as requests to the server.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri, header};
use serde_json::{Value, json};

use crate::call::Call;
use crate::faults::Weather;
use crate::object::meta;
use crate::registry::Kind;
use crate::state::State;
use crate::verbs;

use super::judge::{self, Case, Verdict};
use super::kinship::{FOREGROUND, ORPHAN, owner_uid, references};

/// Carries a verdict out. False if the object must wait for a change of definitions, or if the
/// server refused.
pub(super) fn execute(state: &mut State, case: &Case, verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Leave => true,
        Verdict::PutOff => false,
        Verdict::Delete(policy) => delete(state, case, policy),
        Verdict::UnblockAndDelete => unblock(state, case) && delete(state, case, "Foreground"),
        Verdict::DropOwners(lost) => drop_owners(state, case, lost),
        Verdict::Orphan => orphan(state, case),
        Verdict::Release => release(state, case, FOREGROUND),
    }
}

fn delete(state: &mut State, case: &Case, policy: &str) -> bool {
    let preconditions = json!({"uid": meta(&case.object, "uid")});
    let options = json!({"preconditions": preconditions, "propagationPolicy": policy});
    send(state, case, Method::DELETE, &options)
}

fn unblock(state: &mut State, case: &Case) -> bool {
    let mut all = references(&case.object).to_vec();
    for reference in &mut all {
        if reference["blockOwnerDeletion"] == json!(true) {
            reference["blockOwnerDeletion"] = json!(false);
        }
    }
    patch(state, case, "ownerReferences", all)
}

fn drop_owners(state: &mut State, case: &Case, lost: &[String]) -> bool {
    let is_lost = |reference: &Value| lost.iter().any(|uid| uid == owner_uid(reference));
    let kept = references(&case.object).iter().filter(|reference| !is_lost(reference));
    let kept = kept.cloned().collect();
    patch(state, case, "ownerReferences", kept)
}

fn orphan(state: &mut State, case: &Case) -> bool {
    let uid = meta(&case.object, "uid").to_owned();
    let spots = state.store.kinship().map(|kinship| kinship.dependents(&uid)).unwrap_or_default();
    for spot in spots {
        let Some(dependent) = judge::case(state, &spot) else { continue };
        if !drop_owners(state, &dependent, std::slice::from_ref(&uid)) {
            return false;
        }
    }
    release(state, case, ORPHAN)
}

fn release(state: &mut State, case: &Case, finalizer: &str) -> bool {
    let names = case.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let kept = names.into_iter().filter(|name| name != finalizer).collect();
    patch(state, case, "finalizers", kept)
}

/// Replaces a list in the metadata of the object, in the version that was judged.
fn patch(state: &mut State, case: &Case, field: &str, list: Vec<Value>) -> bool {
    let list = if list.is_empty() { Value::Null } else { Value::Array(list) };
    let version = meta(&case.object, "resourceVersion");
    let patch = json!({"metadata": {"resourceVersion": version, field: list}});
    send(state, case, Method::PATCH, &patch)
}

/// Sends a request; true if the server accepted it.
fn send(state: &mut State, case: &Case, method: Method, body: &Value) -> bool {
    let Ok(uri) = path(&case.kind, &case.object).parse::<Uri>() else { return false };
    let content = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content));
    headers.insert(header::USER_AGENT, HeaderValue::from_static("kube-controller-manager"));
    let body = Bytes::from(body.to_string());
    let call = Call { method, uri, headers, body, faults: Vec::new() };
    let accepted = verbs::serve(state, &call, &Weather::default()).is_ok();
    state.warnings.clear();
    accepted
}

fn path(kind: &Kind, object: &Value) -> String {
    let version = kind.api_version();
    let root = if kind.group.is_empty() { "api" } else { "apis" };
    let (plural, name) = (&kind.plural, meta(object, "name"));
    match meta(object, "namespace") {
        "" => format!("/{root}/{version}/{plural}/{name}"),
        namespace => format!("/{root}/{version}/namespaces/{namespace}/{plural}/{name}"),
    }
}
