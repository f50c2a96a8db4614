//! Watching.

use serde_json::{Value, json};

use crate::server::{Answer, Server};
use crate::{both, config_map, with_meta};

/// Type and name of each event.
fn seen(answer: &Answer) -> Vec<String> {
    let events = answer.body.as_array().cloned().unwrap_or_default();
    let shown = events.iter().map(|event| {
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-");
        format!("{} {name}", event["type"].as_str().unwrap())
    });
    shown.collect()
}

fn labelled(name: &str, label: &str) -> Value {
    with_meta(config_map(name), "labels", json!({"l": label}))
}

/// Creates, changes and deletes objects; returns the resource version before.
async fn history(s: &Server) -> String {
    let before = s.get(&s.core("configmaps")).await.version();
    s.post(&s.core("configmaps"), &labelled("a", "1")).await;
    for label in ["2", "1"] {
        let patch = json!({"metadata": {"labels": {"l": label}}});
        s.merge(&s.core("configmaps/a"), &patch).await;
    }
    s.delete(&s.core("configmaps/a")).await;
    s.post(&s.core("configmaps"), &labelled("b", "1")).await;
    before
}

async fn watch(s: &Server, query: &str) -> Answer {
    s.get(&s.core(&format!("configmaps?watch=true&timeoutSeconds=3&{query}"))).await
}

#[tokio::test]
async fn a_watch_tells_what_happened_since() {
    both("watch-history", async |s| {
        let from = history(s).await;
        let events = watch(s, &format!("resourceVersion={from}")).await;
        assert_eq!(seen(&events), ["ADDED a", "MODIFIED a", "MODIFIED a", "DELETED a", "ADDED b"]);
    })
    .await;
}

#[tokio::test]
async fn objects_enter_and_leave_a_selector() {
    both("watch-selector", async |s| {
        let from = history(s).await;
        let events = watch(s, &format!("resourceVersion={from}&labelSelector=l%3D1")).await;
        assert_eq!(seen(&events), ["ADDED a", "DELETED a", "ADDED a", "DELETED a", "ADDED b"]);
        let query = format!("resourceVersion={from}&fieldSelector=metadata.name%3Db");
        assert_eq!(seen(&watch(s, &query).await), ["ADDED b"]);
    })
    .await;
}

#[tokio::test]
async fn a_watch_without_a_version_begins_with_what_there_is() {
    both("watch-now", async |s| {
        history(s).await;
        assert_eq!(seen(&watch(s, "").await), ["ADDED b"]);
        assert_eq!(seen(&watch(s, "resourceVersion=0").await), ["ADDED b"]);
        let events = watch(s, "allowWatchBookmarks=true").await;
        assert_eq!(seen(&events), ["ADDED b", "BOOKMARK -"]);
    })
    .await;
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    both("watch-list", async |s| {
        history(s).await;
        let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let events = watch(s, &format!("{query}&allowWatchBookmarks=true")).await;
        let last = &events.body[1]["object"]["metadata"]["annotations"];
        assert_eq!(last["k8s.io/initial-events-end"], "true");
        assert_eq!(seen(&watch(s, query).await), ["ADDED b"]);
    })
    .await;
}

#[tokio::test]
async fn watch_options_are_checked() {
    both("watch-options", async |s| {
        for (query, status) in [
            ("sendInitialEvents=true", 422),
            ("resourceVersion=5&resourceVersionMatch=NotOlderThan", 422),
            ("continue=foo", 422),
            ("resourceVersion=abc", 500),
            ("labelSelector=a%20in", 400),
        ] {
            assert_eq!(watch(s, query).await.status, status, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_watch_of_the_future_waits() {
    both("watch-future", async |s| {
        // Shorter than three seconds, after which the server refuses a future resource version.
        let query = "watch=true&timeoutSeconds=1&resourceVersion=99999999999";
        let path = s.core(&format!("configmaps?{query}&allowWatchBookmarks=true"));
        let events = s.get(&path).await;
        assert_eq!(events.status, 200);
        assert!(seen(&events).is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_watch_shows_metadata_or_tables_if_asked() {
    both("watch-forms", async |s| {
        history(s).await;
        let path = s.core("configmaps?watch=true&timeoutSeconds=3");
        let partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        let events = s.get_as(&path, partial).await;
        assert_eq!(events.body[0]["object"]["kind"], "PartialObjectMetadata");
        let bookmarked = format!("{path}&allowWatchBookmarks=true");
        s.get_as(&bookmarked, partial).await;
        // Ages may differ by a second.
        s.compare(false);
        let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
        let events = s.get_as(&path, table).await;
        assert_eq!(events.body[0]["object"]["rows"][0]["cells"][0], "b");
    })
    .await;
}

#[tokio::test]
async fn a_collection_of_all_namespaces_can_be_watched() {
    both("watch-all", async |s| {
        let from = history(s).await;
        let path = format!("/api/v1/configmaps?watch=true&timeoutSeconds=3&resourceVersion={from}&fieldSelector=metadata.namespace%3Dwatch-all");
        let events = s.get(&path).await;
        assert_eq!(seen(&events).len(), 5);
        let single = s.get(&s.core("configmaps/b?watch=true")).await;
        assert_eq!(single.body["kind"], "ConfigMap");
    })
    .await;
}
