//! NodeDNSRecordSet: a DNS record that lists the addresses of matching nodes.

mod decode;
mod metrics;
mod rules;
mod status;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DynamicObject;
use pontoon_core::model::{Kind, Mark, Scope, Subject};
use prometheus::Registry;

use super::flipop::{FLIPOP, GROUP, VERSION};
use super::{Front, Labels, Observed, definitions};
use crate::leadership::Predecessor;
use crate::observe::schema::Schema;
use crate::report::object_series::{ReplicaLabels, Series};
use decode::Decoded;
pub use types::{NodeDNSRecordSet, NodeDNSRecordSetSpec, NodeDNSRecordSetStatus};

/// FLIPOP's record sets: names that list nodes.
pub static NODE_DNS_RECORD_SET: Kind = Kind {
    group: GROUP,
    version: VERSION,
    name: "NodeDNSRecordSet",
    plural: "nodednsrecordsets",
    aliases: &["nodedns"],
    scope: Scope::Namespaced,
    asks_for: &[Subject::Records],
};

/// The front of NodeDNSRecordSets.
#[derive(Debug)]
pub struct NodeDNSRecordSets;

impl Front for NodeDNSRecordSets {
    fn kind(&self) -> &'static Kind {
        &NODE_DNS_RECORD_SET
    }

    fn definition(&self) -> Option<CustomResourceDefinition> {
        Some(definitions::generated::<types::NodeDNSDefinition>())
    }

    fn predecessor(&self) -> &'static Predecessor {
        &FLIPOP
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
            vips: None,
            labels: Labels { provider, dns },
            homes: BTreeMap::new(),
            face: Box::new(face),
        })
    }

    fn series(
        &self,
        registry: &Registry,
        _: &ReplicaLabels,
    ) -> Result<Arc<dyn Series>, prometheus::Error> {
        Ok(Arc::new(metrics::RecordSetSeries::register(registry)?))
    }
}
