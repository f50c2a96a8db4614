//! Generates a schedule from a seed.

use fastrand::Rng;

use crate::coverage::Pair;
use crate::edits::edits;
use crate::faults::{ApiFault, CloudFault};
use crate::generate_clusters::{add_clusters, has_clusters};
use crate::generate_dns::add_names;
use crate::generate_google::{has_theme, is_other, make_other};
use crate::lasting::lasting;
use crate::relocate::{play_at, played};
use crate::schedule::{
    Called, Clock, CloudState, Event, HandEvent, Millis, NodeEvent, Phase, PoolEvent, PoolSetting,
    ProcessEvent, Schedule, Setting, What,
};
use crate::targeted::{pair, theme, themes, themes_at_google, themes_of};
use crate::variations::ways;
use crate::vendor::Vendor;
use crate::wire::{ApiAction, CloudAction};

/// The schedule of a seed. The mapping is stable only while this file and the lists of faults stay
/// unchanged: save a schedule worth keeping as a file.
pub fn generate(seed: u64) -> Schedule {
    let (mut schedule, mut dice) = begin(seed);
    if seed % 2 == 1 {
        theme(&mut schedule, &themes(), seed / 2, &mut dice);
    } else if has_theme(seed) {
        theme(&mut schedule, &themes_at_google(), seed / 8, &mut dice);
    } else {
        vary(&mut schedule);
    }
    if is_other(seed) {
        make_other(&mut schedule);
    }
    if has_clusters(seed) {
        add_clusters(&mut schedule);
    } else if let Some(vendor) = played(seed) {
        play_at(&mut schedule, vendor);
    }
    schedule
}

/// The pair of fault and action that a seed is about, if it is about a single one.
pub fn about(seed: u64) -> Option<Pair> {
    if seed % 2 == 1 {
        Some(pair(&themes(), seed / 2, Vendor::DigitalOcean))
    } else if has_theme(seed) {
        Some(pair(&themes_at_google(), seed / 8, Vendor::Google))
    } else {
        None
    }
}

/// The schedule of a seed at this vendor, whatever the seed is about. Every other one is about a
/// single pair of fault and call.
pub fn generate_at(seed: u64, vendor: Vendor) -> Schedule {
    let (mut schedule, mut dice) = begin(seed);
    if seed % 2 == 1 {
        theme(&mut schedule, &themes_of(vendor), seed / 2, &mut dice);
    } else {
        vary(&mut schedule);
    }
    play_at(&mut schedule, vendor);
    schedule
}

fn begin(seed: u64) -> (Schedule, Rng) {
    // Decorrelates neighbouring seeds.
    let mut dice = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x706f_6e74);
    let setting = setting(&mut dice);
    let ends = dice.u64(60..=240) * 1000;
    let events = dice.usize(4..=28);
    // Some runs have no faults at all, so any superfluous action is a violation.
    let calm = dice.u8(0..16) == 0;
    let mut events: Vec<Event> = (0..events).map(|_| event(&mut dice, ends, calm)).collect();
    events.sort_by_key(|event| event.at);
    let mut schedule = Schedule { seed, setting, events, ends, lasting: vec![] };
    add_names(&mut schedule, seed);
    (schedule, dice)
}

fn vary(schedule: &mut Schedule) {
    ways(schedule);
    edits(schedule);
    lasting(schedule);
}

fn pick<T: Clone>(dice: &mut Rng, from: &[T]) -> Option<T> {
    dice.choice(from).cloned()
}

fn setting(dice: &mut Rng) -> Setting {
    let pools = dice.usize(1..=3);
    let clock = |dice: &mut Rng| Clock {
        fast: dice.i8(-25..=25),
        ahead: if dice.bool() { 0 } else { dice.i32(-86_400..=86_400) },
    };
    Setting {
        vendor: Vendor::default(),
        replicas: 2,
        nodes: dice.u8(2..=6),
        pools: (0..pools).map(|_| pool(dice)).collect(),
        latency: pick(dice, &[0, 20, 100, 400]).unwrap_or(0),
        action_time: pick(dice, &[0, 0, 2_000, 6_000, 15_000]).unwrap_or(0),
        crowded: dice.u8(0..16) == 0,
        project: dice.bool(),
        listings: vec![],
        allocations: vec![],
        management: None,
        clocks: [clock(dice), clock(dice)],
        observes: Default::default(),
    }
}

fn pool(dice: &mut Rng) -> PoolSetting {
    let listed = dice.u8(0..=3);
    let wanted = match dice.u8(0..3) {
        0 if listed > 0 => None,
        _ => Some(dice.u8(1..=4)),
    };
    PoolSetting {
        listed,
        wanted,
        app: pick(dice, &[None, Some(0), Some(1)]).flatten(),
        cool_off: pick(dice, &[0, 0, 0, 5]).unwrap_or(0),
        covets: dice.u8(0..8) == 0,
        ..PoolSetting::default()
    }
}

fn event(dice: &mut Rng, ends: Millis, calm: bool) -> Event {
    // Some events come at the start, to meet actions done only then.
    let at = match dice.u8(0..16) {
        0 | 1 => 0,
        2 => dice.u64(0..2_000),
        _ => dice.u64(0..ends),
    };
    let lasts = match dice.u8(0..4) {
        0 => dice.u64(100..3_000),
        1 | 2 => dice.u64(3_000..25_000),
        _ => dice.u64(25_000..90_000),
    };
    Event { at, lasts, what: if calm { calm_event(dice) } else { any_event(dice) } }
}

fn calm_event(dice: &mut Rng) -> What {
    What::Node(dice.u8(..), node_event(dice))
}

fn any_event(dice: &mut Rng) -> What {
    let replica = dice.u8(0..2);
    match dice.u8(0..100) {
        0..28 => calm_event(dice),
        28..38 => What::Pool(dice.u8(..), pool_event(dice)),
        38..46 => What::Hand(hand_event(dice)),
        46..62 => cloud_fault(dice),
        62..68 => What::CloudIs(cloud_state(dice)),
        68..80 => api_fault(dice, replica),
        80..83 => What::Stale(replica),
        83..85 => What::Compacted,
        85..87 => What::WatchesCut,
        _ => What::Process(replica, process_event(dice)),
    }
}

fn node_event(dice: &mut Rng) -> NodeEvent {
    let app = dice.u8(0..2);
    match dice.u8(0..16) {
        0..5 => NodeEvent::NotReady,
        5..8 => NodeEvent::Cordoned,
        8 => NodeEvent::Unlabelled,
        9..12 => NodeEvent::PodFails(app),
        12 => NodeEvent::PodReplaced(app),
        13 => NodeEvent::Gone,
        _ => NodeEvent::MachineGone,
    }
}

fn pool_event(dice: &mut Rng) -> PoolEvent {
    match dice.u8(0..8) {
        0..3 => PoolEvent::Wants(dice.u8(1..=5)),
        3 => PoolEvent::Unlisted,
        4 => PoolEvent::Deleted,
        5 | 6 => PoolEvent::Reverted,
        _ => PoolEvent::Replaced,
    }
}

fn hand_event(dice: &mut Rng) -> HandEvent {
    let (address, node) = (dice.u8(..), dice.u8(..));
    match dice.u8(0..8) {
        0..2 => HandEvent::Moves(address, node),
        2 => HandEvent::Frees(address),
        3 => HandEvent::Deletes(address),
        4 => HandEvent::Reserves(Some(node)),
        5 => HandEvent::Reserves(None),
        6 => HandEvent::Busies(address),
        _ => HandEvent::BusiesMachine(node),
    }
}

fn percent(dice: &mut Rng) -> u8 {
    pick(dice, &[100, 100, 60, 25]).unwrap_or(100)
}

fn cloud_fault(dice: &mut Rng) -> What {
    let fault = pick(dice, &CloudFault::ALL).unwrap_or(CloudFault::LostAnswer);
    let all: Vec<_> = CloudAction::ALL.into_iter().filter(|one| fault.befalls(*one)).collect();
    let on = if dice.u8(0..3) == 0 { None } else { pick(dice, &all) };
    What::Cloud { fault, on, percent: percent(dice), dice: dice.u64(..) }
}

fn cloud_state(dice: &mut Rng) -> CloudState {
    match dice.u8(0..6) {
        0..2 => CloudState::Lagging(dice.u64(100..3_000)),
        2 => CloudState::Throttled,
        3 => CloudState::TokenExpired,
        4 => CloudState::Full,
        _ => CloudState::Blind,
    }
}

fn api_fault(dice: &mut Rng, replica: u8) -> What {
    let fault = pick(dice, &ApiFault::ALL).unwrap_or(ApiFault::LostAnswer);
    let all: Vec<_> = ApiAction::all().filter(|one| fault.befalls(*one)).collect();
    let on = if dice.u8(0..3) == 0 { None } else { pick(dice, &all) };
    let replica = dice.bool().then_some(replica);
    What::Api { fault, on, replica, percent: percent(dice), dice: dice.u64(..) }
}

fn called(dice: &mut Rng) -> Called {
    let cloud = CloudAction::ALL.into_iter().map(Called::Cloud);
    let all: Vec<_> = cloud.chain(ApiAction::all().map(Called::Api)).collect();
    pick(dice, &all).unwrap_or(Called::Cloud(CloudAction::Assign))
}

fn process_event(dice: &mut Rng) -> ProcessEvent {
    let calls = dice.u8(1..=40);
    let phase = pick(dice, &Phase::ALL).unwrap_or(Phase::AfterEffect);
    match dice.u8(0..16) {
        0 => ProcessEvent::Killed,
        1 => ProcessEvent::KilledAt(calls, phase),
        2..7 => ProcessEvent::KilledOn(called(dice), phase),
        7 => ProcessEvent::Stopped,
        8 => ProcessEvent::Paused,
        9..11 => ProcessEvent::PausedAtRun(dice.u16(1..400)),
        11..13 => ProcessEvent::PausedOn(called(dice)),
        13 => ProcessEvent::CutOffApi,
        14 => ProcessEvent::CutOffCloud,
        _ => ProcessEvent::CutOff,
    }
}
