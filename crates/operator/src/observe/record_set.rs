//! NodeDNSRecordSets: watched so that they can be told that this version does not manage
//! DNS records yet.

use kube::core::DeserializeGuard;
use pontoon_core::model::PoolKey;

use super::schema::Schema;
use super::{Observation, Watch, version};
use crate::api::{NodeDNSRecordSet, NodeDNSRecordSetStatus};

/// The kind, as core names it.
pub const KIND: &str = "NodeDNSRecordSet";

/// A record set, and what reporting on it needs.
#[derive(Clone, Debug)]
pub struct ObservedRecordSet {
    /// The object.
    pub key: PoolKey,
    /// Its identity.
    pub uid: String,
    /// Its resource version, counted.
    pub version: u64,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// The status that is stored now.
    pub status: NodeDNSRecordSetStatus,
    /// The stored definition cannot hold what we report.
    pub schema: Schema,
}

/// Watches NodeDNSRecordSets.
#[derive(Debug)]
pub struct RecordSets {
    schema: Schema,
}

impl RecordSets {
    /// A watch over record sets whose definition is as `schema` says.
    pub fn new(schema: Schema) -> Self {
        Self { schema }
    }

    fn observe(&self, object: DeserializeGuard<NodeDNSRecordSet>) -> Option<ObservedRecordSet> {
        let (metadata, status) = match object.0 {
            Ok(object) => (object.metadata, object.status.unwrap_or_default()),
            Err(invalid) => (invalid.metadata, NodeDNSRecordSetStatus::default()),
        };
        let namespace = metadata.namespace.as_deref().unwrap_or_default().into();
        Some(ObservedRecordSet {
            key: PoolKey { kind: KIND, namespace, name: metadata.name.as_deref()?.into() },
            uid: metadata.uid.unwrap_or_default(),
            version: version(metadata.resource_version.as_deref()),
            generation: metadata.generation,
            status,
            schema: self.schema,
        })
    }
}

impl Watch for RecordSets {
    const KIND: &'static str = KIND;

    type Object = DeserializeGuard<NodeDNSRecordSet>;

    fn restart(&mut self) {}

    fn seen(&mut self, object: Self::Object) -> Option<Observation> {
        self.observe(object).map(|one| Observation::RecordSet(Box::new(one)))
    }

    fn gone(&mut self, object: Self::Object) -> Option<Observation> {
        self.observe(object).map(|one| Observation::RecordSetGone(one.key))
    }

    fn listed(&mut self) -> Option<Observation> {
        None
    }
}
