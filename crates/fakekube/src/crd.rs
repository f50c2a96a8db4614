//! CustomResourceDefinitions: their kinds, and the fields that the server adds to them.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::registry::{Column, Kind};
use crate::schema::Structural;

/// Group and plural of the defined kind.
pub(crate) fn storage(definition: &Value) -> (String, String) {
    let spec = &definition["spec"];
    (text(&spec["group"]), text(&spec["names"]["plural"]))
}

/// The kinds of a definition's served versions.
pub(crate) fn kinds(definition: &Value) -> Result<Vec<Kind>, String> {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    versions
        .filter(|version| version["served"] == json!(true))
        .map(|version| kind(definition, version))
        .collect()
}

fn kind(definition: &Value, version: &Value) -> Result<Kind, String> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let schema = &version["schema"]["openAPIV3Schema"];
    let kind = text(&names["kind"]);
    let or = |value: &Value, default: String| value.as_str().map_or(default, str::to_owned);
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    let verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    Ok(Kind {
        group: text(&spec["group"]),
        version: text(&version["name"]),
        list_kind: or(&names["listKind"], format!("{kind}List")),
        plural: text(&names["plural"]),
        singular: or(&names["singular"], kind.to_lowercase()),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == json!("Namespaced"),
        status_subresource: version["subresources"]["status"].is_object(),
        columns: columns(&version["additionalPrinterColumns"]),
        structural: Some(Arc::new(Structural::from_crd_version(schema)?)),
        schema: Some(Arc::new(schema.clone())),
        verbs: verbs.map(str::to_owned).to_vec(),
        selectable: selectable
            .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
            .collect(),
        scale: version["subresources"]["scale"].is_object(),
        storage: storage(definition),
        kind,
    })
}

fn columns(columns: &Value) -> Vec<Column> {
    let given = columns.as_array().into_iter().flatten().map(|column| Column {
        name: text(&column["name"]),
        r#type: text(&column["type"]),
        format: text(&column["format"]),
        description: text(&column["description"]),
        priority: column["priority"].as_i64().unwrap_or_default(),
        json_path: text(&column["jsonPath"]),
    });
    given.collect()
}

/// Order of preference: stable, beta, alpha, each with greater numbers first, then other names
/// alphabetically.
pub(crate) fn version_order(a: &str, b: &str) -> Ordering {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability (2 stable, 1 beta, 0 alpha), major and minor number of `v1`, `v1beta2`, ...
fn parts(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let major = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let named = [("beta", 1), ("alpha", 0)];
    let (stability, minor) =
        named.iter().find_map(|(name, stability)| Some((*stability, rest.strip_prefix(name)?)))?;
    Some((stability, major, minor.parse().ok()?))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

/// Whether objects may need a conversion webhook: strategy `Webhook` and several served versions.
pub(crate) fn needs_webhook(definition: &Value) -> bool {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] == json!(true)).count();
    definition["spec"]["conversion"]["strategy"] == json!("Webhook") && served > 1
}

/// Fills in the defaults of a definition.
pub(crate) fn default(definition: &mut Value) {
    if !definition["spec"].is_object() {
        definition["spec"] = json!({});
    }
    let spec = &mut definition["spec"];
    if !spec["conversion"]["strategy"].is_string() {
        spec["conversion"] = json!({"strategy": "None"});
    }
    if spec["preserveUnknownFields"] == json!(false)
        && let Some(fields) = spec.as_object_mut()
    {
        fields.remove("preserveUnknownFields");
    }
    let names = &mut spec["names"];
    if let Some(kind) = names["kind"].as_str().map(str::to_owned) {
        if names["singular"].as_str().is_none_or(str::is_empty) {
            names["singular"] = json!(kind.to_lowercase());
        }
        if names["listKind"].as_str().is_none_or(str::is_empty) {
            names["listKind"] = json!(format!("{kind}List"));
        }
    }
}

/// Name of the storage version.
fn stored_version(definition: &Value) -> Option<&Value> {
    let mut versions = definition["spec"]["versions"].as_array()?.iter();
    Some(&versions.find(|version| version["storage"] == json!(true))?["name"])
}

/// Sets the status of a new definition.
pub(crate) fn reset_status(definition: &mut Value) {
    let stored: Vec<Value> = stored_version(definition).cloned().into_iter().collect();
    definition["status"] = json!({
        "conditions": null,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored,
    });
}

/// Sets the status of an accepted definition, and adds the storage version to `storedVersions`.
pub(crate) fn establish(definition: &mut Value, at: &str) {
    let names = definition["spec"]["names"].clone();
    let version = stored_version(definition).cloned();
    let status = &mut definition["status"];
    status["acceptedNames"] = names;
    if let (Some(version), Some(stored)) = (version, status["storedVersions"].as_array_mut())
        && !stored.contains(&version)
    {
        stored.push(version);
    }
    if status["conditions"].as_array().is_none_or(Vec::is_empty) {
        status["conditions"] = json!([
            condition("NamesAccepted", "NoConflicts", "no conflicts found", at),
            condition(
                "Established",
                "InitialNamesAccepted",
                "the initial names have been accepted",
                at
            ),
        ]);
    }
}

/// Adds the condition `Terminating`.
pub(crate) fn terminate(definition: &mut Value, at: &str) {
    let message =
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    let going = condition("Terminating", "InstanceDeletionPending", message, at);
    match definition["status"]["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(going),
        None => definition["status"]["conditions"] = json!([going]),
    }
}

fn condition(kind: &str, reason: &str, message: &str, at: &str) -> Value {
    json!({
        "type": kind,
        "status": "True",
        "lastTransitionTime": at,
        "reason": reason,
        "message": message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_stability_then_number() {
        let mut versions = ["foo", "v1alpha1", "v2", "v1", "v2beta1", "v1beta2", "v10"];
        versions.sort_by(|a, b| version_order(a, b));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1alpha1", "foo"]);
    }
}
