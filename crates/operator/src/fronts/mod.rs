//! Fronts: the kinds that we serve, one folder each.
//!
//! A front has the types, the validation and the definition of its kind, decodes objects into what
//! they ask for, makes their statuses of verdicts, and has the series of its metrics. Nothing else
//! in the operator knows a kind by name.
//!
//! A kind of another project has no definition here: its front knows the versions that it can read
//! and write, and the other kinds that its objects depend on.
//!
//! Two rules hold for the types of every kind:
//!
//! - Decoding never fails on an object that a predecessor's definition could have stored: every
//!   field has a default, and an empty text means *unset*. Values are checked later, object by
//!   object.
//! - Validation (`rules.rs`) applies to new input only. A stored object that breaks a newer rule
//!   can still be updated.

pub mod address_status;
pub mod cluster_vips;
pub mod conditions;
mod controllers;
mod definitions;
pub mod dependency;
pub mod dns_record;
pub mod flipop;
pub mod floating_ip_pool;
pub mod ledger;
pub mod net_ip_allocation;
pub mod node_dns_record_set;
pub mod observed;
pub mod selection;

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::DynamicObject;
use pontoon_core::action::{Done, Failure, VipAction};
use pontoon_core::model::{Kind, Mark, MarkPlace, Tells};
use pontoon_core::vips::model::VipNames;
use prometheus::Registry;

use crate::api::own;
use crate::leadership::Predecessor;
use crate::observe::schema::{Generation, Schema, Schemas};
use crate::report::object_series::{ReplicaLabels, Series};
use crate::run::VipOptions;
pub use controllers::Controllers;
pub use definitions::{crds, crds_yaml};
pub use dependency::Dependency;
pub use observed::{Face, Labels, Observed, Verdicts};

/// A kind that we serve.
pub trait Front: Sync {
    /// The kind.
    fn kind(&self) -> &'static Kind;

    /// The custom resource definition of the kind; `None` for a kind of another project.
    fn definition(&self) -> Option<CustomResourceDefinition>;

    /// The usable versions of a kind of another project, the preferred version first.
    fn generations(&self) -> &'static [Generation] {
        &[]
    }

    /// Other kinds that objects of the kind depend on. They are watched while the kind is defined.
    fn dependencies(&self) -> &'static [&'static dyn Dependency] {
        &[]
    }

    /// The only namespace whose objects of the kind are served; `None` for all namespaces.
    fn within<'a>(&self, _options: &'a VipOptions) -> Option<&'a str> {
        None
    }

    /// What VIPs need of the front, if objects of the kind may ask for VIPs.
    fn vips(&self) -> Option<&'static dyn VipFront> {
        None
    }

    /// The predecessor that may still serve objects of the kind.
    fn predecessor(&self) -> &'static Predecessor;

    /// Marks that objects of the kind put on nodes.
    fn marks(&self) -> &'static [Mark];

    /// Decodes an object. A defect is a finding on the object itself. `None` for an object without
    /// a name.
    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed>;

    /// Registers the metrics of the kind.
    ///
    /// # Errors
    /// None in practice: the names are constants.
    fn series(
        &self,
        registry: &Registry,
        replica: &ReplicaLabels,
    ) -> Result<Arc<dyn Series>, prometheus::Error>;
}

/// The part of a front that VIPs need.
pub trait VipFront: Sync {
    /// Names that users know.
    fn names(&self) -> &'static VipNames;

    /// Carries out a write, in the versions that the API server serves.
    fn write(
        &self,
        client: Client,
        action: VipAction,
        schemas: Schemas,
    ) -> BoxFuture<'static, Result<Done, Failure>>;
}

/// Every front, in the order in which the definitions are applied.
pub static FRONTS: &[&dyn Front] = &[
    &floating_ip_pool::FloatingIPPools,
    &node_dns_record_set::NodeDNSRecordSets,
    &net_ip_allocation::NetIPAllocations,
    &cluster_vips::ClusterVips,
];

/// Every kind.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    FRONTS.iter().map(|front| front.kind())
}

/// The kinds that we define.
pub fn own_kinds() -> impl Iterator<Item = &'static Kind> {
    FRONTS.iter().filter(|front| front.generations().is_empty()).map(|front| front.kind())
}

/// The dependency of a kind.
pub fn dependency(kind: &Kind) -> Option<&'static dyn Dependency> {
    let mut all = FRONTS.iter().flat_map(|front| front.dependencies().iter().copied());
    all.find(|one| one.kind() == kind)
}

/// On a node: its machine may lack its own address because of us, and is owed one.
pub static EGRESS: Mark = Mark {
    place: MarkPlace::Annotation,
    key: own!("restore-egress"),
    tells: Tells::OwesEgress("true"),
};

/// Marks that we put on nodes: those of each kind, and the note of machines without egress.
pub fn marks() -> impl Iterator<Item = &'static Mark> {
    FRONTS.iter().flat_map(|front| front.marks()).chain([&EGRESS])
}

/// Every predecessor, once.
pub fn predecessors() -> impl Iterator<Item = &'static Predecessor> {
    Controllers::default().predecessors().collect::<Vec<_>>().into_iter()
}

/// The front of a kind.
pub fn front(kind: &Kind) -> Option<&'static dyn Front> {
    FRONTS.iter().copied().find(|front| front.kind() == kind)
}
