//! Unknown is not absent: nothing is done before everything is read.

use pontoon_core::action::Action;
use pontoon_core::plan::{Planner, plan_all};
use pontoon_core::vips::model::VipSettings;
use pontoon_core::world::{Settings, Source, World};

use super::fixture::*;
use super::site::{site, site_with, sources};

fn world() -> World {
    let site = site().pool(pool("a")).pool(pool("b").of([7])).cluster(cluster("x"));
    let settings = Settings { vips: VipSettings::default(), ..Settings::default() };
    let mut world = World::new(settings, &[&CLUSTER]);
    site.api.show(&mut world);
    world
}

#[test]
fn nothing_is_planned_while_a_source_is_unread() {
    for missing in sources() {
        let mut world = world();
        let read = sources().filter(|source| *source != missing);
        read.for_each(|source| world.source_read(source));
        let plan = Planner::default().next(&mut world, at(0));
        assert_eq!((plan.actions.len(), plan.vips.len()), (0, 0), "{missing:?}");
        world.source_read(missing);
        let plan = Planner::default().next(&mut world, at(0));
        assert_eq!(plan.actions.len(), 1, "{missing:?}");
    }
}

#[test]
fn vips_need_neither_nodes_nor_pods_nor_accounts() {
    let mut world = world();
    sources().for_each(|source| world.source_read(source));
    assert!(!world.is_read() && world.knows_vips());
    assert!(matches!(plan_all(&world, at(0)).actions[..], [Action::Vip(_)]));
}

#[test]
fn addresses_need_nothing_that_vips_need() {
    use super::super::fixture::{POOL, SOURCES};
    let mut world = World::new(Settings::default(), &[&POOL, &CLUSTER]);
    SOURCES.into_iter().for_each(|source| world.source_read(source));
    assert!(world.is_read() && !world.knows_vips());
    world.source_read(Source::Objects(&CLUSTER));
    assert!(!world.knows_vips());
}

#[test]
fn a_version_older_than_our_own_write_is_ignored() {
    let mut site = site().pool(pool("a").of([7])).cluster(cluster("x"));
    let before = site.stored("x").clone();
    site.settle();
    site.world.set_cluster(before);
    assert!(site.world.cluster(&key("x")).is_some_and(|x| x.host.is_some()));
    assert_eq!(plan_all(&site.world, site.now).actions, []);
}

#[test]
fn our_own_writes_are_known_before_the_watch_shows_them() {
    let holds = VipSettings { holds: true, ..VipSettings::default() };
    let mut site = site_with(holds).pool(pool("a").of([7])).cluster(cluster("x"));
    let mut done = vec![];
    for _ in 0..10 {
        let actions = site.plan();
        for action in actions {
            site.world.begin(&Action::Vip(action.clone()));
            done.extend(words(std::slice::from_ref(&action)));
            site.carry_out(action);
            let again = site.planner.next(&mut site.world, site.now).actions;
            // Only what follows from the write is planned, never the write itself.
            for next in &again {
                let Action::Vip(next) = next else { panic!("{next}") };
                assert!(!done.contains(&words(std::slice::from_ref(next))[0]), "{next} again");
            }
            site.world.source_read(Source::Objects(&CLUSTER));
        }
        site.api.provide();
    }
    done.sort_unstable();
    assert_eq!(done, ["AdoptClaim", "CreateClaim", "KeepHolder", "SetEndpoint"]);
}

#[test]
fn what_was_deleted_is_not_deleted_again_before_the_watch_shows_it() {
    let holds = VipSettings { holds: true, ..VipSettings::default() };
    let mut site = site_with(holds).pool(pool("a")).cluster(cluster("x"));
    site.settle();
    site.now = at(10);
    site.api.set_pool(pool("b").of([8]));
    assert_eq!(words(&site.step()), ["DeleteClaim"]);
    site.now = at(60);
    site.world.take_over(site.now);
    let unshown = site.planner.next(&mut site.world, site.now);
    assert_eq!((unshown.actions.len(), unshown.vips[&key("x")].word()), (0, "WaitingForOldClaim"));
    site.settle();
    site.delete("x");
    assert_eq!(words(&site.step()), ["DropHolder"]);
    site.world.take_over(site.now);
    assert_eq!(site.planner.next(&mut site.world, site.now).actions, []);
}
