//! Features, metrics and providers of the README.

use std::time::Duration;

use fakecloud::{Answer, Fault, On as Calls, Rule};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use pontoon::fronts::floating_ip_pool::FloatingIPPool;
use serde_json::json;

use super::stage::{LISTED, RECORD_SET, cluster_of, manifest, pool};
use crate::arena::{On, eventually, on_both};
use crate::replica::Replica;

const POOL: &str = "ingress-pool";

/// Every metric of the README, with its labels.
const METRICS: [(&str, &[&str]); 9] = [
    (
        "flipop_floatingippoolcontroller_node_status",
        &["dns", "name", "namespace", "provider", "status"],
    ),
    (
        "flipop_floatingippoolcontroller_ip_assignment_errors",
        &["dns", "ip", "name", "namespace", "provider"],
    ),
    (
        "flipop_floatingippoolcontroller_ip_assignments",
        &["dns", "ip", "name", "namespace", "provider"],
    ),
    (
        "flipop_floatingippoolcontroller_ip_node",
        &["dns", "ip", "name", "namespace", "node", "provider", "provider_id"],
    ),
    (
        "flipop_floatingippoolcontroller_ip_state",
        &["dns", "ip", "name", "namespace", "provider", "state"],
    ),
    ("flipop_floatingippoolcontroller_unfulfilled_ips", &["dns", "name", "namespace", "provider"]),
    ("flipop_nodednsrecordset_records", &["dns", "name", "namespace", "provider"]),
    ("flipop_providers_calls_total", &["call", "kind", "name", "namespace", "outcome", "provider"]),
    (
        "flipop_providers_call_duration_seconds_count",
        &["call", "kind", "name", "namespace", "provider"],
    ),
];

fn fails_once() -> Rule {
    let assign = Calls::call("POST", "/v2/reserved_ips/*/actions");
    Rule::new(assign, Fault::Answer(Answer::status(503))).once()
}

async fn every_metric_of_the_page_is_there_with_its_labels(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.cloud.inject(fails_once());
    arena.manifest(pool(json!({"desiredIPs": null}))).await;
    arena.manifest(manifest(RECORD_SET)).await;
    let replica = arena.replica("only");
    arena.listed("nodes", "A", &LISTED).await;
    for (metric, labels) in METRICS {
        eventually(metric, || async {
            let page = replica.page("/metrics").await.unwrap_or_default();
            let series = page.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix('{'));
            let found = series.map(label_names).unwrap_or_default();
            if found == labels { Ok(()) } else { Err(found) }
        })
        .await;
    }
}

/// `a="x",b="y"} 1` has labels `a` and `b`.
fn label_names(series: &str) -> Vec<String> {
    let labels = series.rsplit_once('}').unwrap().0;
    labels.split("\",").filter_map(|one| Some(one.split_once('=')?.0.to_owned())).collect()
}

async fn retries_back_off_as_configured(on: On) {
    let Some(arena) = cluster_of(on, &["a"]).await else { return };
    arena.cloud.inject(fails_once());
    let spec = json!({"ips": [LISTED[0]], "desiredIPs": null, "dnsRecordSet": null});
    arena.manifest(pool(spec)).await;
    let _replica = Replica::start(&arena, "only", &["--retry-initial=4s", "--retry-max=4s"]);
    arena.held_by(LISTED[0], Some(1)).await;
    let sent: Vec<_> = arena.cloud.mutations().iter().map(|call| call.arrived).collect();
    let apart = sent[1] - sent[0];
    assert!(apart >= Duration::from_secs(4) && apart < Duration::from_secs(12), "{apart:?}");
}

async fn one_replica_leads_and_another_takes_over(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.manifest(pool(json!({"ips": [LISTED[0]], "desiredIPs": null}))).await;
    let first = arena.replica("first");
    first.leads().await;
    arena.held_by(LISTED[0], Some(1)).await;
    let second = arena.replica("second");
    second.metric("pontoon_leader", "0").await;
    first.terminate().await;
    arena.no_controller("a").await;
    arena.held_by(LISTED[0], Some(2)).await;
    second.leads().await;
}

async fn cloudflare_hosts_dns_and_is_asked_with_its_own_token(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    let record = json!({"provider": "cloudflare", "zone": arena.cloud.zone_id("example.com"),
                        "recordName": "hello.example.com"});
    arena.manifest(pool(json!({"desiredIPs": null, "dnsRecordSet": record}))).await;
    let _replica = arena.replica("only");
    arena.listed("hello", "A", &LISTED).await;
    let writes = arena.cloud.mutations();
    assert!(writes.iter().any(|call| call.path().starts_with("/client/v4/zones/")));
}

async fn cloudflare_has_no_addresses_and_a_pool_that_asks_it_for_some_is_told(on: On) {
    let Some(arena) = cluster_of(on, &["a"]).await else { return };
    let _replica = arena.replica("only");
    // Refused by the definition if possible, otherwise reported in the status.
    let mut object = pool(json!({"provider": "cloudflare"}));
    object["metadata"]["namespace"] = json!("flipop");
    let pools = arena.namespaced::<FloatingIPPool>();
    let object = serde_json::from_value(object).unwrap();
    match pools.create(&kube::api::PostParams::default(), &object).await {
        Err(kube::Error::Api(refusal)) => assert!(refusal.message.contains("cloudflare")),
        Err(error) => panic!("{error}"),
        Ok(_) => assert!(arena.condition(POOL, "Stalled", "True").await.1.contains("cloudflare")),
    }
}

async fn deleting_a_pool_leaves_pods_nodes_and_addresses(on: On) {
    let Some(arena) = cluster_of(on, &["a", "b"]).await else { return };
    arena.manifest(pool(json!({"desiredIPs": null}))).await;
    let replica = arena.replica("only");
    arena.listed("hello", "A", &LISTED).await;
    arena.ready(POOL).await;
    let mark = arena.cloud.mark();
    let pools = arena.namespaced::<FloatingIPPool>();
    pools.delete(POOL, &DeleteParams::default()).await.unwrap();
    series_vanish(&replica).await;
    assert_eq!(arena.nodes().list(&ListParams::default()).await.unwrap().items.len(), 2);
    let pods: Api<Pod> = Api::namespaced(arena.client.clone(), "ingress");
    assert_eq!(pods.list(&ListParams::default()).await.unwrap().items.len(), 2);
    assert_eq!(arena.cloud.mutations_since(mark).len(), 0);
    assert_eq!([arena.droplet_of(LISTED[0]), arena.droplet_of(LISTED[1])], [Some(1), Some(2)]);
}

/// Waits until the operator has noticed the deletion of the pool.
async fn series_vanish(replica: &Replica) {
    eventually("the pool's series vanish", || async {
        let page = replica.page("/metrics").await.unwrap_or_default();
        if page.contains(POOL) { Err(page) } else { Ok(()) }
    })
    .await;
}

/// The content of the Secret in the README's installation.
async fn a_token_from_the_environment_is_all_that_digitalocean_needs(on: On) {
    let Some(arena) = cluster_of(on, &["a"]).await else { return };
    let without = ["DIGITALOCEAN_ACCESS_TOKEN=", "--leader-elect=false"];
    arena.manifest(pool(json!({"ips": [LISTED[0]], "desiredIPs": null}))).await;
    let replica = Replica::start(&arena, "without", &without);
    let (reason, message) = arena.condition(POOL, "Stalled", "True").await;
    assert!(message.contains("DIGITALOCEAN_ACCESS_TOKEN"), "{reason}: {message}");
    replica.kill();
    let _replica = Replica::start(&arena, "with", &["--leader-elect=false"]);
    arena.ready(POOL).await;
}

on_both! {
    every_metric_of_the_page_is_there_with_its_labels,
    retries_back_off_as_configured,
    one_replica_leads_and_another_takes_over,
    cloudflare_hosts_dns_and_is_asked_with_its_own_token,
    cloudflare_has_no_addresses_and_a_pool_that_asks_it_for_some_is_told,
    deleting_a_pool_leaves_pods_nodes_and_addresses,
    a_token_from_the_environment_is_all_that_digitalocean_needs,
}
