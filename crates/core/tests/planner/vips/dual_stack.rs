//! Clusters with addresses of both families.

use pontoon_core::model::Family;
use pontoon_core::vips::model::{Cluster, Role};

use super::fixture::*;
use super::site::{Site, site};

fn dual() -> Cluster {
    Cluster { family: Some(Family::V4), second: Some(Family::V6), ..cluster("x") }
}

fn pools() -> Site {
    site().pool(pool("a").of_v6([1])).pool(pool("b").of([7]))
}

#[test]
fn the_host_is_of_the_first_family_and_both_are_listed() {
    let mut site = pools().cluster(dual());
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.7"));
    assert!(site.api.claims[&named("vip-cp-x-v6")].is_bound());
    let listed = &site.stored("x").listed[&Role::ControlPlane];
    assert_eq!(&**listed, "192.0.2.7,2001:db8::1");
    assert_eq!(
        site.message("x"),
        "control plane: 192.0.2.7 from b; control plane (IPv6): 2001:db8::1 from a"
    );
}

#[test]
fn the_first_family_may_be_the_sixth() {
    let x = Cluster { family: Some(Family::V6), second: Some(Family::V4), ..cluster("x") };
    let mut site = pools().cluster(x);
    site.settle();
    assert_eq!(site.host("x"), Some("2001:db8::1"));
    assert!(site.api.claims[&named("vip-cp-x-v4")].is_bound());
}

#[test]
fn no_vip_pool_of_the_second_family_is_quiet() {
    let mut site = site().pool(pool("b").of([7])).cluster(dual());
    site.settle();
    assert_eq!(site.word("x"), "Allocated");
    assert_eq!(site.api.claims.len(), 1);
}

#[test]
fn a_second_vip_that_cannot_be_had_leaves_the_first_alone() {
    let mut site = site().pool(pool("a").of_v6([])).pool(pool("b").of([7])).cluster(dual());
    site.settle();
    assert_eq!((site.host("x"), site.word("x")), (Some("192.0.2.7"), "PoolExhausted"));
}

#[test]
fn a_cluster_with_a_host_of_its_own_gets_no_second_claim() {
    let mut site = pools().cluster(dual().with_host("10.9.9.9"));
    assert_eq!(site.settle(), []);
}

#[test]
fn a_cluster_of_one_family_takes_the_first_vip_pool_of_any() {
    let mut site = pools().cluster(cluster("x"));
    site.settle();
    assert_eq!(site.host("x"), Some("2001:db8::1"));
    assert_eq!(site.api.claims.len(), 1);
}

#[test]
fn ingress_has_two_families_too() {
    let shared = |pool: PoolOf| pool.for_roles(&Role::ALL);
    let mut site = site()
        .pool(shared(pool("a").of_v6([1, 2])))
        .pool(shared(pool("b").of([7, 8])))
        .cluster(dual().with_ingress());
    site.settle();
    assert_eq!(&*site.stored("x").listed[&Role::Ingress], "192.0.2.8,2001:db8::2");
    assert_eq!(site.stored("x").ingress.annotation.as_deref(), Some("192.0.2.8"));
}
