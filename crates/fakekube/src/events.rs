//! Events have two forms: the core group's, which is stored, and the form of `events.k8s.io`.

use serde_json::{Map, Value, json};

use crate::schema::Cause;

/// Names of a field: in the core group, in `events.k8s.io`.
const NAMES: [(&str, &str); 13] = [
    ("metadata", "metadata"),
    ("involvedObject", "regarding"),
    ("reason", "reason"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("series", "series"),
    ("action", "action"),
    ("related", "related"),
];

const REPORTER: [(&str, &str); 2] =
    [("reportingComponent", "reportingController"), ("reportingInstance", "reportingInstance")];

/// Converts a stored event to the form of `events.k8s.io`.
pub(crate) fn from_core(core: &Value) -> Value {
    let mut event = Map::new();
    for (old, new) in NAMES.into_iter().chain(REPORTER) {
        match core.get(old) {
            // The core form always has the reporter's fields, empty or not.
            Some(Value::String(text)) if text.is_empty() && old.starts_with("reporting") => {}
            Some(value) => {
                event.insert(new.to_owned(), value.clone());
            }
            None => {}
        }
    }
    Value::Object(event)
}

/// Converts an event of `events.k8s.io` to the stored form.
pub(crate) fn to_core(event: &Value) -> Value {
    let mut core = Map::new();
    for (old, new) in NAMES.into_iter().chain(REPORTER) {
        if let Some(value) = event.get(new) {
            core.insert(old.to_owned(), value.clone());
        }
    }
    let mut core = Value::Object(core);
    complete_core(&mut core);
    core
}

/// Adds the fields that the core form shows even when empty.
pub(crate) fn complete_core(core: &mut Value) {
    let always = [
        ("eventTime", Value::Null),
        ("firstTimestamp", Value::Null),
        ("lastTimestamp", Value::Null),
        ("involvedObject", json!({})),
        ("source", json!({})),
        ("reportingComponent", json!("")),
        ("reportingInstance", json!("")),
    ];
    if let Some(fields) = core.as_object_mut() {
        for (name, value) in always {
            fields.entry(name).or_insert(value);
        }
    }
}

/// Adds the fields that the form of `events.k8s.io` shows even when empty.
pub(crate) fn complete_new(event: &mut Value) {
    let always = [
        ("eventTime", Value::Null),
        ("deprecatedFirstTimestamp", Value::Null),
        ("deprecatedLastTimestamp", Value::Null),
        ("deprecatedSource", json!({})),
        ("regarding", json!({})),
    ];
    if let Some(fields) = event.as_object_mut() {
        for (name, value) in always {
            fields.entry(name).or_insert(value);
        }
    }
}

/// Violations of an event in the core form. Events with an `eventTime` follow the newer rules.
pub(crate) fn causes(event: &Value) -> Vec<Cause> {
    check(event, "involvedObject", "reportingComponent", "message")
}

/// Violations of an event of `events.k8s.io`. Updates have fewer checks.
pub(crate) fn new_causes(event: &Value, update: bool) -> Vec<Cause> {
    let mut causes = check(event, "regarding", "reportingController", "note");
    if update {
        return causes;
    }
    if event["eventTime"].is_null() {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = event["type"].as_str().unwrap_or_default();
    if !matches!(kind, "Normal" | "Warning") {
        let what = format!("has invalid value: {kind}");
        causes.push(Cause::invalid("type", &json!(""), what));
    }
    let old = [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ];
    for (field, name) in old {
        if !event[field].is_null() && event[field] != json!(0) {
            causes.push(Cause::invalid(name, &json!(""), "needs to be unset"));
        }
    }
    causes
}

fn check(event: &Value, object: &str, reporter: &str, message: &str) -> Vec<Cause> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (mine, its) = (text(&event["metadata"]["namespace"]), text(&event[object]["namespace"]));
    let new = !event["eventTime"].is_null();
    let apart = match (new, its.is_empty()) {
        (false, true) => !matches!(mine.as_str(), "" | "default"),
        (false, false) => mine != its,
        (true, true) => !matches!(mine.as_str(), "default" | "kube-system"),
        (true, false) => false,
    };
    let mut causes = Vec::new();
    if apart {
        let why = "does not match event.namespace";
        causes.push(Cause::invalid("involvedObject.namespace", &json!(its), why));
    }
    if new {
        for name in [reporter, "reportingInstance", "action", "reason"] {
            if text(&event[name]).is_empty() {
                causes.push(Cause::required(name, ""));
            }
        }
        if text(&event[message]).len() > 1024 {
            let why = "can have at most 1024 characters";
            causes.push(Cause::invalid("message", &json!(""), why));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_faces_hold_the_same() {
        let event = json!({
            "metadata": {"name": "e"}, "eventTime": "2020-01-01T00:00:00.000000Z", "note": "m", "reason": "R",
            "regarding": {"kind": "Pod", "name": "p"}, "reportingController": "a.b/c", "reportingInstance": "i",
            "type": "Normal", "action": "A",
        });
        let core = to_core(&event);
        assert_eq!(core["involvedObject"], event["regarding"]);
        assert_eq!(core["message"], "m");
        assert_eq!(core["reportingComponent"], "a.b/c");
        assert_eq!(core["source"], json!({}));
        let mut completed = event;
        complete_new(&mut completed);
        assert_eq!(from_core(&core), completed);
    }
}
