//! A missing right is told where its lack is felt.

use pontoon::fronts::flipop::FLIPOP;
use serde_json::json;

use super::chart::Chart;
use crate::arena::{Arena, On};

const POOLS: [&str; 2] = ["floatingippools", "nodednsrecordsets"];

/// The chart without a verb on a resource.
fn without(chart: &Chart, resource: &str, verb: &str) -> Chart {
    let mut objects = chart.objects.clone();
    let mut found = false;
    for rules in objects.iter_mut().filter_map(|one| one.get_mut("rules")?.as_array_mut()) {
        for rule in rules.iter_mut().filter(|rule| rule["resources"] == json!([resource])) {
            let verbs = rule["verbs"].as_array_mut().unwrap();
            found |= verbs.iter().any(|one| one == verb);
            verbs.retain(|one| one != verb);
        }
        // A rule without a verb is refused.
        rules.retain(|rule| rule["verbs"] != json!([]));
    }
    assert!(found, "no right to {verb} {resource}");
    Chart { objects }
}

#[tokio::test]
async fn a_write_that_a_trimmed_role_forbids_is_told_in_the_condition_or_as_an_event() {
    let Some(chart) = Chart::of(&POOLS, &[]) else { return };
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    let trimmed = without(&chart, "nodes", "patch");
    let trimmed = without(&trimmed, "floatingippools", "patch");
    let trimmed = without(&trimmed, "nodednsrecordsets/status", "update");
    let trimmed = without(&trimmed, "nodednsrecordsets/status", "patch");
    trimmed.apply(&arena);
    arena.serving_node("a", 1).await;
    arena.serving_node("b", 2).await;
    arena.cloud.domain("example.com");
    arena.cloud.reserve_on("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), 1);
    arena.pool("listed", json!({"ips": ["198.51.100.1"]})).await;
    arena.pool("wanting", json!({"desiredIPs": 1, "region": "nyc3"})).await;
    let record = json!({"zone": "example.com", "recordName": "nodes"});
    arena.record_set("nodes", json!({"dnsRecordSet": record})).await;
    let replica = trimmed.start(&arena, "trimmed", &[]).await;

    let message = arena.reason("listed", "Ready", "False", "AnnotationRefused").await;
    assert!(message.contains("node a: nodes \"a\" is forbidden"), "{message}");
    let message = arena.reason("wanting", "Stalled", "True", "LedgerRefused").await;
    assert!(message.contains("is forbidden") && message.contains("the chart's roles"), "{message}");
    let note = arena.event("nodes", "StatusRefused").await;
    assert!(note.contains("is forbidden"), "{note}");
    for write in ["annotation", "ledger", "status"] {
        let series =
            format!("pontoon_kubernetes_write_errors_total{{error=\"refused\",write=\"{write}\"}}");
        assert!(replica.page("/metrics").await.unwrap_or_default().contains(&series), "{write}");
    }
    chart.apply(&arena);
    arena.ready("listed").await;
    arena.ready("wanting").await;
}

#[tokio::test]
async fn without_the_right_to_see_other_controllers_nothing_is_done_and_the_right_is_named() {
    nothing_is_done_with(|chart| {
        let text = serde_json::to_string(&chart.objects).unwrap();
        let text = text.replace(FLIPOP.lease, "of-nobody");
        Chart { objects: serde_json::from_str(&text).unwrap() }
    })
    .await;
}

/// Each list shows nobody, and says nothing of the time until the next one.
#[tokio::test]
async fn with_the_right_to_list_and_not_to_watch_other_controllers_nothing_is_done_either() {
    nothing_is_done_with(|chart| without(chart, "leases", "watch")).await;
}

/// Runs a replica with roles under which a predecessor at work could remain unseen, then grants the rest.
async fn nothing_is_done_with(trim: impl Fn(&Chart) -> Chart) {
    let Some(chart) = Chart::of(&POOLS, &[]) else { return };
    let Some(arena) = Arena::open(On::RealServer).await else { return };
    trim(&chart).apply(&arena);
    arena.serving_node("a", 1).await;
    arena.cloud.reserve("198.51.100.1".parse::<std::net::IpAddr>().unwrap(), "nyc3");
    arena.pool("ingress", json!({"ips": ["198.51.100.1"]})).await;
    let replica = chart.start(&arena, "trimmed", &[]).await;

    let message = arena.reason("ingress", "Ready", "False", "CompetitionUnknown").await;
    let right = format!(
        "no right to list and watch leases.coordination.k8s.io named {} in \
         namespace flipop",
        FLIPOP.lease
    );
    assert!(message.contains(&right), "{message}");
    arena.event("ingress", "CompetitionUnknown").await;
    replica.metric("pontoon_standing_aside{reason=\"CompetitionUnknown\"}", "1").await;
    let page = replica.page("/readyz").await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200 "), "it lives and watches: {page}");
    assert_eq!(arena.cloud.mutations().len(), 0, "{:#?}", arena.cloud.mutations());

    chart.apply(&arena);
    arena.says("ingress", "AllAssigned").await;
    replica.metric("pontoon_standing_aside{reason=\"CompetitionUnknown\"}", "0").await;
}
