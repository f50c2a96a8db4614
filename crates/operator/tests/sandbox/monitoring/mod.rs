//! The dashboard, the alerts and the queries of `docs/metrics.md` on a real Prometheus, which scrapes all
//! scenes while things happen in them.

mod prometheus;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use self::prometheus::{Prometheus, array, until};
use super::{Running, file, sandbox};

/// The name of the cluster, as in an example of the predecessor's page.
const CLUSTER: &str = "gke-prod";

/// Four scrapes, as Grafana has it.
const RATE_INTERVAL: &str = "4s";

/// Beginnings of our series.
const OURS: [&str; 4] = ["pontoon_", "flipop_", "netipallocation_", "capi_vip_allocator_"];

const RECORD_SET: &str = "\
apiVersion: flipop.digitalocean.com/v1alpha1
kind: NodeDNSRecordSet
metadata: {name: nodes, namespace: ingress}
spec:
  addressType: flipop.digitalocean.com/ipv4-reserved-ip
  dnsRecordSet: {zone: example.com, recordName: nodes, provider: cloudflare}
";

fn shipped(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(file).unwrap()
}

/// The rules of a file, as Prometheus reads them without its operator.
fn rules(path: &str) -> Value {
    let mut rule: Value = serde_saphyr::from_str(&shipped(path)).unwrap();
    rule["spec"].take()
}

/// The queries of every panel, each with its title, and with the variables as Grafana fills them in.
fn panel_queries() -> Vec<(String, String)> {
    let dashboard: Value =
        serde_json::from_str(&shipped("monitoring/grafana-dashboard.json")).unwrap();
    let queries = |panel: &Value| {
        let title = panel["title"].as_str().unwrap().to_owned();
        let filled = |target: &Value| {
            let query = target["expr"].as_str().unwrap();
            let query =
                query.replace("$cluster", CLUSTER).replace("$__rate_interval", RATE_INTERVAL);
            // A number that is always there proves nothing.
            (title.clone(), query.replace(" or vector(0)", ""))
        };
        array(&panel["targets"]).iter().map(filled).collect::<Vec<_>>()
    };
    array(&dashboard["panels"]).iter().flat_map(queries).collect()
}

/// The queries in `docs/metrics.md`: each after a comment, in blocks of their own.
fn documented_queries() -> Vec<String> {
    let page = shipped("docs/metrics.md");
    let blocks = page.split("```promql\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let mut queries: Vec<String> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix('#'), line.strip_prefix("  "), queries.last_mut()) {
            (Some(_), ..) => {}
            (None, Some(rest), Some(begun)) => begun.push_str(&format!(" {rest}")),
            _ => queries.push(line.to_owned()),
        }
    }
    queries
}

/// A scene that has told where its metrics are.
fn scene(args: &[&str]) -> (Running, String) {
    let mut command = sandbox(args);
    command.env("CLUSTER_NAME", CLUSTER);
    let running = Running::run(command);
    let line = running.hear("/metrics");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let target = url.trim_start_matches("http://").trim_end_matches("/metrics").to_owned();
    (running, target)
}

/// Makes addresses move, be refused and be lost; nodes be cordoned and drained; Clusters come and go. What
/// grows has been scraped before: an increase from nothing is not seen.
fn play(prometheus: &Prometheus, [pools, allocations, clusters]: [&mut Running; 3]) {
    for counted in [
        "pontoon_moves_total{kind=\"FloatingIPPool\"}",
        "flipop_providers_calls_total{call=\"EnsureDNSARecordSet\",kind=\"NodeDNSRecordSet\"}",
        "sum(capi_vip_allocator_allocation_duration_seconds_count) >= 4",
    ] {
        prometheus.answers(counted);
    }
    pools.say("throttle 3s");
    pools.say("kill node-1");
    allocations.say("cordon node-1");
    clusters.say("create");
    pools.hear("moved node-1 → node-3");
    prometheus.answers(
        "netipallocation_ip_attached == 1 and on (cluster, node) netipallocation_node_cordoned == 1",
    );
    allocations.say("drain node-1");
    allocations.hear("moved node-1 → node-3");
    allocations.say("fail");
    // No node is free for this address, and the name of the nodes lists one less.
    pools.say("kill node-2");
    clusters.say("delete cluster-1");
}

#[test]
fn every_query_of_the_dashboard_and_of_the_page_has_an_answer_and_every_alert_its_series() {
    let folder = tempfile::tempdir().unwrap();
    let record_set = file(folder.path(), "nodes.yaml", RECORD_SET);
    let (mut pools, first) = scene(&["-f", record_set.to_str().unwrap()]);
    let (mut allocations, second) = scene(&["--gcp"]);
    let (mut clusters, third) = scene(&["--capi"]);
    let rules = [
        "monitoring/prometheusrule.yaml",
        "monitoring/prometheusrule-pontoon.yaml",
        "monitoring/capi/prometheusrule.yaml",
    ]
    .map(rules);
    let Some(prometheus) = Prometheus::start(&[first, second, third], &rules) else { return };
    play(&prometheus, [&mut pools, &mut allocations, &mut clusters]);

    assert_eq!(prometheus.values("cluster", "pontoon_leader"), [CLUSTER]);
    let queries = panel_queries();
    assert!(queries.len() > 70, "{}", queries.len());
    let unanswered = until_all_answer(&prometheus, queries);
    assert!(unanswered.is_empty(), "{unanswered:#?}");
    let documented = documented_queries();
    assert!(documented.len() > 6, "{documented:?}");
    documented.iter().for_each(|query| prometheus.answers(query));

    check_alerts(&prometheus);
    until("an alert about the addresses that lost all nodes", || {
        let alerts = prometheus.rules();
        let one = alerts.iter().find(|alert| alert["name"] == "PontoonAddressUnassigned").unwrap();
        if one["state"] == "pending" { Ok(()) } else { Err(one.to_string()) }
    });
}

/// Asks until every query has had an answer, or none of the rest gets one in time.
fn until_all_answer(
    prometheus: &Prometheus,
    mut queries: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let begun = std::time::Instant::now();
    loop {
        queries.retain(|(_, query)| !prometheus.has_answered(query));
        if queries.is_empty() || begun.elapsed() > super::LIMIT {
            return queries;
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

/// Asserts that Prometheus evaluates every alert, and that every series and label in its expression exists.
fn check_alerts(prometheus: &Prometheus) {
    let alerts = prometheus.rules();
    assert!(alerts.len() > 30, "{}", alerts.len());
    for alert in &alerts {
        assert_eq!(
            (&alert["health"], &alert["lastError"]),
            (&Value::from("ok"), &Value::Null),
            "{alert}"
        );
        let query = alert["query"].as_str().unwrap();
        let (series, labels) = words(query);
        assert!(!series.is_empty(), "{query}");
        let mut known: BTreeSet<String> = BTreeSet::new();
        for one in series {
            let found = prometheus.labels(one);
            assert!(!found.is_empty(), "{one} does not exist: {query}");
            known.extend(found);
        }
        let missing: Vec<_> = labels.iter().filter(|label| !known.contains(**label)).collect();
        assert!(missing.is_empty(), "no series has {missing:?}: {query}");
    }
}

/// The series and the labels that an expression names.
fn words(query: &str) -> (Vec<&str>, Vec<&str>) {
    let is_word = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let series = query
        .split(|one| !is_word(one))
        .filter(|word| OURS.iter().any(|own| word.starts_with(own)));
    let mut labels = Vec::new();
    for rest in ["by (", "without (", "on ("].iter().flat_map(|word| query.split(word).skip(1)) {
        labels.extend(rest.split(')').next().unwrap().split(", "));
    }
    for inside in query.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
        let matchers = inside.split(',').filter_map(|one| one.split(['=', '!']).next());
        labels.extend(matchers.map(str::trim));
    }
    (series.collect(), labels)
}
