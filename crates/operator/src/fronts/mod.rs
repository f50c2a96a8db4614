//! Fronts: the kinds that we serve.
//!
//! A front decodes the objects of its kind into what they ask for. The rest of the operator knows
//! no kind by name.

mod dns;
pub mod floating_ip_pool;
pub mod ledger;
pub mod node_dns_record_set;

use kube::api::DynamicObject;
use pontoon_core::model::{Kind, ObjectKey};

use crate::observe::schema::Schema;
use floating_ip_pool::ObservedPool;
use node_dns_record_set::ObservedRecordSet;

/// A kind that we serve.
pub trait Front: Sync {
    /// The kind.
    fn kind(&self) -> &'static Kind;

    /// Decodes an object. A defect is a finding on the object itself. `None` for an object without
    /// a name.
    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed>;
}

/// Every front.
pub static FRONTS: [&dyn Front; 2] =
    [&floating_ip_pool::FloatingIPPools, &node_dns_record_set::NodeDNSRecordSets];

/// The front of a kind.
pub fn front(kind: &Kind) -> Option<&'static dyn Front> {
    FRONTS.into_iter().find(|front| front.kind() == kind)
}

/// A decoded object.
#[derive(Clone, Debug)]
pub enum Observed {
    /// A pool.
    Pool(ObservedPool),
    /// A record set.
    RecordSet(ObservedRecordSet),
}

impl Observed {
    /// The object.
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Pool(observed) => &observed.pool.key,
            Self::RecordSet(observed) => &observed.set.key,
        }
    }
}
