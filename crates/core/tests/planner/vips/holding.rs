//! The address of a deleted Cluster stays until the Cluster's machines are gone.

use pontoon_core::vips::model::VipSettings;

use super::fixture::*;
use super::site::{Site, site, site_with};

fn held() -> Site {
    let site = site_with(VipSettings { holds: true, ..VipSettings::default() });
    let mut site = site.pool(pool("a").of([7, 8])).cluster(cluster("x"));
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.7"));
    site
}

/// Deletes a Cluster in the foreground: the claim loses its Cluster at once.
fn delete_in_foreground(site: &mut Site) {
    site.change("x", |x| x.deleting = true);
    site.change_claim("vip-cp-x", |claim| match claim.holder {
        Some(_) => claim.owner = None,
        None => claim.deleting = true,
    });
}

#[test]
fn a_claim_gets_a_second_owner_if_the_user_wants_that() {
    let site = held();
    let claim = &site.api.claims[&named("vip-cp-x")];
    assert_eq!(claim.holder.as_ref(), Some(&site.api.holders[&named("vip-cp-x")].uid));
    assert_eq!(claim.owner.as_ref().map(|owner| &*owner.uid), Some("uid-x"));
}

#[test]
fn nothing_holds_a_claim_by_default() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.settle();
    assert!(site.api.holders.is_empty());
}

#[test]
fn the_address_stays_while_machines_are_left_and_goes_with_the_last() {
    let mut site = held();
    delete_in_foreground(&mut site);
    assert_eq!(site.run(3600), []);
    assert_eq!(site.word("x"), "Deleting");
    assert!(site.api.addresses.contains_key(&named("vip-cp-x")));
    site.change("x", |x| x.guarded = false);
    assert_eq!(words(&site.settle()), ["DropHolder"]);
    assert_eq!((site.api.claims.len(), site.api.addresses.len()), (0, 0));
    assert_eq!(site.word("x"), "Released");
}

#[test]
fn the_address_of_a_cluster_that_is_gone_is_released() {
    let mut site = held();
    site.delete("x");
    assert_eq!(words(&site.settle()), ["DropHolder"]);
    assert_eq!((site.api.claims.len(), site.api.holders.len()), (0, 0));
}

#[test]
fn a_holder_that_is_seen_before_its_cluster_stays() {
    let mut site = held();
    let planned = site.plan_without_seeing("x");
    assert_eq!(words(&planned), ["DropHolder"]);
    planned.into_iter().for_each(|action| site.carry_out(action));
    assert_eq!(site.run(60), []);
    assert_eq!(site.api.holders.len(), 1);
}

#[test]
fn the_address_of_a_cluster_that_went_while_nobody_looked_is_released() {
    let mut site = held();
    site.delete("x");
    site.api.collect();
    site.restart();
    assert_eq!(words(&site.settle()), ["DropHolder"]);
    assert_eq!(site.api.claims.len(), 0);
}

#[test]
fn the_held_claim_of_the_old_cluster_is_not_taken_by_the_new_one() {
    let mut site = held();
    site.api.set_cluster(cluster("x").with_uid("new-x"));
    site.api.collect();
    site.settle();
    let claim = &site.api.claims[&named("vip-cp-x")];
    assert_eq!(claim.owner.as_ref().map(|owner| &*owner.uid), Some("new-x"));
    assert_eq!(&*site.api.holders[&named("vip-cp-x")].cluster_uid, "new-x");
}

#[test]
fn a_holder_is_dropped_once_the_user_no_longer_wants_holders() {
    let mut site = held();
    site.settings.vips.holds = false;
    site.restart();
    assert_eq!(words(&site.settle()), ["DropHolder"]);
    assert_eq!((site.api.claims.len(), site.api.holders.len()), (1, 0));
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn a_holder_is_kept_for_a_cluster_in_deletion_even_if_holders_are_no_longer_wanted() {
    let mut site = held();
    delete_in_foreground(&mut site);
    site.settings.vips.holds = false;
    site.restart();
    assert_eq!(site.run(600), []);
}

#[test]
fn a_paused_cluster_keeps_its_holder() {
    let mut site = held();
    site.change("x", |x| (x.paused, x.deleting, x.guarded) = (true, true, false));
    assert_eq!(site.run(600), []);
}

#[test]
fn after_a_move_the_holder_learns_the_new_cluster() {
    let mut site = held();
    // A move makes all objects anew and rewrites the owners.
    site.api.set_cluster(site.stored("x").clone().with_uid("moved-x"));
    site.change_claim("vip-cp-x", |claim| {
        if let Some(owner) = &mut claim.owner {
            owner.uid = "moved-x".into();
        }
    });
    site.restart();
    assert_eq!(words(&site.settle()), ["KeepHolder"]);
    assert_eq!(&*site.api.holders[&named("vip-cp-x")].cluster_uid, "moved-x");
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn what_is_moved_away_is_left_to_the_move() {
    let mut site = held();
    site.delete("x");
    site.api.holders.values_mut().for_each(|holder| holder.moved_away = true);
    site.api.claims.values_mut().for_each(|claim| claim.moved_away = true);
    assert_eq!(site.plan(), []);
}

#[test]
fn a_claim_is_written_by_one_action_at_a_time() {
    let holds = VipSettings { holds: true, ..VipSettings::default() };
    let mut site = site_with(holds).pool(pool("a")).cluster(cluster("x"));
    site.settle();
    // The holder is to be tied to the claim, and the claim to be given up.
    site.change_claim("vip-cp-x", |claim| (claim.holder, claim.exhausted) = (None, true));
    site.api.set_pool(pool("b").of([8]));
    assert_eq!(words(&site.step()), ["AdoptClaim"]);
    assert_eq!(words(&site.step()), ["DeleteClaim"]);
}
