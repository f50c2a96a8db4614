//! How the objects of a kind are reached.

use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client};
use pontoon_core::model::{Kind, Scope};

/// The objects of a kind, in the namespace if the kind has namespaces.
pub fn objects(client: Client, kind: &Kind, namespace: &str) -> Api<DynamicObject> {
    let resource = resource(kind);
    match kind.scope {
        Scope::Namespaced => Api::namespaced_with(client, namespace, &resource),
        Scope::Cluster => Api::all_with(client, &resource),
    }
}

/// The objects of a kind in the whole cluster.
pub fn all_objects(client: Client, kind: &Kind) -> Api<DynamicObject> {
    Api::all_with(client, &resource(kind))
}

fn resource(kind: &Kind) -> ApiResource {
    ApiResource {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        api_version: kind.api_version(),
        kind: kind.name.to_owned(),
        plural: kind.plural.to_owned(),
    }
}
