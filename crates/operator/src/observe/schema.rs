//! The definitions of our kinds: whether they exist, and whether they can hold what we
//! report. On a predecessor's definition our conditions would be pruned without a word.

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use pontoon_core::model::Finding;

use super::{Observation, Watch};
use crate::api::GROUP;

/// The command that brings the definitions up to date.
pub const UPGRADE: &str = "pontoon crds | kubectl apply --server-side --force-conflicts -f -";

/// State of a kind's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// There is none.
    Missing,
    /// It is a predecessor's: it has no conditions.
    Old,
    /// It has what we need.
    Current,
}

impl Schema {
    /// What an object of an old definition is told.
    pub fn finding() -> Finding {
        let message = format!(
            "observing only: the definition of this kind is a predecessor's and has no \
             status.conditions; upgrade it with: {UPGRADE}"
        );
        Finding { reason: "OldDefinition", message: message.into() }
    }

    fn of(crd: &CustomResourceDefinition) -> Self {
        let served = crd.spec.versions.iter().filter(|version| version.served);
        let schemas = served.filter_map(|version| version.schema.as_ref());
        let mut roots = schemas.filter_map(|schema| schema.open_api_v3_schema.as_ref());
        let conditions = |root: &JSONSchemaProps| {
            let status = root.properties.as_ref()?.get("status")?;
            status.properties.as_ref()?.get("conditions").map(drop)
        };
        if roots.any(|root| conditions(root).is_some()) { Self::Current } else { Self::Old }
    }
}

/// The kinds whose definitions are watched.
const KINDS: [&str; 2] = [super::pool::KIND, super::record_set::KIND];

/// Watches the definitions of our kinds.
#[derive(Debug, Default)]
pub struct Definitions {
    listed: BTreeSet<&'static str>,
}

impl Definitions {
    fn kind(crd: &CustomResourceDefinition) -> Option<&'static str> {
        let ours = crd.spec.group == GROUP;
        KINDS.into_iter().find(|kind| ours && crd.spec.names.kind == *kind)
    }
}

impl Watch for Definitions {
    const KIND: &'static str = "CustomResourceDefinition";

    type Object = CustomResourceDefinition;

    fn restart(&mut self) {
        self.listed.clear();
    }

    fn seen(&mut self, crd: CustomResourceDefinition) -> Option<Observation> {
        let established = crd.status.as_ref().is_some_and(|status| {
            let conditions = status.conditions.iter().flatten();
            conditions.into_iter().any(|one| one.type_ == "Established" && one.status == "True")
        });
        let kind = Self::kind(&crd).filter(|_| established)?;
        self.listed.insert(kind);
        Some(Observation::Schema(kind, Schema::of(&crd)))
    }

    fn gone(&mut self, crd: CustomResourceDefinition) -> Option<Observation> {
        Self::kind(&crd).map(|kind| Observation::Schema(kind, Schema::Missing))
    }

    fn listed(&mut self) -> Option<Observation> {
        Some(Observation::SchemasListed(std::mem::take(&mut self.listed)))
    }
}
