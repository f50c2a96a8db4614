//! Events for users' mistakes, and for changes to an address before its listing: typos fixed later,
//! other nodes, another pool's address, an unreadable annotation, addresses of both families, two
//! nodes on one machine, a node without a machine.
//!
//! Not here, each for a reason:
//!
//! - Edits of `region`, and machines or addresses in other regions: the provider's answer is all that the
//!   operator learns of them. A refused address and a refusing machine (`lasting`) give the same answer. An
//!   address reserved in a wrong region serves nobody for good, so nothing could be required at rest.
//! - Addresses that a customer brings along: the providers' APIs show them as any other address.
//! - The token of another account: all addresses and machines are missing at once, which looks as if people
//!   had deleted them, and such deletions are events of a run.
//!
//! Uses its own random numbers.

use fastrand::Rng;

use crate::faults::CloudFault;
use crate::schedule::{
    Event, HandEvent, Millis, NodeEvent, PoolEvent, PoolSetting, Schedule, Typo, What, Wish,
};
use crate::wire::CloudAction;

/// Adds such events to a third of the schedules.
pub fn edits(schedule: &mut Schedule) {
    let mut dice = Rng::with_seed(schedule.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6564_6974);
    let dice = &mut dice;
    if dice.u8(0..3) > 0 {
        return;
    }
    // Half of these schedules have no other events.
    if dice.bool() {
        schedule.events.clear();
    }
    if dice.u8(0..4) == 0 {
        many_pools(schedule, dice);
    }
    schedule.setting.pools.iter_mut().for_each(|pool| change(pool, dice));
    for _ in 0..dice.usize(0..=3) {
        let (at, lasts) = (dice.u64(0..schedule.ends), dice.u64(2_000..90_000));
        let what = event(dice);
        schedule.events.push(Event { at, lasts, what });
    }
    if dice.bool() {
        schedule.events.extend(listed_again(dice, schedule.ends));
    }
    if dice.u8(0..4) == 0 {
        let events = listed_in_error(dice, schedule);
        schedule.events.extend(events);
    }
    if dice.u8(0..6) == 0 {
        let events = made_anew(dice, schedule);
        schedule.events.extend(events);
    }
    // Events after the end of trouble would never finish.
    let ends = schedule.ends;
    schedule.events.retain(|event| event.at < ends);
    schedule.events.sort_by_key(|event| event.at);
}

fn change(pool: &mut PoolSetting, dice: &mut Rng) {
    pool.mixed = pool.listed > 0 && dice.u8(0..4) == 0;
    pool.wish = wish(dice);
}

fn wish(dice: &mut Rng) -> Wish {
    dice.choice([Wish::Plain, Wish::Plain, Wish::Tolerant, Wish::Even, Wish::Odd])
        .unwrap_or_default()
}

/// Up to five additional pools, each with a few addresses.
fn many_pools(schedule: &mut Schedule, dice: &mut Rng) {
    let more = dice.usize(1..=5);
    for _ in 0..more {
        let listed = dice.u8(0..=2);
        let wanted = (listed == 0 || dice.bool()).then(|| dice.u8(1..=3));
        let app = dice.choice([None, Some(0), Some(1)]).flatten();
        schedule.setting.pools.push(PoolSetting { listed, wanted, app, ..PoolSetting::default() });
    }
    schedule.setting.nodes = schedule.setting.nodes.max(dice.u8(4..=8));
}

fn event(dice: &mut Rng) -> What {
    let pool = dice.u8(..);
    let typo = if dice.bool() { Typo::Nodes } else { Typo::Pods };
    match dice.u8(0..14) {
        0..3 => What::Pool(pool, PoolEvent::Mistyped(typo)),
        3..5 => What::Pool(pool, PoolEvent::Rematched(wish(dice))),
        5..7 => What::Pool(pool, PoolEvent::Adopts(dice.u8(..))),
        7 => What::Pool(pool, PoolEvent::LedgerSpoiled),
        8..10 => What::Node(dice.u8(..), NodeEvent::Tainted),
        10 => What::Node(dice.u8(..), NodeEvent::Twin),
        11..13 => What::Node(dice.u8(..), NodeEvent::Renamed),
        _ => What::Node(dice.u8(..), NodeEvent::Nameless),
    }
}

/// An address is delisted, or its pool deleted. The address is then assigned by hand, and listed
/// again.
fn listed_again(dice: &mut Rng, ends: Millis) -> [Event; 2] {
    let pool = dice.u8(..);
    let (at, lasts) = (dice.u64(15_000..ends), dice.u64(10_000..100_000));
    let what = if dice.bool() { PoolEvent::Unlisted } else { PoolEvent::Deleted };
    let before = dice.u64(200..20_000).min(lasts - 5_000);
    let moves = (at + lasts).min(ends).saturating_sub(before);
    let hand = HandEvent::MovesLast(pool, dice.u8(..));
    [
        Event { at, lasts, what: What::Pool(pool, what) },
        Event { at: moves, lasts: 0, what: What::Hand(hand) },
    ]
}

/// A pool lists another pool's address, and a typo makes either pool unreadable. The other pool may
/// be deleted together with its reserved addresses.
fn listed_in_error(dice: &mut Rng, schedule: &Schedule) -> Vec<Event> {
    let pools = schedule.setting.pools.len();
    if pools < 2 {
        return vec![];
    }
    let (one, other) = (dice.usize(0..pools), dice.usize(1..pools));
    let other = (one + other) % pools;
    let number = |pool: usize| u8::try_from(pool).unwrap_or(0);
    let (one, other) = (number(one), number(other));
    let at = dice.u64(25_000..schedule.ends);
    let lasts = dice.u64(40_000..90_000);
    let event =
        |after, lasts, pool, what| Event { at: at + after, lasts, what: What::Pool(pool, what) };
    let typo = PoolEvent::Mistyped(Typo::Nodes);
    let mut events = vec![event(0, lasts, one, PoolEvent::Adopts(other))];
    if dice.bool() {
        events.push(event(5_000, lasts - 5_000, one, typo));
        events.push(event(1_000, 0, other, PoolEvent::Releases(true)));
        events.push(event(12_000, lasts - 12_000, other, PoolEvent::Deleted));
    } else {
        events.push(event(5_000, lasts - 10_000, other, typo));
    }
    events
}

/// Nodes fail. While an address is being moved, its pool is deleted and recreated. The new pool
/// does not own the address.
fn made_anew(dice: &mut Rng, schedule: &mut Schedule) -> Vec<Event> {
    let pool = PoolSetting { wanted: Some(dice.u8(1..=2)), ..PoolSetting::default() };
    schedule.setting.pools[0] = pool;
    schedule.setting.nodes = schedule.setting.nodes.max(4);
    let at = dice.u64(25_000..schedule.ends);
    let slow = What::Cloud {
        fault: CloudFault::Slow,
        on: Some(CloudAction::Assign),
        percent: 100,
        dice: dice.u64(..),
    };
    let event = |at, lasts, what| Event { at, lasts, what };
    let mut events = vec![event(at, 6_000, slow)];
    for node in 0..dice.u8(2..=4) {
        events.push(event(at, 30_000, What::Node(node, NodeEvent::NotReady)));
    }
    let (after, lasts) = (dice.u64(50..400), dice.u64(20..300));
    events.push(event(at + after, lasts, What::Pool(0, PoolEvent::Deleted)));
    events
}
