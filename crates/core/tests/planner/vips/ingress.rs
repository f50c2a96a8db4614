//! VIPs for ingress, beside the control plane.

use pontoon_core::vips::model::{ClusterClass, Role};

use super::fixture::*;
use super::site::{Site, site};

fn with_ingress_pool(ingress: PoolOf) -> Site {
    let ingress = ingress.for_roles(&[Role::Ingress]);
    site().pool(pool("a").of([7])).pool(ingress).cluster(cluster("x").with_ingress())
}

#[test]
fn an_ingress_vip_is_written_as_annotation_label_and_variable() {
    let mut site = with_ingress_pool(pool("i").of([9]));
    site.settle();
    let ingress = &site.stored("x").ingress;
    for value in [&ingress.annotation, &ingress.label, &ingress.variable] {
        assert_eq!(value.as_deref(), Some("192.0.2.9"));
    }
    assert_eq!(site.message("x"), "control plane: 192.0.2.7 from a; ingress: 192.0.2.9 from i");
}

#[test]
fn a_variable_that_the_class_does_not_define_is_not_written() {
    let mut site = with_ingress_pool(pool("i").of([9]));
    site = site.class(ClusterClass { defines: vec![Role::ControlPlane], ..class("c") });
    site.settle();
    assert_eq!(site.stored("x").ingress.variable, None);
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn no_vip_pool_for_ingress_is_quiet() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x").with_ingress());
    site.settle();
    let verdict = &site.verdicts[&key("x")];
    assert_eq!(
        (verdict.word(), verdict.parts[&INGRESS].reason.word()),
        ("Allocated", "NotConfigured")
    );
    assert!(verdict.is_ready());
}

#[test]
fn a_vip_pool_for_ingress_that_appears_later_serves_settled_clusters() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x").with_ingress());
    site.settle();
    site.api.set_pool(pool("i").of([9]).for_roles(&[Role::Ingress]));
    assert_eq!(words(&site.settle()), ["CreateClaim", "SetIngress"]);
}

#[test]
fn ingress_that_is_switched_off_gets_nothing() {
    let mut site = with_ingress_pool(pool("i").of([9]));
    site.change("x", |x| x.ingress.enabled = false);
    site.settle();
    assert!(!site.api.claims.contains_key(&named("vip-ingress-x")));
    assert_eq!(site.word("x"), "Allocated");
}

#[test]
fn one_vip_pool_may_serve_both_roles() {
    let shared = pool("a").of([7, 8]).for_roles(&Role::ALL);
    let mut site = site().pool(shared).cluster(cluster("x").with_ingress());
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.7"));
    assert_eq!(site.stored("x").ingress.annotation.as_deref(), Some("192.0.2.8"));
}

#[test]
fn a_users_annotation_or_label_is_kept_and_nothing_is_claimed() {
    for by_label in [false, true] {
        let mut site = with_ingress_pool(pool("i").of([9]));
        site.change("x", |x| {
            let value = Some("10.9.9.9".into());
            if by_label { x.ingress.label = value } else { x.ingress.annotation = value }
        });
        site.settle();
        assert!(!site.api.claims.contains_key(&named("vip-ingress-x")));
        assert_eq!(site.verdicts[&key("x")].parts[&INGRESS].reason.word(), "Manual");
    }
}

#[test]
fn a_label_that_was_dropped_is_written_again() {
    let mut site = with_ingress_pool(pool("i").of([9]));
    site.settle();
    site.change("x", |x| x.ingress.label = None);
    assert_eq!(words(&site.settle()), ["SetIngress"]);
}

#[test]
fn a_full_vip_pool_for_ingress_is_told_and_leaves_the_control_plane_alone() {
    let mut site = with_ingress_pool(pool("i"));
    site.settle();
    assert_eq!((site.word("x"), site.host("x")), ("PoolExhausted", Some("192.0.2.7")));
    assert_eq!(site.verdicts[&key("x")].job, Some(INGRESS));
}
