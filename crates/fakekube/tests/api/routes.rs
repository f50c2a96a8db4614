//! Paths and methods.

use serde_json::json;

use crate::{both, config_map};

#[tokio::test]
async fn unknown_paths_are_not_found() {
    both("unknown-paths", async |s| {
        for path in [
            "/nope",
            "/api/v1/nope",
            "/api/v2",
            "/apis/nope.example/v1/foos",
            "/apis/nope.example",
            "/apis/coordination.k8s.io/v1/nope",
            "/apis/coordination.k8s.io/v7/leases",
            "/api/v1/configmaps/a",
            "/api/v1/namespaces/default/nodes",
            "/api/v1/namespaces/default/configmaps/a/status",
            "/api/v1/namespaces/default/configmaps/a/b/c",
        ] {
            assert_eq!(s.get(path).await.status, 404, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn methods_that_make_no_sense_are_refused() {
    both("methods", async |s| {
        let (all, one) = (s.core("configmaps"), s.core("configmaps/a"));
        assert_eq!(s.put(&all, &config_map("a")).await.status, 405);
        assert_eq!(s.merge(&all, &json!({})).await.status, 405);
        assert_eq!(s.post(&one, &config_map("a")).await.status, 405);
        assert_eq!(s.post("/api/v1/configmaps", &config_map("a")).await.status, 405);
        assert_eq!(s.delete("/api/v1/configmaps").await.status, 405);
        assert_eq!(s.put("/api/v1/pods", &json!({})).await.status, 405);
    })
    .await;
}

#[tokio::test]
async fn what_does_not_exist_is_named() {
    both("names", async |s| {
        for path in [
            s.core("configmaps/none"),
            s.group("coordination.k8s.io/v1", "leases/none"),
            "/api/v1/nodes/no-such-node".to_owned(),
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/none".to_owned(),
        ] {
            assert_eq!(s.get(&path).await.status, 404);
            assert_eq!(s.delete(&path).await.status, 404);
        }
    })
    .await;
}

#[tokio::test]
async fn the_server_says_that_it_is_well() {
    both("health", async |s| {
        for path in ["/healthz", "/livez", "/readyz"] {
            assert_eq!(s.get(path).await.status, 200);
        }
        s.compare(false);
        let version = s.get("/version").await;
        assert_eq!(version.body["gitVersion"], "v1.36.4");
    })
    .await;
}
