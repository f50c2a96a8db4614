//! The part of a schedule with allocations: their settings, users' changes, drained nodes, budgets
//! that refuse, and failures that last longer than a grace period.

use fastrand::Rng;

use crate::allocations::{AllocationEvent, AllocationSetting, Workload};
use crate::schedule::{Event, HandEvent, Millis, NodeEvent, Schedule, What, Wish};

/// Adds allocations, with or without pools beside them.
pub fn add_allocations(schedule: &mut Schedule, with_pools: bool, dice: &mut Rng) {
    if !with_pools {
        schedule.setting.pools.clear();
        schedule.setting.listings.clear();
    }
    let count = dice.usize(1..=3);
    schedule.setting.allocations = (0..count).map(|_| setting(dice)).collect();
    // Without pools, their number says how crowded the nodes are.
    schedule.setting.nodes = schedule.setting.nodes.max(dice.u8(2..=5));
    // Half of these schedules have few other events.
    if dice.bool() {
        let kept = schedule.events.len() / 4;
        schedule.events.truncate(kept);
    }
    for _ in 0..dice.usize(2..=8) {
        let at = dice.u64(5_000..schedule.ends);
        let lasts = dice.u64(3_000..90_000);
        schedule.events.push(Event { at, lasts, what: event(dice) });
    }
    if dice.u8(0..8) == 0 {
        let at: Millis = if dice.bool() { 0 } else { dice.u64(0..schedule.ends) };
        let what = What::Controller { gives_back: dice.bool() };
        schedule.events.push(Event { at, lasts: dice.u64(0..90_000), what });
    }
    schedule.events.sort_by_key(|event| event.at);
    if dice.u8(0..3) == 0 {
        drained_for_good(schedule, dice);
    }
}

fn setting(dice: &mut Rng) -> AllocationSetting {
    AllocationSetting {
        listed: dice.u8(1..=2),
        workload: workload(dice),
        wish: wish(dice),
        interval: dice.choice([0, 0, 5, 10, 60]).unwrap_or(0),
        grace: dice.choice([None, Some(0), Some(5), Some(15), Some(40)]).flatten(),
        stays: dice.u8(0..6) == 0,
        covets: dice.u8(0..8) == 0,
    }
}

fn workload(dice: &mut Rng) -> Option<Workload> {
    match dice.u8(0..6) {
        0..3 => Some(Workload::Deployment),
        3 => Some(Workload::StatefulSet),
        4 => Some(Workload::DaemonSet),
        _ => None,
    }
}

fn wish(dice: &mut Rng) -> Wish {
    dice.choice([Wish::Plain, Wish::Plain, Wish::Plain, Wish::Even, Wish::Odd]).unwrap_or_default()
}

fn event(dice: &mut Rng) -> What {
    let which = dice.u8(..);
    match dice.u8(0..20) {
        0..5 => What::Drained(which),
        5..7 => What::Node(which, NodeEvent::Cordoned),
        7..10 => What::Node(which, NodeEvent::NotReady),
        10 => What::Node(which, NodeEvent::Unlabelled),
        11 => What::Node(which, NodeEvent::Gone),
        12 => What::Hand(HandEvent::Moves(dice.u8(..), which)),
        13..15 => {
            let workload = if dice.bool() { Workload::Deployment } else { Workload::StatefulSet };
            What::Budget(workload)
        }
        _ => What::Allocation(which, change(dice)),
    }
}

fn change(dice: &mut Rng) -> AllocationEvent {
    match dice.u8(0..12) {
        0..2 => AllocationEvent::Unlisted,
        2 => AllocationEvent::Adopts(dice.u8(0..3)),
        3..5 => AllocationEvent::Deleted,
        5..7 => AllocationEvent::Reselected(wish(dice)),
        7 => AllocationEvent::Reworked(workload(dice)),
        8 => AllocationEvent::Interval(dice.u8(5..=60)),
        9 => AllocationEvent::Grace(dice.u8(0..=40)),
        10 => AllocationEvent::Stays(dice.bool()),
        _ => AllocationEvent::Paused,
    }
}

/// Nodes are cordoned or drained one after the other, and stay so until everything else has settled.
fn drained_for_good(schedule: &mut Schedule, dice: &mut Rng) {
    let mut at: Millis = schedule.ends;
    for _ in 0..dice.u8(1..=2) {
        at += dice.u64(5_000..60_000);
        let node = dice.u8(..);
        let cordoned = What::Node(node, NodeEvent::Cordoned);
        let what = if dice.u8(0..3) == 0 { cordoned } else { What::Drained(node) };
        schedule.lasting.push(Event { at, lasts: 0, what });
    }
}
