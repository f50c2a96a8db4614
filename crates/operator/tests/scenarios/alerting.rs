//! Shipped alerts: that all are there, and by promtool that each fires and does not fire where it must not.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::installing::root;
use crate::promtool::{promtool, said};

/// The pages for people whom an alert has called. Their address mirrors the repository.
pub const RUNBOOKS: &str = "https://pontoon.example/docs/runbooks/";

/// The alerts of a file.
pub struct Alerts {
    /// The file in `monitoring/`.
    pub file: &'static str,
    /// promtool's tests.
    pub tests: &'static str,
    /// Each alert: name, severity, and the time that its condition must last.
    pub names: &'static [(&'static str, &'static str, &'static str)],
}

impl Alerts {
    /// The shipped rules, without the object around them.
    fn rules(&self) -> Value {
        let file = root().join("monitoring").join(self.file);
        let text = std::fs::read_to_string(file).unwrap();
        let mut rule: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(rule["kind"], "PrometheusRule");
        rule["spec"].take()
    }

    /// Asserts that every alert is there with its severity and patience, and no other.
    pub fn are_there(&self) {
        let rules = self.rules();
        let all = rules["groups"][0]["rules"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let told = |rule: &Value| {
            (text(&rule["alert"]), text(&rule["labels"]["severity"]), text(&rule["for"]))
        };
        let wanted = self.names.iter().map(|(name, severity, lasts)| {
            ((*name).to_owned(), (*severity).to_owned(), (*lasts).to_owned())
        });
        assert_eq!(all.iter().map(told).collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    }

    /// Asserts that the tests let every alert fire and stay silent.
    pub fn are_tested(&self) {
        let tests: Value = serde_saphyr::from_str(self.tests).unwrap();
        let mut seen: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
        for test in tests["tests"].as_array().unwrap() {
            for one in test["alert_rule_test"].as_array().unwrap() {
                let (fires, silent) = seen.entry(one["alertname"].as_str().unwrap()).or_default();
                *(if one["exp_alerts"].is_null() { silent } else { fires }) = true;
            }
        }
        for (name, ..) in self.names {
            assert_eq!(seen.get(name), Some(&(true, true)), "{name}");
        }
    }

    /// Has promtool check the rules and run the tests.
    pub async fn fire(&self) {
        let folder = tempfile::tempdir().unwrap();
        let [rules, tests] = ["rules.yaml", "tests.yaml"].map(|name| folder.path().join(name));
        let mut spec = self.rules();
        for rule in spec["groups"][0]["rules"].as_array_mut().unwrap() {
            // The same for all but the name, which is checked elsewhere: not repeated in the tests.
            rule["annotations"].as_object_mut().unwrap().remove("runbook_url");
        }
        std::fs::write(&rules, spec.to_string()).unwrap();
        std::fs::write(&tests, self.tests).unwrap();
        for (word, file) in [("check", &rules), ("test", &tests)] {
            let Some(done) = promtool(&[word, "rules", file.to_str().unwrap()], "").await else {
                return;
            };
            assert!(done.status.success(), "{}", said(&done));
        }
    }
}
