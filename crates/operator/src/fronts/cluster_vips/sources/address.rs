//! Addresses that claims are bound to. Addresses of other claims, such as those of machines, are left
//! out.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pontoon_core::model::{Kind, Scope};
use pontoon_core::vips::VipSource;
use pontoon_core::vips::model::{Job, ObjectName, VipAddress};
use pontoon_core::world::{Source, World};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{BETAS, IPAM, object_name};
use crate::fronts::dependency::{Facts, View};
use crate::observe::schema::{Generation, Schemas};
use crate::observe::version;
use crate::run::VipOptions;

/// Addresses.
pub static ADDRESS: Kind = Kind {
    group: IPAM,
    version: "v1beta2",
    name: "IPAddress",
    plural: "ipaddresses",
    aliases: &[],
    scope: Scope::Namespaced,
    asks_for: &[],
};

/// Addresses, as facts.
#[derive(Clone, Copy, Debug)]
pub struct Addresses;

/// The parts of an address that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    address: String,
    claim_ref: ClaimRef,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ClaimRef {
    name: String,
}

impl Facts for Addresses {
    type Spec = Spec;
    type Status = Option<IgnoredAny>;
    type Key = ObjectName;
    type Value = VipAddress;

    const KIND: &'static Kind = &ADDRESS;
    const GENERATIONS: &'static [Generation] = BETAS;
    const SOURCE: Source = Source::Vips(VipSource::Addresses);

    fn within(options: &VipOptions) -> Option<&str> {
        options.namespace.as_deref()
    }

    fn key(metadata: &ObjectMeta) -> Option<ObjectName> {
        object_name(metadata)
    }

    fn value(object: View<Spec, Option<IgnoredAny>>, _: &Schemas) -> Option<VipAddress> {
        let View { metadata, spec, .. } = object;
        Job::of_claim(&spec.claim_ref.name).next()?;
        Some(VipAddress {
            name: object_name(&metadata)?,
            version: version(metadata.resource_version.as_deref()),
            ip: spec.address.trim().parse().ok(),
            claim: spec.claim_ref.name.as_str().into(),
            deleting: metadata.deletion_timestamp.is_some(),
        })
    }

    fn set(value: VipAddress, world: &mut World) -> Option<&'static Kind> {
        world.set_vip_address(value);
        None
    }

    fn remove(key: &ObjectName, world: &mut World) {
        world.remove_vip_address(key);
    }

    fn retain(keys: &BTreeSet<ObjectName>, world: &mut World) {
        world.retain_vip_addresses(keys);
    }
}
