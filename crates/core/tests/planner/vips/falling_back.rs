//! A full VIP pool gives way to the next one, and nobody loses an address.

use pontoon_core::action::{Deletion, FailureKind, VipAction};
use pontoon_core::vips::model::PoolId;

use super::fixture::*;
use super::site::{Site, site};

/// A claim on the VIP pool `a`, which is full, while `b` and `c` are full too.
fn waiting() -> Site {
    let mut site = site();
    for name in ["a", "b", "c"] {
        site.api.set_pool(pool(name));
    }
    let mut site = site.cluster(cluster("x"));
    site.settle();
    assert_eq!((site.pool_of("vip-cp-x"), site.word("x")), ("a".to_owned(), "PoolExhausted"));
    site
}

#[test]
fn all_full_the_first_claim_stays_and_the_reason_is_told() {
    let mut site = waiting();
    assert_eq!(site.run(3600), []);
    assert_eq!(
        site.message("x"),
        "control plane: no free address in a, b, c; the claim waits: add addresses, or delete what \
         is not used"
    );
    assert!(!site.verdicts[&key("x")].is_ready());
}

#[test]
fn an_address_that_becomes_free_serves_the_claim_that_waits() {
    let mut site = waiting();
    site.api.set_pool(pool("a").of([7]));
    assert_eq!(words(&site.settle()), ["SetEndpoint"]);
}

#[test]
fn another_vip_pool_is_not_told_before_the_provider_had_its_time() {
    let mut site = waiting();
    site.now = at(1);
    site.api.set_pool(pool("c").of([9]));
    assert_eq!(site.plan(), []);
    assert_eq!(site.word("x"), "WaitingForAddress");
    assert!(site.wake.is_some());
}

#[test]
fn an_unbound_claim_moves_to_the_next_vip_pool_with_room() {
    let mut site = waiting();
    site.now = at(10);
    site.api.set_pool(pool("c").of([9]));
    let actions = site.plan();
    let [VipAction::DeleteClaim { why, .. }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(*why, Deletion::FellBack { from: PoolId::global("a"), to: PoolId::global("c") });
    assert_eq!(site.word("x"), "FellBack");
    site.carry_out(actions[0].clone());
    site.run(10);
    assert_eq!((site.host("x"), site.pool_of("vip-cp-x")), (Some("192.0.2.9"), "c".to_owned()));
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn a_successor_whose_clock_is_hours_behind_moves_an_unbound_claim_as_well() {
    let mut site = waiting();
    let hours = std::time::Duration::from_secs(3 * 3600);
    let claim = site.api.claims.get_mut(&named("vip-cp-x")).expect("a claim");
    claim.created_at = claim.created_at + hours;
    site.restart();
    site.now = at(10);
    site.api.set_pool(pool("c").of([9]));
    assert_eq!(site.plan(), []);
    assert_eq!(site.wake, Some(at(13)), "the provider has its time from now on");
    site.run(30);
    assert_eq!((site.host("x"), site.word("x")), (Some("192.0.2.9"), "Allocated"));
}

#[test]
fn a_claim_that_the_provider_may_just_be_binding_is_not_given_up() {
    let mut site = site().pool(pool("a").of([7])).pool(pool("b").of([8])).cluster(cluster("x"));
    site.api.provider_down = true;
    site.settle();
    // The count is shown before the claim.
    site.api.set_pool(pool("a"));
    assert_eq!(site.plan(), []);
    assert_eq!(site.wake, Some(at(3)));
    site.api.pools.get_mut(&PoolId::global("a")).expect("a pool").addresses = vec![ip(7)];
    site.api.provider_down = false;
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.7"));
}

#[test]
fn a_claim_that_an_address_names_already_is_not_given_up() {
    use pontoon_core::vips::model::VipAddress;
    let mut site = waiting();
    site.now = at(10);
    let name = named("vip-cp-x");
    let claim = "vip-cp-x".into();
    let address =
        VipAddress { name: name.clone(), version: 1, ip: Some(ip(7)), claim, deleting: false };
    site.api.addresses.insert(name, address);
    site.api.pools.get_mut(&PoolId::global("c")).expect("a pool").addresses = vec![ip(9)];
    site.api.count();
    assert_eq!(site.plan(), []);
    assert_eq!(site.word("x"), "WaitingForAddress");
}

#[test]
fn a_claim_that_was_bound_meanwhile_is_not_deleted() {
    let mut site = waiting();
    site.now = at(10);
    site.api.set_pool(pool("c").of([9]));
    let actions = site.plan();
    assert_eq!(words(&actions), ["DeleteClaim"]);
    site.api.set_pool(pool("a").of([7]));
    site.api.provide();
    site.carry_out(actions[0].clone());
    assert_eq!(words(&site.settle()), ["SetEndpoint"]);
    assert_eq!(site.host("x"), Some("192.0.2.7"));
}

#[test]
fn a_bound_claim_of_a_full_vip_pool_stays() {
    let mut site = site().pool(pool("a").of([7])).pool(pool("b").of([8])).cluster(cluster("x"));
    site.settle();
    site.change("x", |x| (x.host, x.variable) = (None, None));
    assert_eq!(words(&site.run(600)), ["SetEndpoint"]);
    assert_eq!(site.host("x"), Some("192.0.2.7"));
}

#[test]
fn a_refused_claim_moves_on_at_once() {
    let mut site = site().pool(pool("a").of([7])).pool(pool("b").of([8])).cluster(cluster("x"));
    site.api.provider_down = true;
    site.settle();
    site.api.set_pool(pool("a"));
    site.change_claim("vip-cp-x", |claim| claim.exhausted = true);
    assert_eq!(words(&site.plan()), ["DeleteClaim"]);
}

#[test]
fn a_refused_claim_that_the_provider_forgets_is_made_again_once_there_is_room() {
    let mut site = site().pool(pool("a")).cluster(cluster("x"));
    site.api.provider_gives_up = true;
    site.settle();
    assert_eq!(site.run(300), []);
    site.api.set_pool(pool("a").of([7]));
    assert_eq!(words(&site.run(60)), ["DeleteClaim", "CreateClaim", "SetEndpoint"]);
}

#[test]
fn a_claim_on_a_vip_pool_that_is_gone_moves_to_another_one() {
    let mut site = waiting();
    site.api.pools.remove(&PoolId::global("a"));
    assert_eq!(words(&site.settle()), ["DeleteClaim", "CreateClaim"]);
    assert_eq!(site.pool_of("vip-cp-x"), "b");
}

#[test]
fn a_claim_on_a_vip_pool_that_is_paused_waits_there() {
    let mut site = site().pool(pool("a").of([7])).pool(pool("b").of([8])).cluster(cluster("x"));
    site.api.provider_down = true;
    site.settle();
    site.api.set_pool(pool("a").of([7]).but(|pool| pool.paused = true));
    assert_eq!(site.run(600), []);
    assert_eq!(site.word("x"), "PoolPaused");
}

#[test]
fn vip_pools_that_claim_to_have_room_are_tried_in_turn_ever_more_slowly() {
    let mut site = site().pool(pool("a").of([7])).pool(pool("b").of([8])).cluster(cluster("x"));
    site.api.provider_down = true;
    let mut tries = 0;
    let end = at(3600);
    while site.now < end && tries < 100 {
        let mut done = site.settle();
        site.change_claim("vip-cp-x", |claim| claim.exhausted = true);
        done.extend(site.settle());
        tries += words(&done).iter().filter(|word| **word == "DeleteClaim").count();
        site.now = site.wake.unwrap_or(site.now);
    }
    assert!((5..=20).contains(&tries), "{tries}");
}

#[test]
fn a_deletion_that_fails_is_tried_again() {
    let mut site = waiting();
    site.now = at(10);
    site.fault(|action| matches!(action, VipAction::DeleteClaim { .. }), FailureKind::Unavailable);
    site.api.set_pool(pool("c").of([9]));
    let done = site.run(60);
    assert_eq!(words(&done), ["DeleteClaim", "DeleteClaim", "CreateClaim", "SetEndpoint"]);
}
