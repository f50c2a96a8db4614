//! The very start: the content that every process finds, and changes in the first millisecond.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use fakekube::Write;
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::Oracle;

const IP: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 4, 1));

/// A record set lists a node with a ready pod. The first process and trouble at the API server begin.
fn scene() -> Oracle {
    let mut oracle = Oracle::new(Instant::now());
    let node = json!({"status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "ExternalIP", "address": IP}],
    }});
    let set = json!({"metadata": {"uid": "u"}, "spec": {
        "match": {"podLabel": "app=a"},
        "dnsRecordSet": {"zone": "flare.example", "recordName": "name"},
    }});
    wrote(&mut oracle, "nodes", "node-0", &node);
    pod_is_ready(&mut oracle, "True");
    wrote(&mut oracle, "nodednsrecordsets", "ingress/n", &set);
    oracle.started("a1", false);
    oracle.api_trouble(true);
    oracle
}

fn wrote(oracle: &mut Oracle, plural: &str, key: &str, object: &Value) {
    oracle.wrote(&Write { group: "", plural, key, before: None, after: Some(object) });
}

fn pod_is_ready(oracle: &mut Oracle, ready: &str) {
    let pod = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"nodeName": "node-0"},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    });
    wrote(oracle, "pods", "ingress/pod", &pod);
}

/// Whether every possible view shows the address as one to list.
fn is_surely_listed(oracle: &Oracle) -> bool {
    let (asking, floor) = (&oracle.names.asking["nodednsrecordsets ingress/n"], oracle.api_floor());
    asking.surely_lists(IP, floor) && asking.is_surely_carried(IP, floor)
}

#[tokio::test(start_paused = true)]
async fn content_from_before_the_first_process_is_known_to_every_view() {
    let oracle = scene();
    advance(Duration::from_secs(18)).await;
    assert!(is_surely_listed(&oracle));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_unready_for_an_instant_at_the_very_start_may_look_so_until_trouble_is_over()
{
    let mut oracle = scene();
    pod_is_ready(&mut oracle, "False");
    pod_is_ready(&mut oracle, "True");
    advance(Duration::from_secs(18)).await;
    assert!(!is_surely_listed(&oracle), "a view of the very start may be in use");
    oracle.api_trouble(false);
    advance(Duration::from_secs(46)).await;
    assert!(is_surely_listed(&oracle), "every view is new");
}
