//! Fronts: the kinds that we serve, one folder each.
//!
//! A front decodes the objects of its kind into what they ask for, makes their statuses of verdicts,
//! and has the series of its metrics. Nothing else in the operator knows a kind by name.

pub mod conditions;
mod dns;
pub mod floating_ip_pool;
pub mod ledger;
pub mod node_dns_record_set;
pub mod observed;
mod record_status;

use std::sync::Arc;

use kube::api::DynamicObject;
use pontoon_core::model::{Kind, Mark};
use prometheus::Registry;

use crate::observe::schema::Schema;
use crate::report::object_series::Series;
pub use observed::{Face, Labels, Observed, Verdicts};

/// A kind that we serve.
pub trait Front: Sync {
    /// The kind.
    fn kind(&self) -> &'static Kind;

    /// Marks that objects of the kind put on nodes.
    fn marks(&self) -> &'static [Mark];

    /// Decodes an object. A defect is a finding on the object itself. `None` for an object without
    /// a name.
    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed>;

    /// Registers the metrics of the kind.
    ///
    /// # Errors
    /// None in practice: the names are constants.
    fn series(&self, registry: &Registry) -> Result<Arc<dyn Series>, prometheus::Error>;
}

/// Every front.
pub static FRONTS: [&dyn Front; 2] =
    [&floating_ip_pool::FloatingIPPools, &node_dns_record_set::NodeDNSRecordSets];

/// Marks that we put on nodes.
pub fn marks() -> impl Iterator<Item = &'static Mark> {
    FRONTS.into_iter().flat_map(|front| front.marks())
}

/// The front of a kind.
pub fn front(kind: &Kind) -> Option<&'static dyn Front> {
    FRONTS.into_iter().find(|front| front.kind() == kind)
}
