//! The alerts of the page, in `monitoring/`: their names, and by promtool that each fires and does
//! not fire where it must not.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::installing::root;
use crate::promtool::{promtool, said};

/// The alerts of the page: name, severity, and the time that its condition must last.
const ALERTS: [(&str, &str, &str); 9] = [
    ("NetIPAllocationNoLeader", "critical", "2m"),
    ("NetIPAllocationCRDUnhealthy", "critical", "5m"),
    ("NetIPAllocationUnattachedIPsWarning", "warning", "5m"),
    ("NetIPAllocationUnattachedIPsCritical", "critical", "10m"),
    ("NetIPAllocationGCPAPIErrors", "warning", ""),
    ("NetIPAllocationNodeCordonedWithIP", "warning", "5m"),
    ("NetIPAllocationHighReconcileErrorRate", "warning", "5m"),
    ("NetIPAllocationSlowReconciliation", "warning", ""),
    ("NetIPAllocationControllerNotReady", "warning", "5m"),
];

const TESTS: &str = include_str!("../../alerts/ip_address_controller.yaml");

/// The shipped rules, without the object around them.
fn rules() -> Value {
    let file = root().join("monitoring/prometheusrule.yaml");
    let mut rule: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(rule["kind"], "PrometheusRule");
    rule["spec"].take()
}

#[test]
fn every_alert_of_the_page_is_there_with_its_severity_and_patience() {
    let rules = rules();
    let all = rules["groups"][0]["rules"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = |rule: &Value| {
        (text(&rule["alert"]), text(&rule["labels"]["severity"]), text(&rule["for"]))
    };
    let wanted = ALERTS
        .map(|(name, severity, lasts)| (name.to_owned(), severity.to_owned(), lasts.to_owned()));
    assert_eq!(all.iter().map(told).collect::<Vec<_>>(), wanted);
}

#[test]
fn the_tests_let_every_alert_fire_and_stay_silent() {
    let tests: Value = serde_saphyr::from_str(TESTS).unwrap();
    let mut seen: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for test in tests["tests"].as_array().unwrap() {
        for one in test["alert_rule_test"].as_array().unwrap() {
            let (fires, silent) = seen.entry(one["alertname"].as_str().unwrap()).or_default();
            *(if one["exp_alerts"].is_null() { silent } else { fires }) = true;
        }
    }
    for (name, ..) in ALERTS {
        assert_eq!(seen.get(name), Some(&(true, true)), "{name}");
    }
}

#[tokio::test]
async fn each_alert_fires_when_it_must_and_not_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let [rules_file, tests] = ["rules.yaml", "tests.yaml"].map(|name| folder.path().join(name));
    std::fs::write(&rules_file, rules().to_string()).unwrap();
    std::fs::write(&tests, TESTS).unwrap();
    for (word, file) in [("check", &rules_file), ("test", &tests)] {
        let Some(done) = promtool(&[word, "rules", file.to_str().unwrap()], "").await else {
            return;
        };
        assert!(done.status.success(), "{}", said(&done));
    }
}
