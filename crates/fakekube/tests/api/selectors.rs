//! Label and field selectors.

use serde_json::json;

use crate::{both, config_map, with_meta};

#[tokio::test]
async fn labels_select() {
    both("labels", async |s| {
        for (name, labels) in [
            ("a", json!({"app": "x", "n": "7"})),
            ("b", json!({"app": "y", "a.b/c": ""})),
            ("c", json!({})),
        ] {
            s.post(&s.core("configmaps"), &with_meta(config_map(name), "labels", labels)).await;
        }
        for (selector, names) in [
            ("app", vec!["a", "b"]),
            ("!app", vec!["c"]),
            ("app%3Dx", vec!["a"]),
            ("app%3D%3Dx", vec!["a"]),
            ("app!%3Dx", vec!["b", "c"]),
            ("app%20in%20(x,y)", vec!["a", "b"]),
            ("app%20notin%20(x)", vec!["b", "c"]),
            ("app%3Dx,n%3D7", vec!["a"]),
            ("app%3D", vec![]),
            ("n%3E6", vec!["a"]),
            ("n%3C7", vec![]),
            ("a.b%2Fc%3D", vec!["b"]),
            ("", vec!["a", "b", "c"]),
        ] {
            let found = s.get(&s.core(&format!("configmaps?labelSelector={selector}"))).await;
            assert_eq!(found.names(), names, "{selector}");
        }
    })
    .await;
}

#[tokio::test]
async fn bad_label_selectors_are_refused() {
    both("bad-labels", async |s| {
        for selector in
            ["a%20in", "app%20gt%205", "-bad-%3D3", "a%20in%20(x", "a%3Db%20c", ",", "a,", "%3Dx"]
        {
            let found = s.get(&s.core(&format!("configmaps?labelSelector={selector}"))).await;
            assert_eq!(found.status, 400, "{selector}");
        }
    })
    .await;
}

#[tokio::test]
async fn fields_select_names() {
    both("fields", async |s| {
        for name in ["a", "b"] {
            s.post(&s.core("configmaps"), &config_map(name)).await;
        }
        for (selector, names) in [
            ("metadata.name%3Da", vec!["a"]),
            ("metadata.name!%3Da", vec!["b"]),
            ("metadata.namespace%3Dfields,metadata.name%3Db", vec!["b"]),
        ] {
            let found = s.get(&s.core(&format!("configmaps?fieldSelector={selector}"))).await;
            assert_eq!(found.names(), names, "{selector}");
        }
    })
    .await;
}

#[tokio::test]
async fn unknown_fields_do_not_select() {
    both("bad-fields", async |s| {
        for path in [
            s.core("configmaps?fieldSelector=data.k%3Dv"),
            s.core("pods?fieldSelector=odd%3Dv"),
            s.core("pods?fieldSelector=status.phase"),
            "/api/v1/nodes?fieldSelector=odd%3Dv".to_owned(),
            s.core("secrets?fieldSelector=odd%3Dv"),
        ] {
            assert_eq!(s.get(&path).await.status, 400, "{path}");
        }
        assert_eq!(
            s.get("/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue,metadata.name%3Dnone")
                .await
                .status,
            200
        );
    })
    .await;
}
