//! Objects of ip-address-controller's definition, before and after the upgrade to ours.

use std::net::IpAddr;

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::google::google;
use super::stage::IP;
use crate::arena::{Arena, On, on_both};
use crate::upgrade::others_definition;

async fn objects_of_its_definition_are_observed_and_after_the_upgrade_served(on: On) {
    let Some(theirs) = others_definition("netip", "net-ip-allocation-crds.yaml") else { return };
    let Some(arena) = Arena::open_without_definitions(on).await else { return };
    arena.define(vec![serde_saphyr::from_str(&theirs).unwrap()]).await;
    arena.google_node("a", 1).await;
    arena.google_node("b", 2).await;
    // As the predecessor left it.
    arena.cloud.reserve_on(IP.parse::<IpAddr>().unwrap(), 2);
    arena.label("b", "ip.ready", "true").await;
    arena.allocation("edge", json!({"cloud": google(), "reconcileInterval": 30})).await;
    let aws = json!({"cloud": {"provider": "aws"}, "reservedIPs": ["198.51.100.7"]});
    arena.allocation("elsewhere", aws).await;

    let replica = arena.replica("only");
    replica.leads().await;
    let note = arena.node_event("edge", "OldDefinition").await;
    assert!(note.contains("observing only") && note.contains("pontoon crds | kubectl apply"));
    assert_eq!(arena.cloud.mutations().len(), 0);

    arena.define(pontoon::fronts::crds()).await;
    arena.tells("edge", "Ready", "AllAssigned").await;
    arena.attached("edge", IP, "b").await;
    arena.labelled("b", true).await;
    assert_eq!(arena.cloud.mutations().len(), 0, "{:#?}", arena.cloud.mutations());
    let message = arena.tells("elsewhere", "Stalled", "UnknownProvider").await;
    assert!(message.contains("aws"), "{message}");
    // The rest of a stored object can be edited, also where one of its values is not accepted now.
    for name in ["edge", "elsewhere"] {
        let edit = Patch::Merge(json!({"spec": {"reconcileInterval": 60}}));
        arena.allocations().patch(name, &PatchParams::default(), &edit).await.unwrap();
    }
    arena.cordon("b", true).await;
    arena.labelled("a", true).await;
    arena.held_by(IP, Some(1)).await;
}

on_both! {
    objects_of_its_definition_are_observed_and_after_the_upgrade_served,
}
