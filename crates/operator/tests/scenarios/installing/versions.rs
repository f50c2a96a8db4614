//! One version everywhere: Cargo.toml, the manifests, the chart, the changelog and the release's notes.

use std::process::{Command, Output};

use serde_json::Value;

use super::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn numbers(version: &str) -> Vec<u64> {
    let numbers = version.split('.').map(str::parse);
    numbers.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{version}: {error}"))
}

#[test]
fn the_changelog_begins_with_what_is_unreleased_and_names_no_later_version_than_ours() {
    let changelog = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let mut headings = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    assert_eq!(headings.next(), Some("[Unreleased]"));
    let mut later = numbers(VERSION);
    for (place, heading) in headings.enumerate() {
        let parts = heading.strip_prefix('[').and_then(|rest| rest.split_once("] - "));
        let (version, date) = parts.unwrap_or_else(|| panic!("not '[VERSION] - DATE': {heading}"));
        date.parse::<jiff::civil::Date>().unwrap_or_else(|error| panic!("{heading}: {error}"));
        let version = numbers(version);
        assert!(version < later || (place == 0 && version == later), "{heading}");
        later = version;
    }
}

#[test]
fn parts_of_a_section_have_the_names_of_keep_a_changelog() {
    let changelog = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let known = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
    for part in changelog.lines().filter_map(|line| line.strip_prefix("### ")) {
        assert!(known.contains(&part), "{part} is none of {known:?}");
    }
}

#[test]
fn the_chart_has_the_version_of_the_operator() {
    let Ok(chart) = std::fs::read_to_string(root().join("charts/pontoon/Chart.yaml")) else {
        return;
    };
    let chart: Value = serde_saphyr::from_str(&chart).unwrap();
    assert_eq!((&chart["version"], &chart["appVersion"]), (&VERSION.into(), &VERSION.into()));
}

/// Runs `release/notes` for a tag, in a copy of the repository with this changelog.
fn notes(tag: &str, changelog: &str) -> Output {
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("release")).unwrap();
    for file in ["release/notes", "Cargo.toml"] {
        std::fs::copy(root().join(file), copy.path().join(file)).unwrap();
    }
    std::fs::write(copy.path().join("CHANGELOG.md"), changelog).unwrap();
    // As Python's argument: a fresh file cannot be executed while a process that another test starts
    // still has it open for writing.
    Command::new("python3").arg(copy.path().join("release/notes")).arg(tag).output().unwrap()
}

#[test]
fn the_notes_of_a_release_are_its_section_of_the_changelog() {
    let changelog = format!(
        "# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-12-01\n\n### Fixed\n\n- A.\n\n\
         ## [0.0.1] - 2026-01-01\n\n- B.\n"
    );
    let printed = notes(&format!("v{VERSION}"), &changelog);
    assert_eq!(String::from_utf8_lossy(&printed.stdout), "### Fixed\n\n- A.\n", "{printed:?}");
}

#[test]
fn a_tag_of_another_version_and_a_version_without_a_section_have_no_notes() {
    let other = notes("v99.0.0", "## [99.0.0] - 2026-12-01\n\n- A.\n");
    let error = String::from_utf8_lossy(&other.stderr);
    assert!(!other.status.success() && error.contains(VERSION), "{other:?}");
    let missing = notes(&format!("v{VERSION}"), "## [Unreleased]\n\n- A.\n");
    let error = String::from_utf8_lossy(&missing.stderr);
    assert!(!missing.status.success() && error.contains("CHANGELOG.md"), "{missing:?}");
}
