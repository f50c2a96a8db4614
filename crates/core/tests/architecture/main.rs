//! Allowed dependencies and licences, a check for source files outside the module tree, circles of
//! imports, where vendors and kinds may be named, where tests are, and that links in pages lead
//! somewhere.
//!
//! Crate boundaries are dependency bans, enforced here. Only normal dependencies count, because
//! only they ship; tests may use any crate.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cycles;
mod graph;
mod kinds;
mod licences;
mod links;
mod orphans;
mod sources;
mod vendors;

use cycles::Modules;
use graph::Graph;

/// Clients and types of Kubernetes.
const KUBERNETES: &[&str] = &["kube", "kube-*", "k8s-openapi"];

/// Packages that would make a plan depend on more than the world and the time.
const IMPURE: &[&str] = &[
    "tokio",
    "tokio-*",
    "mio",
    "async-*",
    "futures",
    "futures-*",
    "hyper",
    "hyper-*",
    "http",
    "http-*",
    "tower",
    "tower-*",
    "axum",
    "axum-*",
    "reqwest",
    "rustls",
    "rustls-*",
    "ring",
    "tracing",
    "tracing-*",
    "log",
    "rand",
    "rand_*",
    "fastrand",
    "getrandom",
    "uuid",
    "chrono",
    "jiff",
    "jiff-*",
    "time",
    "rustix",
    "libc",
    "prometheus",
];

/// Packages of this workspace for tests only.
const TEST_SUPPORT: &[&str] = &["control-plane"];

/// Packages of this workspace for the sandbox only.
const FAKES: &[&str] = &["fakecloud", "fakehttp", "fakekube"];

/// Crypto that needs a C toolchain, or duplicates ring.
const OTHER_CRYPTO: &[&str] = &["openssl", "openssl-sys", "native-tls", "aws-lc-*"];

#[test]
fn core_reaches_nothing_that_does_or_waits_or_asks_the_time() {
    let graph = Graph::read();
    graph.assert_never_reaches("pontoon-core", KUBERNETES);
    graph.assert_never_reaches("pontoon-core", IMPURE);
    graph.assert_never_reaches("pontoon-core", &graph.members());
}

#[test]
fn providers_know_neither_kubernetes_nor_any_other_crate_of_ours() {
    let graph = Graph::read();
    graph.assert_never_reaches("pontoon-providers", KUBERNETES);
    graph.assert_never_reaches("pontoon-providers", &graph.members());
}

#[test]
fn the_fakes_know_nothing_of_ours_but_what_they_share() {
    let graph = Graph::read();
    graph.assert_never_reaches("fakehttp", KUBERNETES);
    graph.assert_never_reaches("fakehttp", &graph.members());
    graph.assert_never_reaches("fakecloud", KUBERNETES);
    let mut others = graph.members();
    others.retain(|member| *member != "fakehttp");
    for fake in ["fakecloud", "fakekube"] {
        graph.assert_never_reaches(fake, &others);
    }
}

#[test]
fn nothing_that_ships_carries_test_support_or_other_crypto() {
    let graph = Graph::read();
    graph.assert_never_reaches("pontoon", TEST_SUPPORT);
    graph.assert_never_reaches("pontoon", OTHER_CRYPTO);
}

#[test]
fn only_the_sandbox_and_tests_see_a_fake() {
    let operator = graph::workspace().join("crates/operator/src");
    for file in orphans::rust_files(&operator) {
        let part = file.strip_prefix(&operator).expect("within the crate");
        let text = std::fs::read_to_string(&file).expect("a source file");
        let fake = FAKES.iter().find(|fake| text.contains(&format!("{fake}::")));
        let fine = part.starts_with("sandbox") || sources::is_test(part);
        assert!(fine || fake.is_none(), "{} uses {fake:?}", part.display());
    }
}

#[test]
fn a_module_for_tests_is_in_a_folder_for_tests() {
    // The suite that every vendor passes.
    const ALLOWED: &[&str] = &["providers/src/lib.rs: contract"];
    let found = ["operator", "providers"].map(sources::test_modules).concat();
    let elsewhere: Vec<_> = found.into_iter().filter(|one| !one.ends_with(": tests")).collect();
    assert_eq!(elsewhere, ALLOWED);
}

#[test]
fn the_operator_does_not_ship_tokios_test_clock() {
    let features = graph::features("pontoon", "tokio");
    assert!(!features.is_empty(), "the operator does not use tokio any more?");
    assert!(!features.contains("test-util"), "tokio is built with {features:?}");
}

#[test]
fn the_vendor_for_tests_is_in_the_simulation_and_not_in_the_operator() {
    for (root, has) in [("simulate", true), ("pontoon", false)] {
        let features = graph::features(root, "pontoon-providers");
        assert_eq!(features.contains("profiles"), has, "{root} builds providers with {features:?}");
    }
}

#[test]
fn the_simulation_is_built_without_what_serves_kubectl() {
    for (root, has) in [("simulate", false), ("pontoon", true)] {
        let features = graph::features(root, "fakekube");
        assert_eq!(features.contains("kubectl"), has, "{root} builds fakekube with {features:?}");
    }
}

#[test]
fn every_licence_is_one_that_we_may_ship() {
    let graph = Graph::read();
    let refused = graph.third_party().filter(|(_, _, licence)| !licences::is_allowed(licence));
    let told = |(name, version, licence): (String, String, String)| {
        format!("{name} {version}: {licence:?}; {}", graph.why(&name))
    };
    let refused: Vec<_> = refused.map(told).collect();
    assert!(refused.is_empty(), "not on the list:\n{}", refused.join("\n"));
}

#[test]
fn the_licences_are_those_that_cargo_deny_is_told() {
    let text = std::fs::read_to_string(graph::workspace().join("deny.toml")).expect("deny.toml");
    for licence in licences::ALLOWED {
        assert!(text.contains(&format!("\"{licence}\"")), "deny.toml does not allow {licence}");
    }
}

#[test]
fn every_source_file_is_part_of_its_crate() {
    let orphans = orphans::find(&graph::workspace().join("crates"));
    assert!(orphans.is_empty(), "no `mod` declares {orphans:#?}");
}

#[test]
fn every_link_in_our_pages_leads_somewhere() {
    let dead = links::find(&graph::workspace());
    assert!(dead.is_empty(), "{dead:#?}");
}

/// The top folder is left out: the world is made of parts of every subject, every subject plans over the world, and
/// the model's pools hold the rules of `nodes`, which judge the model's nodes.
#[test]
fn no_modules_of_a_folder_in_core_import_each_other_in_a_circle() {
    let modules = Modules::read(&graph::workspace().join("crates/core/src"));
    let folders = modules.folders();
    assert!(folders.len() > 10, "only {folders:?} were read");
    let circles: Vec<_> = folders.into_iter().flat_map(|one| modules.circles(one)).collect();
    assert!(
        circles.is_empty(),
        "move the part that both sides use to a file of its own:\n{circles:#?}"
    );
}
