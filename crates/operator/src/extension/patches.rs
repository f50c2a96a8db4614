//! GeneratePatches: the VIP into the infrastructure's template.
//!
//! A function of the request alone. An endpoint that the template spells out without a host gets the
//! value of the variable; a host of the user's stays, and so does a template without an endpoint, whose
//! kind may have no such field.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::Extension;
use super::gate::vip_front;

/// The endpoint in a template of the infrastructure.
const ENDPOINT: &str = "/spec/template/spec/controlPlaneEndpoint";

/// Answers a request.
pub(super) fn answer(_: &Extension, request: &Value) -> Result<Value, String> {
    let items = request["items"].as_array().ok_or("items of the request are missing")?;
    let patches = match vip(&request["variables"]) {
        Some(vip) => items.iter().enumerate().filter_map(|item| patch(item, vip)).collect(),
        None => Ok(Vec::new()),
    };
    Ok(json!({"items": patches?}))
}

/// The value of the variable with the VIP, if there is one.
fn vip(variables: &Value) -> Option<&str> {
    let name = vip_front()?.vips()?.names().variable;
    let variable = variables.as_array()?.iter().find(|one| one["name"] == name)?;
    variable["value"].as_str().map(str::trim).filter(|value| !value.is_empty())
}

/// The patch of an item, if the item is the infrastructure's template and needs the VIP.
fn patch((index, item): (usize, &Value), vip: &str) -> Option<Result<Value, String>> {
    let holder = &item["holderReference"];
    if holder["kind"] != "Cluster" || holder["fieldPath"] != "spec.infrastructureRef" {
        return None;
    }
    let endpoint = item["object"].pointer(ENDPOINT)?.as_object()?;
    let host = endpoint.get("host").unwrap_or(&Value::Null);
    if !host.is_null() && host != "" {
        return None;
    }
    let Some(uid) = item["uid"].as_str().filter(|uid| !uid.is_empty()) else {
        return Some(Err(format!("items[{index}].uid is missing")));
    };
    let host = json!({"spec": {"template": {"spec": {"controlPlaneEndpoint": {"host": vip}}}}});
    let patch = ByteString(host.to_string().into_bytes());
    Some(Ok(json!({"uid": uid, "patchType": "JSONMergePatch", "patch": patch})))
}
