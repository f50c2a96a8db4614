//! A stand-in for a predecessor: a renewed Lease, and FLIPOP's leftovers.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use pontoon::fronts::flipop::FLIPOP;
use pontoon::fronts::flipop::IPV4_ANNOTATION;
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::arena::{Arena, NAMESPACE, eventually};

/// Renews its Lease until dropped. The Lease is not released, as after a crash.
pub struct Predecessor(JoinHandle<()>);

/// The Lease of ip-address-controller, and the holder of its stand-in.
pub const ALLOCATIONS_LEASE: &str = "ip-address-controller-leader";
pub const ALLOCATIONS_HOLDER: &str = "ip-address-controller-6c9f-x7";

/// The Lease of capi-vip-allocator, the holder of its stand-in, and where its manifests install it.
pub const VIPS_LEASE: &str = "capi-vip-allocator.gorizond.io";
pub const VIPS_HOLDER: &str = "capi-vip-allocator-controller-manager-5d9c-x7";
pub const VIPS_NAMESPACE: &str = "capi-system";

/// Short, so that the Lease expires soon; long enough for a slow machine to renew.
const LASTS: i32 = 6;

impl Predecessor {
    pub async fn start(arena: &Arena) -> Self {
        Self::start_in(arena, NAMESPACE, LASTS).await
    }

    /// Starts in a namespace, with a Lease of this duration in seconds.
    pub async fn start_in(arena: &Arena, namespace: &str, lasts: i32) -> Self {
        Self::start_as(arena, (FLIPOP.lease, "flipop-0"), namespace, lasts).await
    }

    /// ip-address-controller instead of FLIPOP, in a namespace.
    pub async fn ip_address_controller(arena: &Arena, namespace: &str) -> Self {
        Self::ip_address_controller_as(arena, ALLOCATIONS_LEASE, namespace).await
    }

    /// ip-address-controller with a Lease of this name.
    pub async fn ip_address_controller_as(
        arena: &Arena,
        lease: &'static str,
        namespace: &str,
    ) -> Self {
        Self::start_as(arena, (lease, ALLOCATIONS_HOLDER), namespace, LASTS).await
    }

    /// capi-vip-allocator, in its namespace.
    pub async fn capi_vip_allocator(arena: &Arena) -> Self {
        let namespace = json!({"metadata": {"name": VIPS_NAMESPACE}});
        let namespaces: Api<Namespace> = Api::all(arena.client.clone());
        let namespace = serde_json::from_value(namespace).unwrap();
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        Self::start_as(arena, (VIPS_LEASE, VIPS_HOLDER), VIPS_NAMESPACE, LASTS).await
    }

    async fn start_as(
        arena: &Arena,
        (name, holder): (&'static str, &str),
        namespace: &str,
        lasts: i32,
    ) -> Self {
        let leases: Api<Lease> = Api::namespaced(arena.client.clone(), namespace);
        let lease = json!({
            "metadata": {"name": name},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": lasts,
                     "leaseTransitions": 0, "renewTime": "2026-01-01T00:00:00.000000Z"},
        });
        let lease = serde_json::from_value(lease).unwrap();
        leases.create(&PostParams::default(), &lease).await.unwrap();
        Self(tokio::spawn(async move {
            for second in 1.. {
                tokio::time::sleep(Duration::from_millis(500)).await;
                let time = format!("2026-01-01T{:02}:{:02}:00.000000Z", second / 60, second % 60);
                let renewal = Patch::Merge(json!({"spec": {"renewTime": time}}));
                leases.patch(name, &PatchParams::default(), &renewal).await.unwrap();
            }
        }))
    }
}

impl Drop for Predecessor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Arena {
    /// Writes the status of a pool, as FLIPOP would.
    pub async fn flipop_status(&self, pool: &str, status: Value) {
        let pools = self.namespaced::<FloatingIPPool>();
        let patch = Patch::Merge(json!({"status": status}));
        pools.patch_status(pool, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Writes the mark of a node, as FLIPOP would.
    pub async fn flipop_annotation(&self, node: &str, ip: &str) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {IPV4_ANNOTATION: ip}}}));
        self.nodes().patch(node, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Waits for FLIPOP's Lease to satisfy `wanted`.
    pub async fn flipop_lease(&self, what: &str, wanted: impl Fn(&str, &Lease) -> bool) -> Lease {
        self.lease_of(NAMESPACE, FLIPOP.lease, what, wanted).await
    }

    /// Waits for the Lease of a predecessor to satisfy `wanted`.
    pub async fn lease_of(
        &self,
        namespace: &str,
        name: &str,
        what: &str,
        wanted: impl Fn(&str, &Lease) -> bool,
    ) -> Lease {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), namespace);
        eventually(what, || async {
            let lease = leases.get(name).await.unwrap();
            let spec = lease.spec.clone().unwrap_or_default();
            let holder = spec.holder_identity.unwrap_or_default();
            if wanted(&holder, &lease) { Ok(lease) } else { Err(lease) }
        })
        .await
    }
}
