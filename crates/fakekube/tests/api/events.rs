//! Events, in both API groups.

use serde_json::{Value, json};

use crate::both;

const GROUP: &str = "events.k8s.io/v1";

fn new_event(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": GROUP, "kind": "Event", "metadata": {"name": name},
        "regarding": {"kind": "Pod", "name": "p", "namespace": namespace}, "reason": "R", "note": "m",
        "type": "Normal", "action": "A", "reportingController": "a.b/c", "reportingInstance": "i",
        "eventTime": "2020-01-01T00:00:00.000000Z",
    })
}

fn core_event(name: &str, namespace: &str) -> Value {
    json!({
        "metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "q", "namespace": namespace},
        "reason": "R", "message": "m", "type": "Normal", "source": {"component": "c", "host": "h"},
        "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:00:00Z", "count": 3,
    })
}

#[tokio::test]
async fn an_event_of_the_new_group_is_seen_in_the_old_one() {
    both("event-faces", async |s| {
        let created = s.post(&s.group(GROUP, "events"), &new_event("e", s.namespace())).await;
        assert_eq!(created.status, 201);
        let core = s.get(&s.core("events/e")).await;
        assert_eq!(core.body["involvedObject"]["name"], "p");
        assert_eq!(core.body["message"], "m");
    })
    .await;
}

#[tokio::test]
async fn an_event_of_the_old_group_is_seen_in_the_new_one() {
    both("event-backwards", async |s| {
        let created = s.post(&s.core("events"), &core_event("e", s.namespace())).await;
        assert_eq!(created.status, 201);
        let new = s.get(&s.group(GROUP, "events/e")).await;
        assert_eq!(new.body["deprecatedCount"], 3);
        let more = json!({"count": 4});
        assert_eq!(s.merge(&s.core("events/e"), &more).await.body["count"], 4);
        assert_eq!(s.delete(&s.group(GROUP, "events/e")).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn events_are_selected_by_what_they_are_about() {
    both("event-selectors", async |s| {
        s.post(&s.group(GROUP, "events"), &new_event("new", s.namespace())).await;
        s.post(&s.core("events"), &core_event("old", s.namespace())).await;
        for (selector, names) in [
            ("involvedObject.name%3Dp", vec!["new"]),
            ("involvedObject.kind%3DPod", vec!["new", "old"]),
            ("reason%3DR,source%3Dc", vec!["old"]),
            ("reportingComponent%3Da.b%2Fc", vec!["new"]),
            ("type!%3DNormal", vec![]),
        ] {
            let found = s.get(&s.core(&format!("events?fieldSelector={selector}"))).await;
            assert_eq!(found.names(), names);
        }
        for (selector, status) in [("regarding.name%3Dp", 200), ("involvedObject.name%3Dp", 400)] {
            let path = s.group(GROUP, &format!("events?fieldSelector={selector}"));
            assert_eq!(s.get(&path).await.status, status);
        }
    })
    .await;
}

#[tokio::test]
async fn an_event_belongs_into_the_namespace_of_its_object() {
    both("event-namespace", async |s| {
        let elsewhere = core_event("e", "other");
        assert_eq!(s.post(&s.core("events"), &elsewhere).await.status, 422);
        let mut incomplete = new_event("e", s.namespace());
        incomplete.as_object_mut().unwrap().remove("eventTime");
        incomplete.as_object_mut().unwrap().remove("type");
        assert_eq!(s.post(&s.group(GROUP, "events"), &incomplete).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn a_cluster_objects_event_is_in_default() {
    both("event-default", async |s| {
        let mut event = core_event("event-default-e", "");
        event["involvedObject"] = json!({"kind": "Node", "name": "n"});
        assert_eq!(s.post("/api/v1/namespaces/default/events", &event).await.status, 201);
        event["metadata"]["name"] = json!("elsewhere");
        assert_eq!(s.post(&s.core("events"), &event).await.status, 422);
    })
    .await;
}
