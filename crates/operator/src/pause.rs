//! `pontoon pause` and `pontoon resume`: set or remove an annotation with the reason.

use std::fmt;
use std::str::FromStr;

use kube::Client;
use kube::api::{Patch, PatchParams};
use pontoon_core::model::{Kind, Scope};
use serde_json::json;

use crate::api::{PAUSED_ANNOTATION, objects};
use crate::fronts::own_kinds;
use crate::observe::{NOT_PAUSED, causes};

/// An object that supports pausing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pausable {
    kind: &'static Kind,
    namespace: String,
    name: String,
}

impl fmt::Display for Pausable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.name.to_lowercase();
        match self.kind.scope {
            Scope::Namespaced => write!(f, "{kind}/{}/{}", self.namespace, self.name),
            Scope::Cluster => write!(f, "{kind}/{}", self.name),
        }
    }
}

impl FromStr for Pausable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once('/').unwrap_or((text, ""));
        let word = word.to_lowercase();
        let is_it = |kind: &&Kind| {
            [&*kind.name.to_lowercase(), kind.plural].contains(&&*word)
                || kind.aliases.contains(&&*word)
        };
        let named = own_kinds().find(is_it).and_then(|kind| {
            let (namespace, name) = match kind.scope {
                Scope::Namespaced => rest.split_once('/').filter(|(one, _)| !one.is_empty())?,
                Scope::Cluster => ("", rest),
            };
            let (namespace, name) = (namespace.to_owned(), name.to_owned());
            let whole = !name.is_empty() && !name.contains('/');
            whole.then_some(Self { kind, namespace, name })
        });
        named.ok_or_else(|| format!("write {}", forms()))
    }
}

/// How an object of each kind is written.
pub fn forms() -> String {
    let form = |kind: &Kind| match kind.scope {
        Scope::Namespaced => format!("{}/NAMESPACE/NAME", kind.name.to_lowercase()),
        Scope::Cluster => format!("{}/NAME", kind.name.to_lowercase()),
    };
    own_kinds().map(form).collect::<Vec<_>>().join(" or ")
}

/// Pauses an object with a reason, or resumes the object without one.
///
/// # Errors
/// The API server's message; if the server cannot be reached, the cause and the server's URL.
pub async fn annotate(
    client: Client,
    object: &Pausable,
    reason: Option<&str>,
    server: &str,
) -> Result<(), String> {
    if reason.is_some_and(|reason| reason.trim().eq_ignore_ascii_case(NOT_PAUSED)) {
        return Err(format!(
            "\"{NOT_PAUSED}\" cannot be the reason: an annotation with this text does not pause an object"
        ));
    }
    let Pausable { kind, namespace, name } = object;
    let api = objects(client, kind, namespace);
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
    use crate::fronts::floating_ip_pool::FLOATING_IP_POOL;
    use crate::fronts::node_dns_record_set::NODE_DNS_RECORD_SET;

    #[test]
    fn an_object_is_named_by_kind_namespace_and_name() {
        let parsed = |text: &str| text.parse::<Pausable>();
        let pool =
            Pausable { kind: &FLOATING_IP_POOL, namespace: "n".to_owned(), name: "p".to_owned() };
        assert_eq!(pool.to_string(), "floatingippool/n/p");
        assert_eq!(parsed("FloatingIPPool/n/p"), Ok(pool));
        assert_eq!(parsed("fippool/n/p").map(|one| one.kind), Ok(&FLOATING_IP_POOL));
        assert_eq!(parsed("nodedns/n/r").map(|one| one.kind), Ok(&NODE_DNS_RECORD_SET));
        for odd in ["p", "n/p", "node/n/p", "floatingippool//p", "floatingippool/n/p/x"] {
            assert!(parsed(odd).is_err(), "{odd}");
        }
    }
}
