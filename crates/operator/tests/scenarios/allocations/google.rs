//! The main course at Google: an address is moved in two steps, and machines keep a way out.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::stage::{IP, create, stage};
use crate::arena::{Arena, On, eventually, on_both};

pub const REGION: &str = "us-central1";

impl Arena {
    /// A ready node on a machine at Google.
    pub async fn google_node(&self, name: &str, machine: u64) {
        self.cloud.machine(machine, name, REGION);
        let labels = json!({
            "pool": "edge", "topology.kubernetes.io/region": REGION,
            "topology.kubernetes.io/zone": format!("{REGION}-b"),
        });
        let node = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"providerID": self.cloud.provider_id("gcp", machine)},
        });
        create(&self.nodes(), node).await;
        self.set_ready(name, true).await;
    }
}

/// The field `cloud` of an allocation at Google.
pub fn google() -> Value {
    json!({"provider": "gcp", "region": REGION, "zones": [format!("{REGION}-b")]})
}

async fn an_address_follows_the_workload_and_every_machine_keeps_its_egress(on: On) {
    let Some(arena) = stage(on, &[]).await else { return };
    let ip = IP.parse::<IpAddr>().unwrap();
    arena.cloud.reserve(ip, REGION);
    // Before its node: the real server copies labels of the node's place to a new pod.
    arena.pod_of("web", "a").await;
    for (name, machine) in [("a", 1), ("b", 2), ("c", 3)] {
        arena.google_node(name, machine).await;
    }
    arena.allocation("edge", json!({"cloud": google()})).await;
    let _replica = arena.replica("only");
    arena.labelled("a", true).await;
    arena.attached("edge", IP, "a").await;
    assert_eq!(arena.cloud.egress(1), Some(ip), "instead of its own");

    arena.cordon("a", true).await;
    arena.considered("c").await;
    assert_eq!(arena.droplet_of(IP), Some(1), "a pod is on the node");
    arena.delete_pod("web-a").await;
    arena.labelled("b", true).await;
    arena.labelled("a", false).await;
    arena.attached("edge", IP, "b").await;
    assert_eq!(arena.cloud.egress(2), Some(ip));
    eventually("the first machine has an address of its own again", || async {
        arena.cloud.own_address(1).ok_or("none")
    })
    .await;
    for machine in 1..=3 {
        assert!(arena.cloud.egress(machine).is_some(), "machine {machine} has no way out");
    }
}

async fn an_ipv6_address_is_refused_with_words_and_no_call_is_made_for_it(on: On) {
    let Some(arena) = stage(on, &[]).await else { return };
    let six = "2600:1900:4000:7::1";
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), REGION);
    for (name, machine) in [("a", 1), ("b", 2)] {
        arena.google_node(name, machine).await;
    }
    arena.allocation("edge", json!({"cloud": google(), "reservedIPs": [six, IP]})).await;
    let _replica = arena.replica("only");
    arena.attached("edge", IP, "a").await;
    let message = arena.tells("edge", "Stalled", "UnsupportedAddress").await;
    let words = format!("{six}: IPv6 addresses are not assigned at this provider");
    assert!(message.starts_with("1 of 2 in place; ") && message.contains(&words), "{message}");
    let status = arena.allocated("edge").await;
    assert_eq!((status.attached.as_str(), status.ips[six].state.as_str()), ("1/2", "error"));
    let sent = arena.cloud.log();
    let names_it = |text: &str| text.contains("2600");
    let about = sent
        .iter()
        .filter(|one| names_it(&one.target) || names_it(&String::from_utf8_lossy(&one.body)));
    assert_eq!(about.count(), 0, "{sent:#?}");
}

on_both! {
    an_ipv6_address_is_refused_with_words_and_no_call_is_made_for_it,
    an_address_follows_the_workload_and_every_machine_keeps_its_egress,
}
