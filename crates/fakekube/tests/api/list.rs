//! GET of collections.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::server::{Answer, Server};
use crate::{both, config_map};

async fn five(s: &Server) -> String {
    for name in ["a", "b", "c", "d", "e"] {
        s.post(&s.core("configmaps"), &config_map(name)).await;
    }
    s.core("configmaps")
}

fn after(answer: &Answer) -> String {
    let token = answer.body["metadata"]["continue"].as_str().unwrap();
    utf8_percent_encode(token, NON_ALPHANUMERIC).to_string()
}

#[tokio::test]
async fn pages_show_one_moment() {
    both("pages", async |s| {
        let path = five(s).await;
        let first = s.get(&format!("{path}?limit=2")).await;
        assert_eq!(first.names(), ["a", "b"]);
        assert_eq!(first.body["metadata"]["remainingItemCount"], 3);
        s.delete(&s.core("configmaps/c")).await;
        s.post(&path, &config_map("bb")).await;
        s.compare(false);
        let second = s.get(&format!("{path}?limit=2&continue={}", after(&first))).await;
        let third = s.get(&format!("{path}?limit=2&continue={}", after(&second))).await;
        assert_eq!(
            (second.names(), third.names()),
            (vec!["c".into(), "d".into()], vec!["e".into()])
        );
        assert_eq!(first.version(), third.version());
        assert_eq!(second.body["metadata"]["remainingItemCount"], 1);
        assert!(third.body["metadata"].get("continue").is_none());
    })
    .await;
}

#[tokio::test]
async fn pages_with_a_selector_do_not_count_the_rest() {
    both("pages-selected", async |s| {
        let path = five(s).await;
        let first = s.get(&format!("{path}?limit=2&labelSelector=x!%3Dy")).await;
        assert!(first.body["metadata"].get("remainingItemCount").is_none());
        assert_eq!(s.get(&format!("{path}?limit=5")).await.names().len(), 5);
    })
    .await;
}

#[tokio::test]
async fn a_list_from_the_cache_comes_whole() {
    both("cached", async |s| {
        let path = five(s).await;
        let version = s.get(&path).await.version();
        for query in ["limit=2&resourceVersion=0", &format!("resourceVersion={version}")] {
            assert_eq!(s.get(&format!("{path}?{query}")).await.names().len(), 5);
        }
    })
    .await;
}

#[tokio::test]
async fn an_exact_version_is_a_moment_of_the_past() {
    both("exact", async |s| {
        let path = five(s).await;
        let version = s.get(&path).await.version();
        s.delete(&s.core("configmaps/a")).await;
        let query = format!("resourceVersionMatch=Exact&resourceVersion={version}");
        assert_eq!(s.get(&format!("{path}?{query}")).await.names().len(), 5);
        assert_eq!(s.get(&path).await.names().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn list_options_are_checked() {
    both("list-options", async |s| {
        let path = s.core("configmaps");
        for (query, status) in [
            ("resourceVersionMatch=Exact", 422),
            ("resourceVersionMatch=Odd&resourceVersion=1", 422),
            ("resourceVersionMatch=Exact&resourceVersion=0", 422),
            ("resourceVersion=abc", 400),
            ("limit=abc", 400),
            ("continue=abc", 400),
            ("sendInitialEvents=true", 422),
        ] {
            assert_eq!(s.get(&format!("{path}?{query}")).await.status, status, "{query}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_version_of_the_future_times_out() {
    both("future", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        for path in ["configmaps", "configmaps/a"] {
            let path = s.core(&format!("{path}?resourceVersion=99999999999"));
            assert_eq!(s.get(&path).await.status, 504);
        }
    })
    .await;
}

#[tokio::test]
async fn a_missing_namespace_is_an_empty_list() {
    both("nowhere", async |s| {
        let list = s.get("/api/v1/namespaces/no-such-namespace/configmaps").await;
        assert!(list.names().is_empty());
        let answer = s.get("/api/v1/namespaces/no-such-namespace/configmaps/a").await;
        assert_eq!(answer.status, 404);
    })
    .await;
}
