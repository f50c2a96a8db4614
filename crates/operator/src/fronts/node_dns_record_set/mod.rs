//! NodeDNSRecordSet: a DNS record that lists the addresses of matching nodes.

mod decode;
mod metrics;
mod status;

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::DynamicObject;
use pontoon_core::model::{Kind, Mark};
use prometheus::Registry;

use super::{Front, Labels, Observed};
use crate::api::NODE_DNS_RECORD_SET;
use crate::observe::schema::Schema;
use crate::report::object_series::Series;
use decode::Decoded;

/// The front of NodeDNSRecordSets.
#[derive(Debug)]
pub struct NodeDNSRecordSets;

impl Front for NodeDNSRecordSets {
    fn kind(&self) -> &'static Kind {
        &NODE_DNS_RECORD_SET
    }

    fn marks(&self) -> &'static [Mark] {
        &[]
    }

    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed> {
        let Decoded { set, provider, dns, face, decoded } = decode::decode(object, schema)?;
        Some(Observed {
            key: set.key.clone(),
            uid: set.uid.clone(),
            version: set.version,
            decoded,
            addresses: None,
            records: Some(set),
            labels: Labels { provider, dns },
            homes: BTreeMap::new(),
            face: Box::new(face),
        })
    }

    fn series(&self, registry: &Registry) -> Result<Arc<dyn Series>, prometheus::Error> {
        Ok(Arc::new(metrics::RecordSetSeries::register(registry)?))
    }
}
