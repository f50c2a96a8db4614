//! Kinds that objects of a front depend on, watched while the front's own kind is defined.
//!
//! A kind of this sort is projected at decode to the few fields that planning reads, and told to the
//! world as a [`Fact`].

use std::collections::BTreeSet;
use std::fmt::Debug;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ApiResource;
use kube::core::DynamicResourceScope;
use kube::{Client, Resource};
use pontoon_core::model::Kind;
use pontoon_core::world::{Source, World};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api::objects_within;
use crate::observe::metadata::lean_metadata;
use crate::observe::schema::{Generation, Schemas};
use crate::observe::{self, Fact, Observation, Selection, Station, Watch};
use crate::run::VipOptions;

/// A kind that objects of a front depend on.
pub trait Dependency: Sync {
    /// The kind.
    fn kind(&self) -> &'static Kind;

    /// The usable versions, the preferred version first. Empty for a built-in kind, which needs no
    /// definition and is watched only once needed.
    fn generations(&self) -> &'static [Generation];

    /// Whether a built-in kind is watched from the start; otherwise once an object needs the kind.
    fn is_wanted(&self, options: &VipOptions) -> bool;

    /// Watches the objects in the version that the definition serves, in the namespaces that the
    /// options name.
    fn watch(
        &self,
        client: Client,
        options: &VipOptions,
        schemas: &Schemas,
        station: Station,
    ) -> BoxFuture<'static, ()>;

    /// The fact that there are no objects.
    fn none(&self) -> Box<dyn Fact>;
}

/// Objects of a kind, as facts.
pub trait Facts: Debug + Clone + Copy + Send + Sync + 'static {
    /// The decoded spec.
    type Spec: Clone + Debug + Default + DeserializeOwned + Send + 'static;
    /// The decoded status.
    type Status: Clone + Debug + Default + DeserializeOwned + Send + 'static;
    /// Identifies an object in the world.
    type Key: Debug + Ord + Clone + Send + 'static;
    /// What the world knows of an object.
    type Value: Debug + Send + 'static;

    /// The kind.
    const KIND: &'static Kind;
    /// The usable versions, the preferred version first.
    const GENERATIONS: &'static [Generation];
    /// The source that is read once all objects are listed.
    const SOURCE: Source;

    /// Whether a built-in kind is watched from the start; otherwise once an object needs the kind.
    fn is_wanted(_options: &VipOptions) -> bool {
        true
    }

    /// The only namespace whose objects count; `None` for all namespaces.
    fn within(_options: &VipOptions) -> Option<&str> {
        None
    }

    /// A label that objects have which concern us; `None` to look at all objects.
    fn label() -> Option<&'static str> {
        None
    }

    /// The key of an object; `None` for an object without a name.
    fn key(metadata: &ObjectMeta) -> Option<Self::Key>;

    /// Decodes an object; `None` for an object that does not concern us.
    fn value(object: View<Self::Spec, Self::Status>, schemas: &Schemas) -> Option<Self::Value>;

    /// Tells the world of an object. Returns a kind that has to be watched because of the object.
    fn set(value: Self::Value, world: &mut World) -> Option<&'static Kind>;

    /// Tells the world that an object is gone.
    fn remove(key: &Self::Key, world: &mut World);

    /// Tells the world that there are no other objects.
    fn retain(keys: &BTreeSet<Self::Key>, world: &mut World);
}

/// The parts of an object that planning reads.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct View<S, T> {
    /// Name, labels, annotations, owners.
    #[serde(default, deserialize_with = "lean_metadata")]
    pub metadata: ObjectMeta,
    /// The spec.
    #[serde(default)]
    pub spec: S,
    /// The status.
    #[serde(default)]
    pub status: T,
}

impl<S, T> Resource for View<S, T> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(of: &ApiResource) -> std::borrow::Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> std::borrow::Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> std::borrow::Cow<'_, str> {
        of.version.as_str().into()
    }

    fn api_version(of: &ApiResource) -> std::borrow::Cow<'_, str> {
        of.api_version.as_str().into()
    }

    fn plural(of: &ApiResource) -> std::borrow::Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The dependency with these facts.
#[derive(Debug)]
pub struct Known<F>(pub F);

impl<F: Facts> Dependency for Known<F> {
    fn kind(&self) -> &'static Kind {
        F::KIND
    }

    fn generations(&self) -> &'static [Generation] {
        F::GENERATIONS
    }

    fn is_wanted(&self, options: &VipOptions) -> bool {
        F::is_wanted(options)
    }

    fn watch(
        &self,
        client: Client,
        options: &VipOptions,
        schemas: &Schemas,
        station: Station,
    ) -> BoxFuture<'static, ()> {
        let version = schemas.generation(F::KIND).map_or(F::KIND.version, |one| one.version);
        let within = F::within(options);
        let api = objects_within::<View<F::Spec, F::Status>>(client, F::KIND, version, within);
        let selection = Selection { labels: F::label().map(str::to_owned), fields: None };
        let watch = FactWatch::<F>::new(schemas.clone());
        observe::watch(api, selection, watch, station).boxed()
    }

    fn none(&self) -> Box<dyn Fact> {
        Box::new(Change::<F>::Listed(BTreeSet::new()))
    }
}

/// A change of an object, or the end of a list.
#[derive(Debug)]
enum Change<F: Facts> {
    Set(F::Value),
    Gone(F::Key),
    Listed(BTreeSet<F::Key>),
}

impl<F: Facts> Fact for Change<F> {
    fn tell(self: Box<Self>, world: &mut World) -> Option<&'static Kind> {
        match *self {
            Self::Set(value) => return F::set(value, world),
            Self::Gone(key) => F::remove(&key, world),
            Self::Listed(keys) => {
                F::retain(&keys, world);
                world.source_read(F::SOURCE);
            }
        }
        None
    }
}

/// Watches the objects of a dependency.
pub struct FactWatch<F: Facts> {
    schemas: Schemas,
    /// Objects in the list under way.
    listing: Option<BTreeSet<F::Key>>,
}

impl<F: Facts> FactWatch<F> {
    /// A watch over objects of these definitions.
    pub fn new(schemas: Schemas) -> Self {
        Self { schemas, listing: None }
    }
}

impl<F: Facts> Watch for FactWatch<F> {
    type Object = View<F::Spec, F::Status>;

    fn name(&self) -> &str {
        F::KIND.name
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn restart(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    fn seen(&mut self, object: Self::Object) -> Option<Observation> {
        let key = F::key(&object.metadata)?;
        let value = F::value(object, &self.schemas)?;
        if let Some(listing) = &mut self.listing {
            listing.insert(key);
        }
        Some(Observation::Fact(Box::new(Change::<F>::Set(value))))
    }

    fn gone(&mut self, object: Self::Object) -> Option<Observation> {
        let key = F::key(&object.metadata)?;
        Some(Observation::Fact(Box::new(Change::<F>::Gone(key))))
    }

    fn listed(&mut self) -> Option<Observation> {
        let keys = self.listing.take()?;
        Some(Observation::Fact(Box::new(Change::<F>::Listed(keys))))
    }
}
