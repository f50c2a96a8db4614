//! Leases, as used for leader election.

use serde_json::{Value, json};

use crate::{both, with_meta};

const GROUP: &str = "coordination.k8s.io/v1";

fn lease(holder: &str) -> Value {
    let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "2020-01-01T00:00:00.123456Z", "renewTime": "2020-01-01T00:00:00.123456Z"});
    json!({"apiVersion": GROUP, "kind": "Lease", "metadata": {"name": "l"}, "spec": spec})
}

#[tokio::test]
async fn a_put_creates_a_lease() {
    both("lease-put", async |s| {
        let path = s.group(GROUP, "leases/l");
        assert_eq!(s.put(&path, &with_meta(lease("a"), "uid", "9")).await.status, 409);
        let versioned = with_meta(lease("a"), "resourceVersion", "9");
        assert_eq!(s.put(&path, &versioned).await.status, 201);
    })
    .await;
}

#[tokio::test]
async fn a_lease_is_only_updated_by_version() {
    both("lease-version", async |s| {
        let created = s.post(&s.group(GROUP, "leases"), &lease("a")).await;
        let path = s.group(GROUP, "leases/l");
        assert_eq!(s.put(&path, &lease("b")).await.status, 422);
        let taken = with_meta(lease("b"), "resourceVersion", created.version());
        assert_eq!(s.put(&path, &taken).await.status, 200);
        assert_eq!(s.put(&path, &taken).await.status, 409);
    })
    .await;
}

#[tokio::test]
async fn a_lease_is_given_up_by_patch() {
    both("lease-release", async |s| {
        let created = s.post(&s.group(GROUP, "leases"), &lease("a")).await;
        let release = json!({"metadata": {"resourceVersion": created.version()},
            "spec": {"holderIdentity": null, "leaseDurationSeconds": 1, "renewTime": null}});
        let path = s.group(GROUP, "leases/l");
        assert_eq!(s.merge(&path, &release).await.status, 200);
        assert_eq!(s.merge(&path, &release).await.status, 409);
        let zero = json!({"spec": {"leaseDurationSeconds": 0}});
        assert_eq!(s.merge(&path, &zero).await.status, 422);
    })
    .await;
}
