//! A predecessor, FLIPOP or ip-address-controller, as visible from outside: a candidate for its Lease in the manner of client-go, renewing
//! the Lease once held.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use pontoon::fronts;
use pontoon::fronts::cluster_vips::CLUSTER;
use pontoon::fronts::net_ip_allocation::NET_IP_ALLOCATION;
use pontoon::leadership::Predecessor;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::cluster::NAMESPACE;

/// The interval of reading or renewing the Lease.
const PERIOD: Duration = Duration::from_secs(2);

/// The duration of the Lease.
const LASTS: Duration = Duration::from_secs(15);

/// The predecessor of allocations.
pub fn of_allocations() -> Option<&'static Predecessor> {
    fronts::front(&NET_IP_ALLOCATION).map(|front| front.predecessor())
}

/// The predecessor of VIPs.
pub fn of_vips() -> Option<&'static Predecessor> {
    fronts::front(&CLUSTER).map(|front| front.predecessor())
}

/// A running predecessor.
pub struct Flipop {
    leases: Api<Lease>,
    lease: &'static str,
    name: String,
    gives_back: bool,
    task: JoinHandle<()>,
}

impl Flipop {
    /// Starts the predecessor with this Lease.
    pub fn start(user: Client, lease: &'static str, name: String, gives_back: bool) -> Self {
        let leases: Api<Lease> = Api::namespaced(user, NAMESPACE);
        let task = tokio::spawn(stand(leases.clone(), lease, name.clone()));
        Self { leases, lease, name, gives_back, task }
    }

    /// Stops the predecessor.
    pub async fn end(self) {
        // Even a predecessor stopped right after its start has held the Lease.
        sleep(Duration::from_millis(100)).await;
        self.task.abort();
        if self.gives_back
            && let Ok(Some(lease)) = self.leases.get_opt(self.lease).await
            && holder(&lease) == self.name
        {
            put(&self.leases, self.lease, &lease, "").await;
        }
    }
}

fn holder(lease: &Lease) -> &str {
    let spec = lease.spec.as_ref();
    spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

/// Creates the Lease, or takes an unrenewed Lease, then renews.
async fn stand(leases: Api<Lease>, at: &'static str, name: String) {
    let mut seen: Option<(Option<String>, Instant)> = None;
    loop {
        match leases.get_opt(at).await {
            Ok(Some(lease)) => {
                let version = lease.resource_version();
                let since = match &seen {
                    Some((known, since)) if *known == version => *since,
                    _ => Instant::now(),
                };
                seen = Some((version, since));
                let free = holder(&lease).is_empty() || since.elapsed() >= LASTS;
                if free || holder(&lease) == name {
                    put(&leases, at, &lease, &name).await;
                }
            }
            Ok(None) => make(&leases, at, &name).await,
            Err(_) => {}
        }
        sleep(PERIOD).await;
    }
}

async fn make(leases: &Api<Lease>, at: &str, name: &str) {
    let object = json!({
        "metadata": {"name": at, "namespace": NAMESPACE},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": LASTS.as_secs()},
    });
    if let Ok(lease) = serde_json::from_value(object) {
        // Another candidate may have created the Lease first.
        drop(leases.create(&PostParams::default(), &lease).await);
    }
}

/// Replaces the Lease at the version read. A conflict leaves the Lease to the other writer.
async fn put(leases: &Api<Lease>, at: &str, lease: &Lease, name: &str) {
    let mut lease = lease.clone();
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(name.to_owned());
    // The content must change with each renewal. A counter serves in place of a time.
    spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0) + 1);
    spec.lease_duration_seconds = i32::try_from(LASTS.as_secs()).ok();
    drop(leases.replace(at, &PostParams::default(), &lease).await);
}
