//! Schedules with machines and addresses at Google Cloud, with allocations, or with both. What
//! DigitalOcean alone has is replaced.
//!
//! Uses its own random numbers.

use fastrand::Rng;

use crate::generate_allocations::add_allocations;
use crate::schedule::{Called, Event, HandEvent, ProcessEvent, Schedule, What};
use crate::vendor::{AT_GOOGLE, Vendor};
use crate::wire::CloudAction;

/// Whether a seed is about Google Cloud or allocations: one in four.
pub fn is_other(seed: u64) -> bool {
    seed.is_multiple_of(4)
}

/// Whether such a seed is about a single pair of fault and action.
pub fn has_theme(seed: u64) -> bool {
    seed % 8 == 4
}

/// Turns a schedule into one about Google Cloud, about allocations, or about both.
pub fn make_other(schedule: &mut Schedule) {
    let mut dice = Rng::with_seed(schedule.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x676f_6f67);
    let dice = &mut dice;
    if has_theme(schedule.seed) {
        return move_to_google(schedule, dice);
    }
    match dice.u8(0..4) {
        0 => {}
        1 => add_allocations(schedule, true, dice),
        2 => add_allocations(schedule, false, dice),
        _ => {
            let with_pools = dice.bool();
            return add_allocations(schedule, with_pools, dice);
        }
    }
    move_to_google(schedule, dice);
}

/// Moves a schedule to Google Cloud, which has no IPv6 addresses and reserves on no machine.
fn move_to_google(schedule: &mut Schedule, dice: &mut Rng) {
    schedule.setting.vendor = Vendor::Google;
    for pool in &mut schedule.setting.pools {
        (pool.six, pool.mixed) = (false, false);
    }
    schedule.events.iter_mut().for_each(|event| change(event, dice));
    for event in &mut schedule.lasting {
        // A reservation that fails for good is in a region.
        if let What::Cloud { on: Some(on), .. } = &mut event.what
            && on.creates()
        {
            *on = CloudAction::CreateIn;
        }
        change(event, dice);
    }
}

fn change(event: &mut Event, dice: &mut Rng) {
    match &mut event.what {
        What::Hand(what @ HandEvent::ReservesSix) => *what = HandEvent::Reserves(None),
        What::Cloud { fault, on: Some(on), .. } => {
            let fault = *fault;
            change_action(on, |action| fault.befalls(action), dice);
        }
        What::Process(
            _,
            ProcessEvent::KilledOn(Called::Cloud(on), _)
            | ProcessEvent::PausedOn(Called::Cloud(on)),
        ) => change_action(on, |_| true, dice),
        _ => {}
    }
}

/// Replaces an action that the provider does not have.
fn change_action(on: &mut CloudAction, fits: impl Fn(CloudAction) -> bool, dice: &mut Rng) {
    if AT_GOOGLE.contains(on) || on.is_of_names() {
        return;
    }
    let fitting: Vec<_> = AT_GOOGLE.into_iter().filter(|action| fits(*action)).collect();
    *on = dice.choice(fitting).unwrap_or(CloudAction::DropOwn);
}
