//! One address: what is known of it, since when, and what is under way.
//!
//! ```text
//!           a read shows it            a listing leaves it out         a read says 404
//! Unknown ──────────────────> Known ──────────────────────> Missing ──────────────────> Gone
//! ```
//!
//! A read is as old as the moment it was sent, and news only if it is younger than what is
//! known. What our own call did stands for the settling time, whatever late reads say.

use std::time::Duration;

use crate::Time;
use crate::model::{MachineId, OperationId, Sighting};
use crate::world::Settings;

/// How long an accepted operation may show no effect before it counts as failed.
const GIVE_UP: Duration = Duration::from_secs(120);

/// One address of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// What is known of it.
    pub knowledge: Knowledge,
    /// A call of ours about it that is not over.
    pub operation: Option<Operation>,
    /// The machine that the last attempt was for, while it is worth trying again.
    pub intended: Option<MachineId>,
    /// A direct read of it is under way.
    pub reading: bool,
    /// The next direct read is not sent before.
    pub read_after: Time,
    /// Listings before this one do not tell where it is: a pool named it since.
    pub(crate) told_by: u64,
    /// While it is missing, or to be read anew: the machine that it was on, and may well still
    /// be on.
    pub(crate) last_holder: Option<MachineId>,
    /// While the cloud is working on it: since when, as far as reads told.
    pub(crate) busy_since: Option<Time>,
    /// While it is gone: since when.
    pub(crate) gone_at: Time,
    /// While it is gone: a call of ours gave it back.
    pub(crate) returned: bool,
}

/// What is known of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// Nothing yet.
    #[default]
    Unknown,
    /// A listing did not show it: it may be gone, or have slipped between two pages.
    Missing,
    /// It does not exist.
    Gone,
    /// It exists.
    Known {
        /// As it was seen.
        sighting: Sighting,
        /// When that was true: a read is as old as the moment it was sent.
        at: Time,
        /// Our own doing: a read that was sent before this and says otherwise is late.
        firm_until: Time,
    },
}

/// A call of ours that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// On its way.
    Sent {
        /// The machine that the address shall be on.
        to: Option<MachineId>,
    },
    /// The cloud works on it.
    Accepted {
        /// The machine that the address shall be on.
        to: Option<MachineId>,
        /// The cloud's name for it.
        id: OperationId,
        /// When it was accepted.
        since: Time,
        /// How often a listing did not show the effect yet.
        checks: u32,
        /// How many of the last of them showed the address as if nobody were working on it.
        idle: u32,
        /// When to look next.
        next_check: Time,
        /// A direct read of the operation is under way.
        reading: bool,
        /// The next direct read of the operation is not sent before.
        read_after: Time,
    },
    /// No answer came, or one that says that something else is under way: it may have
    /// happened, or may yet.
    Uncertain {
        /// The machine that the address may be on.
        to: Option<MachineId>,
        /// A read that is sent from then on tells.
        until: Time,
    },
}

impl Operation {
    /// The machine that the address shall be on.
    pub fn to(&self) -> Option<&MachineId> {
        match self {
            Self::Sent { to } | Self::Accepted { to, .. } | Self::Uncertain { to, .. } => {
                to.as_ref()
            }
        }
    }
}

/// What a read changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing.
    Nothing,
    /// Something.
    Some,
    /// An operation turned out to have worked.
    Arrived,
    /// An operation took too long and was given up.
    Overdue(Option<MachineId>),
}

impl From<bool> for News {
    fn from(some: bool) -> Self {
        if some { Self::Some } else { Self::Nothing }
    }
}

impl Address {
    /// Whether two different reads, some time apart, say that it does not exist: a direct
    /// one, and a listing that was sent at `listed`; or our own call. If not yet, from when on a listing tells.
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

    /// The cloud is working on it, whoever asked it to.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(&self.knowledge, Knowledge::Known { sighting, .. } if sighting.busy)
    }

    /// The machine that it is on or was last, and the one that it may be on or shall be on.
    pub(crate) fn machines(&self) -> [Option<&MachineId>; 2] {
        let held = match &self.knowledge {
            Knowledge::Known { sighting, .. } => sighting.holder.as_ref(),
            Knowledge::Missing | Knowledge::Unknown => self.last_holder.as_ref(),
            Knowledge::Gone => None,
        };
        [held, self.operation.as_ref().and_then(Operation::to)]
    }

    /// Only the listing with this number, or a later one, tells where it is.
    pub(crate) fn doubt_until_listing(&mut self, number: u64) {
        self.told_by = number;
        if matches!(self.knowledge, Knowledge::Known { .. }) {
            self.last_holder = self.machines()[0].cloned();
            self.knowledge = Knowledge::Unknown;
        }
    }

    /// A read says exactly what is known, and nothing is open: the usual case, told apart
    /// without changing anything but the time.
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

    /// Takes in a sighting, as far as it is news.
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
            Some(Operation::Uncertain { to, until }) => {
                if there(to) && sent_at >= *until - settings.doubt() {
                    self.settle(sent_at, seen, sent_at + settings.settle);
                    News::Arrived
                } else if sent_at >= *until {
                    let intended = self.intended.take();
                    self.settle(sent_at, seen, sent_at);
                    self.intended = intended;
                    News::Some
                } else {
                    News::Nothing
                }
            }
        }
    }

    /// Takes in that a listing did not show it, as far as that is news.
    pub(crate) fn miss(&mut self, sent_at: Time, now: Time, settings: &Settings) -> News {
        match &mut self.operation {
            Some(Operation::Sent { .. }) => return News::Nothing,
            Some(Operation::Accepted { since, .. }) if sent_at < *since => return News::Nothing,
            Some(Operation::Accepted { since, .. }) => {
                let tells = sent_at >= *since + settings.doubt();
                let news = self.check(now, false);
                // A direct read says whether the operation has lost its object.
                if tells || self.operation.is_none() {
                    self.lose();
                }
                return news;
            }
            Some(Operation::Uncertain { until, .. }) if sent_at < *until => return News::Nothing,
            Some(Operation::Uncertain { .. }) => {
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

    /// Takes in that a direct read found nothing. Returns whether that is news: the second
    /// of two different reads also ends an operation that was accepted long enough before.
    pub(crate) fn vanish(&mut self, sent_at: Time, settings: &Settings) -> bool {
        let over = match &self.operation {
            None => true,
            Some(Operation::Accepted { since, .. }) => {
                self.knowledge == Knowledge::Missing && sent_at >= *since + settings.doubt()
            }
            Some(Operation::Sent { .. } | Operation::Uncertain { .. }) => false,
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

    /// Our own call gave it back just now.
    pub(crate) fn released(&mut self, now: Time) {
        self.operation = None;
        self.intended = None;
        self.knowledge = Knowledge::Gone;
        self.gone_at = now;
        self.returned = true;
    }

    /// Our own call took effect just now.
    pub(crate) fn placed(&mut self, on: Option<MachineId>, now: Time, settings: &Settings) {
        let mut seen = match std::mem::take(&mut self.knowledge) {
            Knowledge::Known { sighting, .. } => sighting,
            Knowledge::Unknown | Knowledge::Missing | Knowledge::Gone => Sighting::default(),
        };
        seen.holder = on;
        seen.busy = false;
        self.settle(now, &seen, now + settings.settle);
    }

    /// The operation is over, and this is how it ended.
    fn settle(&mut self, at: Time, seen: &Sighting, firm_until: Time) {
        self.operation = None;
        self.intended = None;
        self.knowledge = Knowledge::Known { sighting: seen.clone(), at, firm_until };
    }

    /// The effect of an accepted operation is not there yet.
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

/// When to ask again about an operation of this age that nothing was learned of: ever more
/// rarely, for listings go on looking meanwhile.
pub(crate) fn ask_again_after(age: Duration) -> Duration {
    (age / 2).clamp(Duration::from_secs(2), Duration::from_secs(30))
}

/// When to look again for the effect of an accepted operation: soon at first, for the
/// clouds that are quick, then every two seconds.
pub(crate) fn confirm_after(checks: u32) -> Duration {
    match checks {
        0 => Duration::from_millis(250),
        1 => Duration::from_millis(500),
        2 => Duration::from_secs(1),
        _ => Duration::from_secs(2),
    }
}
