//! The alerts of the page, in `monitoring/`: their names, and by promtool that each fires and does
//! not fire where it must not.

use crate::alerting::Alerts;

const ALERTS: Alerts = Alerts {
    file: "prometheusrule.yaml",
    tests: include_str!("../../alerts/ip_address_controller.yaml"),
    names: &[
        ("NetIPAllocationNoLeader", "critical", "2m"),
        ("NetIPAllocationCRDUnhealthy", "critical", "5m"),
        ("NetIPAllocationUnattachedIPsWarning", "warning", "5m"),
        ("NetIPAllocationUnattachedIPsCritical", "critical", "10m"),
        ("NetIPAllocationGCPAPIErrors", "warning", ""),
        ("NetIPAllocationNodeCordonedWithIP", "warning", "5m"),
        ("NetIPAllocationHighReconcileErrorRate", "warning", "5m"),
        ("NetIPAllocationSlowReconciliation", "warning", ""),
        ("NetIPAllocationControllerNotReady", "warning", "5m"),
    ],
};

#[test]
fn every_alert_of_the_page_is_there_with_its_severity_and_patience() {
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
