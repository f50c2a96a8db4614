//! Writes that fail.

use pontoon_core::action::{Action, FailureKind, VipAction};

use super::fixture::*;
use super::site::{Site, claim, site};
use pontoon_core::vips::model::Role;

fn new_cluster() -> Site {
    site().pool(pool("a").of([7, 8])).cluster(cluster("x"))
}

fn creates(action: &VipAction) -> bool {
    matches!(action, VipAction::CreateClaim { .. })
}

fn sets_endpoint(action: &VipAction) -> bool {
    matches!(action, VipAction::SetEndpoint(_))
}

#[test]
fn a_refused_write_is_told_and_tried_again_ever_more_slowly() {
    for (kind, word) in
        [(FailureKind::Rejected, "WriteRejected"), (FailureKind::Refused, "WriteForbidden")]
    {
        let mut site = new_cluster();
        for _ in 0..4 {
            site.fault(sets_endpoint, kind);
        }
        assert_eq!(words(&site.settle()), ["CreateClaim", "SetEndpoint"]);
        assert_eq!(site.word("x"), word);
        assert!(site.message("x").contains("scripted; next attempt at"), "{}", site.message("x"));
        assert_eq!(words(&site.run(14)), ["SetEndpoint"; 3]);
        assert_eq!(words(&site.run(1)), ["SetEndpoint"]);
        assert_eq!(site.word("x"), "Allocated");
    }
}

#[test]
fn a_write_of_an_outdated_version_waits_for_a_newer_one_and_no_longer() {
    let mut site = new_cluster();
    site.settle();
    site.change("x", |x| x.variable = None);
    let actions = site.plan();
    assert_eq!(words(&actions), ["RepairEndpoint"]);
    // Somebody writes the Cluster in the meantime.
    site.change("x", |_| {});
    site.world.begin(&Action::Vip(actions[0].clone()));
    site.carry_out(actions[0].clone());
    let before_the_watch = site.planner.next(&mut site.world, site.now);
    assert_eq!(before_the_watch.actions, []);
    assert_eq!(words(&site.plan()), ["RepairEndpoint"], "the newer version is there");
}

#[test]
fn a_write_of_an_outdated_version_starts_at_once_if_the_newer_one_came_first() {
    let mut site = new_cluster();
    site.settle();
    site.change("x", |x| x.variable = None);
    let actions = site.plan();
    site.world.begin(&Action::Vip(actions[0].clone()));
    site.change("x", |_| {});
    assert_eq!(site.plan(), [], "one write at a time");
    site.carry_out(actions[0].clone());
    assert_eq!(words(&site.plan()), ["RepairEndpoint"]);
}

#[test]
fn a_claim_without_an_answer_is_found_by_the_watch() {
    let mut site = new_cluster();
    site.fault(creates, FailureKind::NoAnswer);
    let done = site.run(60);
    assert_eq!(words(&done), ["CreateClaim", "SetEndpoint"]);
    assert_eq!(site.api.claims.len(), 1);
}

#[test]
fn an_endpoint_without_an_answer_is_found_by_the_watch() {
    let mut site = new_cluster();
    site.fault(sets_endpoint, FailureKind::NoAnswer);
    assert_eq!(words(&site.run(60)), ["CreateClaim", "SetEndpoint"]);
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn a_claim_that_exists_already_is_waited_for() {
    let mut site = new_cluster();
    let actions = site.plan();
    site.world.begin(&Action::Vip(actions[0].clone()));
    let mut theirs = claim("vip-cp-x");
    theirs.cluster = Some("x".into());
    site.api.set_claim(theirs);
    site.carry_out(actions[0].clone());
    assert_eq!(site.planner.next(&mut site.world, site.now).actions, []);
    assert_eq!(words(&site.settle()), ["AdoptClaim", "SetEndpoint"]);
}

#[test]
fn a_claim_that_exists_and_is_never_shown_is_told() {
    let mut site = new_cluster();
    for _ in 0..9 {
        site.fault(creates, FailureKind::Conflict);
    }
    site.run(60);
    assert_eq!(site.word("x"), "Conflict");
    assert!(site.message("x").contains("exists without the label"), "{}", site.message("x"));
}

#[test]
fn a_failure_of_one_role_never_delays_the_other() {
    let shared = pool("a").of([7, 8]).for_roles(&Role::ALL);
    let mut site = site().pool(shared).cluster(cluster("x").with_ingress());
    site.fault(sets_endpoint, FailureKind::Rejected);
    site.settle();
    assert_eq!(site.host("x"), None);
    assert_eq!(site.stored("x").ingress.annotation.as_deref(), Some("192.0.2.8"));
    site.run(10);
    assert_eq!(site.host("x"), Some("192.0.2.7"));
}

#[test]
fn a_failure_of_one_cluster_never_delays_another() {
    let mut site = new_cluster().cluster(cluster("y"));
    site.fault(|action| action.cluster().name == key("x").name, FailureKind::Unavailable);
    site.settle();
    assert_eq!((site.host("x"), site.host("y")), (None, Some("192.0.2.7")));
}

#[test]
fn a_new_term_starts_anew() {
    let mut site = new_cluster();
    site.fault(creates, FailureKind::Rejected);
    site.settle();
    site.world.take_over(site.now);
    assert_eq!(words(&site.settle()), ["CreateClaim", "SetEndpoint"]);
}

#[test]
fn an_outcome_for_a_cluster_that_was_re_created_changes_nothing() {
    let mut site = new_cluster();
    let actions = site.plan();
    site.world.begin(&Action::Vip(actions[0].clone()));
    site.api.set_cluster(cluster("x").with_uid("new-x"));
    site.carry_out(actions[0].clone());
    site.api.collect();
    site.settle();
    let claim = &site.api.claims[&named("vip-cp-x")];
    assert_eq!(claim.owner.as_ref().map(|owner| &*owner.uid), Some("new-x"));
}
