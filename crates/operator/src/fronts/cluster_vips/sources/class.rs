//! Classes of Clusters, reduced to the variables that they define.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pontoon_core::model::{Kind, Scope};
use pontoon_core::vips::VipSource;
use pontoon_core::vips::model::{ClassRef, ClusterClass, Role};
use pontoon_core::world::{Source, World};
use serde::Deserialize;

use super::super::{CLUSTER, names};
use super::{BETAS, object_name};
use crate::fronts::dependency::{Facts, View};
use crate::observe::schema::{Generation, Schemas};

/// Classes.
pub static CLASS: Kind = Kind {
    group: CLUSTER.group,
    version: "v1beta2",
    name: "ClusterClass",
    plural: "clusterclasses",
    aliases: &["cc"],
    scope: Scope::Namespaced,
    asks_for: &[],
};

/// Classes, as facts.
#[derive(Clone, Copy, Debug)]
pub struct Classes;

/// The variables that a class defines inline, or that its status shows, with those of extensions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Variables {
    variables: Option<Vec<Variable>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Variable {
    name: String,
}

impl Variables {
    fn have(&self, name: &str) -> bool {
        self.variables.iter().flatten().any(|one| one.name == name)
    }
}

impl Facts for Classes {
    type Spec = Variables;
    type Status = Variables;
    type Key = ClassRef;
    type Value = ClusterClass;

    const KIND: &'static Kind = &CLASS;
    const GENERATIONS: &'static [Generation] = BETAS;
    const SOURCE: Source = Source::Vips(VipSource::Classes);

    fn key(metadata: &ObjectMeta) -> Option<ClassRef> {
        let name = object_name(metadata)?;
        Some(ClassRef { namespace: name.namespace, name: name.name })
    }

    fn value(object: View<Variables, Variables>, _: &Schemas) -> Option<ClusterClass> {
        let defines = |role: &Role| {
            let name = names::variable(*role);
            object.spec.have(name) || object.status.have(name)
        };
        let defines = Role::ALL.into_iter().filter(defines).collect();
        Some(ClusterClass { name: Self::key(&object.metadata)?, defines })
    }

    fn set(value: ClusterClass, world: &mut World) -> Option<&'static Kind> {
        world.set_cluster_class(value);
        None
    }

    fn remove(key: &ClassRef, world: &mut World) {
        world.remove_cluster_class(key);
    }

    fn retain(keys: &BTreeSet<ClassRef>, world: &mut World) {
        world.retain_cluster_classes(keys);
    }
}
