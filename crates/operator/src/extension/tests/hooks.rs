use serde_json::{Value, json};

use super::{API, Stage};

#[tokio::test]
async fn discovery_lists_exactly_the_predecessors_handlers_and_the_gate() {
    let stage = Stage::open().await;
    let request = json!({"apiVersion": API, "kind": "DiscoveryRequest"}).to_string();
    let path = format!("/{API}/discovery?timeout=10s");
    let (status, answer) = stage.send("POST", &path, request.as_bytes()).await;
    assert_eq!((status, answer["status"].as_str()), (200, Some("Success")), "{answer}");
    let field = |handler: &Value, field: &str| handler[field].as_str().unwrap().to_owned();
    let handlers: Vec<_> = answer["handlers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            assert_eq!(one["requestHook"]["apiVersion"], API);
            let hook = field(&one["requestHook"], "hook");
            let timeout = one["timeoutSeconds"].as_u64().unwrap();
            (field(one, "name"), hook, timeout, field(one, "failurePolicy"))
        })
        .collect();
    let expected = [
        ("vip-allocator-generate-patches", "GeneratePatches", 30, "Fail"),
        ("vip-allocator-before-cluster-create", "BeforeClusterCreate", 10, "Fail"),
        ("vip-allocator-before-delete", "BeforeClusterDelete", 10, "Ignore"),
        ("vip-allocator-after-upgrade", "AfterClusterUpgrade", 10, "Ignore"),
    ];
    let expected = expected.map(|(name, hook, timeout, policy)| {
        (name.to_owned(), hook.to_owned(), timeout, policy.to_owned())
    });
    assert_eq!(handlers, expected);
}

#[tokio::test]
async fn every_handler_that_discovery_lists_can_be_called() {
    let stage = Stage::open().await;
    let request = json!({"apiVersion": API, "kind": "DiscoveryRequest"}).to_string();
    let (_, answer) = stage.send("POST", &format!("/{API}/discovery"), request.as_bytes()).await;
    for handler in answer["handlers"].as_array().unwrap() {
        let (name, hook) = (&handler["name"], &handler["requestHook"]["hook"]);
        let request = json!({"cluster": {"metadata": {"name": "a"}}, "items": []});
        let answer = stage.call(hook.as_str().unwrap(), name.as_str().unwrap(), request).await;
        assert_eq!(answer["status"], "Success", "{answer}");
    }
}

#[tokio::test]
async fn the_root_says_that_the_server_runs() {
    let (status, answer) = Stage::open().await.send("GET", "/", b"").await;
    assert_eq!((status, answer["status"].as_str()), (200, Some("ok")));
    assert_eq!(answer["service"], "capi-vip-allocator-runtime-extension");
}

#[tokio::test]
async fn a_path_without_a_handler_is_not_found_and_a_wrong_method_is_told() {
    let stage = Stage::open().await;
    let hook = format!("/{API}/beforeclustercreate");
    for path in [
        "/x".to_owned(),
        format!("/{API}"),
        hook.clone(),
        format!("{hook}/other-before-cluster-create"),
        format!("{hook}/vip-allocator-before-delete"),
        format!("{hook}/vip-allocator-before-cluster-create/x"),
        "/hooks.runtime.cluster.x-k8s.io/v1beta1/discovery".to_owned(),
    ] {
        let (status, answer) = stage.send("POST", &path, b"{}").await;
        assert_eq!((status, answer["status"].as_str()), (404, Some("Failure")), "{path}");
    }
    for (method, path) in [("GET", format!("/{API}/discovery")), ("POST", "/".to_owned())] {
        let (status, answer) = stage.send(method, &path, b"").await;
        assert_eq!((status, answer["status"].as_str()), (405, Some("Failure")), "{path}");
    }
}
