//! A kind is a folder and two lines in `fronts` of the operator, and nothing else: no other file
//! names one, neither by its folder nor by the name or the short name that manifests and kubectl have.

use super::graph::workspace;
use super::sources::{shipped_lines, written_lines};

/// The registry of the kinds.
const REGISTRY: &str = "operator/src/fronts/mod.rs";

/// Files that name a kind by its folder or by a short name, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("operator/src/fronts/dns_record/types.rs", "a field's text for users"),
    ("operator/src/management/mod.rs", "the kinds that stand-ins for other controllers read"),
    (
        "operator/src/sandbox/allocations.rs",
        "the sandbox's own allocation, and whether it is ready",
    ),
    ("operator/src/sandbox/cluster.rs", "the sandbox's own pools"),
    ("operator/src/sandbox/dns.rs", "whether the names of the sandbox are current"),
    ("operator/src/sandbox/scene.rs", "commands for users"),
    ("operator/src/sandbox/view.rs", "the table of pools that the sandbox shows"),
];

/// Files and folders of the operator that name a kind as manifests do, and why. In `core`, `Cluster` is
/// the word for whatever asks for VIPs.
const NAMING: &[(&str, &str)] = &[
    ("operator/src/args/", "texts for users"),
    ("operator/src/extension/", "the hooks of Cluster API are about Clusters"),
    ("operator/src/fronts/dns_record/types.rs", "a field's text for users"),
    ("operator/src/fronts/observed.rs", "core's type of an object that asks for VIPs"),
    ("operator/src/management/", "stand-ins for controllers of Cluster API"),
    ("operator/src/sandbox/", "the sandbox's own objects, and texts for users"),
];

/// The kinds in the registry of the fronts, which are the names of their folders.
fn kinds() -> Vec<String> {
    let registry = std::fs::read_to_string(workspace().join("crates").join(REGISTRY));
    let registry = registry.expect("the registry");
    let (_, entries) = registry.split_once("static FRONTS: ").expect("the list of fronts");
    let (entries, _) = entries.split_once("];").expect("the end of the list");
    let folders = entries.split('&').filter_map(|entry| entry.split_once("::"));
    folders.map(|(folder, _)| folder.to_owned()).collect()
}

/// The texts in quotes of a field in the definition of a kind.
fn field(kind: &str, name: &str) -> Vec<String> {
    let file = workspace().join("crates/operator/src/fronts").join(kind).join("mod.rs");
    let text = std::fs::read_to_string(file).expect("the front");
    let (_, fields) = text.split_once(": Kind = Kind {").expect("the kind");
    let value = fields.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
    let quoted = value.expect("the field").split('"').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

/// Whether a line has a word.
fn has(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric()).any(|one| one == word)
}

/// Whether a line in small letters has a kind's name, as a module, a constant, a type or a plural.
fn names(line: &str, kind: &str) -> bool {
    line.replace('_', "").contains(&kind.replace('_', ""))
}

#[test]
fn a_kind_has_two_lines_beside_its_folder_and_nobody_else_names_it() {
    let kinds = kinds();
    assert!(kinds.len() > 1, "{kinds:?}");
    let aliases: Vec<String> = kinds.iter().flat_map(|kind| field(kind, "aliases")).collect();
    assert!(aliases.len() >= kinds.len(), "{aliases:?}");
    let names_one = |line: &str| {
        kinds.iter().any(|kind| names(line, kind)) || aliases.iter().any(|alias| has(line, alias))
    };
    let own = |part: &str| kinds.iter().any(|kind| part.contains(&format!("/fronts/{kind}/")));
    let mut named = shipped_lines("operator", own, names_one);
    named.extend(shipped_lines("core", |_| false, names_one));
    let registered = named.remove(REGISTRY).unwrap_or_default();
    for kind in &kinds {
        let own = registered.iter().filter(|line| names(line, kind));
        assert_eq!(own.count(), 2, "{kind}: {registered:#?}");
    }
    for (file, why) in ALLOWED {
        assert!(named.remove(*file).is_some(), "{file} names no kind any more ({why})");
    }
    assert!(named.is_empty(), "these name a kind: {named:#?}");
}

#[test]
fn code_for_every_kind_says_object_and_not_the_name_of_a_kind() {
    let kinds = kinds();
    let called: Vec<String> = kinds.iter().flat_map(|kind| field(kind, "name")).collect();
    assert_eq!(called.len(), kinds.len(), "{called:?}");
    let names_one = |line: &str| {
        // A scope and a project, which are no kinds.
        let line = line.replace("Scope::Cluster", "").replace("Cluster API", "");
        let is_entry = kinds.iter().any(|kind| line.trim().starts_with(&format!("&{kind}::")));
        !is_entry && called.iter().any(|name| has(&line, name) || has(&line, &format!("{name}s")))
    };
    let own = |part: &str| kinds.iter().any(|kind| part.contains(&format!("/fronts/{kind}/")));
    let mut named = written_lines("operator", own, names_one);
    for (place, why) in NAMING {
        let before = named.len();
        named.retain(|file, _| !file.starts_with(place));
        assert!(named.len() < before, "{place} names no kind any more ({why})");
    }
    assert!(named.is_empty(), "these name a kind: {named:#?}");
}
