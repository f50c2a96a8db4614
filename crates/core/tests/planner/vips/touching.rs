//! Only Clusters that an event can concern are planned again.

use pontoon_core::plan::Planner;
use pontoon_core::vips::model::{PoolId, Role};
use pontoon_core::world::World;

use super::fixture::*;
use super::site::{Site, site};

/// Many settled Clusters, without a VIP pool for ingress.
fn settled() -> Site {
    let mut site = site().pool(pool("a").of(1..=250));
    for number in 0..50 {
        site.api.set_cluster(cluster(&format!("x{number}")).with_ingress());
    }
    site.settle();
    site
}

/// Number of Clusters planned after a change.
fn planned(site: &mut Site, change: impl FnOnce(&mut World)) -> usize {
    change(&mut site.world);
    let plan = site.planner.next(&mut site.world, site.now);
    assert_eq!(plan.actions, []);
    plan.vips.len()
}

#[test]
fn nothing_is_planned_without_an_event() {
    let mut site = settled();
    assert_eq!(planned(&mut site, |_| {}), 0);
    assert_eq!(site.wake, None);
}

#[test]
fn a_changed_cluster_is_planned_alone() {
    let mut site = settled();
    let mut x = site.stored("x7").clone();
    (x.version, x.port) = (x.version + 1000, Some(1));
    assert_eq!(planned(&mut site, |world| world.set_cluster(x)), 1);
}

#[test]
fn a_cluster_that_changed_in_nothing_that_matters_is_not_planned() {
    let mut site = settled();
    let mut x = site.stored("x7").clone();
    x.version += 1000;
    assert_eq!(planned(&mut site, |world| world.set_cluster(x)), 0);
}

#[test]
fn the_count_of_a_vip_pool_concerns_nobody_while_it_has_room() {
    let mut site = settled();
    let mut a = site.api.pools[&PoolId::global("a")].pool.clone();
    a.version += 1000;
    if let Some(room) = &mut a.room {
        room.free -= 1;
    }
    assert_eq!(planned(&mut site, |world| world.set_vip_pool(a)), 0);
}

#[test]
fn a_vip_pool_that_fills_up_concerns_only_clusters_that_wait_for_an_address() {
    let mut site = settled();
    let mut a = site.api.pools[&PoolId::global("a")].pool.clone();
    a.version += 1000;
    if let Some(room) = &mut a.room {
        room.free = 0;
    }
    assert_eq!(planned(&mut site, |world| world.set_vip_pool(a)), 0);
}

#[test]
fn a_new_vip_pool_concerns_the_clusters_without_one_in_some_role() {
    let mut site = settled();
    let other = pool("b").for_roles(&[Role::Ingress]).for_classes("other", None);
    assert_eq!(planned(&mut site, |world| world.set_vip_pool(other.pool)), 50);
}

#[test]
fn a_claim_of_one_cluster_concerns_that_cluster() {
    let mut site = settled();
    let mut claim = site.api.claims[&named("vip-cp-x7")].clone();
    (claim.version, claim.exhausted) = (claim.version + 1000, true);
    assert_eq!(planned(&mut site, |world| world.set_vip_claim(claim)), 1);
}

#[test]
fn an_address_of_one_cluster_concerns_that_cluster() {
    let mut site = settled();
    let mut address = site.api.addresses[&named("vip-cp-x7")].clone();
    (address.version, address.deleting) = (address.version + 1000, true);
    site.world.set_vip_address(address);
    let plan = site.planner.next(&mut site.world, site.now);
    assert_eq!(plan.vips.len(), 1);
    assert_eq!(plan.vips[&key("x7")].word(), "WaitingForAddress");
}

#[test]
fn a_class_concerns_its_clusters() {
    let mut site = settled();
    let other = class("other");
    assert_eq!(planned(&mut site, |world| world.set_cluster_class(other)), 0);
    let same = class("c");
    assert_eq!(planned(&mut site, |world| world.set_cluster_class(same)), 0);
    let fewer = pontoon_core::vips::model::ClusterClass { defines: vec![], ..class("c") };
    assert_eq!(planned(&mut site, |world| world.set_cluster_class(fewer)), 50);
}

#[test]
fn a_new_planner_plans_what_is_touched_alone() {
    let mut site = settled();
    site.planner = Planner::default();
    assert_eq!(planned(&mut site, |_| {}), 0);
}
