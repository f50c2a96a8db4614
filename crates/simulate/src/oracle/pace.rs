//! How often a cloud is asked: a listing after the other uses up the budget that a failover
//! needs, long before anybody is told to wait.

use std::collections::VecDeque;

use super::Oracle;
use crate::schedule::Millis;
use crate::wire::CloudAction;

/// Within so long ...
const SPAN: Millis = 10_000;

/// ... not more pages of listings than this: an accepted call is looked for four times in its
/// first four seconds, each that fails is looked into once, and a crowded account has two pages.
const LISTINGS: usize = 80;

/// The times of the last listings.
#[derive(Debug, Default)]
pub(super) struct Pace {
    listed: VecDeque<Millis>,
}

impl Pace {
    /// One more listing; returns how many that makes of late.
    fn lists(&mut self, now: Millis) -> usize {
        self.listed.push_back(now);
        while self.listed.front().is_some_and(|first| first + SPAN < now) {
            self.listed.pop_front();
        }
        self.listed.len()
    }
}

impl Oracle {
    /// A call must not come in haste (L5).
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
