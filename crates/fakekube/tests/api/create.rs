//! POST.

use serde_json::json;

use crate::{both, config_map, with_meta};

#[tokio::test]
async fn an_object_is_created_once() {
    both("created-once", async |s| {
        let maps = s.core("configmaps");
        assert_eq!(s.post(&maps, &config_map("a")).await.status, 201);
        assert_eq!(s.post(&maps, &config_map("a")).await.status, 409);
        assert_eq!(s.get(&s.core("configmaps/a")).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_name_must_be_one() {
    both("bad-names", async |s| {
        let maps = s.core("configmaps");
        for name in ["A_b", "", "-a", "a..b"] {
            assert_eq!(s.post(&maps, &config_map(name)).await.status, 422);
        }
    })
    .await;
}

#[tokio::test]
async fn a_name_is_generated() {
    both("generated", async |s| {
        let object = json!({"metadata": {"generateName": "gen-"}});
        let created = s.post(&s.core("configmaps"), &object).await;
        assert_eq!(created.body["metadata"]["name"].as_str().unwrap().len(), 9);
    })
    .await;
}

#[tokio::test]
async fn the_kind_must_fit_the_path() {
    both("wrong-kind", async |s| {
        let maps = s.core("configmaps");
        for (version, kind) in [("v1", "Secret"), ("v2", "ConfigMap"), ("v1", "Nonsense")] {
            let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "b"}});
            assert_eq!(s.post(&maps, &object).await.status, 400);
        }
        assert_eq!(s.post(&maps, &json!({"metadata": {"name": "kindless"}})).await.status, 201);
    })
    .await;
}

#[tokio::test]
async fn a_body_must_be_json() {
    both("bad-json", async |s| {
        let maps = s.core("configmaps");
        for body in ["{nojson", "", "{\"a\": }", "{\"a\" 1}", "{\"a\": 1", "[]"] {
            let headers = [("content-type", "application/json")];
            assert_eq!(s.ask("POST", &maps, &headers, body).await.status, 400, "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_namespace_must_fit_the_path() {
    both("wrong-namespace", async |s| {
        let object = with_meta(config_map("b"), "namespace", "other");
        assert_eq!(s.post(&s.core("configmaps"), &object).await.status, 400);
        let path = "/api/v1/namespaces/no-such-namespace/configmaps";
        assert_eq!(s.post(path, &config_map("b")).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn what_only_the_server_sets_is_set_by_it() {
    both("server-sets", async |s| {
        let maps = s.core("configmaps");
        let object = with_meta(config_map("a"), "resourceVersion", "5");
        assert_eq!(s.post(&maps, &object).await.status, 500);
        let mut object = config_map("a");
        for (field, value) in [
            ("uid", "x"),
            ("creationTimestamp", "2020-01-01T00:00:00Z"),
            ("deletionTimestamp", "2020-01-01T00:00:00Z"),
            ("selfLink", "/a"),
        ] {
            object = with_meta(object, field, value);
        }
        let created = s.post(&maps, &with_meta(object, "generation", 7)).await;
        assert_eq!(created.body["metadata"]["generation"], 7);
        assert_eq!(created.uid().len(), 36);
    })
    .await;
}

#[tokio::test]
async fn unknown_fields_are_warned_of_or_refused() {
    both("unknown-fields", async |s| {
        let mut object = with_meta(config_map("a"), "odd", 1);
        object["bar"] = json!(2);
        for (validation, code) in [("Strict", 400), ("Nonsense", 422), ("Ignore", 201)] {
            let path = s.core(&format!("configmaps?fieldValidation={validation}"));
            assert_eq!(s.post(&path, &object).await.status, code);
        }
        for (name, query) in [("b", ""), ("c", "?fieldValidation=Warn")] {
            let path = s.core(&format!("configmaps{query}"));
            assert_eq!(s.post(&path, &with_meta(object.clone(), "name", name)).await.status, 201);
        }
    })
    .await;
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    both("dry-create", async |s| {
        let dry = s.core("configmaps?dryRun=All");
        assert_eq!(s.post(&dry, &config_map("a")).await.status, 201);
        assert_eq!(s.post(&dry, &json!({"metadata": {"generateName": "x-"}})).await.status, 201);
        assert_eq!(s.get(&s.core("configmaps/a")).await.status, 404);
        assert_eq!(s.post(&s.core("configmaps?dryRun=Odd"), &config_map("a")).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn labels_annotations_and_finalizers_have_a_syntax() {
    both("bad-meta", async |s| {
        let maps = s.core("configmaps");
        let labels = with_meta(config_map("a"), "labels", json!({"a b": "-x"}));
        assert_eq!(s.post(&maps, &labels).await.status, 422);
        let annotations = with_meta(config_map("a"), "annotations", json!({"a b": "c"}));
        assert_eq!(s.post(&maps, &annotations).await.status, 422);
        let finalizers = with_meta(config_map("a"), "finalizers", json!(["abc"]));
        assert_eq!(s.post(&maps, &finalizers).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn a_secret_gets_its_data_and_type() {
    both("secrets", async |s| {
        let secrets = s.core("secrets");
        let secret =
            json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}});
        let created = s.post(&secrets, &secret).await;
        assert_eq!(created.body["data"]["a"], "Yg==");
        let path = s.core("secrets/s");
        assert_eq!(s.merge(&path, &json!({"immutable": true})).await.status, 200);
        assert_eq!(s.merge(&path, &json!({"data": {"z": "ZA=="}})).await.status, 422);
        assert_eq!(s.merge(&path, &json!({"type": "odd"})).await.status, 422);
    })
    .await;
}

#[tokio::test]
async fn a_service_account_is_as_it_was_sent() {
    both("accounts", async |s| {
        let account = json!({"metadata": {"name": "a"}, "automountServiceAccountToken": false});
        assert_eq!(s.post(&s.core("serviceaccounts"), &account).await.status, 201);
        assert_eq!(s.delete(&s.core("serviceaccounts/a")).await.body["kind"], "ServiceAccount");
    })
    .await;
}
