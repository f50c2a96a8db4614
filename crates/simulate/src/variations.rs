//! Features of some clusters: IPv6 pools, grace periods, release on deletion, pauses, observers,
//! FLIPOP.
//!
//! Uses its own random numbers, so that schedules without these features stay unchanged.

use fastrand::Rng;

use crate::faults::ApiFault;
use crate::schedule::{
    Event, HandEvent, Millis, NodeEvent, Observes, PoolEvent, PoolSetting, Schedule, What,
};
use crate::wire::{ApiAction, Kind};

/// Adds some of the features to half of the schedules.
pub fn ways(schedule: &mut Schedule) {
    let mut dice = Rng::with_seed(schedule.seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x7761_7973);
    let dice = &mut dice;
    if dice.bool() {
        return;
    }
    schedule.setting.pools.iter_mut().for_each(|pool| change_pool(pool, dice));
    if dice.u8(0..8) == 0 {
        let which = [Observes::Never, Observes::AtFirst, Observes::AtFirst, Observes::Always];
        for observes in &mut schedule.setting.observes {
            *observes = dice.choice(which).unwrap_or_default();
        }
    }
    if dice.u8(0..6) == 0 {
        flipop(schedule, dice);
    }
    for _ in 0..dice.usize(0..=5) {
        let at = dice.u64(0..schedule.ends);
        let lasts = dice.u64(2_000..80_000);
        schedule.events.push(Event { at, lasts, what: event(dice) });
    }
    if schedule.setting.pools.iter().any(|pool| pool.grace > 0) {
        failures(schedule, dice);
    }
    schedule.events.sort_by_key(|event| event.at);
}

/// Nodes fail for about a grace period: some recover in time, some do not.
fn failures(schedule: &mut Schedule, dice: &mut Rng) {
    for _ in 0..dice.usize(1..=4) {
        let at = dice.u64(schedule.ends / 4..schedule.ends);
        let lasts = dice.u64(3_000..100_000);
        let what = dice.choice([NodeEvent::NotReady, NodeEvent::Cordoned, NodeEvent::PodFails(0)]);
        let what = What::Node(dice.u8(..), what.unwrap_or(NodeEvent::NotReady));
        schedule.events.push(Event { at, lasts, what });
    }
}

fn change_pool(pool: &mut PoolSetting, dice: &mut Rng) {
    if dice.u8(0..3) == 0 {
        pool.six = true;
        // The listed family decides the family of reservations.
        pool.listed = pool.listed.max(1);
    }
    if dice.u8(0..3) == 0 {
        pool.grace = grace(dice);
    }
    pool.releases = dice.u8(0..3) == 0;
}

fn grace(dice: &mut Rng) -> u8 {
    dice.choice([0, 5, 15, 40, 90]).unwrap_or(0)
}

/// FLIPOP runs at the start, starts later, or leaves its Lease behind.
fn flipop(schedule: &mut Schedule, dice: &mut Rng) {
    let at: Millis = if dice.bool() { 0 } else { dice.u64(0..schedule.ends) };
    let lasts = if dice.u8(0..3) == 0 { 0 } else { dice.u64(5_000..90_000) };
    let what = What::Flipop { gives_back: dice.bool() };
    schedule.events.push(Event { at, lasts, what });
    if dice.bool() {
        // Events after the end of trouble would never finish.
        let begins = (at + lasts / 3).min(schedule.ends.saturating_sub(20_000));
        out_of_sight(schedule, begins, dice);
    }
}

/// For a while, replicas can neither read nor write FLIPOP's Lease.
fn out_of_sight(schedule: &mut Schedule, at: Millis, dice: &mut Rng) {
    let leases =
        [ApiAction::List(Kind::Leases), ApiAction::Watch(Kind::Leases), ApiAction::HoldTheirs];
    let fault = dice.choice([ApiFault::Unavailable, ApiFault::Stalled, ApiFault::LostRequest]);
    let fault = fault.unwrap_or(ApiFault::Unavailable);
    let lasts = dice.u64(15_000..60_000);
    for on in leases {
        let (on, dice) = (Some(on), dice.u64(..));
        let what = What::Api { fault, on, replica: None, percent: 100, dice };
        schedule.events.push(Event { at, lasts, what });
    }
    schedule.events.push(Event { at: at + 1, lasts: 0, what: What::WatchesCut });
}

fn event(dice: &mut Rng) -> What {
    let pool = dice.u8(..);
    match dice.u8(0..12) {
        0..4 => What::Pool(pool, PoolEvent::Paused),
        4 | 5 => What::Pool(pool, PoolEvent::Grace(grace(dice))),
        6 | 7 => What::Pool(pool, PoolEvent::Releases(dice.bool())),
        8..11 => What::Pool(pool, PoolEvent::Deleted),
        _ => What::Hand(HandEvent::ReservesSix),
    }
}
