//! Which cluster this is, for marks at vendors: the UID of the namespace `kube-system`, which
//! lives as long as the cluster does.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use crate::connect::WRITE_DEADLINE;

/// How soon an API server that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(10);

/// The cluster's identity, once it was read. Clones share it. Nothing waits for it: a mark
/// without it names the object alone.
#[derive(Clone, Debug, Default)]
pub struct ClusterId(Arc<OnceLock<String>>);

impl ClusterId {
    /// The UID, if it is known.
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Reads it once. Where that is not allowed, it stays unknown.
    pub async fn read(self, client: Client) {
        let namespaces: Api<PartialObjectMeta<Namespace>> = Api::all(client);
        loop {
            match timeout(WRITE_DEADLINE, namespaces.get_metadata("kube-system")).await {
                Ok(Ok(namespace)) => {
                    // Set once: nobody else does.
                    drop(namespace.metadata.uid.map(|uid| self.0.set(uid)));
                    return;
                }
                Ok(Err(kube::Error::Api(refusal))) if (400..429).contains(&refusal.code) => {
                    let error = refusal.message;
                    tracing::warn!(error, "the cluster's UID is not known: DNS marks go without");
                    return;
                }
                Ok(Err(_)) | Err(_) => sleep(AGAIN).await,
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
