//! `pontoon pause` and `pontoon resume`: an annotation on one object, with a reason.

use std::fmt;
use std::str::FromStr;

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::api::{GROUP, PAUSED_ANNOTATION, VERSION};
use crate::observe::{NOT_PAUSED, causes, pool, record_set};

/// An object that can be paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pausable {
    kind: &'static str,
    namespace: String,
    name: String,
}

impl fmt::Display for Pausable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.kind.to_lowercase(), self.namespace, self.name)
    }
}

impl FromStr for Pausable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = |word: &str| match word.to_lowercase().as_str() {
            "floatingippool" | "floatingippools" | "fippool" => Some(pool::KIND),
            "nodednsrecordset" | "nodednsrecordsets" | "nodedns" => Some(record_set::KIND),
            _ => None,
        };
        let parts: Vec<_> = text.split('/').collect();
        match parts.as_slice() {
            [word, namespace, name] if !namespace.is_empty() && !name.is_empty() => {
                kind(word).map(|kind| Self {
                    kind,
                    namespace: (*namespace).to_owned(),
                    name: (*name).to_owned(),
                })
            }
            _ => None,
        }
        .ok_or_else(|| {
            "write floatingippool/NAMESPACE/NAME or nodednsrecordset/NAMESPACE/NAME".to_owned()
        })
    }
}

/// Pauses an object for a reason, or resumes it.
///
/// # Errors
/// The API server's words; if it cannot be used, why, and which it is.
pub async fn annotate(
    client: Client,
    object: &Pausable,
    reason: Option<&str>,
    server: &str,
) -> Result<(), String> {
    if reason.is_some_and(|reason| reason.trim().eq_ignore_ascii_case(NOT_PAUSED)) {
        return Err(format!("\"{NOT_PAUSED}\" is no reason: an object with it is not paused"));
    }
    let Pausable { kind, namespace, name } = object;
    let resource = ApiResource {
        group: GROUP.into(),
        version: VERSION.into(),
        api_version: format!("{GROUP}/{VERSION}"),
        kind: (*kind).into(),
        plural: format!("{}s", kind.to_lowercase()),
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &resource);
    let patch = Patch::Merge(json!({"metadata": {"annotations": {PAUSED_ANNOTATION: reason}}}));
    api.patch(name, &PatchParams::default(), &patch).await.map(drop).map_err(|error| match error {
        kube::Error::Api(status) => status.message,
        other => format!(
            "cannot use the API server at {server}: {}; is it up and reachable from here, and is \
             it the one that is meant (--kubeconfig, $KUBECONFIG)?",
            causes(&other)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_by_kind_namespace_and_name() {
        let parsed = |text: &str| text.parse::<Pausable>();
        let pool =
            Pausable { kind: "FloatingIPPool", namespace: "n".to_owned(), name: "p".to_owned() };
        assert_eq!(pool.to_string(), "floatingippool/n/p");
        assert_eq!(parsed("FloatingIPPool/n/p"), Ok(pool));
        assert_eq!(parsed("fippool/n/p").map(|one| one.kind), Ok("FloatingIPPool"));
        assert_eq!(parsed("nodedns/n/r").map(|one| one.kind), Ok("NodeDNSRecordSet"));
        for odd in ["p", "n/p", "node/n/p", "floatingippool//p", "floatingippool/n/p/x"] {
            assert!(parsed(odd).is_err(), "{odd}");
        }
    }
}
