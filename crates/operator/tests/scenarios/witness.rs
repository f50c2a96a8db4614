//! The operator's writes, recorded by the API server.

use crate::arena::{ApiServer, Arena, eventually};

impl Arena {
    /// Starts recording for [`writes`](Self::writes) and [`reads`](Self::reads). The real server
    /// always records.
    pub fn record(&self) {
        if let ApiServer::Fake { kube, .. } = &self.server {
            kube.recording(fakekube::Recording::All);
        }
    }

    /// The path of each write by the operator.
    pub fn writes(&self) -> Vec<String> {
        let ours = |agent: &str| agent.starts_with("pontoon/");
        let path = |uri: &str| uri.split('?').next().unwrap_or_default().to_owned();
        match &self.server {
            ApiServer::Fake { kube, .. } => {
                let all = kube.exchanges();
                let writes = all.iter().filter(|one| ours(&one.user_agent) && one.method != "GET");
                writes.map(|one| path(&one.path)).collect()
            }
            ApiServer::Real { plane, .. } => {
                let all = plane.audit_log().unwrap();
                let read = |verb: &str| ["get", "list", "watch"].contains(&verb);
                let writes = all.iter().filter(|one| ours(&one.user_agent) && !read(&one.verb));
                writes.map(|one| path(&one.request_uri)).collect()
            }
        }
    }

    /// Path and query of each list and watch of a resource by the operator.
    pub fn reads(&self, plural: &str) -> Vec<String> {
        let end = format!("/{plural}");
        let such = |agent: &str, uri: &str| {
            agent.starts_with("pontoon/")
                && uri.split('?').next().unwrap_or_default().ends_with(&end)
        };
        match &self.server {
            ApiServer::Fake { kube, .. } => {
                let all = kube.exchanges().into_iter().filter(|one| one.method == "GET");
                all.filter(|one| such(&one.user_agent, &one.path)).map(|one| one.path).collect()
            }
            ApiServer::Real { plane, .. } => {
                let all = plane.audit_log().unwrap().into_iter();
                let all = all.filter(|one| ["list", "watch"].contains(&&*one.verb));
                let all = all.filter(|one| such(&one.user_agent, &one.request_uri));
                all.map(|one| one.request_uri).collect()
            }
        }
    }

    /// Waits until a pool's `Ready` has this reason; returns its status and message.
    pub async fn says(&self, pool: &str, reason: &str) -> (String, String) {
        self.says_of("Ready", pool, reason).await
    }

    /// [`says`](Self::says) for another condition.
    pub async fn says_of(&self, type_: &str, pool: &str, reason: &str) -> (String, String) {
        eventually(&format!("{pool} says {reason}"), || async {
            let conditions = self.status(pool).await.conditions;
            let mut found = conditions.iter().filter(|one| one.type_ == type_);
            let found = found.find(|one| one.reason == reason);
            found.map(|one| (one.status.clone(), one.message.clone())).ok_or(conditions)
        })
        .await
    }

    /// Asserts that the operator wrote only statuses, events and its election's Lease, and nothing
    /// at the provider or in DNS.
    pub fn assert_only_said(&self, lease: &str) {
        let writes = self.writes();
        assert!(!writes.is_empty(), "the witness saw nothing");
        let lease = format!("/leases/{lease}");
        let other = |path: &&String| {
            let event = path.split('/').any(|segment| segment == "events");
            let said = path.ends_with("/status") || event;
            !said && !path.ends_with("/leases") && !path.ends_with(&lease)
        };
        let others: Vec<_> = writes.iter().filter(other).collect();
        assert!(others.is_empty(), "{others:#?}");
        let mutations = self.cloud.mutations();
        assert!(mutations.is_empty(), "{mutations:#?}");
    }
}
