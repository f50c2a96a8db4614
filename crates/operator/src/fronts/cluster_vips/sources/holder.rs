//! Holders: ConfigMaps with the name of a claim, which own the claim beside its Cluster.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use pontoon_core::model::{Kind, Scope};
use pontoon_core::vips::VipSource;
use pontoon_core::vips::model::{Holder, ObjectName};
use pontoon_core::world::{Source, World};
use serde::de::IgnoredAny;

use super::super::decode::annotation;
use super::super::names;
use super::object_name;
use crate::api::own;
use crate::fronts::dependency::{Facts, View};
use crate::observe::schema::{Generation, Schemas};
use crate::observe::version;
use crate::run::VipOptions;

/// ConfigMaps.
pub static HOLDER: Kind = Kind {
    group: "",
    version: "v1",
    name: "ConfigMap",
    plural: "configmaps",
    aliases: &[],
    scope: Scope::Namespaced,
    asks_for: &[],
};

/// On a holder, as annotation: the name of the Cluster that the address is held for.
pub const CLUSTER_KEY: &str = own!("held-for");

/// On a holder, as annotation: the UID of that Cluster.
pub const UID_KEY: &str = own!("held-for-uid");

/// Holders, as facts.
#[derive(Clone, Copy, Debug)]
pub struct Holders;

impl Facts for Holders {
    type Spec = Option<IgnoredAny>;
    type Status = Option<IgnoredAny>;
    type Key = ObjectName;
    type Value = Holder;

    const KIND: &'static Kind = &HOLDER;
    const GENERATIONS: &'static [Generation] = &[];
    const SOURCE: Source = Source::Vips(VipSource::Holders);

    fn is_wanted(options: &VipOptions) -> bool {
        options.holds
    }

    fn within(options: &VipOptions) -> Option<&str> {
        options.namespace.as_deref()
    }

    fn label() -> Option<&'static str> {
        Some(names::ROLES)
    }

    fn key(metadata: &ObjectMeta) -> Option<ObjectName> {
        object_name(metadata)
    }

    fn value(object: View<Self::Spec, Self::Status>, _: &Schemas) -> Option<Holder> {
        let metadata = object.metadata;
        let moved_away = annotation(&metadata, names::MOVED_AWAY).is_some();
        // The mark of a moved object replaces all its annotations.
        let cluster = annotation(&metadata, CLUSTER_KEY).or(moved_away.then_some(""))?;
        Some(Holder {
            name: object_name(&metadata)?,
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: version(metadata.resource_version.as_deref()),
            cluster: cluster.into(),
            cluster_uid: annotation(&metadata, UID_KEY).unwrap_or_default().into(),
            deleting: metadata.deletion_timestamp.is_some(),
            moved_away,
        })
    }

    fn set(value: Holder, world: &mut World) -> Option<&'static Kind> {
        world.set_vip_holder(value);
        None
    }

    fn remove(key: &ObjectName, world: &mut World) {
        world.remove_vip_holder(key);
    }

    fn retain(keys: &BTreeSet<ObjectName>, world: &mut World) {
        world.retain_vip_holders(keys);
    }
}

/// Whether an owner of a claim is its holder.
pub fn is_holder(owner: &OwnerReference, claim: &ObjectName) -> bool {
    let OwnerReference { api_version, kind, name, .. } = owner;
    api_version == HOLDER.version && kind == HOLDER.name && **name == *claim.name
}
