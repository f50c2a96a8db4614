//! Maps paths to resources.

use std::sync::Arc;

use percent_encoding::percent_decode_str;

use crate::refusal::Refusal;
use crate::registry::{Kind, Registry};

/// A path under `/api/v1/` or `/apis/{group}/{version}/`.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) kind: Arc<Kind>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) sub: Option<String>,
}

/// Resources of the core group that kube-apiserver serves and fakekube lacks.
const OTHER_CORE: &[&str] = &[
    "bindings",
    "componentstatuses",
    "endpoints",
    "limitranges",
    "persistentvolumeclaims",
    "persistentvolumes",
    "podtemplates",
    "replicationcontrollers",
    "resourcequotas",
    "services",
    "watch",
];

/// Resources of the group `apps` that kube-apiserver serves and fakekube lacks.
const OTHER_APPS: &[&str] = &["controllerrevisions"];

/// Groups that kube-apiserver serves and fakekube lacks.
const OTHER_GROUPS: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiregistration.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Subresources that kube-apiserver serves and fakekube lacks.
const OTHER_SUBRESOURCES: &[(&str, &[&str])] = &[
    (
        "pods",
        &[
            "attach",
            "binding",
            "ephemeralcontainers",
            "exec",
            "log",
            "portforward",
            "proxy",
            "resize",
        ],
    ),
    ("nodes", &["proxy"]),
    ("serviceaccounts", &["token"]),
];

/// Finds the resource of a path. Callers handle other paths (`/version`, discovery) before.
pub(crate) fn find(registry: &Registry, path: &str) -> Result<Target, Refusal> {
    let decoded: Vec<String> = path
        .trim_matches('/')
        .split('/')
        .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["api", "v1", rest @ ..] if !rest.is_empty() => resource(registry, "", "v1", rest),
        ["api", ..] => Err(Refusal::no_such_resource()),
        ["apis", group, ..] if OTHER_GROUPS.contains(group) => {
            Err(Refusal::unsupported(&format!("the group {group}")))
        }
        ["apis", group, version, rest @ ..] if !rest.is_empty() => {
            resource(registry, group, version, rest)
        }
        _ => Err(Refusal::page_not_found()),
    }
}

fn resource(
    registry: &Registry,
    group: &str,
    version: &str,
    rest: &[&str],
) -> Result<Target, Refusal> {
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if names_resource(group, rest) => {
            (Some(*namespace), rest)
        }
        rest => (None, rest),
    };
    let (plural, name, sub) = match rest {
        [plural] => (*plural, None, None),
        [plural, name] => (*plural, Some(*name), None),
        [plural, name, sub] => (*plural, Some(*name), Some(*sub)),
        _ => return Err(unknown(registry, group)),
    };
    let others = match group {
        "" => OTHER_CORE,
        "apps" => OTHER_APPS,
        _ => &[],
    };
    if others.contains(&plural) {
        return Err(Refusal::unsupported(plural));
    }
    let Some(kind) = registry.get(group, version, plural) else {
        return Err(unknown(registry, group));
    };
    let misplaced = match (kind.namespaced, namespace.is_some()) {
        (true, false) => name.is_some(),
        (false, given) => given,
        (true, true) => false,
    };
    if misplaced {
        return Err(unknown(registry, group));
    }
    check_sub(kind, name, sub)?;
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Ok(Target {
        kind: Arc::clone(kind),
        namespace: owned(namespace),
        name: owned(name),
        sub: owned(sub),
    })
}

/// Whether the path after `namespaces/x` names a resource in the namespace, rather than a
/// subresource of the namespace itself.
fn names_resource(group: &str, rest: &[&str]) -> bool {
    match rest {
        [] => false,
        [only] => !(group.is_empty() && matches!(*only, "status" | "finalize")),
        _ => true,
    }
}

/// The server's answer to an unknown path: plain text, or a Status for built-in groups.
fn unknown(registry: &Registry, group: &str) -> Refusal {
    match registry.kinds().find(|kind| kind.group == group) {
        Some(kind) if kind.built_in() => Refusal::no_such_resource(),
        _ => Refusal::page_not_found(),
    }
}

fn check_sub(kind: &Kind, name: Option<&str>, sub: Option<&str>) -> Result<(), Refusal> {
    let Some(sub) = sub else {
        return Ok(());
    };
    if (sub == "status" && kind.status_subresource)
        || (sub == "finalize" && kind.built_in() && kind.plural == "namespaces")
        || (sub == "eviction" && kind.built_in() && kind.plural == "pods")
        || (sub == "scale" && kind.built_in() && kind.scale)
    {
        return Ok(());
    }
    let others = OTHER_SUBRESOURCES.iter().filter(|(plural, _)| *plural == kind.plural);
    if kind.group.is_empty() && others.flat_map(|(_, subs)| *subs).any(|other| *other == sub) {
        return Err(Refusal::unsupported(&format!("{}/{sub}", kind.plural)));
    }
    if kind.built_in() {
        return Err(Refusal::no_such_resource());
    }
    if sub == "scale" && kind.scale {
        return Err(Refusal::unsupported("the scale subresource"));
    }
    Err(Refusal::not_found(kind, name.unwrap_or_default()))
}

impl Target {
    /// Key of the object in the store.
    pub(crate) fn key(&self) -> String {
        key(self.namespace.as_deref(), self.name.as_deref().unwrap_or_default())
    }

    /// Common prefix of the collection's keys.
    pub(crate) fn prefix(&self) -> String {
        key(self.namespace.as_deref(), "")
    }
}

/// `namespace/name`, or `name`.
pub(crate) fn key(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}
