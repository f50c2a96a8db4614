//! The kinds that come with the server.

use crate::registry::Kind;

struct Entry {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    status: bool,
    scale: bool,
}

const ALL_VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Discovery data of each kind.
const ENTRIES: &[Entry] = &[
    entry("", "v1", "ConfigMap", "configmaps", "configmap", &["cm"], true, false),
    entry("", "v1", "Event", "events", "event", &["ev"], true, false),
    entry("", "v1", "Namespace", "namespaces", "namespace", &["ns"], false, true),
    entry("", "v1", "Node", "nodes", "node", &["no"], false, true),
    Entry { categories: &["all"], ..entry("", "v1", "Pod", "pods", "pod", &["po"], true, true) },
    entry("", "v1", "Secret", "secrets", "secret", &[], true, false),
    entry("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount", &["sa"], true, false),
    Entry {
        categories: &["api-extensions"],
        ..entry(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            "customresourcedefinition",
            &["crd", "crds"],
            false,
            true,
        )
    },
    workload("DaemonSet", "daemonsets", "daemonset", &["ds"], false),
    workload("Deployment", "deployments", "deployment", &["deploy"], true),
    workload("ReplicaSet", "replicasets", "replicaset", &["rs"], true),
    workload("StatefulSet", "statefulsets", "statefulset", &["sts"], true),
    entry("coordination.k8s.io", "v1", "Lease", "leases", "lease", &[], true, false),
    entry("events.k8s.io", "v1", "Event", "events", "event", &["ev"], true, false),
    entry(
        "policy",
        "v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "poddisruptionbudget",
        &["pdb"],
        true,
        true,
    ),
];

#[expect(clippy::too_many_arguments, reason = "a table row")]
const fn entry(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    status: bool,
) -> Entry {
    Entry {
        group,
        version,
        kind,
        plural,
        singular,
        short,
        categories: &[],
        namespaced,
        status,
        scale: false,
    }
}

/// A kind of the group `apps`.
const fn workload(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
    scale: bool,
) -> Entry {
    Entry {
        categories: &["all"],
        scale,
        ..entry("apps", "v1", kind, plural, singular, short, true, true)
    }
}

pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    ENTRIES.iter().map(Entry::kind)
}

impl Entry {
    fn kind(&self) -> Kind {
        let storage_group = if self.group == "events.k8s.io" { "" } else { self.group };
        // Namespaces have no `deletecollection`.
        let verbs = ALL_VERBS
            .iter()
            .filter(|verb| self.plural != "namespaces" || **verb != "deletecollection");
        Kind {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            plural: self.plural.to_owned(),
            singular: self.singular.to_owned(),
            short_names: owned(self.short),
            categories: owned(self.categories),
            namespaced: self.namespaced,
            status_subresource: self.status,
            columns: Vec::new(),
            structural: None,
            schema: None,
            verbs: verbs.map(|verb| (*verb).to_owned()).collect(),
            selectable: Vec::new(),
            scale: self.scale,
            storage: (storage_group.to_owned(), self.plural.to_owned()),
        }
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
