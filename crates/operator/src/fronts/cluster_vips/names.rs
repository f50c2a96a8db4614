//! Names that users and other programs write on Clusters, VIP pools and claims.

use pontoon_core::vips::model::{Role, VipNames};

/// A name under the predecessor's prefix, which its users know.
macro_rules! vip {
    ($name:literal) => {
        concat!("vip.capi.gorizond.io/", $name)
    };
}

/// On a VIP pool, as label and annotation: the classes that the VIP pool serves. On a Cluster
/// without a topology, as annotation: the class whose VIP pools serve the Cluster.
pub const CLASSES: &str = vip!("cluster-class");

/// On a VIP pool, as label and annotation: the roles that the VIP pool serves. On a claim and on a
/// holder, as label: the role.
pub const ROLES: &str = vip!("role");

/// On a VIP pool, as annotation: VIP pools with a greater number come first.
pub const PRIORITY: &str = vip!("priority");

/// On a Cluster, as annotation: `false` for no ingress VIP.
pub const INGRESS_ENABLED: &str = vip!("ingress-enabled");

/// On a Cluster, as annotation and label: the ingress VIP.
pub const INGRESS_VIP: &str = vip!("ingress-vip");

/// On a Cluster, as annotation: the families of its VIPs, `IPv4`, `IPv6` or both with a comma. The
/// first family is the family of the endpoint.
pub const FAMILIES: &str = vip!("ip-families");

/// The condition of a Cluster that is `True` when every VIP is in place.
pub const CONDITION: &str = vip!("VIPReady");

/// The variable of a class that takes the endpoint's VIP.
pub const VARIABLE: &str = "clusterVip";

/// The variable of a class that takes the ingress VIP.
pub const INGRESS_VARIABLE: &str = "ingressVip";

/// On a claim, as label: the name of its Cluster. Cluster API's own.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// On objects of Cluster API, as annotation: the object is paused, whatever the value.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";

/// Finalizer of a Cluster, until its machines are gone.
pub const GUARD: &str = "cluster.cluster.x-k8s.io";

/// On an object, as label: `clusterctl move` takes the object along.
pub const MOVES: &str = "clusterctl.cluster.x-k8s.io/move";

/// On an object, as annotation: the object is deleted here because it lives on elsewhere.
pub const MOVED_AWAY: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";

/// Words for messages.
pub static NAMES: VipNames = VipNames {
    classes: CLASSES,
    roles: ROLES,
    variable: VARIABLE,
    ingress_variable: INGRESS_VARIABLE,
};

/// On a Cluster, as annotation: the VIP pool that the user wants for a role, by name.
pub fn wished_pool(role: Role) -> &'static str {
    match role {
        Role::ControlPlane => vip!("control-plane-pool"),
        Role::Ingress => vip!("ingress-pool"),
    }
}

/// On a Cluster, as annotation: the addresses of both families, written by us.
pub fn list(role: Role) -> &'static str {
    match role {
        Role::ControlPlane => vip!("control-plane-vips"),
        Role::Ingress => vip!("ingress-vips"),
    }
}

/// The variable of a role.
pub fn variable(role: Role) -> &'static str {
    match role {
        Role::ControlPlane => VARIABLE,
        Role::Ingress => INGRESS_VARIABLE,
    }
}
