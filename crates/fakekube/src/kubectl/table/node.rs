//! The row of a Node.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::Row;
use super::age::age_of;

pub(super) fn row(node: &Value, now: Timestamp) -> Row {
    let info = &node["status"]["nodeInfo"];
    let of_info = |field: &str| info[field].as_str().unwrap_or_default();
    let known = |text: &str| Value::from(if text.is_empty() { "<unknown>" } else { text });
    let mut kernel = known(of_info("kernelVersion"));
    if let (Value::String(kernel), architecture @ [_, ..]) =
        (&mut kernel, of_info("architecture").as_bytes())
    {
        kernel.push_str(&format!(" ({})", String::from_utf8_lossy(architecture)));
    }
    vec![
        node["metadata"]["name"].clone(),
        Value::from(status(node)),
        Value::from(roles(node)),
        age_of(node, now),
        Value::from(of_info("kubeletVersion")),
        Value::from(address(node, "InternalIP")),
        Value::from(address(node, "ExternalIP")),
        known(of_info("osImage")),
        kernel,
        known(of_info("containerRuntimeVersion")),
    ]
    .into()
}

fn status(node: &Value) -> String {
    let mut conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.rfind(|condition| condition["type"] == "Ready");
    let mut status = match ready {
        Some(ready) if ready["status"] == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if node["spec"]["unschedulable"] == Value::Bool(true) {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(node: &Value) -> String {
    let mut roles = BTreeSet::new();
    for (key, value) in node["metadata"]["labels"].as_object().into_iter().flatten() {
        let role = match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None => (key == "kubernetes.io/role").then(|| value.as_str()).flatten(),
        };
        roles.extend(role.filter(|role| !role.is_empty()));
    }
    let roles: Vec<_> = roles.into_iter().collect();
    if roles.is_empty() { "<none>".to_owned() } else { roles.join(",") }
}

fn address<'a>(node: &'a Value, wanted: &str) -> &'a str {
    let mut addresses = node["status"]["addresses"].as_array().into_iter().flatten();
    let found = addresses.find(|address| address["type"] == wanted);
    found.and_then(|address| address["address"].as_str()).unwrap_or("<none>")
}
