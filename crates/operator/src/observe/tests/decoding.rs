//! All metadata that an API server accepts can be decoded.

use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::api::{DynamicObject, ObjectList, WatchEvent};
use serde_json::json;

use super::script::{object, undecodable};
use crate::observe::objects::ObjectView;
use crate::observe::pod::PodView;

#[test]
fn an_object_is_decoded_without_its_managed_fields_and_with_all_else() {
    let mut object = undecodable();
    assert!(serde_json::from_value::<DynamicObject>(object.clone()).is_err(), "it is odd");
    object["metadata"]["generation"] = json!(7);
    object["metadata"]["finalizers"] = json!(["example.com/keeps"]);
    object["metadata"]["creationTimestamp"] = json!("2026-11-15T03:35:57Z");
    object["spec"] = json!({"ips": []});
    let decoded: ObjectView = serde_json::from_value(object.clone()).unwrap();
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(serde_json::to_value(decoded.clone()).unwrap(), object, "as it is sent");
    assert_eq!(serde_json::to_value(DynamicObject::from(decoded)).unwrap(), object);
}

#[test]
fn one_object_of_great_depth_does_not_fail_the_list_or_the_watch_of_its_kind() {
    let value = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let deep = format!(
        r#"{{"apiVersion": "v1", "kind": "Odd", "metadata": {{"name": "deep", "resourceVersion": "2",
        "managedFields": [{{"fieldsV1": {value}}}]}}, "spec": {{"x": {value}, "paused": true}},
        "other": {value}}}"#
    );
    let list = format!(
        r#"{{"apiVersion": "v1", "kind": "OddList", "metadata": {{"resourceVersion": "2"}},
        "items": [{deep}, {}]}}"#,
        object("plain", "1")
    );
    let page: ObjectList<ObjectView> = serde_json::from_str(&list).unwrap();
    let names: Vec<_> = page.items.iter().map(|one| one.meta().name.as_deref()).collect();
    assert_eq!(names, [Some("deep"), Some("plain")]);
    assert_eq!(page.items[0].data["spec"]["paused"], true);
    let event = format!(r#"{{"type": "ADDED", "object": {deep}}}"#);
    let event: WatchEvent<ObjectView> = serde_json::from_str(&event).unwrap();
    assert!(matches!(event, WatchEvent::Added(one) if one.data["spec"]["paused"] == true));
}

#[test]
fn an_object_with_an_unreadable_time_of_its_deletion_is_being_deleted() {
    let mut object = undecodable();
    for time in ["creationTimestamp", "deletionTimestamp"] {
        object["metadata"][time] = json!("9999-12-31T23:59:59Z");
    }
    let decoded: ObjectView = serde_json::from_value(object).unwrap();
    assert_eq!(decoded.metadata.creation_timestamp, None);
    assert_eq!(decoded.metadata.deletion_timestamp.map(|time| time.0), Some(Timestamp::MAX));
}

#[test]
fn unreadable_times_of_conditions_fail_no_pod() {
    let condition = json!({
        "type": "Ready", "status": "True", "lastTransitionTime": "9999-12-31T23:59:59Z",
    });
    let mut object = undecodable();
    object["status"] = json!({"phase": "Running", "conditions": [condition]});
    let pod: PodView = serde_json::from_value(object).unwrap();
    assert_eq!(pod.meta().name.as_deref(), Some("odd"));
}
