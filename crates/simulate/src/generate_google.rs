//! Schedules with machines and addresses at Google Cloud, with allocations, or with both.
//!
//! Uses its own random numbers.

use fastrand::Rng;

use crate::generate_allocations::add_allocations;
use crate::relocate::relocate;
use crate::schedule::Schedule;
use crate::vendor::Vendor;

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
        return relocate(schedule, Vendor::Google, dice);
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
    relocate(schedule, Vendor::Google, dice);
}
