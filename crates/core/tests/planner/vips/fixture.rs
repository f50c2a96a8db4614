//! Clusters, classes and VIP pools for tests, made by chaining: `pool("a").of(3).for_class("c")`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pontoon_core::action::VipAction;
use pontoon_core::model::{Family, Kind, ObjectKey, Scope, Subject};
use pontoon_core::vips::model::{
    ClassRef, Cluster, ClusterClass, Entries, Ingress, Job, ObjectName, PoolId, Role, VipNames,
    VipPool,
};

pub use super::super::fixture::{at, ip, ip6, seconds};

/// The kind of Clusters.
pub static CLUSTER: Kind = Kind {
    group: "test",
    version: "v1",
    name: "Cluster",
    plural: "",
    aliases: &[],
    scope: Scope::Namespaced,
    asks_for: &[Subject::Vips],
};

/// Words for messages about Clusters.
static NAMES: VipNames = VipNames {
    classes: "example.com/class",
    roles: "example.com/role",
    variable: "clusterVip",
    ingress_variable: "ingressVip",
};

pub const NAMESPACE: &str = "default";
pub const INGRESS: Job = Job::first(Role::Ingress);

pub fn key(name: &str) -> ObjectKey {
    ObjectKey { kind: &CLUSTER, namespace: NAMESPACE.into(), name: name.into() }
}

pub fn named(name: &str) -> ObjectName {
    ObjectName::new(NAMESPACE, name)
}

pub fn class_ref(name: &str) -> ClassRef {
    ClassRef { namespace: NAMESPACE.into(), name: name.into() }
}

/// A Cluster of the class `c` without ingress.
pub fn cluster(name: &str) -> Cluster {
    Cluster {
        key: key(name),
        names: &NAMES,
        uid: format!("uid-{name}").as_str().into(),
        version: 0,
        class: Some(class_ref("c")),
        topology: true,
        pools: BTreeMap::new(),
        family: None,
        second: None,
        paused: false,
        deleting: false,
        guarded: true,
        moved_away: false,
        host: None,
        port: None,
        variable: None,
        ingress: Ingress::default(),
        listed: BTreeMap::new(),
    }
}

pub trait ClusterFixture {
    fn with_ingress(self) -> Self;
    fn with_host(self, host: &str) -> Self;
    fn with_uid(self, uid: &str) -> Self;
    fn naming(self, role: Role, pool: &str) -> Self;
    fn without_topology(self) -> Self;
}

impl ClusterFixture for Cluster {
    fn with_ingress(mut self) -> Self {
        self.ingress.enabled = true;
        self
    }

    fn with_host(self, host: &str) -> Self {
        Self { host: Some(host.into()), port: Some(6443), ..self }
    }

    fn with_uid(self, uid: &str) -> Self {
        Self { uid: uid.into(), ..self }
    }

    fn naming(mut self, role: Role, pool: &str) -> Self {
        self.pools.insert(role, pool.into());
        self
    }

    fn without_topology(self) -> Self {
        Self { topology: false, class: None, ..self }
    }
}

/// A class that defines the variables of both roles.
pub fn class(name: &str) -> ClusterClass {
    ClusterClass { name: class_ref(name), defines: Role::ALL.to_vec() }
}

/// A VIP pool with its addresses.
#[derive(Clone, Debug)]
pub struct PoolOf {
    pub pool: VipPool,
    pub addresses: Vec<IpAddr>,
}

/// A VIP pool for all Clusters of the class `c`, for control planes, without addresses.
pub fn pool(name: &str) -> PoolOf {
    let pool = VipPool {
        id: PoolId::global(name),
        version: 0,
        classes: Entries::parse(Some("c"), None),
        roles: [Role::ControlPlane].into(),
        family: Some(Family::V4),
        room: None,
        paused: false,
        deleting: false,
        priority: 0,
    };
    PoolOf { pool, addresses: vec![] }
}

impl PoolOf {
    pub fn of(mut self, addresses: impl IntoIterator<Item = u8>) -> Self {
        self.addresses = addresses.into_iter().map(ip).collect();
        self
    }

    pub fn of_v6(mut self, addresses: impl IntoIterator<Item = u16>) -> Self {
        self.addresses = addresses.into_iter().map(ip6).collect();
        self.pool.family = Some(Family::V6);
        self
    }

    pub fn for_classes(self, label: &str, annotation: Option<&str>) -> Self {
        self.but(|pool| pool.classes = Entries::parse(Some(label), annotation))
    }

    pub fn for_roles(self, roles: &[Role]) -> Self {
        self.but(|pool| pool.roles = roles.iter().copied().collect())
    }

    pub fn local(self) -> Self {
        self.but(|pool| pool.id = PoolId::local(NAMESPACE, pool.id.name.clone()))
    }

    pub fn but(mut self, change: impl FnOnce(&mut VipPool)) -> Self {
        change(&mut self.pool);
        self
    }
}

/// The words of actions, without their parameters.
pub fn words(actions: &[VipAction]) -> Vec<&'static str> {
    let word = |action: &VipAction| match action {
        VipAction::CreateClaim { .. } => "CreateClaim",
        VipAction::AdoptClaim { .. } => "AdoptClaim",
        VipAction::DeleteClaim { .. } => "DeleteClaim",
        VipAction::SetEndpoint(_) => "SetEndpoint",
        VipAction::RepairEndpoint(_) => "RepairEndpoint",
        VipAction::SetIngress(_) => "SetIngress",
        VipAction::ListAddresses { .. } => "ListAddresses",
        VipAction::KeepHolder { .. } => "KeepHolder",
        VipAction::DropHolder { .. } => "DropHolder",
    };
    actions.iter().map(word).collect()
}
