//! Series of moves, of changes by somebody else, and of failed calls.

use std::time::Duration;

use pontoon_core::action::{Action, AddressAction, FailureKind};
use pontoon_core::model::ObjectKey;

use crate::fronts::Controllers;
use crate::fronts::floating_ip_pool::FLOATING_IP_POOL;
use crate::report::metrics::Metrics;
use crate::report::move_cause::MoveCause;
use crate::report::move_metrics::Drifted;
use crate::report::object_series::ReplicaLabels;

fn pool() -> ObjectKey {
    ObjectKey { kind: &FLOATING_IP_POOL, namespace: "flipop".into(), name: "ingress".into() }
}

fn leading(cluster: Option<&str>) -> Metrics {
    let labels = ReplicaLabels { cluster: cluster.map(str::to_owned), ..Default::default() };
    let metrics = Metrics::of(&labels, &Controllers::default()).unwrap();
    metrics.leads(true);
    metrics.see(&pool(), "1");
    metrics
}

fn shows(metrics: &Metrics, series: &str) -> bool {
    metrics.page().lines().any(|line| line == series)
}

fn count(metrics: &Metrics, part: &str) -> usize {
    metrics.page().lines().filter(|line| !line.starts_with('#') && line.contains(part)).count()
}

#[test]
fn a_move_is_counted_by_its_cause_and_timed_by_its_object() {
    let metrics = leading(None);
    metrics.moved(&pool(), MoveCause::NotReady, Duration::from_secs(3));
    let page = metrics.page();
    for series in [
        "pontoon_moves_total{cause=\"not_ready\",kind=\"FloatingIPPool\"} 1",
        "pontoon_moves_total{cause=\"drift\",kind=\"FloatingIPPool\"} 0",
        "pontoon_move_duration_seconds_bucket{kind=\"FloatingIPPool\",name=\"ingress\",\
         namespace=\"flipop\",le=\"2.5\"} 0",
        "pontoon_move_duration_seconds_bucket{kind=\"FloatingIPPool\",name=\"ingress\",\
         namespace=\"flipop\",le=\"5\"} 1",
    ] {
        assert!(shows(&metrics, series), "{series} is not in\n{page}");
    }
    metrics.forget(&pool());
    assert_eq!(count(&metrics, "move_duration"), 0, "the series goes with its object");
    metrics.leads(false);
    assert_eq!(count(&metrics, "pontoon_moves_total"), 0, "a follower moves nothing");
}

#[test]
fn changes_by_somebody_else_are_counted_by_subject_from_zero() {
    let metrics = leading(None);
    let series = |subject: &str, value: u8| {
        format!(
            "pontoon_drifts_total{{kind=\"FloatingIPPool\",name=\"ingress\",\
             namespace=\"flipop\",subject=\"{subject}\"}} {value}"
        )
    };
    metrics.moved(&pool(), MoveCause::Unassigned, Duration::ZERO);
    assert!(shows(&metrics, &series("address", 0)), "{}", metrics.page());
    metrics.drifted(&pool(), Drifted::Address);
    metrics.drifted(&pool(), Drifted::Record);
    metrics.drifted(&pool(), Drifted::Record);
    assert!(shows(&metrics, &series("address", 1)), "{}", metrics.page());
    assert!(shows(&metrics, &series("record", 2)), "{}", metrics.page());
}

#[test]
fn failed_calls_are_counted_by_cause_also_those_that_were_held_back() {
    let metrics = leading(None);
    let list = Action::Address(AddressAction::List {
        account: "digitalocean".into(),
        families: Vec::new(),
        confirms: false,
        scope: Default::default(),
    });
    let wait = Duration::from_secs(1);
    metrics.attempted(&list, None);
    metrics.attempted(&list, Some(FailureKind::Throttled { wait }));
    metrics.attempted(&list, Some(FailureKind::HeldBack { wait, pacing: false }));
    metrics.attempted(&list, Some(FailureKind::HeldBack { wait, pacing: true }));
    metrics.attempted(&list, Some(FailureKind::NotSent));
    for (error, times) in [("throttled", 1), ("held_back", 1), ("paced", 1), ("refused", 0)] {
        let series = format!(
            "pontoon_provider_errors_total{{error=\"{error}\",provider=\"digitalocean\"}} {times}"
        );
        assert!(shows(&metrics, &series), "{series} is not in\n{}", metrics.page());
    }
}

#[test]
fn every_series_names_the_cluster_that_has_a_name() {
    let metrics = leading(Some("prod"));
    metrics.moved(&pool(), MoveCause::Cordoned, Duration::ZERO);
    let page = metrics.page();
    let series = page.lines().filter(|line| !line.starts_with('#'));
    let nameless: Vec<_> = series.filter(|line| !line.contains("cluster=\"prod\"")).collect();
    assert!(nameless.is_empty(), "{nameless:#?}");
    assert!(shows(&metrics, "pontoon_leader{cluster=\"prod\"} 1"), "{page}");
}
