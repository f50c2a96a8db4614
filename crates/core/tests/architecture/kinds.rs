//! A kind is a folder and two lines in `fronts` of the operator, and nothing else: no other file
//! names one.

use super::graph::workspace;
use super::sources::shipped_lines;

/// The registry of the kinds.
const REGISTRY: &str = "operator/src/fronts/mod.rs";

/// Short names of kinds for kubectl.
const ALIASES: &[&str] = &["fippool", "nodedns"];

/// Files that name a kind, and why.
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

/// The kinds in the registry of the fronts, which are the names of their folders.
fn kinds() -> Vec<String> {
    let registry = std::fs::read_to_string(workspace().join("crates").join(REGISTRY));
    let registry = registry.expect("the registry");
    let (_, entries) = registry.split_once("static FRONTS: ").expect("the list of fronts");
    let (entries, _) = entries.split_once("];").expect("the end of the list");
    let folders = entries.split('&').filter_map(|entry| entry.split_once("::"));
    folders.map(|(folder, _)| folder.to_owned()).collect()
}

/// Whether a line in small letters has a kind's name, as a module, a constant, a type or a plural.
fn names(line: &str, kind: &str) -> bool {
    line.replace('_', "").contains(&kind.replace('_', ""))
}

#[test]
fn a_kind_has_two_lines_beside_its_folder_and_nobody_else_names_it() {
    let kinds = kinds();
    assert!(kinds.len() > 1, "{kinds:?}");
    let names_one = |line: &str| {
        let words = kinds.iter().map(String::as_str).chain(ALIASES.iter().copied());
        words.into_iter().any(|word| names(line, word))
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
