//! Nodes without a provider ID.

use std::net::IpAddr;

use serde_json::json;

use super::google::{REGION, google};
use super::stage::{IP, create, stage};
use crate::arena::{Arena, On, on_both};

impl Arena {
    /// A ready node without a provider ID on a machine at Google, with the name of the instance and,
    /// if wanted, the label of its zone. Returns the name.
    async fn nameless_node(&self, machine: u64, zoned: bool) -> String {
        self.cloud.machine(machine, &format!("m-{machine}"), REGION);
        let id = self.cloud.provider_id("gcp", machine);
        let mut parts = id.rsplit('/');
        let (name, zone) = (parts.next().unwrap(), parts.next().unwrap());
        let mut labels = json!({"pool": "edge"});
        if zoned {
            labels["topology.kubernetes.io/zone"] = json!(zone);
        }
        create(&self.nodes(), json!({"metadata": {"name": name, "labels": labels}})).await;
        self.set_ready(name, true).await;
        name.to_owned()
    }
}

async fn a_node_without_a_provider_id_is_told_by_its_name_and_zone_or_named_in_the_verdict(on: On) {
    let Some(arena) = stage(on, &[]).await else { return };
    arena.cloud.reserve(IP.parse::<IpAddr>().unwrap(), REGION);
    let unzoned = arena.nameless_node(1, false).await;
    arena.allocation("edge", json!({"cloud": google()})).await;
    let _replica = arena.replica("only");
    let message = arena.tells("edge", "Ready", "NoMatchingNode").await;
    let lacks = "no label topology.kubernetes.io/zone";
    assert!(message.contains(&format!("1 without spec.providerID ({lacks})")), "{message}");
    assert!(message.contains(&format!("{unzoned}: it has no spec.providerID")), "{message}");
    assert_eq!(arena.cloud.mutations().len(), 0);

    let second = arena.nameless_node(2, true).await;
    arena.labelled(&second, true).await;
    arena.attached("edge", IP, &second).await;
    arena.held_by(IP, Some(2)).await;
    let status = arena.allocated("edge").await;
    assert_eq!(status.ips[IP].provider_id, arena.cloud.provider_id("gcp", 2));

    let third = arena.nameless_node(3, true).await;
    arena.cordon(&second, true).await;
    arena.attached("edge", IP, &third).await;
    arena.held_by(IP, Some(3)).await;
    arena.labelled(&second, false).await;
}

on_both! {
    a_node_without_a_provider_id_is_told_by_its_name_and_zone_or_named_in_the_verdict,
}
