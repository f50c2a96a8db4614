//! The rate of reads: too many reads use up the budget needed for a failover, long before the
//! provider refuses.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use super::{Oracle, Sent};
use crate::schedule::Millis;
use crate::wire::CloudAction;

/// The period of the limit.
const SPAN: Millis = 10_000;

/// The most pages of listings in a period. An accepted call causes four listings in its first four
/// seconds, a failed call causes one, and a crowded account has two pages.
const LISTINGS: usize = 80;

/// The most reads of one address in a period.
const READS: usize = 40;

/// The times of the latest listings and reads.
#[derive(Debug, Default)]
pub(super) struct Pace {
    listings: Latest,
    reads: BTreeMap<IpAddr, Latest>,
}

/// The times of the latest requests of one sort.
#[derive(Debug, Default)]
struct Latest(VecDeque<Millis>);

impl Latest {
    /// Notes a request. Returns the number of requests in the period.
    fn note(&mut self, now: Millis) -> usize {
        self.0.push_back(now);
        while self.0.front().is_some_and(|first| first + SPAN < now) {
            self.0.pop_front();
        }
        self.0.len()
    }
}

impl Oracle {
    /// L5: checks the rate of listings, and of the reads of each address.
    pub(super) fn check_pace(&mut self, sent: &Sent) {
        let now = self.now();
        let (number, most, of) = match (sent.action, sent.ip) {
            (CloudAction::List, _) => {
                (self.pace.listings.note(now), LISTINGS, "listings".to_owned())
            }
            (CloudAction::ReadAddress, Some(ip)) => {
                (self.pace.reads.entry(ip).or_default().note(now), READS, format!("reads of {ip}"))
            }
            _ => return,
        };
        if number > most {
            self.violated("L5", format!("{number} {of} within {SPAN} ms"));
        }
    }
}
