//! Objects of Kubernetes as manifests: users of a simulation need no types, and the types of workloads
//! take longer to compile than the rest of this crate.

use kube::api::{ApiResource, DynamicObject, PostParams, TypeMeta};
use kube::{Api, Client, Resource};
use serde_json::Value;

/// The objects of a kind in a namespace, or of a kind without namespaces.
pub fn objects_of<K>(client: &Client, namespace: Option<&str>) -> Api<DynamicObject>
where
    K: Resource<DynamicType = ()>,
{
    let kind = ApiResource::erase::<K>(&());
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    }
}

/// Creates an object of a kind.
///
/// # Errors
/// The manifest has no form of an object, or the server refuses it.
pub async fn create<K>(api: &Api<DynamicObject>, manifest: Value) -> kube::Result<()>
where
    K: Resource<DynamicType = ()>,
{
    let mut object: DynamicObject =
        serde_json::from_value(manifest).map_err(kube::Error::SerdeError)?;
    let (api_version, kind) = (K::api_version(&()).into_owned(), K::kind(&()).into_owned());
    object.types = Some(TypeMeta { api_version, kind });
    api.create(&PostParams::default(), &object).await.map(drop)
}
