//! What holds of every plan in every world.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{Action, Outcome};
use pontoon_core::model::{Family, Machine, Text};
use pontoon_core::plan::{Plan, Planner, plan_all};
use pontoon_core::verdict::State;
use pontoon_core::world::{Knowledge, Settings, Source, World};
use proptest::prelude::*;

use super::super::fixture::*;
use super::events::{Answer, Event, accounts, events, name};

/// A world to which anything happens, and what is under way in it.
struct Run {
    now: Time,
    world: World,
    planner: Planner,
    under_way: Vec<(Action, Time)>,
    version: u64,
}

impl Run {
    fn new() -> Self {
        let mut world = World::new(Settings::default());
        for (id, setup) in accounts() {
            world.set_account(id.into(), setup);
        }
        for source in [Source::Nodes, Source::Pods, Source::Pools] {
            world.source_read(source);
        }
        Self { now: at(0), world, planner: Planner::default(), under_way: vec![], version: 1 }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Node(mut node) => {
                node.version = self.version(node.version);
                self.world.set_node(node);
            }
            Event::NodeGone(n) => self.world.remove_node(&name(n).as_str().into()),
            Event::Pod(pod) => self.world.set_pod(&pod),
            Event::PodGone(n) => self.world.remove_pod(&format!("pod-{n}").as_str().into()),
            Event::Pool(mut pool) => {
                pool.version = self.version(pool.version);
                self.world.set_pool(*pool);
            }
            Event::PoolGone(n) => self.world.remove_pool(&key(&format!("p{n}"))),
            Event::End(which, ago, answer) => self.end(which, ago, *answer),
            Event::Pass(time) => self.now = self.now + time,
            Event::TakeOver(wait) => {
                self.under_way.clear();
                self.planner = Planner::default();
                self.world.take_over(self.now + wait);
            }
            Event::Plan => self.plan(),
        }
    }

    /// The next version, or an old one now and then.
    fn version(&mut self, draw: u64) -> u64 {
        self.version += 1;
        if draw == 0 { 1 } else { self.version }
    }

    /// One action ends, with an answer that fits it more often than not.
    fn end(&mut self, which: usize, ago: Duration, answer: Answer) {
        if self.under_way.is_empty() {
            return;
        }
        let (action, sent_at) = self.under_way.remove(which % self.under_way.len());
        let late = sent_at.max(self.now - ago);
        let result = answer.to(&action);
        let outcome = Outcome { action, sent_at: late, result, jitter: 500 };
        self.world.finish(outcome, self.now);
    }

    /// Plans a part as all would be planned, and begins what is planned.
    fn plan(&mut self) {
        let full = plan_all(&self.world, self.now);
        check(&self.world, &full, self.now);
        assert_eq!(full, plan_all(&self.world, self.now), "the same again");
        let part = self.planner.next(&mut self.world, self.now);
        assert_eq!(part.actions, full.actions, "a part is as good as the whole");
        for action in &part.actions {
            self.world.begin(action);
            self.under_way.push((action.clone(), self.now));
        }
        assert_begun(&self.world, &part.actions, self.now);
    }
}

/// The machines that a plan puts addresses on.
fn targets(world: &World, actions: &[Action]) -> Vec<(Text, Text, Family)> {
    let target = |action: &Action| {
        let (account, machine, family) = match action {
            Action::Assign { account, machine, ip, .. } => (account, machine, Family::of(*ip)),
            Action::Create { account, intent, .. } => {
                (account, intent.target.as_ref()?, intent.family)
            }
            _ => return None,
        };
        let cloud = &world.account(account)?.setup.as_ref().ok()?.cloud;
        Some((cloud.clone(), machine.0.clone(), family))
    };
    actions.iter().filter_map(target).collect()
}

/// What an action is about: no two actions of a plan are about the same.
fn subject(action: &Action) -> String {
    match action {
        Action::List { account, .. } => format!("account {account}"),
        Action::ReadAddress { account, ip }
        | Action::ReadOperation { account, ip, .. }
        | Action::Assign { account, ip, .. }
        | Action::Unassign { account, ip, .. } => format!("{ip} of {account}"),
        Action::WriteLedger { pool, .. } => format!("ledger of {pool}"),
        Action::Create { pool, intent, .. } => format!("{} of {pool}", intent.id),
        Action::Mark { node, family, .. } => format!("{family:?} of {node}"),
    }
}

fn assert_unique<T: Ord + std::fmt::Debug>(all: Vec<T>) {
    let count = all.len();
    let unique: BTreeSet<T> = all.into_iter().collect();
    assert_eq!(unique.len(), count, "twice: {unique:?}");
}

/// Every invariant of a plan.
fn check(world: &World, plan: &Plan, now: Time) {
    let actions = &plan.actions;
    assert_unique(actions.iter().map(subject).collect());
    assert_unique(targets(world, actions));
    assert!(plan.wake.is_none_or(|wake| wake > now), "{:?}", plan.wake);
    for action in actions {
        match action {
            Action::Assign { account, ip, node, machine, .. } => {
                let setup = world.account(account).unwrap().setup.as_ref().unwrap();
                let machine = Machine { cloud: setup.cloud.clone(), id: machine.clone() };
                assert_eq!(world.node(node).unwrap().machine.as_ref(), Some(&machine));
                assert_movable(world, account, *ip);
                let occupants =
                    world.account(account).unwrap().occupants(&machine.id, Family::of(*ip));
                assert!(occupants.filter(|one| one != ip).count() < setup.per_machine);
            }
            Action::Unassign { account, ip, .. } => assert_movable(world, account, *ip),
            Action::Create { pool, intent, .. } => {
                let ledger = &world.pool(pool).unwrap().pool.ledger;
                assert!(ledger.intents.contains(intent), "sent before it was written");
            }
            Action::WriteLedger { pool, ledger, .. } => assert_ledger(world, pool, ledger),
            _ => {}
        }
    }
    for verdict in plan.verdicts.values() {
        for one in verdict.addresses.iter().filter(|one| one.state == State::Active) {
            let moved = moves(actions).iter().any(|(ip, _)| *ip == one.ip);
            assert!(!moved, "{} is where it should be", one.ip);
        }
    }
}

/// Nothing is done to an address whose place is not known, or that is being worked on.
fn assert_movable(world: &World, account: &pontoon_core::model::AccountId, ip: IpAddr) {
    let account = world.account(account).unwrap();
    assert!(account.listing.last.is_some(), "the account was never listed");
    let address = account.address(ip).unwrap();
    assert_eq!(address.operation, None, "{ip} is on its way");
    match &address.knowledge {
        Knowledge::Known { sighting, .. } => assert!(!sighting.busy, "{ip} is busy"),
        unknown => panic!("{ip} is {unknown:?}"),
    }
}

/// A ledger never loses an address, and never grows beyond what is wanted.
fn assert_ledger(
    world: &World,
    pool: &pontoon_core::model::PoolKey,
    ledger: &pontoon_core::model::Ledger,
) {
    let entry = world.pool(pool).unwrap();
    let before = &entry.pool.ledger;
    assert!(before.created.iter().all(|ip| ledger.created.contains(ip)), "an address is lost");
    let request = entry.pool.request.as_ref().unwrap();
    let has: BTreeSet<_> = request.listed.iter().chain(&ledger.created).collect();
    let grown = ledger.intents.iter().any(|intent| !before.intents.contains(intent));
    let wanted = request.wanted.unwrap_or(0);
    assert!(!grown || has.len() + ledger.intents.len() <= wanted, "more than {wanted}: {ledger:?}");
}

/// What has begun is not begun again.
fn assert_begun(world: &World, begun: &[Action], now: Time) {
    let subjects: BTreeSet<_> = begun.iter().map(subject).collect();
    let again = plan_all(world, now);
    for action in &again.actions {
        assert!(!subjects.contains(&subject(action)), "again: {action:?}");
    }
    let taken: BTreeSet<_> = targets(world, begun).into_iter().collect();
    let one_each = |target: &(Text, Text, Family)| *target.0 == *CLOUD;
    for target in targets(world, &again.actions).iter().filter(|target| one_each(target)) {
        assert!(!taken.contains(target), "{target:?} is spoken for");
    }
    check(world, &again, now);
}

proptest! {
    #[test]
    fn every_plan_in_every_world_is_sound(events in events()) {
        let mut run = Run::new();
        for event in events {
            run.take(event);
        }
        run.plan();
    }
}
