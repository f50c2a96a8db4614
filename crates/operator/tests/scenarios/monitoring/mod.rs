//! The folder `monitoring/`: our own alerts, a page for each alert, and the dashboard.

mod dashboard;
mod runbooks;

use crate::alerting::Alerts;

const ALERTS: Alerts = Alerts {
    file: "prometheusrule-pontoon.yaml",
    tests: include_str!("../../alerts/pontoon.yaml"),
    names: &[
        ("PontoonNoLeader", "critical", "2m"),
        ("PontoonAddressUnassigned", "critical", "5m"),
        ("PontoonAddressFlapping", "warning", ""),
        ("PontoonMovesSlow", "warning", ""),
        ("PontoonPoolExhausted", "warning", "10m"),
        ("PontoonProviderThrottled", "warning", "10m"),
        ("PontoonProviderUnavailable", "critical", "5m"),
        ("PontoonCredentialsRefused", "critical", "2m"),
        ("PontoonDNSDrift", "warning", ""),
        ("PontoonAddressDrift", "warning", ""),
        ("PontoonObjectStuck", "warning", "10m"),
        ("PontoonCompetingController", "warning", "5m"),
        ("PontoonSecondController", "critical", "5m"),
        ("PontoonWatchSilent", "critical", "2m"),
        ("PontoonKubernetesWritesRefused", "warning", "5m"),
    ],
};

#[test]
fn every_alert_of_ours_is_there_with_its_severity_and_patience() {
    ALERTS.are_there();
}

#[test]
fn the_tests_let_every_alert_fire_and_stay_silent() {
    ALERTS.are_tested();
}

#[tokio::test]
async fn each_alert_fires_when_it_must_and_not_otherwise() {
    ALERTS.fire().await;
}
