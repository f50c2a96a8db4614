//! How the objects of a kind are reached.

use kube::api::{ApiResource, DynamicObject};
use kube::core::DynamicResourceScope;
use kube::{Api, Client, Resource};
use pontoon_core::model::{Kind, Scope};

/// The objects of a kind, in the namespace if the kind has namespaces.
pub fn objects(client: Client, kind: &Kind, namespace: &str) -> Api<DynamicObject> {
    objects_in(client, kind, kind.version, namespace)
}

/// The objects of a kind in the given version, in the namespace if the kind has namespaces.
pub fn objects_in(
    client: Client,
    kind: &Kind,
    version: &str,
    namespace: &str,
) -> Api<DynamicObject> {
    let resource = resource_in(kind, version);
    match kind.scope {
        Scope::Namespaced => Api::namespaced_with(client, namespace, &resource),
        Scope::Cluster => Api::all_with(client, &resource),
    }
}

/// The objects of a kind in the given version, in the whole cluster, or in the namespace if there is
/// one and the kind has namespaces.
pub fn objects_within<K>(
    client: Client,
    kind: &Kind,
    version: &str,
    namespace: Option<&str>,
) -> Api<K>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    let resource = resource_in(kind, version);
    match namespace.filter(|_| kind.scope == Scope::Namespaced) {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    }
}

/// A kind in the given version.
fn resource_in(kind: &Kind, version: &str) -> ApiResource {
    // The core group has an empty name.
    let api_version = match kind.group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    ApiResource {
        group: kind.group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind: kind.name.to_owned(),
        plural: kind.plural.to_owned(),
    }
}
