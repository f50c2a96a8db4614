//! Claims that exist already.

use pontoon_core::vips::model::{ClaimOwner, VipClaim};

use super::fixture::*;
use super::site::{Site, claim, site};

fn owner(uid: &str) -> Option<ClaimOwner> {
    let name = uid.trim_start_matches("uid-").trim_start_matches("old-").into();
    Some(ClaimOwner { uid: uid.into(), name, outdated: false, controller: true })
}

/// A claim as the predecessor made it: owned, and without the label.
fn legacy(uid: &str) -> VipClaim {
    VipClaim { owner: owner(uid), ..claim("vip-cp-x") }
}

fn with(one: VipClaim) -> Site {
    site().pool(pool("a").of([7, 8])).claim(one).cluster(cluster("x"))
}

#[test]
fn a_claim_without_owners_is_adopted_and_used() {
    let mut site = with(claim("vip-cp-x"));
    assert_eq!(words(&site.settle()), ["AdoptClaim", "SetEndpoint"]);
    let claim = &site.api.claims[&named("vip-cp-x")];
    assert_eq!((claim.owner.clone(), claim.label.as_deref()), (owner("uid-x"), Some("x")));
}

#[test]
fn a_claim_without_owners_is_adopted_before_its_address_is_used() {
    let mut site = with(claim("vip-cp-x"));
    site.api.provide();
    assert_eq!(words(&site.plan()), ["AdoptClaim"]);
}

#[test]
fn the_predecessors_claim_is_labelled_and_its_cluster_is_not_written() {
    let mut site = with(legacy("uid-x"));
    site.api.provide();
    site.change("x", |x| {
        (x.host, x.port, x.variable) =
            (Some("192.0.2.7".into()), Some(6443), Some("192.0.2.7".into()));
    });
    assert_eq!(words(&site.settle()), ["AdoptClaim"]);
    assert_eq!(site.settle(), []);
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn an_owner_of_an_outdated_version_is_written_anew() {
    let mut one = legacy("uid-x");
    one.label = Some("x".into());
    if let Some(owner) = &mut one.owner {
        owner.outdated = true;
    }
    let mut site = with(one);
    site.settle();
    assert_eq!(site.api.claims[&named("vip-cp-x")].owner, owner("uid-x"));
}

#[test]
fn a_re_created_cluster_never_takes_the_claim_of_the_old_one() {
    let mut site = site().pool(pool("a").of([7, 8])).cluster(cluster("x").with_uid("old-x"));
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.7"));
    site.api.set_cluster(cluster("x"));
    assert_eq!(site.plan(), []);
    assert_eq!(site.word("x"), "WaitingForOldClaim");
    // The collector deletes the old claim with its address.
    site.api.collect();
    assert_eq!(words(&site.settle()), ["CreateClaim", "SetEndpoint"]);
    let owned = &site.api.claims[&named("vip-cp-x")].owner;
    assert_eq!(owned.as_ref().map(|owner| &*owner.uid), Some("uid-x"));
}

#[test]
fn the_claim_of_a_cluster_that_is_gone_is_made_collectable() {
    let mut one = legacy("old-x");
    if let Some(owner) = &mut one.owner {
        owner.outdated = true;
    }
    for re_created in [false, true] {
        let mut site = with(one.clone());
        if !re_created {
            site.delete("x");
        }
        let done = words(&site.settle());
        assert_eq!(done[0], "AdoptClaim");
        assert_eq!(done.len(), if re_created { 3 } else { 1 }, "{done:?}");
        assert_eq!(site.api.claims.len(), usize::from(re_created));
    }
}

#[test]
fn a_claim_that_is_seen_before_its_paused_cluster_is_not_written() {
    let mut one = legacy("uid-x");
    if let Some(owner) = &mut one.owner {
        owner.outdated = true;
    }
    let mut site = with(one);
    site.change("x", |x| x.paused = true);
    let planned = site.plan_without_seeing("x");
    assert_eq!(words(&planned), ["AdoptClaim"]);
    planned.into_iter().for_each(|action| site.carry_out(action));
    assert_eq!(site.run(60), []);
    let owner = site.api.claims[&named("vip-cp-x")].owner.as_ref();
    assert!(owner.is_some_and(|owner| owner.outdated));
}

#[test]
fn a_claim_that_is_being_deleted_is_not_used_but_replaced_once_gone() {
    let mut one = legacy("uid-x");
    one.deleting = true;
    let mut site = with(one);
    assert_eq!(site.run(60), []);
    assert_eq!(site.word("x"), "WaitingForOldClaim");
    site.api.drop_claim(&named("vip-cp-x"));
    assert_eq!(words(&site.settle()), ["CreateClaim", "SetEndpoint"]);
}

#[test]
fn a_claim_that_is_deleted_under_a_cluster_in_use_is_told() {
    let mut site = site().pool(pool("a").of([7, 8])).cluster(cluster("x"));
    site.settle();
    site.change_claim("vip-cp-x", |claim| claim.deleting = true);
    assert_eq!(site.run(60), []);
    assert_eq!(site.word("x"), "Conflict");
    assert_eq!(site.host("x"), Some("192.0.2.7"));
}

#[test]
fn an_address_that_belongs_to_another_claim_is_not_used() {
    let mut site = with(legacy("uid-x"));
    site.api.provide();
    let address = site.api.addresses.get_mut(&named("vip-cp-x")).expect("an address");
    address.claim = "vip-cp-y".into();
    site.settle();
    assert_eq!((site.host("x"), site.word("x")), (None, "WaitingForAddress"));
}

#[test]
fn a_second_claim_that_names_no_cluster_is_taken_for_another_clusters_first() {
    use pontoon_core::model::Family;
    let mut dual = cluster("x");
    dual.second = Some(Family::V6);
    let mut site = site()
        .pool(pool("a").of([7, 8]))
        .pool(pool("b").of_v6([1]))
        .claim(claim("vip-cp-x-v6"))
        .cluster(dual);
    site.settle();
    assert_eq!(site.api.claims[&named("vip-cp-x-v6")].owner, None);
    assert_eq!(site.word("x"), "Conflict");
}
