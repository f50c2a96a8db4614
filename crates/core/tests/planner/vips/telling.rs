//! Verdicts, words and counts.

use pontoon_core::action::{Action, Effect};
use pontoon_core::verdict::{Outlook, Restraint, Withheld};
use pontoon_core::vips::Tally;
use pontoon_core::vips::model::{ClusterClass, Role};

use super::fixture::*;
use super::site::site;

#[test]
fn no_vip_pool_is_told_with_the_labels_that_help() {
    let mut site = site().cluster(cluster("x"));
    assert_eq!(site.settle(), []);
    assert_eq!((site.word("x"), site.reason("x").outlook()), ("PoolNotFound", Outlook::Stuck));
    assert_eq!(
        site.message("x"),
        "control plane: no VIP pool serves the class c; give one the labels example.com/class=c and \
         example.com/role=control-plane"
    );
}

#[test]
fn a_class_without_the_variable_is_told_with_the_fix_and_the_endpoint_is_set() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site = site.class(ClusterClass { defines: vec![], ..class("c") });
    site.settle();
    assert_eq!((site.host("x"), site.stored("x").variable.clone()), (Some("192.0.2.7"), None));
    assert_eq!(site.word("x"), "ClusterVipVariableMissing");
    assert!(site.reason("x").warns() && site.verdicts[&key("x")].is_ready());
    assert!(site.message("x").contains("add clusterVip to the variables"), "{}", site.message("x"));
    site = site.class(class("c"));
    assert_eq!(words(&site.settle()), ["RepairEndpoint"]);
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn a_settled_cluster_whose_class_is_gone_stays_settled() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.settle();
    site.api.classes.clear();
    assert_eq!(site.settle(), []);
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn an_action_names_its_cluster_its_effect_and_itself() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    let done = site.settle();
    let told: Vec<_> = done.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "claim an address of a for the control plane of x",
            "set the endpoint of x to 192.0.2.7, port 6443"
        ]
    );
    for action in done.into_iter().map(Action::Vip) {
        assert_eq!(action.effect(), Effect::ChangesCluster);
        assert_eq!((action.owner(), action.account()), (Some(&key("x")), None));
    }
}

#[test]
fn withheld_actions_are_told_instead() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    let would = site.plan().iter().map(|action| action.to_string().into()).collect();
    let mut verdict = site.verdicts[&key("x")].clone();
    verdict.withheld = Some(Withheld { by: Restraint::Observing, would });
    assert_eq!((verdict.word(), verdict.outlook()), ("Observing", Outlook::Waiting));
    assert_eq!(
        verdict.to_string(),
        "observing only; would claim an address of a for the control plane of x"
    );
}

#[test]
fn claims_and_vip_pools_are_counted() {
    let mut site = site()
        .pool(pool("a").of([7]))
        .pool(pool("b").but(|pool| pool.paused = true))
        .cluster(cluster("x"))
        .cluster(cluster("y").with_ingress());
    site.settle();
    let tallies = site.world.tally_vip_claims();
    let place = (Role::ControlPlane, NAMESPACE.into());
    assert_eq!(tallies[&place], Tally { total: 2, ready: 1, pending: 1 });
    let pools = site.world.tally_vip_pools();
    assert_eq!(pools[&("c".into(), Role::ControlPlane)], 1);
    assert_eq!(pools[&("c".into(), Role::Ingress)], 0);
    let rooms: Vec<_> = site.world.vip_pools().filter_map(|pool| pool.room).collect();
    assert_eq!((rooms[0].total, rooms[0].free, rooms[0].used), (1, 0, 1));
}
