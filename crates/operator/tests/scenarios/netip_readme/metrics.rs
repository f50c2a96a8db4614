//! The metrics of the page with their labels, and its queries.

use std::collections::BTreeMap;

use fakecloud::{Answer, Fault, On as Calls, Rule};
use serde_json::json;

use super::stage::{IP, IPS, QUICK_START, cluster};
use crate::arena::{Arena, On, eventually, on_both};
use crate::promtool::{promtool, said};
use crate::replica::Replica;

/// One query of the page on each line.
const QUERIES: &str = include_str!("../../netip_manifests/queries.promql");

/// The metrics of the page, with their labels beside `cluster`. A histogram is named by its count.
const METRICS: [(&str, &[&str]); 15] = [
    ("crd_status", &["crd_name"]),
    ("reserved_ips_total", &["crd_name"]),
    ("attached_ips_total", &["crd_name"]),
    ("unattached_ips_total", &["crd_name"]),
    ("ip_attached", &["crd_name", "ip", "node"]),
    ("node_cordoned", &["node"]),
    ("node_ip_ready", &["crd_name", "node"]),
    ("controller_is_leader", &["pod_name"]),
    ("controller_ready", &["pod_name"]),
    ("controller_healthy", &["pod_name"]),
    ("reconcile_total", &["crd_name", "status"]),
    ("ip_attach_total", &["crd_name", "status"]),
    ("ip_detach_total", &["crd_name", "status"]),
    ("gcp_api_errors_total", &["error_type", "operation"]),
    ("reconcile_duration_seconds_count", &["crd_name"]),
];

/// A series of a page: its name and labels.
#[derive(Debug)]
struct Series {
    name: String,
    labels: BTreeMap<String, String>,
}

impl Series {
    /// Reads `name{a="x"} 1`.
    fn read(line: &str) -> Option<Self> {
        let (series, _) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
        let (name, labels) = series.split_once('{')?;
        let labels = labels_of(labels.strip_suffix('}')?);
        Some(Self { name: name.to_owned(), labels })
    }
}

/// Reads `a="x",b="y"`.
fn labels_of(text: &str) -> BTreeMap<String, String> {
    let one = |label: &str| {
        let (name, value) = label.split_once("=\"")?;
        Some((name.trim_start_matches(',').to_owned(), value.trim_end_matches('"').to_owned()))
    };
    text.split_inclusive("\",").filter_map(|label| one(label.trim_end_matches(','))).collect()
}

/// A cluster with the name of the page, in which everything has happened that is counted: an address
/// was attached after an error, one was detached, and a cordoned node has one.
async fn lively(on: On) -> Option<(Arena, Replica)> {
    let arena = Arena::open(on).await?;
    arena.pod_of_kind("Deployment", "my-app-1-x", "a").await;
    super::stage::furnish(&arena, QUICK_START, &["a", "b"]).await;
    let attach = "/compute/v1/projects/*/zones/*/instances/*/addAccessConfig";
    let fails = Fault::Answer(Answer::status(503));
    arena.cloud.inject(Rule::new(Calls::call("POST", attach), fails).once());
    arena.printed(QUICK_START.with(json!({"reservedIPs": IPS}))).await;
    let replica = Replica::start(&arena, "only", &["CLUSTER_NAME=gke-prod"]);
    for node in ["a", "b"] {
        arena.labelled(node, true).await;
    }
    arena.tells(QUICK_START.name, "Ready", "AllAssigned").await;
    for node in ["a", "b"] {
        arena.cordon(node, true).await;
    }
    arena.labelled("b", false).await;
    let detached = IPS.into_iter().find(|ip| arena.droplet_of(ip) != Some(1)).unwrap();
    arena.held_by(detached, None).await;
    let counted = "netipallocation_ip_detach_total{cluster=\"gke-prod\",crd_name=\"my-app-ips\",status=\"success\"}";
    replica.metric(counted, "1").await;
    Some((arena, replica))
}

async fn every_metric_of_the_page_is_there_with_its_labels(on: On) {
    let Some((_arena, replica)) = lively(on).await else { return };
    for (metric, labels) in METRICS {
        let name = format!("netipallocation_{metric}");
        let mut wanted = [&["cluster"], labels].concat();
        wanted.sort_unstable();
        eventually(&name, || async {
            let page = replica.scrape().await;
            let all: Vec<_> = page.lines().filter_map(Series::read).collect();
            let mut mine = all.iter().filter(|series| series.name == name).peekable();
            let right = |series: &Series| series.labels.keys().eq(&wanted);
            if mine.peek().is_some() && mine.all(right) { Ok(()) } else { Err(all) }
        })
        .await;
    }
}

async fn the_queries_of_the_page_find_their_series(on: On) {
    let Some((_arena, replica)) = lively(on).await else { return };
    let page = replica.scrape().await;
    let all: Vec<_> = page.lines().filter_map(Series::read).collect();
    let asked: Vec<_> = QUERIES.lines().flat_map(selectors).collect();
    assert_eq!(asked.len(), 12, "{asked:#?}");
    for Series { name, labels } in asked {
        let has = |series: &&Series| {
            let own = |(label, value): (&String, &String)| series.labels.get(label) == Some(value);
            series.name == name && labels.iter().all(own)
        };
        assert!(all.iter().any(|series| has(&series)), "{name} {labels:?}: {all:#?}");
    }
}

/// The series that a query asks for.
fn selectors(query: &str) -> Vec<Series> {
    let starts = query.match_indices("netipallocation_");
    let one = |(at, _): (usize, &str)| {
        let rest = &query[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        let labels = after.strip_prefix('{').and_then(|after| Some(after.split_once('}')?.0));
        Series { name: name.to_owned(), labels: labels_of(labels.unwrap_or_default()) }
    };
    starts.map(one).collect()
}

#[tokio::test]
async fn prometheus_understands_the_queries_of_the_page() {
    let rule = |(number, query)| json!({"record": format!("query:{number}"), "expr": query});
    let rules: Vec<_> = QUERIES.lines().enumerate().map(rule).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yaml");
    let group = json!({"groups": [{"name": "queries", "rules": rules}]});
    std::fs::write(&file, group.to_string()).unwrap();
    let Some(output) = promtool(&["check", "rules", file.to_str().unwrap()], "").await else {
        return;
    };
    assert!(output.status.success(), "{}", said(&output));
}

async fn the_whole_page_of_an_allocation(on: On) {
    let Some(arena) = cluster(on, QUICK_START, &["a", "b"]).await else { return };
    arena.printed(QUICK_START.with(json!({"workloadRef": null}))).await;
    let replica = arena.replica("only");
    arena.labelled("a", true).await;
    replica.shows_allocations("allocation_attached").await;
    arena.cordon("b", true).await;
    arena.cordon("a", true).await;
    arena.held_by(IP, None).await;
    replica.shows_allocations("allocation_detached").await;
}

on_both! {
    every_metric_of_the_page_is_there_with_its_labels,
    the_queries_of_the_page_find_their_series,
    the_whole_page_of_an_allocation,
}
