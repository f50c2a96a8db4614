//! Which VIP pool serves a Cluster.

use pontoon_core::model::Family;
use pontoon_core::vips::model::{Cluster, Entries, Role};

use super::fixture::*;
use super::site::{Site, site};

/// The VIP pool of a new Cluster.
fn chosen(pools: impl IntoIterator<Item = PoolOf>, x: Cluster) -> Option<String> {
    let mut site = pools.into_iter().fold(site(), Site::pool).class(class("other")).cluster(x);
    site.settle();
    site.api.claims.contains_key(&named("vip-cp-x")).then(|| site.pool_of("vip-cp-x"))
}

#[test]
fn the_smallest_name_comes_first() {
    let all = ["b", "a", "c"].map(|name| pool(name).of([1, 2]));
    assert_eq!(chosen(all, cluster("x")).as_deref(), Some("a"));
}

#[test]
fn a_vip_pool_in_the_clusters_namespace_comes_before_those_for_all() {
    let all = [pool("a").of([1]), pool("z").of([2]).local()];
    assert_eq!(chosen(all, cluster("x")).as_deref(), Some("default/z"));
}

#[test]
fn a_vip_pool_in_another_namespace_serves_nobody_here() {
    use pontoon_core::vips::model::PoolId;
    let all = [pool("a").of([1]).but(|pool| pool.id = PoolId::local("elsewhere", "a"))];
    assert_eq!(chosen(all, cluster("x")), None);
}

#[test]
fn a_higher_priority_comes_before_a_smaller_name() {
    let all = [pool("a").of([1]), pool("b").of([2]).but(|pool| pool.priority = 1)];
    assert_eq!(chosen(all, cluster("x")).as_deref(), Some("b"));
}

#[test]
fn a_vip_pool_that_the_cluster_names_comes_first_whatever_its_labels_are() {
    let named = pool("z").of([3]).for_classes("other", None).for_roles(&[]);
    let all = [pool("a").of([1]), pool("b").of([2]).local(), named];
    let x = cluster("x").naming(Role::ControlPlane, "z");
    assert_eq!(chosen(all, x).as_deref(), Some("z"));
}

#[test]
fn a_vip_pool_that_the_cluster_names_and_that_does_not_exist_is_not_replaced() {
    let mut site = site().pool(pool("a").of([1]));
    site = site.cluster(cluster("x").naming(Role::ControlPlane, "z"));
    assert_eq!(site.settle(), []);
    assert_eq!(site.word("x"), "PoolNotFound");
    assert!(site.message("x").contains("there is no VIP pool z"), "{}", site.message("x"));
    site.api.set_pool(pool("z").of([9]));
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.9"));
}

#[test]
fn vip_pools_that_are_paused_deleted_or_of_another_family_are_skipped() {
    let x = || Cluster { family: Some(Family::V4), ..cluster("x") };
    let unfit = || {
        [
            pool("a").of([1]).but(|pool| pool.paused = true),
            pool("b").of([2]).but(|pool| pool.deleting = true),
            pool("c").of_v6([3]),
            pool("d").of([4]).but(|pool| pool.family = None),
        ]
    };
    let all = unfit().into_iter().chain([pool("e").of([5])]);
    assert_eq!(chosen(all, x()).as_deref(), Some("e"));
    let mut site = unfit().into_iter().fold(site(), Site::pool).cluster(x());
    assert_eq!(site.settle(), []);
    assert_eq!(
        site.message("x"),
        "control plane: no VIP pool can be used: a is paused, b is being deleted, c is of another \
         family, d is of another family; IPv4 is wanted"
    );
}

#[test]
fn a_vip_pool_that_is_resumed_serves() {
    let mut site = site().pool(pool("a").of([1]).but(|pool| pool.paused = true));
    site = site.cluster(cluster("x"));
    assert_eq!(site.settle(), []);
    site.api.set_pool(pool("a").of([1]));
    site.settle();
    assert_eq!(site.host("x"), Some("192.0.2.1"));
}

#[test]
fn a_vip_pool_that_is_full_is_left_out_if_another_one_has_room() {
    let all = [pool("a"), pool("b").of([2])];
    assert_eq!(chosen(all, cluster("x")).as_deref(), Some("b"));
}

#[test]
fn a_vip_pool_whose_room_is_not_counted_yet_keeps_its_turn() {
    let mut site = site().pool(pool("a")).pool(pool("b").of([2])).cluster(cluster("x"));
    site.api.pools.values_mut().for_each(|pool| pool.pool.room = None);
    let [pontoon_core::action::VipAction::CreateClaim { pool, .. }] = &site.plan()[..] else {
        panic!("one claim")
    };
    assert_eq!(pool.to_string(), "a");
}

#[test]
fn classes_are_listed_by_label_or_by_annotation() {
    for (label, annotation, serves) in [
        (Some("c"), None, true),
        (Some("other"), None, false),
        (Some("C"), None, false),
        (Some("cc"), None, false),
        (None, Some("c"), false),
        (Some("true"), None, false),
        (Some("true"), Some("other, c ,"), true),
        (Some("true"), Some("other"), false),
        (Some("true"), Some("default/c"), true),
        (Some("true"), Some("elsewhere/c"), false),
        (Some("other"), Some("c"), false),
        (Some("other,c"), None, true),
        (Some(""), None, false),
    ] {
        let found = Entries::parse(label, annotation).name(&class_ref("c"));
        assert_eq!(found, serves, "{label:?} {annotation:?}");
    }
}

#[test]
fn roles_are_listed_by_label_or_by_annotation() {
    let roles = |label, annotation| {
        Entries::parse(label, annotation).roles().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(roles(Some("control-plane"), None), [Role::ControlPlane]);
    assert_eq!(roles(Some("ingress"), None), [Role::Ingress]);
    assert_eq!(roles(Some("true"), Some("ingress, control-plane")), Role::ALL);
    assert_eq!(roles(Some("Ingress"), None), []);
    assert_eq!(roles(None, Some("ingress")), []);
}

#[test]
fn a_class_in_another_namespace_serves_by_its_name_and_is_looked_up_there() {
    let mut far = class("c");
    far.name.namespace = "classes".into();
    let mut x = cluster("x");
    x.class = Some(far.name.clone());
    let mut site = site().pool(pool("a").of([1])).cluster(x);
    site.api.classes.clear();
    assert_eq!(site.settle(), []);
    assert_eq!(site.word("x"), "ClassNotFound");
    site = site.class(far);
    site.settle();
    assert_eq!(site.stored("x").variable.as_deref(), Some("192.0.2.1"));
}
