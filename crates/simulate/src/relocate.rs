//! Moves a schedule, which is about DigitalOcean, to another provider. What the provider does not have
//! is replaced.

use fastrand::Rng;

use crate::schedule::{Called, Event, HandEvent, ProcessEvent, Schedule, What};
use crate::vendor::Vendor;
use crate::wire::CloudAction;

/// The largest error of a wall clock where requests are signed with the time of day, in seconds.
const CLOCK_ERROR: i32 = 120;

/// The vendor without an emulator that a seed is about, if any: one seed in twenty. No known seed of
/// a mutant is among them.
pub fn played(seed: u64) -> Option<Vendor> {
    match seed % 64 {
        10 => Some(Vendor::Aws),
        18 => Some(Vendor::Azure),
        50 => Some(Vendor::Hetzner),
        _ => None,
    }
}

/// Moves a schedule to a vendor without an emulator.
pub fn play_at(schedule: &mut Schedule, vendor: Vendor) {
    let mut dice = Rng::with_seed(schedule.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6163_6d65);
    relocate(schedule, vendor, &mut dice);
}

/// Moves a schedule to another provider.
pub fn relocate(schedule: &mut Schedule, vendor: Vendor, dice: &mut Rng) {
    schedule.setting.vendor = vendor;
    if !vendor.profile().six {
        for pool in &mut schedule.setting.pools {
            (pool.six, pool.mixed) = (false, false);
        }
    }
    if vendor.signs_time() {
        for clock in &mut schedule.setting.clocks {
            clock.ahead = clock.ahead.clamp(-CLOCK_ERROR, CLOCK_ERROR);
        }
    }
    schedule.events.iter_mut().for_each(|event| change(event, vendor, dice));
    for event in &mut schedule.lasting {
        // Where no reservation is on a machine, one that fails for good is in a region.
        if let What::Cloud { on: Some(on), .. } = &mut event.what
            && on.creates()
            && !vendor.calls().contains(on)
        {
            *on = CloudAction::CreateIn;
        }
        change(event, vendor, dice);
    }
}

fn change(event: &mut Event, vendor: Vendor, dice: &mut Rng) {
    match &mut event.what {
        What::Hand(what @ HandEvent::ReservesSix) if !vendor.profile().six => {
            *what = HandEvent::Reserves(None);
        }
        What::Cloud { fault, on: Some(on), .. } => {
            let fault = *fault;
            change_action(on, vendor, |action| fault.befalls(action), dice);
        }
        What::Process(
            _,
            ProcessEvent::KilledOn(Called::Cloud(on), _)
            | ProcessEvent::PausedOn(Called::Cloud(on)),
        ) => change_action(on, vendor, |_| true, dice),
        _ => {}
    }
}

/// Replaces an action that the provider does not have.
fn change_action(
    on: &mut CloudAction,
    vendor: Vendor,
    fits: impl Fn(CloudAction) -> bool,
    dice: &mut Rng,
) {
    let calls = vendor.calls();
    if calls.contains(on) || on.is_of_names() {
        return;
    }
    let fitting: Vec<_> = calls.iter().copied().filter(|action| fits(*action)).collect();
    *on = dice.choice(fitting).unwrap_or(CloudAction::Assign);
}
