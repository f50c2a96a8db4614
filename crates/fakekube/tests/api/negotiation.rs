//! Representations of answers.

use serde_json::json;

use crate::server::MERGE;
use crate::{both, config_map};

const PARTIAL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

#[tokio::test]
async fn metadata_alone_can_be_had() {
    both("partial", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        let one = s.get_as(&path, PARTIAL).await;
        assert_eq!(one.body["kind"], "PartialObjectMetadata");
        assert!(one.body.get("data").is_none());
        let all = s.get_as(&s.core("configmaps"), PARTIAL_LIST).await;
        assert_eq!(all.names(), ["a"]);
        let headers = [("accept", PARTIAL), ("content-type", MERGE)];
        let patch = json!({"metadata": {"labels": {"x": "y"}}}).to_string();
        let patched = s.ask("PATCH", &path, &headers, &patch).await;
        assert_eq!(patched.body["kind"], "PartialObjectMetadata");
    })
    .await;
}

#[tokio::test]
async fn a_list_is_not_an_object() {
    both("partial-misfit", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        assert_eq!(s.get_as(&s.core("configmaps/a"), PARTIAL_LIST).await.status, 406);
        assert_eq!(s.get_as(&s.core("configmaps"), PARTIAL).await.status, 406);
    })
    .await;
}

#[tokio::test]
async fn a_table_can_be_had() {
    both("tables", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        s.post(&s.core("secrets"), &json!({"metadata": {"name": "b"}})).await;
        for path in ["configmaps", "secrets", "pods", "configmaps/a"] {
            let table = s.get_as(&s.core(path), TABLE).await;
            assert_eq!(table.body["kind"], "Table", "{path}");
        }
        let query = "configmaps?includeObject=None&limit=1";
        let table = s.get_as(&s.core(query), TABLE).await;
        assert!(table.body["rows"][0]["object"].is_null());
    })
    .await;
}

#[tokio::test]
async fn forms_that_cannot_be_had_are_passed_over() {
    both("fallbacks", async |s| {
        s.post(&s.core("configmaps"), &config_map("a")).await;
        let path = s.core("configmaps/a");
        for accept in
            ["application/json;as=Odd;g=meta.k8s.io;v=v1,application/json", "*/*", "text/plain,*/*"]
        {
            assert_eq!(s.get_as(&path, accept).await.body["kind"], "ConfigMap");
        }
        assert_eq!(s.get_as(&path, "text/plain").await.status, 406);
        let headers = [("content-type", "text/plain")];
        assert_eq!(s.ask("POST", &s.core("configmaps"), &headers, "{}").await.status, 415);
    })
    .await;
}
