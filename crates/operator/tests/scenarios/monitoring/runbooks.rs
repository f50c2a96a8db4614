//! Annotations and pages for a person who is called by an alert.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::alerting::RUNBOOKS;
use crate::installing::root;

/// The files with alerts, below `monitoring/`.
const FILES: [&str; 3] =
    ["prometheusrule.yaml", "prometheusrule-pontoon.yaml", "capi/prometheusrule.yaml"];

/// The parts of a page.
const PARTS: [&str; 4] = ["## What you lose\n", "## Look\n", "## Do\n", "## Harmless when\n"];

fn alerts() -> Vec<Value> {
    let rules = |file: &str| {
        let text = std::fs::read_to_string(root().join("monitoring").join(file)).unwrap();
        let mut rule: Value = serde_saphyr::from_str(&text).unwrap();
        rule["spec"]["groups"][0]["rules"].take()
    };
    let alerts: Vec<_> = FILES.into_iter().flat_map(|file| array(&rules(file))).collect();
    assert!(alerts.len() > 30, "{}", alerts.len());
    alerts
}

fn array(value: &Value) -> Vec<Value> {
    value.as_array().unwrap().clone()
}

fn name(alert: &Value) -> &str {
    alert["alert"].as_str().unwrap()
}

#[test]
fn every_alert_says_what_is_the_matter_what_to_run_next_and_where_its_page_is() {
    for alert in alerts() {
        let annotation = |name: &str| alert["annotations"][name].as_str().unwrap_or_default();
        assert!(!annotation("summary").is_empty(), "{alert}");
        assert!(annotation("description").contains("Next: kubectl "), "{alert}");
        assert_eq!(annotation("runbook_url"), format!("{RUNBOOKS}{}.md", name(&alert)));
        let severity = alert["labels"]["severity"].as_str().unwrap_or_default();
        assert!(["critical", "warning"].contains(&severity), "{alert}");
    }
}

#[test]
fn every_alert_has_a_page_and_every_page_an_alert() {
    let folder = std::fs::read_dir(root().join("docs/runbooks")).unwrap();
    let pages: BTreeSet<_> =
        folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let wanted: BTreeSet<_> = alerts().iter().map(|one| format!("{}.md", name(one))).collect();
    assert_eq!(pages, wanted);
}

#[test]
fn every_page_has_its_parts_a_command_and_links_that_lead_somewhere() {
    let folder = root().join("docs/runbooks");
    for alert in alerts() {
        let page = std::fs::read_to_string(folder.join(format!("{}.md", name(&alert)))).unwrap();
        assert!(page.starts_with(&format!("# {}\n", name(&alert))), "{page}");
        let mut rest = page.as_str();
        for part in PARTS {
            let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("{part} in {page}"));
            assert!(!after.trim().is_empty() && !after.trim().starts_with('#'), "{part} in {page}");
            rest = after;
        }
        assert!(page.contains("```sh\nkubectl "), "{page}");
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            assert!(folder.join(file).is_file(), "{link} in {page}");
        }
    }
}
