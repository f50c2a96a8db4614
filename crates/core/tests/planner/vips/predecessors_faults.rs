//! Faults of the predecessor that must not exist here. Packaging, permissions and the extension
//! server are tested where they are.

use pontoon_core::action::VipAction;
use pontoon_core::vips::model::{ClaimOwner, Role};

use super::fixture::*;
use super::site::{claim, site};

#[test]
fn a_class_without_a_vip_pool_for_ingress_gets_its_control_plane() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x").with_ingress());
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.7"));
}

#[test]
fn ingress_is_finished_whenever_its_claim_is_bound() {
    let ingress = pool("i").for_roles(&[Role::Ingress]);
    let mut site = site().pool(pool("a").of([7])).pool(ingress.clone());
    site = site.cluster(cluster("x").with_ingress());
    site.run(3600);
    assert_eq!((site.host("x"), &site.stored("x").ingress.annotation), (Some("192.0.2.7"), &None));
    site.api.set_pool(ingress.of([9]));
    site.settle();
    assert_eq!(site.stored("x").ingress.annotation.as_deref(), Some("192.0.2.9"));
}

#[test]
fn a_cluster_with_an_endpoint_takes_no_address() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x").with_host("10.9.9.9"));
    site.run(3600);
    assert!(site.api.claims.is_empty() && site.api.addresses.is_empty());
}

#[test]
fn a_vip_pool_for_both_roles_and_many_classes_is_possible() {
    let shared = pool("a").of([7, 8]).for_classes("true", Some("other,c")).but(|pool| {
        pool.roles =
            pontoon_core::vips::model::Entries::parse(Some("true"), Some("control-plane,ingress"))
                .roles();
    });
    let mut site = site().pool(shared).cluster(cluster("x").with_ingress());
    site.settle();
    assert_eq!(site.word("x"), "Allocated");
    assert_eq!(site.api.claims.len(), 2);
}

#[test]
fn an_ipv6_address_for_ingress_is_never_written_as_a_label() {
    let shared = pool("a").of_v6([1, 2]).for_roles(&Role::ALL);
    let mut site = site().pool(shared).cluster(cluster("x").with_ingress());
    site.settle();
    let ingress = &site.stored("x").ingress;
    assert_eq!(ingress.annotation.as_deref(), Some("2001:db8::2"));
    assert_eq!((&ingress.label, site.word("x")), (&None, "Allocated"));
}

#[test]
fn no_claim_is_made_for_a_cluster_that_is_paused_or_deleted() {
    for pause in [false, true] {
        let mut x = cluster("x").with_ingress();
        (x.paused, x.deleting) = (pause, !pause);
        let both = pool("a").of([7, 8]).for_roles(&Role::ALL);
        let mut site = site().pool(both).cluster(x);
        assert_eq!(site.run(3600), []);
    }
}

#[test]
fn no_address_is_taken_from_a_claim_that_ends_or_belongs_to_somebody_else() {
    let owned = |uid: &str| {
        let (uid, name) = (uid.into(), "x".into());
        Some(ClaimOwner { uid, name, outdated: false, controller: true })
    };
    let mut ending = claim("vip-cp-x");
    (ending.owner, ending.deleting) = (owned("uid-x"), true);
    let mut dead = claim("vip-cp-x");
    dead.owner = owned("uid-of-a-deleted-cluster");
    let mut theirs = claim("vip-cp-x");
    theirs.foreign = true;
    for mut unusable in [ending, dead, theirs] {
        unusable.bound = Some("vip-cp-x".into());
        let mut site = site().pool(pool("a").of([7])).claim(unusable).cluster(cluster("x"));
        let name = named("vip-cp-x");
        let address = pontoon_core::vips::model::VipAddress {
            name: name.clone(),
            version: 1,
            ip: Some(ip(7)),
            claim: name.name.clone(),
            deleting: false,
        };
        site.api.addresses.insert(name, address);
        assert_eq!(site.plan(), []);
    }
}

#[test]
fn a_class_of_another_namespace_is_no_error() {
    let mut far = class("c");
    far.name.namespace = "classes".into();
    let mut x = cluster("x");
    x.class = Some(far.name.clone());
    let mut site = site().class(far).pool(pool("a").of([7])).cluster(x);
    site.settle();
    assert_eq!(site.stored("x").variable.as_deref(), Some("192.0.2.7"));
}

#[test]
fn a_write_carries_the_version_that_it_rests_on() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    site.settle();
    site.change("x", |x| x.variable = None);
    let version = site.stored("x").version;
    let [VipAction::RepairEndpoint(write)] = &site.plan()[..] else { panic!("one write") };
    assert_eq!((write.object.version, &*write.object.uid), (version, "uid-x"));
}

#[test]
fn a_users_variable_is_never_overwritten_and_a_dropped_one_is_restored() {
    let mut x = cluster("x");
    x.variable = Some("10.9.9.9".into());
    let mut site = site().pool(pool("a").of([7, 8])).cluster(x).cluster(cluster("y"));
    site.settle();
    assert_eq!(site.stored("x").variable.as_deref(), Some("10.9.9.9"));
    site.change("y", |y| y.variable = None);
    site.settle();
    assert_eq!(site.stored("y").variable.as_deref(), Some("192.0.2.7"));
}

#[test]
fn exhaustion_is_handled_and_vip_pools_that_pause_or_end_are_not_chosen() {
    let mut site = site()
        .pool(pool("a").of([1]).but(|pool| pool.paused = true))
        .pool(pool("b").of([2]).but(|pool| pool.deleting = true))
        .pool(pool("c"))
        .pool(pool("d").of([4]))
        .cluster(cluster("x"));
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.4"));
}

#[test]
fn a_failure_of_ingress_is_told_once_and_durations_count_from_the_claim() {
    let shared = pool("a").of([7, 8]).for_roles(&Role::ALL);
    let mut site = site().pool(shared).cluster(cluster("x").with_ingress());
    site.api.provider_down = true;
    site.settle();
    (site.now, site.api.provider_down) = (at(90), false);
    for action in site.settle() {
        let claimed_at = match &action {
            VipAction::SetEndpoint(write) => write.claimed_at,
            VipAction::SetIngress(write) => write.claimed_at,
            other => panic!("{other}"),
        };
        assert_eq!(claimed_at, at(0));
    }
}

#[test]
fn a_claim_whose_owner_has_an_outdated_version_does_not_leak() {
    let mut old = claim("vip-cp-x");
    let (uid, name) = ("uid-x".into(), "x".into());
    old.owner = Some(ClaimOwner { uid, name, outdated: true, controller: true });
    let mut site = site().pool(pool("a").of([7])).claim(old).cluster(cluster("x"));
    site.settle();
    site.delete("x");
    site.settle();
    assert!(site.api.claims.is_empty() && site.api.addresses.is_empty());
}
