//! Schedules that measure recovery: 240 seconds of random faults, which all end at once. How long
//! until everything is right again, and stays right?
//!
//! Waits that are promises are left out: cool-off and grace period are zero, people change addresses
//! so early that a routine listing has shown it, a slow operation ends before the other faults, and
//! waits that the provider demands end with the fault.

use fastrand::Rng;

use crate::faults::{ApiFault, CloudFault};
use crate::names::{Addresses, Host, ListingSetting, NameSetting};
use crate::schedule::{
    Called, CloudState, Event, HandEvent, Millis, NodeEvent, Phase, PoolSetting, ProcessEvent,
    Schedule, Setting, Sticking, What,
};
use crate::wire::{ApiAction, CloudAction};

/// The start of faults: every address is in place by then.
const BEGINS: Millis = 30_000;

/// The end of all faults.
const ENDS: Millis = 240_000;

/// The end of changes by hand: a routine listing within a minute finds them.
const HANDS: Millis = ENDS - 80_000;

/// The end of faults that make an operation slow: 15 seconds at most.
const SLOW: Millis = ENDS - 15_000;

/// The end of crashes in every other schedule: another replica waits 18.25 seconds for a leader that
/// left its Lease behind, and a process that follows in the same pod waits 10 seconds.
const CRASHES: Millis = ENDS - 20_000;

/// Whether a process may crash at the very end of the faults.
pub fn crashes_to_the_end(seed: u64) -> bool {
    seed % 2 == 1
}

/// The schedule of a seed.
pub fn schedule(seed: u64) -> Schedule {
    let mut dice = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x7265_636f);
    let dice = &mut dice;
    let setting = setting(dice);
    let crashes = if crashes_to_the_end(seed) { ENDS } else { CRASHES };
    let mut events = Vec::new();
    let mut add = |count: usize, ends: Millis, what: fn(&mut Rng) -> What, dice: &mut Rng| {
        for _ in 0..count {
            let (at, lasts) = (dice.u64(BEGINS..ends), dice.u64(1_000..25_000));
            events.push(Event { at, lasts: lasts.min(ends - at), what: what(dice) });
        }
    };
    add(dice.usize(10..=40), ENDS, node, dice);
    add(dice.usize(2..=6), HANDS, hand, dice);
    add(dice.usize(6..=16), ENDS, cloud, dice);
    add(dice.usize(0..=3), SLOW, slow_operations, dice);
    add(dice.usize(2..=6), ENDS, cloud_state, dice);
    add(dice.usize(4..=12), ENDS, api, dice);
    add(dice.usize(2..=8), crashes, process, dice);
    events.sort_by_key(|event| event.at);
    Schedule { seed, setting, events, ends: ENDS, lasting: vec![] }
}

fn setting(dice: &mut Rng) -> Setting {
    let name = |label: u8, dice: &mut Rng| NameSetting {
        label,
        host: if dice.bool() { Host::DigitalOcean } else { Host::Cloudflare },
        removes: dice.bool(),
        in_full: dice.bool(),
    };
    let pools = dice.u8(2..=4);
    let pool = |number: u8, dice: &mut Rng| {
        let listed = dice.u8(1..=5);
        PoolSetting {
            listed,
            wanted: (dice.u8(0..4) == 0).then(|| listed + 1),
            app: if dice.bool() { None } else { Some(dice.u8(0..2)) },
            name: dice.bool().then(|| name(number, dice)),
            ..PoolSetting::default()
        }
    };
    Setting {
        vendor: crate::vendor::Vendor::default(),
        replicas: dice.u8(1..=2),
        nodes: dice.u8(10..=30),
        pools: (0..pools).map(|number| pool(number, dice)).collect(),
        latency: dice.u64(10..200),
        action_time: [0, 0, 2_000][dice.usize(0..3)],
        crowded: false,
        project: true,
        listings: vec![ListingSetting {
            name: name(5, dice),
            addresses: Addresses::External,
            app: None,
        }],
        allocations: vec![],
        management: None,
        clocks: Default::default(),
        observes: Default::default(),
    }
}

fn node(dice: &mut Rng) -> What {
    let app = dice.u8(0..2);
    let what = match dice.u8(0..16) {
        0..6 => NodeEvent::NotReady,
        6..9 => NodeEvent::Cordoned,
        9 => NodeEvent::Tainted,
        10 => NodeEvent::Unlabelled,
        11..13 => NodeEvent::PodFails(app),
        13 => NodeEvent::PodReplaced(app),
        14 => NodeEvent::Gone,
        _ => NodeEvent::MachineGone,
    };
    What::Node(dice.u8(..), what)
}

fn hand(dice: &mut Rng) -> What {
    let (address, node) = (dice.u8(..), dice.u8(..));
    What::Hand(match dice.u8(0..6) {
        0 | 1 => HandEvent::Moves(address, node),
        2 | 3 => HandEvent::Frees(address),
        4 => HandEvent::Busies(address),
        _ => HandEvent::BusiesMachine(node),
    })
}

fn cloud(dice: &mut Rng) -> What {
    if dice.u8(0..8) == 0 {
        let which = dice.u8(..);
        let sticking = [Sticking::Address(which), Sticking::Machine(which)];
        return What::Refuses(sticking[dice.usize(0..2)]);
    }
    let all = CloudFault::ALL.into_iter().filter(|one| *one != CloudFault::OperationSlow);
    let all: Vec<_> = all.collect();
    let fault = all[dice.usize(0..all.len())];
    let befallen = CloudAction::ALL.into_iter().filter(|one| fault.befalls(*one));
    let on = if dice.bool() { None } else { dice.choice(befallen.collect::<Vec<_>>()) };
    What::Cloud { fault, on, percent: percent(dice), dice: dice.u64(..) }
}

fn percent(dice: &mut Rng) -> u8 {
    [100, 60, 25][dice.usize(0..3)]
}

fn slow_operations(dice: &mut Rng) -> What {
    let fault = CloudFault::OperationSlow;
    What::Cloud { fault, on: None, percent: percent(dice), dice: dice.u64(..) }
}

fn cloud_state(dice: &mut Rng) -> What {
    What::CloudIs(match dice.u8(0..5) {
        0 | 1 => CloudState::Lagging(dice.u64(100..3_000)),
        2 => CloudState::Throttled,
        3 => CloudState::TokenExpired,
        _ => CloudState::Blind,
    })
}

fn api(dice: &mut Rng) -> What {
    let replica = dice.u8(0..2);
    match dice.u8(0..8) {
        0 => return What::Stale(replica),
        1 => return What::Compacted,
        2 => return What::WatchesCut,
        _ => {}
    }
    let fault = ApiFault::ALL[dice.usize(0..ApiFault::ALL.len())];
    let befallen = ApiAction::all().filter(|one| fault.befalls(*one));
    let on = if dice.bool() { None } else { dice.choice(befallen.collect::<Vec<_>>()) };
    let replica = dice.bool().then_some(replica);
    What::Api { fault, on, replica, percent: percent(dice), dice: dice.u64(..) }
}

fn process(dice: &mut Rng) -> What {
    let phase = Phase::ALL[dice.usize(0..3)];
    let what = match dice.u8(0..8) {
        0 | 1 => ProcessEvent::Killed,
        2 => ProcessEvent::KilledAt(dice.u8(1..=40), phase),
        3 => ProcessEvent::KilledOn(Called::Cloud(CloudAction::Assign), phase),
        4 => ProcessEvent::Paused,
        5 => ProcessEvent::CutOffApi,
        6 => ProcessEvent::CutOffCloud,
        _ => ProcessEvent::CutOff,
    };
    What::Process(dice.u8(0..2), what)
}
