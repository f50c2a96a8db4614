//! FLIPOP, as far as others can tell that it runs: it stands for its Lease as client-go does,
//! and renews it once it has it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use pontoon::leadership::PREDECESSORS_LEASE;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::cluster::NAMESPACE;

/// How often it looks at its Lease, or renews it.
const PERIOD: Duration = Duration::from_secs(2);

/// How long its Lease lasts.
const LASTS: Duration = Duration::from_secs(15);

/// FLIPOP, while it runs.
pub struct Flipop {
    leases: Api<Lease>,
    name: String,
    gives_back: bool,
    task: JoinHandle<()>,
}

impl Flipop {
    /// Starts it.
    pub fn start(user: Client, name: String, gives_back: bool) -> Self {
        let leases: Api<Lease> = Api::namespaced(user, NAMESPACE);
        let task = tokio::spawn(stand(leases.clone(), name.clone()));
        Self { leases, name, gives_back, task }
    }

    /// Ends it.
    pub async fn end(self) {
        // Who ends in the moment of its start has at least held its Lease.
        sleep(Duration::from_millis(100)).await;
        self.task.abort();
        if self.gives_back
            && let Ok(Some(lease)) = self.leases.get_opt(PREDECESSORS_LEASE).await
            && holder(&lease) == self.name
        {
            put(&self.leases, &lease, "").await;
        }
    }
}

fn holder(lease: &Lease) -> &str {
    let spec = lease.spec.as_ref();
    spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

/// Makes the Lease, or takes it from whoever does not renew it, and renews it.
async fn stand(leases: Api<Lease>, name: String) {
    let mut seen: Option<(Option<String>, Instant)> = None;
    loop {
        match leases.get_opt(PREDECESSORS_LEASE).await {
            Ok(Some(lease)) => {
                let version = lease.resource_version();
                let since = match &seen {
                    Some((known, since)) if *known == version => *since,
                    _ => Instant::now(),
                };
                seen = Some((version, since));
                let free = holder(&lease).is_empty() || since.elapsed() >= LASTS;
                if free || holder(&lease) == name {
                    put(&leases, &lease, &name).await;
                }
            }
            Ok(None) => make(&leases, &name).await,
            Err(_) => {}
        }
        sleep(PERIOD).await;
    }
}

async fn make(leases: &Api<Lease>, name: &str) {
    let object = json!({
        "metadata": {"name": PREDECESSORS_LEASE, "namespace": NAMESPACE},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": LASTS.as_secs()},
    });
    if let Ok(lease) = serde_json::from_value(object) {
        // Whoever is faster has it.
        drop(leases.create(&PostParams::default(), &lease).await);
    }
}

/// Writes to the Lease as it was read: whoever wrote in between has it.
async fn put(leases: &Api<Lease>, lease: &Lease, name: &str) {
    let mut lease = lease.clone();
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(name.to_owned());
    // What it holds is another than before: a number will do for a time.
    spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0) + 1);
    spec.lease_duration_seconds = i32::try_from(LASTS.as_secs()).ok();
    drop(leases.replace(PREDECESSORS_LEASE, &PostParams::default(), &lease).await);
}
