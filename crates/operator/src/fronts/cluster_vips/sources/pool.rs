//! VIP pools of the in-cluster IPAM provider: for all Clusters, and in namespaces.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pontoon_core::model::{Family, Kind, Scope};
use pontoon_core::vips::VipSource;
use pontoon_core::vips::model::{Entries, PoolId, Room, VipPool};
use pontoon_core::world::{Source, World};
use serde::Deserialize;

use super::super::decode::{annotation, label};
use super::super::names;
use super::IPAM;
use crate::fronts::dependency::{Facts, View};
use crate::observe::schema::{Generation, Schemas};
use crate::observe::version;
use crate::run::VipOptions;

/// VIP pools for all Clusters.
pub static GLOBAL_POOL: Kind = Kind {
    group: IPAM,
    version: "v1alpha2",
    name: "GlobalInClusterIPPool",
    plural: "globalinclusterippools",
    aliases: &[],
    scope: Scope::Cluster,
    asks_for: &[],
};

/// VIP pools in namespaces.
pub static LOCAL_POOL: Kind = Kind {
    group: IPAM,
    version: "v1alpha2",
    name: "InClusterIPPool",
    plural: "inclusterippools",
    aliases: &[],
    scope: Scope::Namespaced,
    asks_for: &[],
};

const ALPHAS: &[Generation] = &[Generation::plain("v1alpha2"), Generation::plain("v1alpha1")];

/// VIP pools for all Clusters, as facts.
#[derive(Clone, Copy, Debug)]
pub struct GlobalPools;

/// VIP pools in namespaces, as facts.
#[derive(Clone, Copy, Debug)]
pub struct LocalPools;

/// The parts of a VIP pool that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    addresses: Option<Vec<String>>,
    /// In the older version: the addresses as a network.
    subnet: Option<String>,
    gateway: Option<String>,
}

/// The parts of a VIP pool's status that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    ip_addresses: Option<Counts>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    total: i64,
    free: i64,
    used: i64,
}

impl Facts for GlobalPools {
    type Spec = Spec;
    type Status = Status;
    type Key = PoolId;
    type Value = VipPool;

    const KIND: &'static Kind = &GLOBAL_POOL;
    const GENERATIONS: &'static [Generation] = ALPHAS;
    const SOURCE: Source = Source::Vips(VipSource::GlobalPools);

    fn key(metadata: &ObjectMeta) -> Option<PoolId> {
        Some(PoolId::global(metadata.name.as_deref()?))
    }

    fn value(object: View<Spec, Status>, _: &Schemas) -> Option<VipPool> {
        Some(pool(Self::key(&object.metadata)?, &object))
    }

    fn set(value: VipPool, world: &mut World) -> Option<&'static Kind> {
        world.set_vip_pool(value);
        None
    }

    fn remove(key: &PoolId, world: &mut World) {
        world.remove_vip_pool(key);
    }

    fn retain(keys: &BTreeSet<PoolId>, world: &mut World) {
        world.retain_vip_pools(true, keys);
    }
}

impl Facts for LocalPools {
    type Spec = Spec;
    type Status = Status;
    type Key = PoolId;
    type Value = VipPool;

    const KIND: &'static Kind = &LOCAL_POOL;
    const GENERATIONS: &'static [Generation] = ALPHAS;
    const SOURCE: Source = Source::Vips(VipSource::LocalPools);

    fn within(options: &VipOptions) -> Option<&str> {
        options.namespace.as_deref()
    }

    fn key(metadata: &ObjectMeta) -> Option<PoolId> {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        Some(PoolId::local(namespace, metadata.name.as_deref()?))
    }

    fn value(object: View<Spec, Status>, _: &Schemas) -> Option<VipPool> {
        Some(pool(Self::key(&object.metadata)?, &object))
    }

    fn set(value: VipPool, world: &mut World) -> Option<&'static Kind> {
        world.set_vip_pool(value);
        None
    }

    fn remove(key: &PoolId, world: &mut World) {
        world.remove_vip_pool(key);
    }

    fn retain(keys: &BTreeSet<PoolId>, world: &mut World) {
        world.retain_vip_pools(false, keys);
    }
}

/// A VIP pool. A Cluster may name a VIP pool without labels, so all are told.
fn pool(id: PoolId, object: &View<Spec, Status>) -> VipPool {
    let View { metadata, spec, status } = object;
    let entries = |key: &str| Entries::parse(label(metadata, key), annotation(metadata, key));
    let room = status.ip_addresses.as_ref();
    let priority = annotation(metadata, names::PRIORITY).and_then(|text| text.trim().parse().ok());
    VipPool {
        id,
        version: version(metadata.resource_version.as_deref()),
        classes: entries(names::CLASSES),
        roles: entries(names::ROLES).roles(),
        family: family(spec),
        room: room.map(|Counts { total, free, used }| Room {
            total: *total,
            free: *free,
            used: *used,
        }),
        paused: annotation(metadata, names::PAUSED).is_some(),
        deleting: metadata.deletion_timestamp.is_some(),
        priority: priority.unwrap_or_default(),
    }
}

/// The family of the addresses. A VIP pool has one.
fn family(spec: &Spec) -> Option<Family> {
    let all = spec.addresses.iter().flatten().chain(&spec.subnet).chain(&spec.gateway);
    let first = |text: &String| text.split(['-', '/']).next()?.trim().parse::<IpAddr>().ok();
    all.filter_map(first).map(Family::of).next()
}
