//! Invariants of every plan in every world.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pontoon_core::Time;
use pontoon_core::action::{Action, AddressAction, LedgerWrite, MarkWrite, RecordAction};
use pontoon_core::addresses::verdict::State;
use pontoon_core::addresses::{IntentProgress, Knowledge};
use pontoon_core::model::{Family, Intent, Machine, Text};
use pontoon_core::plan::{Plan, plan_all};
use pontoon_core::world::World;
use proptest::prelude::*;

use super::super::fixture::*;
use super::events::events;
use super::run::live;

/// The machines to which a plan assigns addresses.
fn targets(world: &World, actions: &[Action]) -> Vec<(Text, Text, Family)> {
    let target = |action: &Action| {
        let (account, machine, family) = match action {
            Action::Address(AddressAction::Assign { account, machine, ip, .. }) => {
                (account, machine, Family::of(*ip))
            }
            Action::Address(AddressAction::Create { account, intent, .. }) => {
                (account, intent.target.as_ref()?, intent.family)
            }
            _ => return None,
        };
        let cloud = &world.account(account)?.setup.as_ref().ok()?.cloud;
        Some((cloud.clone(), machine.0.clone(), family))
    };
    actions.iter().filter_map(target).collect()
}

/// The subject of an action. No two actions of a plan have the same subject.
fn subject(action: &Action) -> String {
    match action {
        Action::Address(AddressAction::List { account, .. }) => format!("account {account}"),
        Action::Address(AddressAction::Read { account, ip })
        | Action::Address(AddressAction::ReadOperation { account, ip, .. })
        | Action::Address(AddressAction::Assign { account, ip, .. })
        | Action::Address(AddressAction::Unassign { account, ip, .. })
        | Action::Address(AddressAction::Release { account, ip, .. }) => {
            format!("{ip} of {account}")
        }
        Action::Ledger(LedgerWrite { pool, .. }) => format!("ledger of {pool}"),
        Action::Address(AddressAction::Create { pool, intent, .. }) => {
            format!("{} of {pool}", intent.id)
        }
        Action::Mark(MarkWrite { node, mark, .. }) => format!("{mark} of {node}"),
        Action::Address(AddressAction::RestoreEgress { machine, .. }) => {
            format!("own of {machine}")
        }
        Action::Evict(eviction) => format!("eviction of {:?}", eviction.pod),
        Action::Vip(action) => format!("{action}"),
        Action::Record(RecordAction::Read { owner, family, .. }) => {
            format!("reading {family:?} of {owner}")
        }
        Action::Record(RecordAction::Change { site, family, .. }) => {
            format!("{family:?} of {site}")
        }
    }
}

fn assert_unique<T: Ord + std::fmt::Debug>(all: Vec<T>) {
    let count = all.len();
    let unique: BTreeSet<T> = all.into_iter().collect();
    assert_eq!(unique.len(), count, "twice: {unique:?}");
}

/// Checks all invariants of a plan.
fn check(world: &World, plan: &Plan, now: Time) {
    let actions = &plan.actions;
    assert_unique(actions.iter().map(subject).collect());
    assert_unique(targets(world, actions));
    assert!(plan.wake.is_none_or(|wake| wake > now), "{:?}", plan.wake);
    for action in actions {
        match action {
            Action::Address(AddressAction::Assign { account, ip, node, machine, .. }) => {
                let setup = world.account(account).unwrap().setup.as_ref().unwrap();
                let machine = Machine { cloud: setup.cloud.clone(), id: machine.clone() };
                assert_eq!(world.node(node).unwrap().machine.as_ref(), Some(&machine));
                assert_movable(world, account, *ip);
                let occupants =
                    world.account(account).unwrap().occupants(&machine.id, Family::of(*ip));
                assert!(occupants.filter(|one| one != ip).count() < setup.abilities.per_machine);
            }
            Action::Address(AddressAction::Unassign { account, ip, .. }) => {
                assert_movable(world, account, *ip)
            }
            Action::Address(AddressAction::Release { account, pool, ip }) => {
                assert_movable(world, account, *ip);
                let pool = &world.pool(pool).unwrap().pool;
                assert!(pool.deleting && pool.releases && pool.ledger.guarded, "{pool:?}");
                assert!(pool.ledger.created.contains(ip), "{ip} was not reserved for it");
                assert_eq!(world.claimants(*ip).count(), 1, "somebody else lists {ip}");
                let known = &world.account(account).unwrap().address(*ip).unwrap().knowledge;
                assert!(
                    matches!(known, Knowledge::Known { sighting, .. } if sighting.holder.is_none())
                );
            }
            Action::Address(AddressAction::Create { pool, intent, .. }) => {
                let ledger = &world.pool(pool).unwrap().pool.ledger;
                assert!(ledger.intents.contains(intent), "sent before it was written");
            }
            Action::Ledger(LedgerWrite { pool, ledger, .. }) => assert_ledger(world, pool, ledger),
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

/// Asserts that the place of an address is known and that no operation is open.
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

/// A ledger never loses an address, and never grows beyond the wanted number.
fn assert_ledger(
    world: &World,
    pool: &pontoon_core::model::ObjectKey,
    ledger: &pontoon_core::model::Ledger,
) {
    let entry = world.pool(pool).unwrap();
    let before = &entry.pool.ledger;
    let Some((request, true)) = entry.pool.request.as_ref().ok().map(|request| {
        (request, world.account(&request.account).is_some_and(|account| account.setup.is_ok()))
    }) else {
        // The ledger of a pool that cannot be planned stays, except that the guard may be removed.
        assert_eq!(*ledger, pontoon_core::model::Ledger { guarded: false, ..before.clone() });
        return;
    };
    let account = world.account(&request.account).unwrap();
    let gone = |ip: &IpAddr| account.address(*ip).unwrap().knowledge == Knowledge::Gone;
    let theirs = |ip: &IpAddr| {
        let others = world.claimants(*ip).any(|claimant| claimant != pool);
        entry.pool.deleting && (others || request.listed.contains(ip))
    };
    let lost = |ip: &&IpAddr| !ledger.created.contains(ip) && !gone(ip) && !theirs(ip);
    assert_eq!(before.created.iter().find(lost), None, "an address is lost");
    let has: BTreeSet<_> = request.listed.iter().chain(&ledger.created).collect();
    // A sent intent that was wiped off the object is restored, and does not count as new.
    let never = Time::default();
    let unheard = IntentProgress::Doubtful { until: never };
    let wiped: BTreeSet<_> = entry.wiped().map(|intent| &intent.id).collect();
    let new = |intent: &&Intent| {
        entry.progress(&intent.id, never) == unheard && !wiped.contains(&intent.id)
    };
    let grown = ledger.intents.iter().filter(new).any(|intent| !before.intents.contains(intent));
    let wanted = request.wanted.unwrap_or(0);
    assert!(!grown || has.len() + ledger.intents.len() <= wanted, "more than {wanted}: {ledger:?}");
}

/// Asserts that begun actions are not planned again.
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
        live(events, |run| {
            let plan = plan_all(&run.world, run.now);
            check(&run.world, &plan, run.now);
            let begun = run.next();
            assert_begun(&run.world, &begun.actions, run.now);
        });
    }
}
