//! The scale of workloads.

use serde_json::json;

use crate::both;
use crate::workloads::{KINDS, path, workload};

#[tokio::test]
async fn a_workload_is_scaled() {
    both("workload-scale", async |s| {
        s.with_managers();
        for (kind, plural) in &KINDS[..3] {
            s.post(&path(s, plural, ""), &workload(kind, "a")).await;
            let one = path(s, plural, "/a/scale");
            let mut scale = s.get(&one).await.body;
            scale["spec"]["replicas"] = json!(3);
            assert_eq!(s.put(&one, &scale).await.body["spec"]["replicas"], 3);
            assert_eq!(s.put(&one, &scale).await.status, 409);
            assert_eq!(s.merge(&one, &json!({"spec": {"replicas": 0}})).await.status, 200);
            assert_eq!(s.merge(&one, &json!({"spec": {"replicas": -1}})).await.status, 422);
            assert_eq!(s.get(&path(s, plural, "/a")).await.body["metadata"]["generation"], 3);
            assert_eq!(s.get(&path(s, plural, "/none/scale")).await.status, 404);
            assert_eq!(s.merge(&path(s, plural, "/none/scale"), &json!({})).await.status, 404);
        }
        assert_eq!(s.get(&path(s, "daemonsets", "/a/scale")).await.status, 404);
    })
    .await;
}
