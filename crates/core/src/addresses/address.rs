//! One address: its known place and the time of that knowledge, and the operation in progress.
//!
//! ```text
//!           a read shows it            a listing leaves it out         a read says 404
//! Unknown ──────────────────> Known ──────────────────────> Missing ──────────────────> Gone
//! ```
//!
//! A read dates from the moment of sending, and counts only if younger than the known facts. The
//! effect of our own call stands for the settling time, against any late read.

use std::time::Duration;

use crate::Time;
use crate::model::{MachineId, OperationId, Sighting};
use crate::world::Settings;

/// Time without any effect after which an accepted operation counts as failed.
const GIVE_UP: Duration = Duration::from_secs(120);

/// One address of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The known facts about the address.
    pub knowledge: Knowledge,
    /// Our unfinished call about the address.
    pub operation: Option<Operation>,
    /// The machine of the last attempt, while another attempt there makes sense.
    pub intended: Option<MachineId>,
    /// Whether a direct read of the address is in flight.
    pub reading: bool,
    /// Earliest time of the next direct read.
    pub read_after: Time,
    /// Number of the first listing that counts. A pool listed the address after earlier ones began.
    pub(crate) told_by: u64,
    /// While the place is unknown, a listing sent before this time does not count: it may show the
    /// place before our last call.
    pub(crate) told_from: Time,
    /// Number of the first listing that tells whether a delisted address is still in place. Somebody may
    /// have moved the address before the user removed it from the list.
    pub(crate) leaves_by: u64,
    /// The last known holder while the address is missing or unknown. May still hold the address.
    pub(crate) last_holder: Option<MachineId>,
    /// Since when reads show the provider working on the address.
    pub(crate) busy_since: Option<Time>,
    /// Time at which the address was found to be gone.
    pub(crate) gone_at: Time,
    /// Whether the address is gone because of our own release.
    pub(crate) returned: bool,
}

/// The known facts about an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// No read counts yet.
    #[default]
    Unknown,
    /// Absent from a listing: deleted, or skipped between two pages.
    Missing,
    /// A direct read answered 404, or our release succeeded.
    Gone,
    /// Seen by a read, or placed by our own call.
    Known {
        /// The facts as seen.
        sighting: Sighting,
        /// Time of the facts: the sending time of the read, or the time of our call.
        at: Time,
        /// A read sent before this time with another holder is late, and ignored.
        firm_until: Time,
    },
}

/// An unfinished call of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// In flight.
    Sent {
        /// The target machine. No machine for an unassignment.
        to: Option<MachineId>,
    },
    /// The provider accepted the call, and carries out the operation.
    Accepted {
        /// The target machine. No machine for an unassignment.
        to: Option<MachineId>,
        /// The provider's ID of the operation.
        id: OperationId,
        /// Time of acceptance.
        since: Time,
        /// Number of reads that did not show the effect.
        checks: u32,
        /// Number of latest reads in a row that showed the address idle, and not at its target.
        idle: u32,
        /// Time of the next listing for this operation.
        next_check: Time,
        /// Whether a direct read of the operation is in flight.
        reading: bool,
        /// Earliest time of the next direct read of the operation.
        read_after: Time,
    },
    /// No answer, or an answer about another operation in progress. The call may have taken effect,
    /// or may still do so.
    Uncertain {
        /// The possible machine of the address.
        to: Option<MachineId>,
        /// A read sent at or after this time shows the outcome.
        until: Time,
        /// Whether the back-off counts the attempt already.
        counted: bool,
    },
    /// A release without an answer. A free address is what the release found, not its effect.
    Leaving {
        /// A read sent at or after this time shows the outcome.
        until: Time,
    },
}

/// Age from which an accepted operation is not followed into the next term.
const FOLLOWED: Duration = Duration::from_secs(60);

impl Operation {
    /// An accepted operation that may still be under way at `open_from`, read anew from then on.
    pub(crate) fn resumed(&self, open_from: Time) -> Option<Self> {
        let Self::Accepted { to, id, since, .. } = self else { return None };
        let (to, id, since) = (to.clone(), id.clone(), *since);
        let (next_check, read_after) = (open_from, open_from);
        let (checks, idle, reading) = (0, 0, false);
        let young = open_from.since(since) < FOLLOWED;
        young.then_some(Self::Accepted {
            to,
            id,
            since,
            checks,
            idle,
            next_check,
            reading,
            read_after,
        })
    }

    /// The target machine.
    pub fn to(&self) -> Option<&MachineId> {
        match self {
            Self::Sent { to } | Self::Accepted { to, .. } | Self::Uncertain { to, .. } => {
                to.as_ref()
            }
            Self::Leaving { .. } => None,
        }
    }
}

/// The effect of a read on the known facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// No change.
    Nothing,
    /// Some fact changed.
    Some,
    /// The operation took effect.
    Arrived,
    /// The operation took too long, and is given up. Holds its target.
    Overdue(Option<MachineId>),
    /// The address is still on its machine after an unassignment without a clear answer, and the back-off
    /// does not count the attempt yet.
    Stayed,
}

impl From<bool> for News {
    fn from(some: bool) -> Self {
        if some { Self::Some } else { Self::Nothing }
    }
}

impl Address {
    /// Whether the address certainly does not exist: by our own release, or by a direct read and a
    /// later listing sent at `listed`. `None` if the address is not gone. The error is the time
    /// from which a listing counts.
    pub(crate) fn surely_gone(
        &self,
        listed: Option<Time>,
        settings: &Settings,
    ) -> Option<Result<(), Time>> {
        let tells = self.gone_at + settings.doubt();
        let gone = self.knowledge == Knowledge::Gone && self.operation.is_none();
        let sure = self.returned || listed.is_some_and(|at| at >= tells);
        gone.then_some(if sure { Ok(()) } else { Err(tells) })
    }

    /// Whether the provider is working on the address, for us or for another client.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(&self.knowledge, Knowledge::Known { sighting, .. } if sighting.busy)
    }

    /// The holder or last holder, and the target of the operation in progress.
    pub(crate) fn machines(&self) -> [Option<&MachineId>; 2] {
        let held = match &self.knowledge {
            Knowledge::Known { sighting, .. } => sighting.holder.as_ref(),
            Knowledge::Missing | Knowledge::Unknown => self.last_holder.as_ref(),
            Knowledge::Gone => None,
        };
        [held, self.operation.as_ref().and_then(Operation::to)]
    }

    /// Discards the place of the address until the listing with this number.
    pub(crate) fn doubt_until_listing(&mut self, number: u64) {
        self.told_by = number;
        if let Knowledge::Known { firm_until, .. } = self.knowledge {
            self.told_from = firm_until;
            self.last_holder = self.machines()[0].cloned();
            self.knowledge = Knowledge::Unknown;
        }
    }

    /// Whether a listing of this number and sending time is too early to tell the place.
    pub(crate) fn is_too_early(&self, number: u64, sent_at: Time) -> bool {
        let unknown = self.knowledge == Knowledge::Unknown && self.operation.is_none();
        self.told_by > number || (unknown && sent_at < self.told_from)
    }

    /// Whether a read repeats the known facts and no operation is open, which is the common case.
    /// Updates only the time.
    pub(crate) fn is_affirmed_by(&mut self, sent_at: Time, seen: &Sighting) -> bool {
        match &mut self.knowledge {
            Knowledge::Known { sighting, at, .. }
                if self.operation.is_none() && sighting == seen =>
            {
                *at = sent_at.max(*at);
                true
            }
            _ => false,
        }
    }

    /// Applies a sighting, if younger than the known facts.
    pub(crate) fn see(
        &mut self,
        sent_at: Time,
        seen: &Sighting,
        now: Time,
        settings: &Settings,
    ) -> News {
        let news = self.take_in(sent_at, seen, now, settings);
        self.busy_since = self.busy_since.or(Some(sent_at)).filter(|_| self.is_busy());
        news
    }

    fn take_in(&mut self, sent_at: Time, seen: &Sighting, now: Time, settings: &Settings) -> News {
        let there = |to: &Option<MachineId>| seen.holder == *to && !seen.busy;
        match &mut self.operation {
            None => self.learn(sent_at, seen).into(),
            Some(Operation::Sent { .. }) => News::Nothing,
            Some(Operation::Accepted { to, since, .. }) if sent_at >= *since && there(to) => {
                self.settle(sent_at, seen, sent_at + settings.settle);
                News::Arrived
            }
            Some(Operation::Accepted { since, .. }) if sent_at >= *since => {
                self.learn(sent_at, seen);
                self.check(now, seen.busy)
            }
            Some(Operation::Accepted { .. }) => News::Nothing,
            Some(Operation::Uncertain { to, until, counted }) => {
                if there(to) && sent_at >= *until - settings.doubt() {
                    self.settle(sent_at, seen, sent_at + settings.settle);
                    News::Arrived
                } else if sent_at >= *until {
                    let uncounted = to.is_none() && !*counted;
                    let stays = !seen.busy && self.machines()[0] == seen.holder.as_ref();
                    let news = self.end_doubt(sent_at, seen);
                    if uncounted && stays { News::Stayed } else { news }
                } else {
                    News::Nothing
                }
            }
            Some(Operation::Leaving { until }) if sent_at >= *until => {
                self.end_doubt(sent_at, seen)
            }
            Some(Operation::Leaving { .. }) => News::Nothing,
        }
    }

    /// Takes what a read shows after a call without a clear answer for the outcome of the call.
    fn end_doubt(&mut self, sent_at: Time, seen: &Sighting) -> News {
        let intended = self.intended.take();
        self.settle(sent_at, seen, sent_at);
        self.intended = intended;
        News::Some
    }

    /// Applies the absence from a listing, if younger than the known facts.
    pub(crate) fn miss(&mut self, sent_at: Time, now: Time, settings: &Settings) -> News {
        match &mut self.operation {
            Some(Operation::Sent { .. }) => return News::Nothing,
            Some(Operation::Accepted { since, .. }) if sent_at < *since => return News::Nothing,
            Some(Operation::Accepted { since, .. }) => {
                let tells = sent_at >= *since + settings.doubt();
                let news = self.check(now, false);
                // The direct read of a missing address shows whether the operation lost its
                // address.
                if tells || self.operation.is_none() {
                    self.lose();
                }
                return news;
            }
            Some(Operation::Uncertain { until, .. } | Operation::Leaving { until })
                if sent_at < *until =>
            {
                return News::Nothing;
            }
            Some(Operation::Uncertain { .. } | Operation::Leaving { .. }) => {
                self.operation = None;
                self.lose();
                return News::Some;
            }
            None => {}
        }
        let late = match &self.knowledge {
            Knowledge::Known { at, firm_until, .. } => sent_at <= *at || sent_at < *firm_until,
            Knowledge::Gone | Knowledge::Missing => true,
            Knowledge::Unknown => false,
        };
        if !late {
            self.lose();
        }
        (!late).into()
    }

    /// Applies a 404 of a direct read. Returns whether a fact changed. An operation accepted long
    /// enough before also ends, if a listing missed the address too.
    pub(crate) fn vanish(&mut self, sent_at: Time, settings: &Settings) -> bool {
        let over = match &self.operation {
            None => true,
            Some(Operation::Accepted { since, .. }) => {
                self.knowledge == Knowledge::Missing && sent_at >= *since + settings.doubt()
            }
            Some(
                Operation::Sent { .. } | Operation::Uncertain { .. } | Operation::Leaving { .. },
            ) => false,
        };
        let late = match &self.knowledge {
            Knowledge::Known { at, firm_until, .. } => sent_at <= *at || sent_at < *firm_until,
            Knowledge::Unknown | Knowledge::Missing => false,
            Knowledge::Gone => true,
        };
        if late || !over {
            return false;
        }
        self.operation = None;
        self.knowledge = Knowledge::Gone;
        self.intended = None;
        self.gone_at = sent_at;
        self.returned = false;
        true
    }

    /// Notes a successful release.
    pub(crate) fn released(&mut self, now: Time) {
        self.operation = None;
        self.intended = None;
        self.knowledge = Knowledge::Gone;
        self.gone_at = now;
        self.returned = true;
    }

    /// Notes the effect of our own call.
    pub(crate) fn placed(&mut self, on: Option<MachineId>, now: Time, settings: &Settings) {
        let mut seen = match std::mem::take(&mut self.knowledge) {
            Knowledge::Known { sighting, .. } => sighting,
            Knowledge::Unknown | Knowledge::Missing | Knowledge::Gone => Sighting::default(),
        };
        seen.holder = on;
        seen.busy = false;
        self.settle(now, &seen, now + settings.settle);
    }

    /// Ends the operation with these facts.
    fn settle(&mut self, at: Time, seen: &Sighting, firm_until: Time) {
        self.operation = None;
        self.intended = None;
        self.knowledge = Knowledge::Known { sighting: seen.clone(), at, firm_until };
    }

    /// Counts a read without the effect of the accepted operation, and gives up after `GIVE_UP`.
    fn check(&mut self, now: Time, busy: bool) -> News {
        let Some(Operation::Accepted { to, since, checks, idle, next_check, .. }) =
            &mut self.operation
        else {
            return News::Nothing;
        };
        *checks = checks.saturating_add(1);
        *idle = if busy { 0 } else { idle.saturating_add(1) };
        *next_check = now + confirm_after(*checks);
        if now.since(*since) <= GIVE_UP {
            return News::Some;
        }
        let to = to.take();
        self.operation = None;
        News::Overdue(to)
    }

    fn lose(&mut self) {
        self.last_holder = self.machines()[0].cloned();
        self.knowledge = Knowledge::Missing;
    }

    fn learn(&mut self, sent_at: Time, seen: &Sighting) -> bool {
        match &mut self.knowledge {
            Knowledge::Known { sighting, at, firm_until } => {
                let contradicts = sighting.holder != seen.holder;
                if sent_at <= *at || (contradicts && sent_at < *firm_until) {
                    return false;
                }
                *at = sent_at;
                let news = sighting != seen;
                *sighting = seen.clone();
                return news;
            }
            Knowledge::Gone if sent_at <= self.gone_at => return false,
            Knowledge::Gone | Knowledge::Missing | Knowledge::Unknown => {}
        }
        let sighting = seen.clone();
        self.knowledge = Knowledge::Known { sighting, at: sent_at, firm_until: sent_at };
        true
    }
}

/// Wait before the next direct read of an operation of this age. Grows with age, because listings
/// watch the operation too.
pub(crate) fn ask_again_after(age: Duration) -> Duration {
    (age / 2).clamp(Duration::from_secs(2), Duration::from_secs(30))
}

/// Wait before the next listing for an accepted operation: short at first for fast providers, then
/// two seconds.
pub(crate) fn confirm_after(checks: u32) -> Duration {
    match checks {
        0 => Duration::from_millis(250),
        1 => Duration::from_millis(500),
        2 => Duration::from_secs(1),
        _ => Duration::from_secs(2),
    }
}
