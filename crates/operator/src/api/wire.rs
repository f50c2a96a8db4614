//! Serialization of custom resources.
//!
//! The root type of `kube`'s derive requires a `spec`, but FLIPOP's definitions store objects
//! without a spec. So the root types are our own, with a default `spec`, and the derived types only
//! carry the definition (names, columns, schema).

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::Serialize;

/// A custom resource in the API server's format.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wire<'a, S, T> {
    api_version: Cow<'a, str>,
    kind: Cow<'a, str>,
    metadata: &'a ObjectMeta,
    spec: &'a S,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a T>,
}

impl<'a, S, T> Wire<'a, S, T> {
    /// The parts of an object of kind `K`.
    pub(super) fn of<K: Resource<DynamicType = ()>>(
        object: &'a K,
        spec: &'a S,
        status: Option<&'a T>,
    ) -> Self {
        Self {
            api_version: K::api_version(&()),
            kind: K::kind(&()),
            metadata: object.meta(),
            spec,
            status,
        }
    }
}

/// Skips fields that hold their default: Pontoon and FLIPOP treat unset fields the same.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
