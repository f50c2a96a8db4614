//! FloatingIPPool: addresses that are kept on matching nodes, and a DNS record for them.

mod decode;
mod metrics;
mod status;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use kube::api::DynamicObject;
use pontoon_core::model::{Family, Kind, MachineId, Mark, MarkPlace, NodeName, Tells};
use prometheus::Registry;

use super::{Front, Labels, Observed};
use crate::api::{FLOATING_IP_POOL, IPV4_ANNOTATION, IPV6_ANNOTATION, IpStatus};
use crate::observe::schema::Schema;
use crate::report::object_series::Series;
use decode::Decoded;
pub(in crate::fronts) use decode::{finding, matching};

/// The annotations of nodes that serve addresses.
pub(in crate::fronts) static MARKS: [Mark; 2] = [
    Mark {
        place: MarkPlace::Annotation,
        key: IPV4_ANNOTATION,
        tells: Tells::Addresses(Family::V4),
    },
    Mark {
        place: MarkPlace::Annotation,
        key: IPV6_ANNOTATION,
        tells: Tells::Addresses(Family::V6),
    },
];

/// The front of FloatingIPPools.
#[derive(Debug)]
pub struct FloatingIPPools;

impl Front for FloatingIPPools {
    fn kind(&self) -> &'static Kind {
        &FLOATING_IP_POOL
    }

    fn marks(&self) -> &'static [Mark] {
        &MARKS
    }

    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed> {
        decode::decode(object, schema).map(observed)
    }

    fn series(&self, registry: &Registry) -> Result<Arc<dyn Series>, prometheus::Error> {
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
        homes: homes(&pool, &face.status.ips),
        addresses: Some(pool),
        records,
        face: Box::new(face),
    }
}

/// The node of each address, as far as the status says.
fn homes(
    pool: &pontoon_core::model::Pool,
    ips: &BTreeMap<String, IpStatus>,
) -> BTreeMap<IpAddr, (MachineId, NodeName)> {
    let home = |(ip, status): (&String, &IpStatus)| {
        let ip: IpAddr = ip.parse().ok()?;
        let machine = pool.remembered.get(&ip)?.machine.clone()?;
        let node = Some(status.node_name.as_str()).filter(|name| !name.is_empty())?;
        Some((ip, (machine, node.into())))
    };
    ips.iter().filter_map(home).collect()
}
