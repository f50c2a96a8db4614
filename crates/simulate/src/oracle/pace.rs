//! The rate of listings: too many listings use up the budget needed for a failover, long before the
//! provider refuses.

use std::collections::VecDeque;

use super::Oracle;
use crate::schedule::Millis;
use crate::wire::CloudAction;

/// The period of the limit.
const SPAN: Millis = 10_000;

/// The most pages of listings in a period. An accepted call causes four listings in its first four
/// seconds, a failed call causes one, and a crowded account has two pages.
const LISTINGS: usize = 80;

/// The times of the latest listings.
#[derive(Debug, Default)]
pub(super) struct Pace {
    listed: VecDeque<Millis>,
}

impl Pace {
    /// Notes a listing. Returns the number of listings in the period.
    fn lists(&mut self, now: Millis) -> usize {
        self.listed.push_back(now);
        while self.listed.front().is_some_and(|first| first + SPAN < now) {
            self.listed.pop_front();
        }
        self.listed.len()
    }
}

impl Oracle {
    /// L5: checks the rate of listings.
    pub(super) fn check_pace(&mut self, action: CloudAction) {
        if action == CloudAction::List {
            let now = self.now();
            let of_late = self.pace.lists(now);
            if of_late > LISTINGS {
                self.violated("L5", format!("{of_late} listings within {SPAN} ms"));
            }
        }
    }
}
