//! A vendor is a folder and two lines in `providers`, a folder and two lines in `fakecloud`, and
//! nothing else: no other file names one.

use std::collections::BTreeMap;

use super::graph::workspace;
use super::sources::{shipped_lines, shipped_words};

/// Words of a vendor beside its name.
const WORDS: &[&str] = &["droplet", "droplets"];

/// Other names of vendors, and names of their products.
const NAMES: &[&str] = &["gke", "google"];

/// Files that name a vendor, and why.
const ALLOWED: &[(&str, &str)] = &[
    (
        "operator/src/fronts/dns_record/types.rs",
        "the default that FLIPOP documents, and examples for users",
    ),
    ("operator/src/fronts/floating_ip_pool/types.rs", "an example for users"),
    (
        "operator/src/fronts/net_ip_allocation/decode.rs",
        "the system namespaces that ip-address-controller leaves out",
    ),
    (
        "operator/src/fronts/net_ip_allocation/process_metrics.rs",
        "names and texts of ip-address-controller's series",
    ),
    (
        "operator/src/fronts/net_ip_allocation/types.rs",
        "the system namespaces that ip-address-controller leaves out, for users",
    ),
    ("operator/src/sandbox/args.rs", "the name of a scene, and a text for users"),
    ("operator/src/sandbox/scene.rs", "the providers that the scenes show"),
];

/// Fields of Kubernetes' own kinds that `core` names, because every front's nodes have them.
const FIELDS_OF_KUBERNETES: &[&str] = &["providerID"];

/// The vendors in the registry of the providers, which are the names of their folders.
fn vendors() -> Vec<String> {
    let registry = std::fs::read_to_string(workspace().join("crates/providers/src/lib.rs"));
    let registry = registry.expect("the registry");
    let entries = registry.lines().filter_map(|line| line.trim().strip_suffix("::VENDOR,"));
    entries.map(|entry| entry.trim_start_matches('&').to_owned()).collect()
}

/// Whether a line has a word, also as a part of a name such as `ACME_KEY`.
fn has(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric()).any(|one| one == word)
}

/// Whether a word is written like a field of an object: `deletionPolicy`.
fn is_lower_camel(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.contains(char::is_uppercase)
}

/// The lines in question, by file, in the sources of a crate and outside the vendors' folders.
/// FLIPOP's API group counts as no vendor.
fn lines(package: &str, in_question: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<String>> {
    let vendors = vendors();
    let own = |part: &str| vendors.iter().any(|vendor| part.contains(&format!("/{vendor}/")));
    let in_question = |line: &str| in_question(&line.replace("flipop.digitalocean.com", ""));
    shipped_lines(package, own, in_question)
}

#[test]
fn a_vendor_has_two_lines_beside_its_folders_and_nobody_else_names_it() {
    let vendors = vendors();
    assert!(vendors.len() > 2, "{vendors:?}");
    let words: Vec<&str> =
        vendors.iter().map(String::as_str).chain([WORDS, NAMES].concat()).collect();
    let names_one = |line: &str| words.iter().any(|word| has(line, word));
    let mut named = BTreeMap::new();
    for package in ["core", "providers", "fakecloud", "fakehttp", "operator"] {
        named.extend(lines(package, names_one));
    }
    let mut registered = |file: &str| named.remove(file).unwrap_or_default();
    let clients = registered("providers/src/lib.rs");
    let mut emulators = registered("fakecloud/src/lib.rs");
    emulators.extend(registered("fakecloud/src/emulators.rs"));
    for vendor in &vendors {
        for lines in [&clients, &emulators] {
            let own: Vec<_> = lines
                .iter()
                .filter(|line| has(line, vendor) && !line.trim().starts_with("#["))
                .collect();
            assert_eq!(own.len(), 2, "{vendor}: {own:#?}");
        }
    }
    for (file, why) in ALLOWED {
        assert!(named.remove(*file).is_some(), "{file} names no vendor any more ({why})");
    }
    assert!(named.is_empty(), "these name a vendor: {named:#?}");
}

#[test]
fn the_simulation_reaches_the_vendors_by_what_their_emulators_register() {
    let vendors = vendors();
    // Variables, provider IDs and paths. Schedules may say which vendor a pool or a name is at.
    let reaches = |line: &str| {
        let by = |vendor: &String| {
            line.contains(&format!("{vendor}_")) || line.contains(&format!("{vendor}://"))
        };
        vendors.iter().any(by) || WORDS.iter().any(|word| has(line, word))
    };
    let found = lines("simulate", reaches);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn core_names_no_field_of_a_front() {
    let names = ["spec.ips", "pontoon.dev", "chart"];
    let found = lines("core", |line| names.iter().any(|name| line.contains(name)));
    assert!(found.is_empty(), "{found:#?}");
    // A field in a text or a comment; code has no name of this form.
    let is_allowed = |word: &str| FIELDS_OF_KUBERNETES.contains(&word);
    let found = shipped_words("core", |word| is_lower_camel(word) && !is_allowed(word));
    assert!(found.is_empty(), "core names the fields {found:#?}");
}

#[test]
fn a_name_of_a_field_is_told_from_other_words() {
    for (word, is_field) in [
        ("deletionPolicy", true),
        ("providerID", true),
        ("desiredIPs", true),
        ("Retain", false),
        ("RecordSet", false),
        ("record", false),
        ("a", false),
        ("HTTP", false),
        ("192", false),
    ] {
        assert_eq!(is_lower_camel(word), is_field, "{word}");
    }
}
