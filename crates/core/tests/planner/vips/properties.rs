//! Properties of all management clusters, however unlikely.

use pontoon_core::action::{Action, Done, Failure, FailureKind, Outcome, VipAction};
use pontoon_core::plan::{Planner, plan_all};
use pontoon_core::vips::model::{PoolId, VipSettings};
use pontoon_core::world::World;
use proptest::collection::vec;
use proptest::prelude::*;

use super::events::{Event, event, name};
use super::fixture::*;
use super::site::{Site, claim, site_with};

struct Run {
    site: Site,
    under_way: Vec<VipAction>,
}

impl Run {
    fn new(holds: bool) -> Self {
        let site = site_with(VipSettings { holds, ..VipSettings::default() });
        Self { site, under_way: vec![] }
    }

    fn take(&mut self, event: Event) {
        let Self { site, .. } = self;
        match event {
            Event::Cluster(one) => site.api.set_cluster(*one),
            Event::ClusterGone(number) => site.delete(&name(number)),
            Event::Touch(number, touch) => {
                if site.api.clusters.contains_key(&key(&name(number))) {
                    site.change(&name(number), |one| touch.apply(one));
                }
            }
            Event::Pool(one) => site.api.set_pool(*one),
            Event::PoolGone(number) => {
                site.api.pools.remove(&PoolId::global(format!("p{number}")));
            }
            Event::Class(defined) => {
                let mut one = class("c");
                one.defines.retain(|_| defined);
                site.api.classes.insert(one.name.clone(), one);
            }
            Event::ClaimDeleted(number) => {
                site.api.drop_claim(&named(&format!("vip-cp-{}", name(number))));
            }
            Event::Stray(number) => {
                let stray = claim(&format!("vip-cp-{}", name(number)));
                if !site.api.claims.contains_key(&stray.name) {
                    site.api.set_claim(stray);
                }
            }
            Event::End(which, failure) => self.end(which, failure),
            Event::Provide => site.api.provide(),
            Event::Collect => site.api.collect(),
            Event::Deliver(watch) => deliver(site, watch),
            Event::Pass(time) => site.now = site.now + seconds(time),
            Event::TakeOver => {
                self.under_way.clear();
                site.planner = Planner::default();
                site.world.take_over(site.now);
            }
            Event::Plan => self.plan(),
        }
    }

    /// Ends an action. The stand-in panics if a bound claim is deleted or a user's value is lost.
    fn end(&mut self, which: usize, failure: Option<FailureKind>) {
        if self.under_way.is_empty() {
            return;
        }
        let action = self.under_way.remove(which % self.under_way.len());
        let site = &mut self.site;
        let result = match failure {
            None => site.api.carry_out(&action, site.now),
            Some(kind) => {
                if kind == FailureKind::NoAnswer {
                    drop(site.api.carry_out(&action, site.now));
                }
                Err(Failure::plain(kind, "scripted"))
            }
        };
        let outcome = Outcome { action: Action::Vip(action), sent_at: site.now, result, jitter: 0 };
        site.world.finish(outcome, site.now);
    }

    /// Plans a part, compares with a full plan, and begins the actions.
    fn plan(&mut self) {
        let Site { world, planner, now, wake, verdicts, .. } = &mut self.site;
        let full = plan_all(world, *now);
        let plan = planner.next(world, *now);
        assert_eq!(plan.actions, full.actions, "planning a part differs from planning all");
        for action in plan.actions {
            let Action::Vip(one) = &action else { panic!("{action}") };
            check(world, one);
            world.begin(&action);
            assert!(!self.under_way.contains(one), "{one} twice");
            self.under_way.push(one.clone());
        }
        *wake = plan.wake;
        verdicts.extend(plan.vips);
        for (key, verdict) in full.vips {
            assert_eq!(verdicts.get(&key), Some(&verdict), "the verdict on {key} is out of date");
        }
    }
}

/// Delivers the objects of one watch, or of all.
fn deliver(site: &mut Site, watch: u8) {
    let Site { api, world, .. } = site;
    match watch {
        0 => {
            api.clusters.values().for_each(|one| world.set_cluster(one.clone()));
            world.retain_objects(&CLUSTER, &api.clusters.keys().cloned().collect());
        }
        1 => {
            api.claims.values().for_each(|one| world.set_vip_claim(one.clone()));
            world.retain_vip_claims(&api.claims.keys().cloned().collect());
        }
        2 => {
            api.addresses.values().for_each(|one| world.set_vip_address(one.clone()));
            world.retain_vip_addresses(&api.addresses.keys().cloned().collect());
        }
        3 => {
            api.pools.values().for_each(|one| world.set_vip_pool(one.pool.clone()));
            world.retain_vip_pools(true, &api.pools.keys().cloned().collect());
        }
        4 => {
            api.holders.values().for_each(|one| world.set_vip_holder(one.clone()));
            world.retain_vip_holders(&api.holders.keys().cloned().collect());
        }
        _ => api.show(world),
    }
}

/// Checks what is known against what is planned.
fn check(world: &World, action: &VipAction) {
    let cluster = world.cluster(action.cluster());
    let at_rest = cluster.is_none_or(|one| one.paused || one.deleting || one.moved_away);
    let may_rest = matches!(action, VipAction::DropHolder { .. } | VipAction::AdoptClaim { .. });
    assert!(!at_rest || may_rest, "{action}: the Cluster is to be left alone");
    assert!(!cluster.is_some_and(|one| one.paused), "{action}: the Cluster is paused");
    match action {
        VipAction::DeleteClaim { claim, .. } => {
            let known = world.vip_claim(&claim.name).expect("a known claim");
            assert!(!known.is_bound(), "a bound claim is deleted");
        }
        VipAction::SetEndpoint(_) => assert_eq!(cluster.expect("a Cluster").host, None),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_part_is_planned_like_all_nobody_loses_a_value_and_in_the_end_nothing_is_left_to_do(
        events in vec(event(), 0..100),
        holds in any::<bool>(),
    ) {
        let mut run = Run::new(holds);
        for event in events {
            run.take(event);
        }
        while !run.under_way.is_empty() {
            run.end(0, None);
        }
        // Failures are over, and every watch delivers.
        let mut site = run.site;
        site.run(4000);
        prop_assert_eq!(site.settle(), []);
        prop_assert_eq!(plan_all(&site.world, site.now).actions, []);
        for one in site.api.clusters.values().filter(|one| one.asks()) {
            let verdict = &site.verdicts[&one.key];
            let shown = one.host.is_some();
            if verdict.reason.word() == "Allocated" {
                prop_assert!(shown, "{} has no host", one.key);
            }
            if one.deleting && !one.guarded && !one.paused {
                let dropped = site.api.holders.values().all(|holder| holder.cluster != one.key.name);
                prop_assert!(dropped, "{} is still held", one.key);
            }
        }
        site.restart();
        prop_assert_eq!(site.settle(), [], "a restart writes");
    }

    #[test]
    fn any_outcome_of_anything_is_taken_in(
        events in vec(event(), 0..30),
        answer in 0..4_u8,
        which in any::<usize>(),
    ) {
        let mut run = Run::new(true);
        for event in events {
            run.take(event);
        }
        run.plan();
        let done = match answer {
            0 => Done::VipCreated { uid: "u".into(), version: 3 },
            1 => Done::VipWritten { version: 3 },
            2 => Done::VipDeleted,
            _ => Done::Effective,
        };
        if !run.under_way.is_empty() {
            let action = Action::Vip(run.under_way.remove(which % run.under_way.len()));
            let now = run.site.now;
            let outcome = Outcome { action, sent_at: now, result: Ok(done), jitter: 0 };
            run.site.world.finish(outcome, now);
            run.plan();
        }
    }
}
