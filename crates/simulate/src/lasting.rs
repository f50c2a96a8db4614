//! Schedules with a lasting fault: a refused address or machine, an account at its limit, a missing
//! scope, a paused or unreadable pool. Nodes fail meanwhile, and everything not touched by the
//! fault must still be served.

use fastrand::Rng;

use crate::faults::CloudFault;
use crate::names::{Host, NameSetting};
use crate::schedule::{
    CloudState, Event, Millis, NodeEvent, PoolEvent, PoolSetting, Schedule, Sticking, Typo, What,
};
use crate::wire::CloudAction;

/// Adds a lasting fault to a third of the schedules.
pub fn lasting(schedule: &mut Schedule) {
    let mut dice = Rng::with_seed(schedule.seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x6c61_7374);
    let dice = &mut dice;
    if dice.u8(0..3) > 0 {
        return;
    }
    schedule.ends = schedule.ends.min(120_000);
    schedule.events.retain(|event| event.at < schedule.ends);
    // Half of these schedules have no other events.
    if dice.bool() {
        schedule.events.clear();
    }
    schedule.setting.observes = Default::default();
    for _ in 0..=u8::from(dice.u8(0..4) == 0) {
        fault(schedule, dice);
    }
    // Nodes fail one after the other while the fault lasts.
    let mut at = schedule.ends;
    for _ in 0..dice.u8(1..=3) {
        at += dice.u64(20_000..120_000);
        let what = dice.choice([
            NodeEvent::NotReady,
            NodeEvent::NotReady,
            NodeEvent::Cordoned,
            NodeEvent::Unlabelled,
            NodeEvent::PodFails(0),
            NodeEvent::MachineGone,
        ]);
        let what = What::Node(dice.u8(..), what.unwrap_or(NodeEvent::NotReady));
        schedule.lasting.push(Event { at, lasts: 0, what });
    }
}

/// Pools with room: as many nodes as addresses, or one or two more.
fn with_room(schedule: &mut Schedule, dice: &mut Rng, lacking: bool) {
    let pools = dice.u8(1..=2);
    let mut addresses = 0;
    schedule.setting.pools = (0..pools)
        .map(|_| {
            let listed = dice.u8(1..=2);
            addresses += listed;
            let wanted = (lacking || dice.u8(0..4) == 0).then(|| listed + dice.u8(1..=2));
            let cool_off = if dice.u8(0..8) == 0 { 5 } else { 0 };
            let app = if dice.bool() { None } else { Some(0) };
            PoolSetting { listed, wanted, app, cool_off, ..PoolSetting::default() }
        })
        .collect();
    schedule.setting.nodes = (addresses + dice.u8(0..=2)).clamp(2, 7);
}

fn fault(schedule: &mut Schedule, dice: &mut Rng) {
    // Often from the start, so that the fault has taken effect before a node fails.
    let early = |dice: &mut Rng| if dice.bool() { 0 } else { dice.u64(0..40_000) };
    let which = dice.u8(..);
    let (at, what) = match dice.u8(0..14) {
        0..3 => {
            with_room(schedule, dice, false);
            (early(dice), What::Refuses(Sticking::Address(which)))
        }
        3 => {
            with_room(schedule, dice, false);
            (early(dice), What::Refuses(Sticking::Machine(which)))
        }
        4..7 => {
            with_room(schedule, dice, true);
            (early(dice), no_reservation(dice))
        }
        7..9 => {
            with_room(schedule, dice, false);
            (paused(schedule, dice), What::Pool(which, PoolEvent::Paused))
        }
        9 => {
            let typo = dice.choice([Typo::Nodes, Typo::Pods]).unwrap_or(Typo::Nodes);
            (early(dice), What::Pool(which, PoolEvent::Mistyped(typo)))
        }
        10 => (dice.u64(0..schedule.ends), What::Pool(which, PoolEvent::LedgerSpoiled)),
        11 | 12 => {
            giving_back(schedule, dice);
            (early(dice), What::Refuses(Sticking::GivingBack))
        }
        _ => {
            let host = if dice.bool() { Host::DigitalOcean } else { Host::Cloudflare };
            if let Some(pool) = schedule.setting.pools.first_mut() {
                pool.name = Some(NameSetting { host, ..NameSetting::default() });
            }
            (early(dice), What::Refuses(Sticking::Names(host)))
        }
    };
    schedule.lasting.push(Event { at, lasts: 0, what });
}

/// No address can be reserved: the account is full, the token lacks the scope, or the provider
/// fails.
fn no_reservation(dice: &mut Rng) -> What {
    let broken = |on, dice: &mut Rng| What::Cloud {
        fault: CloudFault::Unavailable,
        on: Some(on),
        percent: 100,
        dice: dice.u64(..),
    };
    match dice.u8(0..4) {
        0 | 1 => What::CloudIs(CloudState::Full),
        2 => What::Refuses(Sticking::Reserving),
        _ => broken(CloudAction::CreateOn, dice),
    }
}

/// A pool that gives back its addresses is deleted. There may be fewer nodes than addresses.
fn giving_back(schedule: &mut Schedule, dice: &mut Rng) {
    let wanted = Some(dice.u8(1..=2));
    let goes = PoolSetting { wanted, releases: true, ..PoolSetting::default() };
    let stays = PoolSetting { listed: dice.u8(1..=2), ..PoolSetting::default() };
    schedule.setting.pools = vec![goes, stays];
    schedule.setting.nodes = dice.u8(2..=4);
    let at = dice.u64(30_000..schedule.ends);
    let what = What::Pool(0, PoolEvent::Deleted);
    schedule.lasting.push(Event { at, lasts: 0, what });
}

/// A pool is paused for good while its attempts fail, so its targets become free for other pools.
/// There may be fewer nodes than addresses.
fn paused(schedule: &mut Schedule, dice: &mut Rng) -> Millis {
    let setting = &mut schedule.setting;
    let pool = |dice: &mut Rng| PoolSetting { listed: dice.u8(1..=2), ..PoolSetting::default() };
    setting.pools = vec![pool(dice), pool(dice)];
    let addresses: u8 = setting.pools.iter().map(|pool| pool.listed).sum();
    setting.nodes = addresses.saturating_sub(dice.u8(0..=1)).max(2);
    let fault = dice.choice([CloudFault::Unavailable, CloudFault::Broken]);
    let fault = fault.unwrap_or(CloudFault::Unavailable);
    let on = Some(CloudAction::Assign);
    let what = What::Cloud { fault, on, percent: 100, dice: dice.u64(..) };
    schedule.events.push(Event { at: 0, lasts: 20_000, what });
    schedule.events.sort_by_key(|event| event.at);
    dice.u64(3_000..18_000)
}
