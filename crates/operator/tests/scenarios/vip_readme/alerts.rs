//! The alerts that the predecessor ships beside its page, in `monitoring/capi/`.

use crate::alerting::Alerts;

const ALERTS: Alerts = Alerts {
    file: "capi/prometheusrule.yaml",
    tests: include_str!("../../alerts/capi_vip_allocator.yaml"),
    names: &[
        ("CAPIVIPAllocatorHighErrorRate", "warning", "5m"),
        ("CAPIVIPPoolLowFreeAddresses", "warning", "15m"),
        ("CAPIVIPPoolExhausted", "critical", "5m"),
        ("CAPIVIPClaimsPendingTooLong", "warning", "2m"),
        ("CAPIVIPAllocationHighLatency", "warning", "5m"),
        ("CAPIVIPNoPoolsAvailable", "critical", "5m"),
        ("CAPIVIPAllocatorDown", "critical", "5m"),
        ("CAPIVIPReconcileSlowLoop", "warning", "10m"),
    ],
};

#[test]
fn every_alert_is_there_with_its_severity_and_patience() {
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
