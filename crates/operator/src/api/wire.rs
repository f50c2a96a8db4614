//! Custom resources in the API server's format.
//!
//! The root type of `kube`'s derive requires a `spec`, but FLIPOP's definitions store objects
//! without a spec. So the root types are our own, with a default `spec`, and the derived types only
//! carry the definition (names, columns, schema).

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize};

/// A custom resource in the API server's format.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wire<'a, S, T> {
    api_version: Cow<'a, str>,
    kind: Cow<'a, str>,
    metadata: &'a ObjectMeta,
    spec: &'a S,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a T>,
}

impl<'a, S, T> Wire<'a, S, T> {
    /// The parts of an object of kind `K`.
    pub(crate) fn of<K: Resource<DynamicType = ()>>(
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
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Decodes a time that the operator wrote. Unreadable text counts as unset.
pub(crate) fn time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<MicroTime>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()).map(MicroTime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_decodes_to_the_microsecond_and_an_unreadable_one_to_nothing() {
        let decoded = |json: &str| time(&mut serde_json::Deserializer::from_str(json)).unwrap();
        let read = decoded(r#""2026-11-15T03:35:57.123456Z""#).unwrap();
        assert_eq!(read.0.as_microsecond(), 1_794_713_757_123_456);
        assert_eq!(serde_json::to_string(&read).unwrap(), r#""2026-11-15T03:35:57.123456Z""#);
        assert_eq!(decoded(r#""yesterday""#), None);
        assert_eq!(decoded("null"), None);
    }
}
