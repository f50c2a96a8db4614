//! The identity of the cluster, for marks at DNS hosts: the UID of the namespace `kube-system`,
//! which lives as long as the cluster.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use crate::connect::WRITE_DEADLINE;

/// Wait before the next attempt to read the UID.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// The identity of the cluster, once read. Clones share the value. Nothing waits for the read:
/// without an identity, a mark names the object alone.
#[derive(Clone, Debug, Default)]
pub struct ClusterId(Arc<OnceLock<String>>);

impl ClusterId {
    /// The UID, once read.
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Reads the UID. Without the right to read, the UID stays unknown.
    pub async fn read(self, client: Client) {
        let namespaces: Api<PartialObjectMeta<Namespace>> = Api::all(client);
        loop {
            match timeout(WRITE_DEADLINE, namespaces.get_metadata("kube-system")).await {
                Ok(Ok(namespace)) => {
                    // No other place sets the value, so `set` cannot fail.
                    drop(namespace.metadata.uid.map(|uid| self.0.set(uid)));
                    return;
                }
                Ok(Err(kube::Error::Api(refusal))) if (400..429).contains(&refusal.code) => {
                    let error = refusal.message;
                    tracing::warn!(
                        error,
                        "the UID of the namespace kube-system cannot be read: notes on DNS records do not name the cluster"
                    );
                    return;
                }
                Ok(Err(_)) | Err(_) => sleep(RETRY_AFTER).await,
            }
        }
    }
}

#[cfg(test)]
impl From<&str> for ClusterId {
    fn from(uid: &str) -> Self {
        let known = Self::default();
        known.0.set(uid.to_owned()).unwrap();
        known
    }
}
