//! From a new Cluster to its endpoint.

use pontoon_core::action::{Action, EndpointWrite, Outcome, VipAction};
use pontoon_core::vips::model::Role;

use super::fixture::*;
use super::site::site;

#[test]
fn a_cluster_gets_a_claim_and_then_host_port_and_variable_in_one_write() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    let done = site.settle();
    assert_eq!(words(&done), ["CreateClaim", "SetEndpoint"]);
    let stored = site.stored("x");
    assert_eq!(stored.host.as_deref(), Some("192.0.2.7"));
    assert_eq!((stored.port, stored.variable.as_deref()), (Some(6443), Some("192.0.2.7")));
    assert_eq!(site.word("x"), "Allocated");
    assert_eq!(site.message("x"), "control plane: 192.0.2.7 from a");
    assert!(site.verdicts[&key("x")].is_ready());
}

#[test]
fn a_claim_has_the_predecessors_name_and_is_tied_to_its_cluster() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.settle();
    let claim = &site.api.claims[&named("vip-cp-x")];
    assert_eq!(claim.owner.as_ref().map(|owner| &*owner.uid), Some("uid-x"));
    assert_eq!((claim.label.as_deref(), claim.cluster.as_deref()), (Some("x"), Some("x")));
}

#[test]
fn a_bound_claim_is_written_by_the_next_plan_without_any_wait() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.api.provider_down = true;
    site.settle();
    assert_eq!((site.word("x"), site.wake), ("WaitingForAddress", None));
    site.api.provider_down = false;
    site.api.provide();
    assert_eq!(words(&site.plan()), ["SetEndpoint"]);
}

#[test]
fn a_port_that_the_user_set_survives() {
    let mut x = cluster("x");
    x.port = Some(8443);
    let mut site = site().pool(pool("a").of([7])).cluster(x);
    site.settle();
    assert_eq!((site.host("x"), site.stored("x").port), (Some("192.0.2.7"), Some(8443)));
}

#[test]
fn the_time_of_the_claim_comes_with_the_write() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.api.provider_down = true;
    site.settle();
    site.now = at(30);
    site.api.provider_down = false;
    site.api.provide();
    let [VipAction::SetEndpoint(EndpointWrite { claimed_at, .. })] = &site.plan()[..] else {
        panic!("one write")
    };
    assert_eq!(*claimed_at, at(0));
}

#[test]
fn a_hundred_clusters_are_claimed_for_by_one_plan() {
    let mut site = site().pool(pool("a").of(1..=200));
    for number in 0..100 {
        site.api.set_cluster(cluster(&format!("x{number}")));
    }
    assert_eq!(site.step().len(), 100);
    site.settle();
    assert!(site.api.clusters.values().all(|cluster| cluster.host.is_some()));
}

#[test]
fn a_cluster_without_topology_that_names_a_vip_pool_gets_its_endpoint_and_nothing_else() {
    let x = cluster("x").without_topology().with_ingress().naming(Role::ControlPlane, "any");
    let both = pool("any").of([7, 8]).for_classes("other", None).for_roles(&Role::ALL);
    let mut site = site().pool(both).cluster(x);
    assert_eq!(words(&site.settle()), ["CreateClaim", "SetEndpoint"]);
    let stored = site.stored("x");
    assert_eq!((stored.host.as_deref(), &stored.variable), (Some("192.0.2.7"), &None));
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn a_cluster_that_asks_for_nothing_is_left_alone_silently() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x").without_topology());
    assert_eq!(site.settle(), []);
    assert!(site.verdicts.is_empty());
}

#[test]
fn a_restart_with_everything_in_place_plans_nothing() {
    let mut site = site().pool(pool("a").of(1..=9)).pool(pool("b").for_roles(&[Role::Ingress]));
    for name in ["x", "y", "z"] {
        site.api.set_cluster(cluster(name).with_ingress());
    }
    site.settle();
    let before = site.verdicts.clone();
    site.restart();
    assert_eq!(site.settle(), []);
    assert_eq!(site.verdicts, before);
}

#[test]
fn a_variable_or_port_that_was_dropped_is_written_again() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.settle();
    site.change("x", |x| x.variable = None);
    assert_eq!(words(&site.settle()), ["RepairEndpoint"]);
    assert_eq!(site.stored("x").variable.as_deref(), Some("192.0.2.7"));
    site.change("x", |x| x.port = None);
    assert_eq!(words(&site.settle()), ["RepairEndpoint"]);
    assert_eq!(site.stored("x").port, Some(6443));
}

#[test]
fn a_host_that_was_cleared_is_written_again_from_the_same_claim() {
    let mut site = site().pool(pool("a").of([7, 8])).cluster(cluster("x"));
    site.settle();
    site.change("x", |x| (x.host, x.port) = (None, None));
    site.change("x", |x| x.variable = None);
    assert_eq!(words(&site.settle()), ["SetEndpoint"]);
    assert_eq!(site.host("x"), Some("192.0.2.7"));
}

#[test]
fn the_age_of_our_claim_counts_from_the_request_and_not_from_the_full_second_before() {
    // The watch shows the claim before its request is answered, or after.
    for watch_first in [true, false] {
        let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
        site.now = at(0) + std::time::Duration::from_millis(700);
        let requested = site.now;
        let actions = site.plan();
        site.world.begin(&Action::Vip(actions[0].clone()));
        if watch_first {
            let done = site.api.carry_out(&actions[0], site.now);
            site.api.show(&mut site.world);
            let action = Action::Vip(actions[0].clone());
            let outcome = Outcome { action, sent_at: site.now, result: done, jitter: 0 };
            site.world.finish(outcome, site.now);
        } else {
            site.carry_out(actions[0].clone());
        }
        let written = site.settle();
        let [VipAction::SetEndpoint(write)] = &written[..] else { panic!("{written:?}") };
        assert_eq!(write.claimed_at, requested, "watch first: {watch_first}");
    }
}
