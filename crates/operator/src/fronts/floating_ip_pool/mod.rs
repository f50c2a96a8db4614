//! FloatingIPPool: addresses that are kept on matching nodes, and a DNS record for them.

mod decode;
mod metrics;
mod rules;
mod status;
#[cfg(test)]
mod tests;
mod types;

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DynamicObject;
use pontoon_core::model::{Kind, Mark, Scope, Subject};
use prometheus::Registry;

use super::address_status::recall;
use super::flipop::{FLIPOP, GROUP, MARKS, VERSION};
use super::{Front, Labels, Observed, definitions};
use crate::leadership::Predecessor;
use crate::observe::schema::Schema;
use crate::report::object_series::{ReplicaLabels, Series};
use decode::Decoded;
pub use types::{FloatingIPPool, FloatingIPPoolSpec, FloatingIPPoolStatus, MOST_ADDRESSES};

/// FLIPOP's pools: addresses, and a name for them.
pub static FLOATING_IP_POOL: Kind = Kind {
    group: GROUP,
    version: VERSION,
    name: "FloatingIPPool",
    plural: "floatingippools",
    aliases: &["fippool"],
    scope: Scope::Namespaced,
    asks_for: &[Subject::Addresses, Subject::Records],
};

/// The front of FloatingIPPools.
#[derive(Debug)]
pub struct FloatingIPPools;

impl Front for FloatingIPPools {
    fn kind(&self) -> &'static Kind {
        &FLOATING_IP_POOL
    }

    fn definition(&self) -> Option<CustomResourceDefinition> {
        Some(definitions::generated::<types::PoolDefinition>())
    }

    fn predecessor(&self) -> &'static Predecessor {
        &FLIPOP
    }

    fn marks(&self) -> &'static [Mark] {
        &MARKS
    }

    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed> {
        decode::decode(object, schema).map(observed)
    }

    fn series(
        &self,
        registry: &Registry,
        _: &ReplicaLabels,
    ) -> Result<Arc<dyn Series>, prometheus::Error> {
        Ok(Arc::new(metrics::PoolSeries::register(registry)?))
    }
}

fn observed(decoded: Decoded) -> Observed {
    let Decoded { pool, records, dns, face, decoded } = decoded;
    Observed {
        key: pool.key.clone(),
        uid: pool.uid.clone(),
        version: pool.version,
        decoded,
        labels: Labels { provider: face.provider.clone(), dns },
        homes: recall::homes(&pool, &face.status.ips),
        addresses: Some(pool),
        records,
        vips: None,
        face: Box::new(face),
    }
}
