//! Claims of addresses.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use pontoon_core::Time;
use pontoon_core::model::{Kind, Scope, Text};
use pontoon_core::vips::VipSource;
use pontoon_core::vips::model::{ClaimOwner, ObjectName, PoolId, VipClaim};
use pontoon_core::world::{Source, World};
use serde::Deserialize;

use super::super::decode::{annotation, label};
use super::super::{CLUSTER, names};
use super::holder::{HOLDER, is_holder};
use super::pool::{GLOBAL_POOL, LOCAL_POOL};
use super::{BETAS, IPAM, object_name};
use crate::fronts::dependency::{Facts, View};
use crate::fronts::observed::given;
use crate::observe::schema::{Generation, Schemas};
use crate::observe::version;
use crate::run::VipOptions;

/// Claims.
pub static CLAIM: Kind = Kind {
    group: IPAM,
    version: "v1beta2",
    name: "IPAddressClaim",
    plural: "ipaddressclaims",
    aliases: &[],
    scope: Scope::Namespaced,
    asks_for: &[],
};

/// The reason of a claim that its provider cannot serve.
const EXHAUSTED: &str = "PoolExhausted";

/// Claims, as facts.
#[derive(Clone, Copy, Debug)]
pub struct Claims;

/// The parts of a claim's spec that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    cluster_name: String,
    pool_ref: PoolRef,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PoolRef {
    api_group: Option<String>,
    kind: String,
    name: String,
}

/// The parts of a claim's status that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Status {
    address_ref: Option<Named>,
    conditions: Option<Vec<Condition>>,
    /// In a claim of the older generation: conditions of the newer one.
    v1beta2: Conditions,
    /// In a claim of the newer generation: conditions of the older one.
    deprecated: Deprecated,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Deprecated {
    v1beta1: Conditions,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Conditions {
    conditions: Option<Vec<Condition>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: Option<String>,
}

impl Status {
    fn is_exhausted(&self) -> bool {
        let places =
            [&self.conditions, &self.v1beta2.conditions, &self.deprecated.v1beta1.conditions];
        places.into_iter().flatten().flatten().any(|one| {
            one.type_ == "Ready"
                && one.status == "False"
                && one.reason.as_deref() == Some(EXHAUSTED)
        })
    }
}

impl Facts for Claims {
    type Spec = Spec;
    type Status = Status;
    type Key = ObjectName;
    type Value = VipClaim;

    const KIND: &'static Kind = &CLAIM;
    const GENERATIONS: &'static [Generation] = BETAS;
    const SOURCE: Source = Source::Vips(VipSource::Claims);

    fn within(options: &VipOptions) -> Option<&str> {
        options.namespace.as_deref()
    }

    fn label() -> Option<&'static str> {
        Some(names::ROLES)
    }

    fn key(metadata: &ObjectMeta) -> Option<ObjectName> {
        object_name(metadata)
    }

    fn value(object: View<Spec, Status>, schemas: &Schemas) -> Option<VipClaim> {
        let View { metadata, spec, status } = object;
        let name = object_name(&metadata)?;
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let held = owners.iter().find(|owner| is_holder(owner, &name));
        let owner = owners.iter().find(|owner| is_cluster(owner));
        let is_other = |one: &&OwnerReference| !is_cluster(one) && !is_holder(one, &name);
        let created_at = metadata.creation_timestamp.as_ref();
        let bound = status.address_ref.as_ref().and_then(|address| given(&address.name));
        Some(VipClaim {
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: version(metadata.resource_version.as_deref()),
            created_at: Time::from_micros(created_at.map_or(0, |time| time.0.as_microsecond())),
            owner: owner.map(|owner| claim_owner(owner, schemas)),
            holder: held.map(|owner| owner.uid.as_str().into()),
            foreign: owners.iter().filter(is_other).any(|one| one.controller == Some(true)),
            label: label(&metadata, names::CLUSTER_NAME).and_then(given),
            cluster: given(&spec.cluster_name),
            pool: pool(&spec.pool_ref, &name.namespace),
            bound,
            exhausted: status.is_exhausted(),
            deleting: metadata.deletion_timestamp.is_some(),
            moved_away: annotation(&metadata, names::MOVED_AWAY).is_some(),
            name,
        })
    }

    /// The holder of a claim must be known, even if no further holders are wanted.
    fn set(value: VipClaim, world: &mut World) -> Option<&'static Kind> {
        let needs = value.holder.is_some().then_some(&HOLDER);
        world.set_vip_claim(value);
        needs
    }

    fn remove(key: &ObjectName, world: &mut World) {
        world.remove_vip_claim(key);
    }

    fn retain(keys: &BTreeSet<ObjectName>, world: &mut World) {
        world.retain_vip_claims(keys);
    }
}

/// Whether an owner is a Cluster, in whatever version.
pub fn is_cluster(owner: &OwnerReference) -> bool {
    let group = owner.api_version.split_once('/').map(|(group, _)| group);
    owner.kind == CLUSTER.name && group == Some(CLUSTER.group)
}

fn claim_owner(owner: &OwnerReference, schemas: &Schemas) -> ClaimOwner {
    let version = owner.api_version.split_once('/').map(|(_, version)| version);
    let used = schemas.generation(&CLUSTER).map(|served| served.version);
    ClaimOwner {
        uid: owner.uid.as_str().into(),
        name: owner.name.as_str().into(),
        // Without a known version nothing is out of date.
        outdated: used.is_some() && version != used,
        controller: owner.controller == Some(true),
    }
}

/// The VIP pool of a claim; `None` for a pool of another kind.
fn pool(reference: &PoolRef, namespace: &Text) -> Option<PoolId> {
    let PoolRef { api_group, kind, name } = reference;
    if api_group.as_deref().is_some_and(|group| group != IPAM) {
        return None;
    }
    match kind {
        kind if kind == GLOBAL_POOL.name => Some(PoolId::global(name.as_str())),
        kind if kind == LOCAL_POOL.name => Some(PoolId::local(namespace.clone(), name.as_str())),
        _ => None,
    }
}
