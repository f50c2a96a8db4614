//! Deleting owners. Without controllers, what they own stays, and a finalizer waits for a controller.

use serde_json::json;

use crate::server::Server;
use crate::workloads::workload;
use crate::{both, config_map, with_meta};

fn path(s: &Server, rest: &str) -> String {
    s.group("apps/v1", rest)
}

/// Creates a Deployment, its ReplicaSet and a pod of that.
async fn owned(s: &Server) {
    let owner = |kind: &str, uid: String| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "a", "uid": uid, "controller": true, "blockOwnerDeletion": true}]);
    let deployment = s.post(&path(s, "deployments"), &workload("Deployment", "a")).await;
    let set = with_meta(
        workload("ReplicaSet", "a"),
        "ownerReferences",
        owner("Deployment", deployment.uid()),
    );
    let set = s.post(&path(s, "replicasets"), &set).await;
    assert_eq!(set.status, 201, "{}", set.body);
    let pod = json!({
        "metadata": {"name": "a", "labels": {"app": "web"}, "ownerReferences": owner("ReplicaSet", set.uid())},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i:1"}]},
    });
    assert_eq!(s.post(&s.core("pods"), &pod).await.status, 201);
}

#[tokio::test]
async fn what_a_deleted_owner_owned_stays() {
    both("owner-default", async |s| {
        owned(s).await;
        assert_eq!(s.delete(&path(s, "deployments/a")).await.body["status"], "Success");
        assert_eq!(s.get(&path(s, "deployments/a")).await.status, 404);
        assert_eq!(s.get(&path(s, "replicasets/a")).await.status, 200);
        let background = json!({"propagationPolicy": "Background"});
        assert_eq!(
            s.delete_with(&path(s, "replicasets/a"), &background).await.body["status"],
            "Success"
        );
        assert_eq!(s.get(&s.core("pods/a")).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn an_owner_waits_for_the_controller_of_its_dependents() {
    both("owner-finalizers", async |s| {
        owned(s).await;
        for (policy, finalizer, one) in [
            ("Foreground", "foregroundDeletion", path(s, "deployments/a")),
            ("Orphan", "orphan", path(s, "replicasets/a")),
            ("Foreground", "foregroundDeletion", s.core("pods/a")),
        ] {
            let options = json!({"propagationPolicy": policy});
            let dry = json!({"propagationPolicy": policy, "dryRun": ["All"]});
            assert_eq!(s.delete_with(&one, &dry).await.status, 200);
            assert_eq!(s.get(&one).await.body["metadata"].get("finalizers"), None);
            let going = s.delete_with(&one, &options).await;
            assert_eq!(going.body["metadata"]["finalizers"], json!([finalizer]));
            assert_eq!(s.delete_with(&one, &options).await.status, 200);
            assert_eq!(s.delete(&one).await.status, 200);
            assert_eq!(s.get(&one).await.status, 200);
        }
        let released = json!({"metadata": {"finalizers": null}});
        for one in ["deployments/a", "replicasets/a"] {
            assert_eq!(s.merge(&path(s, one), &released).await.status, 200);
            assert_eq!(s.get(&path(s, one)).await.status, 404);
        }
    })
    .await;
}

#[tokio::test]
async fn a_policy_replaces_the_finalizer_of_another() {
    both("owner-policies", async |s| {
        let held = with_meta(config_map("a"), "finalizers", json!(["x.y/z", "orphan"]));
        s.post(&s.core("configmaps"), &held).await;
        let one = s.core("configmaps/a");
        for (policy, names) in [
            ("Foreground", json!(["x.y/z", "foregroundDeletion"])),
            ("Orphan", json!(["x.y/z", "orphan"])),
            ("Background", json!(["x.y/z"])),
        ] {
            let going = s.delete_with(&one, &json!({"propagationPolicy": policy})).await;
            assert_eq!(going.body["metadata"]["finalizers"], names);
        }
        let orphan = with_meta(config_map("b"), "finalizers", json!(["orphan"]));
        s.post(&s.core("configmaps"), &orphan).await;
        let gone = s
            .delete_with(&s.core("configmaps/b"), &json!({"propagationPolicy": "Background"}))
            .await;
        assert_eq!(gone.body["status"], "Success");
        s.post(&s.core("configmaps"), &config_map("c")).await;
        let kept = s.delete_with(&s.core("configmaps/c"), &json!({"orphanDependents": true})).await;
        assert_eq!(kept.body["metadata"]["finalizers"], json!(["orphan"]));
        s.post(&s.core("configmaps"), &config_map("d")).await;
        let twice = json!({"orphanDependents": true, "propagationPolicy": "Orphan"});
        assert_eq!(s.delete_with(&s.core("configmaps/d"), &twice).await.status, 422);
        let query = s.delete(&s.core("configmaps/d?propagationPolicy=Foreground")).await;
        assert_eq!(query.body["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    })
    .await;
}
