//! Watches the objects of a kind.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use pontoon_core::model::{Kind, ObjectKey};

use super::schema::Schema;
use super::{Observation, Watch};
use crate::fronts::Front;

/// Watches the objects of a front's kind.
pub struct Objects {
    front: &'static dyn Front,
    schema: Schema,
    /// Objects in the list under way.
    listing: Option<BTreeSet<ObjectKey>>,
}

impl Objects {
    /// A watch over objects of a definition in the given state.
    pub fn new(front: &'static dyn Front, schema: Schema) -> Self {
        Self { front, schema, listing: None }
    }
}

impl Watch for Objects {
    type Object = DynamicObject;

    fn name(&self) -> &str {
        self.front.kind().name
    }

    fn is_optional(&self) -> bool {
        self.schema.generation().is_some()
    }

    fn restart(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    fn seen(&mut self, object: DynamicObject) -> Option<Observation> {
        let observed = self.front.decode(object, self.schema)?;
        if let Some(listing) = &mut self.listing {
            listing.insert(observed.key.clone());
        }
        Some(Observation::Object(Box::new(observed)))
    }

    fn gone(&mut self, object: DynamicObject) -> Option<Observation> {
        key(self.front.kind(), &object.metadata).map(Observation::ObjectGone)
    }

    fn listed(&mut self) -> Option<Observation> {
        let keys = self.listing.take()?;
        Some(Observation::ObjectsListed(self.front.kind(), keys))
    }
}

/// The key of an object.
pub fn key(kind: &'static Kind, metadata: &ObjectMeta) -> Option<ObjectKey> {
    let namespace = metadata.namespace.as_deref().unwrap_or_default().into();
    Some(ObjectKey { kind, namespace, name: metadata.name.as_deref()?.into() })
}
