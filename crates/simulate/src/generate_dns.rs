//! The DNS part of a schedule. Uses its own random numbers, so the rest of a seed's schedule does
//! not depend on this part.

use fastrand::Rng;

use crate::names::{Addresses, Host, LABELS, ListingSetting, NameEvent, NameSetting, ZoneEvent};
use crate::schedule::{Event, Millis, NodeEvent, Schedule, Setting, What};

/// Adds names and events around them to half of the schedules.
pub fn add_names(schedule: &mut Schedule, seed: u64) {
    let mut dice = Rng::with_seed(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ 0x0064_6e73);
    if dice.bool() {
        return;
    }
    settle_on_names(&mut schedule.setting, &mut dice);
    for _ in 0..dice.usize(0..=6) {
        let event = event(&mut dice, schedule.ends);
        schedule.events.push(event);
    }
    if dice.u8(0..3) == 0 {
        schedule.events.extend(unseen_removal(&mut dice, schedule.ends));
    }
    schedule.events.sort_by_key(|event| event.at);
}

fn settle_on_names(setting: &mut Setting, dice: &mut Rng) {
    for (number, pool) in (0..).zip(&mut setting.pools) {
        pool.name = (dice.u8(0..4) > 0).then(|| name(number, dice));
    }
    let listings = dice.u8(0..=2);
    setting.listings = (0..listings).map(|number| listing(3 + number, dice)).collect();
}

fn name(number: u8, dice: &mut Rng) -> NameSetting {
    NameSetting {
        // Sometimes a name also requested by another object.
        label: if dice.u8(0..5) == 0 { dice.u8(0..LABELS) } else { number },
        host: if dice.bool() { Host::DigitalOcean } else { Host::Cloudflare },
        removes: dice.bool(),
        in_full: dice.bool(),
    }
}

fn listing(number: u8, dice: &mut Rng) -> ListingSetting {
    let name = name(number, dice);
    let addresses = match dice.u8(0..3) {
        0 => Addresses::External,
        1 => Addresses::Internal,
        _ => Addresses::Reserved,
    };
    let app = [None, Some(0), Some(1)][dice.usize(0..3)];
    ListingSetting { name, addresses, app }
}

fn event(dice: &mut Rng, ends: Millis) -> Event {
    let (at, lasts) = (dice.u64(0..ends), dice.u64(1_000..60_000));
    let host = Host::ALL[dice.usize(0..2)];
    let which = dice.u8(..);
    let what = match dice.u8(0..14) {
        0 | 1 => What::Name(which, NameEvent::Renamed(dice.u8(0..LABELS))),
        2 => What::Name(which, NameEvent::Rehosted),
        3 => What::Name(which, NameEvent::Ttl(dice.u16(60..600))),
        4 | 5 => What::Name(which, NameEvent::Unnamed),
        6 | 7 => What::Zone(ZoneEvent::Adds(host, which)),
        8 => What::Zone(ZoneEvent::Edits(which)),
        9 => What::Zone(ZoneEvent::Slows(which)),
        10 => What::Zone(ZoneEvent::Deletes(which)),
        11 => What::Zone(ZoneEvent::Vanishes(host)),
        12 => What::Zone(ZoneEvent::Remade(host)),
        _ => What::Node(which, NodeEvent::Removed),
    };
    Event { at, lasts, what }
}

/// A node is removed for good while no watch runs: only the next list shows the removal.
fn unseen_removal(dice: &mut Rng, ends: Millis) -> [Event; 2] {
    let at = dice.u64(20_000..ends);
    let event = |what| Event { at, lasts: 0, what };
    [event(What::Compacted), event(What::Node(dice.u8(..), NodeEvent::Removed))]
}
