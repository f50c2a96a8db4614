//! The custom resource definitions, generated from the Rust types.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use super::{Controllers, FRONTS};

/// Explains the generated file to its reader.
const HEADER: &str = "\
# The custom resources of Pontoon, for Kubernetes 1.30 and later.
#
# They replace those of FLIPOP and ip-address-controller in place: whatever is stored stays, and stays
# updatable.
#
#   kubectl apply --server-side --force-conflicts -f crds.yaml
#
# Generated from the Rust types in crates/operator/src/fronts; do not edit. To generate anew:
#
#   cargo run -p pontoon -- crds";

/// Every definition, in the order in which they are applied.
pub fn crds() -> Vec<CustomResourceDefinition> {
    // Generating the definitions is slow and always gives the same result.
    static CRDS: LazyLock<Vec<CustomResourceDefinition>> =
        LazyLock::new(|| FRONTS.iter().filter_map(|front| front.definition()).collect());
    CRDS.clone()
}

/// The definitions of these kinds as YAML documents; those of another project are left out. The text
/// is the same for each call.
pub fn crds_yaml(controllers: &Controllers) -> String {
    let options = match controllers {
        all if *all == Controllers::default() => " > deploy/crds.yaml".to_owned(),
        some => format!(" --controllers={some}"),
    };
    let mut text = format!("{HEADER}{options}\n");
    let chosen: Vec<_> = controllers.kinds().map(|kind| Some(kind.definition())).collect();
    for crd in crds().into_iter().filter(|crd| chosen.contains(&crd.metadata.name)) {
        text.push_str("---\n");
        let value = serde_json::json!(crd);
        let yaml =
            serde_saphyr::to_string(&value).unwrap_or_else(|problem| format!("# {problem}\n"));
        text.push_str(&yaml);
    }
    text
}

/// The definition of a type, with the changes that the derive has no options for: see
/// [`like_the_predecessors`].
pub(super) fn generated<T: CustomResourceExt>() -> CustomResourceDefinition {
    let mut crd = T::crd();
    for version in &mut crd.spec.versions {
        let Some(schema) =
            version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut())
        else {
            continue;
        };
        // FLIPOP's definitions allow an object without a spec.
        schema.required = None;
        like_the_predecessors(schema);
    }
    crd
}

/// Removes the additions of `schemars` that FLIPOP's definitions never had: a stored default, a
/// stored `null`, a title. Joins each paragraph of a description into one line, for `kubectl
/// explain` to wrap.
fn like_the_predecessors(schema: &mut JSONSchemaProps) {
    schema.default = None;
    schema.nullable = None;
    schema.title = None;
    schema.description = schema.description.take().map(|text| paragraphs(&text));
    children(schema).for_each(|(_, child)| like_the_predecessors(child));
}

/// The direct child schemas, each with its step in a path.
fn children(schema: &mut JSONSchemaProps) -> impl Iterator<Item = (&str, &mut JSONSchemaProps)> {
    let properties =
        schema.properties.iter_mut().flatten().map(|(name, child)| (name.as_str(), child));
    let items = match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(child)) => Some(("[]", &mut **child)),
        _ => None,
    };
    let values = match &mut schema.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(child)) => Some(("{}", &mut **child)),
        _ => None,
    };
    properties.chain(items).chain(values)
}

/// Joins the lines of each paragraph.
fn paragraphs(text: &str) -> String {
    let joined = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    text.split("\n\n").map(joined).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pontoon_core::model::Scope;

    use super::*;

    fn root(crd: &mut CustomResourceDefinition) -> &mut JSONSchemaProps {
        let schema = crd.spec.versions[0].schema.as_mut().unwrap();
        schema.open_api_v3_schema.as_mut().unwrap()
    }

    fn walk(
        path: &str,
        schema: &mut JSONSchemaProps,
        visit: &mut impl FnMut(&str, &JSONSchemaProps),
    ) {
        visit(path, schema);
        for (step, child) in children(schema) {
            walk(&format!("{path}.{step}"), child, visit);
        }
    }

    #[test]
    fn the_committed_file_is_what_the_types_say() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds.yaml");
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            committed == crds_yaml(&Controllers::default()),
            "{} is stale; run: cargo run -p pontoon -- crds > deploy/crds.yaml",
            file.display()
        );
    }

    #[test]
    fn the_yaml_reads_back_as_the_same_definitions() {
        let read: Vec<CustomResourceDefinition> =
            serde_saphyr::from_multiple(&crds_yaml(&Controllers::default())).unwrap();
        assert_eq!(read, crds());
    }

    #[test]
    fn every_field_at_every_level_is_described() {
        for mut crd in crds() {
            walk(&crd.spec.names.kind.clone(), root(&mut crd), &mut |path, schema| {
                let described = schema.description.as_deref().is_some_and(|text| text.len() > 5);
                // The description of a list or map of texts covers its entries.
                let text = schema.type_.as_deref() == Some("string");
                let entry = path.ends_with("[]") || (text && path.ends_with("{}"));
                assert!(described || entry, "{path} has no description");
            });
        }
    }

    #[test]
    fn nothing_is_stored_that_nobody_wrote() {
        for mut crd in crds() {
            walk("", root(&mut crd), &mut |path, schema| {
                assert!(schema.default.is_none() && schema.nullable.is_none(), "{path}");
            });
        }
    }

    #[test]
    fn the_only_required_fields_are_the_predecessors_and_those_of_a_condition() {
        let mut required = Vec::new();
        for mut crd in crds() {
            walk(&crd.spec.names.kind.clone(), root(&mut crd), &mut |path, schema| {
                if let Some(names) = &schema.required {
                    required.push(format!("{path}: {}", names.join(" ")));
                }
            });
        }
        let condition = "lastTransitionTime message reason status type";
        assert_eq!(
            required,
            [
                "FloatingIPPool.spec: provider".to_owned(),
                format!("FloatingIPPool.status.conditions.[]: {condition}"),
                format!("NodeDNSRecordSet.status.conditions.[]: {condition}"),
                "NetIPAllocation.spec: cloud reservedIPs".to_owned(),
                "NetIPAllocation.spec.workloadRef: kind name".to_owned(),
                format!("NetIPAllocation.status.conditions.[]: {condition}"),
            ]
        );
    }

    #[test]
    fn each_kind_is_named_as_its_definition_names_it() {
        for front in FRONTS {
            let kind = front.kind();
            let Some(definition) = front.definition() else {
                assert!(!front.generations().is_empty(), "{kind} is another project's");
                continue;
            };
            let (spec, names) = (&definition.spec, &definition.spec.names);
            assert_eq!(kind.name, names.kind);
            assert_eq!(definition.metadata.name, Some(kind.definition()));
            assert_eq!(kind.plural, names.plural);
            assert_eq!(kind.plural, format!("{}s", kind.name.to_lowercase()));
            assert_eq!((kind.group, kind.version), (&*spec.group, &*spec.versions[0].name));
            assert_eq!(kind.aliases, names.short_names.clone().unwrap_or_default());
            assert_eq!(kind.scope == Scope::Namespaced, spec.scope == "Namespaced");
            assert_eq!(names.categories.as_deref(), Some(["pontoon".to_owned()].as_slice()));
        }
    }
}
