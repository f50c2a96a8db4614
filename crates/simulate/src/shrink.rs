//! Reduces a failing schedule to the events needed for the failure.

use crate::schedule::{Event, Schedule};

/// The most runs for shrinking.
const MOST_RUNS: usize = 400;

/// The smallest failing schedule found. Removes long stretches of events first, then shorter ones,
/// then single events, then single lasting events.
pub fn shrink(schedule: &Schedule, fails: impl Fn(&Schedule) -> bool) -> Schedule {
    let mut best = shrink_events(schedule, &fails);
    for index in (0..best.lasting.len()).rev() {
        let shorter = Schedule { lasting: without(&best.lasting, index, 1), ..best.clone() };
        if fails(&shorter) {
            best = shorter;
        }
    }
    best
}

fn shrink_events(schedule: &Schedule, fails: &impl Fn(&Schedule) -> bool) -> Schedule {
    let mut best = schedule.clone();
    let mut runs = 0;
    let mut stretch = best.events.len().div_ceil(2).max(1);
    loop {
        let mut start = 0;
        while start < best.events.len() {
            if runs >= MOST_RUNS {
                return best;
            }
            runs += 1;
            let shorter =
                Schedule { events: without(&best.events, start, stretch), ..best.clone() };
            if fails(&shorter) {
                best = shorter;
            } else {
                start += stretch;
            }
        }
        if stretch == 1 {
            return best;
        }
        stretch = stretch.div_ceil(2).max(1);
    }
}

fn without(events: &[Event], start: usize, count: usize) -> Vec<Event> {
    let end = (start + count).min(events.len());
    [&events[..start], &events[end..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn only_the_events_that_a_failure_needs_are_left() {
        let schedule = (0..).map(generate).find(|one| one.events.len() > 20).unwrap();
        let needed = [&schedule.events[3].clone(), &schedule.events[17].clone()];
        let shrunk = shrink(&schedule, |one| needed.iter().all(|event| one.events.contains(event)));
        assert_eq!(shrunk.events.iter().collect::<Vec<_>>(), needed);
    }
}
