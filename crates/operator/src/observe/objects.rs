//! Watches the objects of a kind.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::{ApiResource, DynamicObject, TypeMeta};
use kube::core::DynamicResourceScope;
use pontoon_core::model::{Kind, ObjectKey};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::metadata::lean_metadata;
use super::schema::Schema;
use super::shallow::Shallow;
use super::{Observation, Watch};
use crate::fronts::Front;

/// An object, decoded without managed fields, and of the other fields no more than the levels that may
/// matter: whatever an API server stores, no object fails the list of its kind.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectView {
    #[serde(flatten)]
    types: Option<TypeMeta>,
    /// The metadata.
    pub metadata: ObjectMeta,
    /// All other fields.
    #[serde(flatten)]
    pub data: Value,
}

impl<'de> Deserialize<'de> for ObjectView {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Fields)
    }
}

/// Decodes the fields of an object one by one, because `flatten` would hold all of them in memory first,
/// and refuse deep ones.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = ObjectView;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<ObjectView, A::Error> {
        let mut metadata = Lean::default();
        let (mut types, mut data) = (Map::new(), Map::new());
        while let Some(field) = from.next_key::<String>()? {
            match field.as_str() {
                "metadata" => metadata = from.next_value()?,
                "apiVersion" | "kind" => {
                    types.insert(field, from.next_value_seed(Shallow::default())?);
                }
                _ => {
                    data.insert(field, from.next_value_seed(Shallow::default())?);
                }
            }
        }
        let types = serde_json::from_value(Value::Object(types)).ok();
        Ok(ObjectView { types, metadata: metadata.0, data: Value::Object(data) })
    }
}

#[derive(Default, Deserialize)]
struct Lean(#[serde(deserialize_with = "lean_metadata")] ObjectMeta);

impl From<ObjectView> for DynamicObject {
    fn from(ObjectView { types, metadata, data }: ObjectView) -> Self {
        Self { types, metadata, data }
    }
}

impl Resource for ObjectView {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        DynamicObject::kind(of)
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        DynamicObject::group(of)
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        DynamicObject::version(of)
    }

    fn api_version(of: &ApiResource) -> Cow<'_, str> {
        DynamicObject::api_version(of)
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        DynamicObject::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

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
    type Object = ObjectView;

    fn name(&self) -> &str {
        self.front.kind().name
    }

    fn is_optional(&self) -> bool {
        self.schema.generation().is_some()
    }

    fn restart(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    fn seen(&mut self, object: ObjectView) -> Option<Observation> {
        let observed = self.front.decode(object.into(), self.schema)?;
        if let Some(listing) = &mut self.listing {
            listing.insert(observed.key.clone());
        }
        Some(Observation::Object(Box::new(observed)))
    }

    fn gone(&mut self, object: ObjectView) -> Option<Observation> {
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
