//! The election as a pure state machine: it is told what was seen and what became of our
//! requests, with the time of each on [`Env::elapsed`](crate::env::Env::elapsed), and says
//! what to do next.
//!
//! | we | the Lease, as last seen | next |
//! |---|---|---|
//! | any | not read yet, or a write of ours failed | read |
//! | follow | free (released, or never held) | take it at once; settle if it says so |
//! | follow | ours (an answer got lost, or we missed the deadline) | renew it |
//! | follow | of a dead process of our own pod | take it at once; settle for its last calls |
//! | follow | another's, changed within its own duration | wait; read if nothing new comes |
//! | follow | another's, unchanged for its own duration | take it; settle first |
//! | follow | gone, its last holder seen within its duration | wait, then create it; settle first |
//! | follow | gone or never there | create it |
//! | lead | ours | renew each retry period |
//! | lead | seen in other hands | renew at once: only its answer, or a read, is proof |
//! | lead | not renewed by the deadline | step down; settle first should we lead again |
//!
//! Times that other machines write into the Lease are never compared with a clock of ours.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use super::guard::Standing;
use super::{Identity, Tenure, Timing, record};

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Read the Lease (a quorum read), then [`Election::read`].
    Read,
    /// Create the Lease as held by us, then [`Election::held`].
    Create,
    /// Replace the Lease that was last seen by one held by us, then [`Election::held`].
    Replace,
    /// [`Election::step_down`].
    StepDown,
    /// Nothing before this time, unless something is seen.
    WaitUntil(Duration),
}

/// What is left to do for one that no longer wants to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// Read the Lease, then [`Election::read`].
    Read,
    /// Replace the Lease that was last seen by a free one.
    Release,
    /// Nothing before this time.
    WaitUntil(Duration),
    /// Nothing: the Lease is not ours.
    Done,
}

/// Our hold on the Lease.
#[derive(Debug)]
struct Hold {
    tenure: Tenure,
    /// When the last renewal that got through was sent.
    renewed: Duration,
    contested: bool,
}

#[derive(Debug)]
pub(super) struct Election {
    identity: Identity,
    timing: Timing,
    /// When calls of an earlier process of our pod have taken effect.
    inherits_at: Duration,
    /// The Lease, if it was there when last seen.
    seen: Option<Lease>,
    /// When anything was last seen, changed or not.
    heard: Duration,
    /// Until when another holder that stays silent keeps us out.
    barred_until: Duration,
    /// Until when calls of an earlier leader that did not release may take effect.
    unsettled_until: Duration,
    hold: Option<Hold>,
    terms: u64,
    /// What was seen may be out of date: it has to be read before it is written.
    outdated: bool,
    /// A claim had no answer: the Lease may name us.
    in_doubt: bool,
    /// Conflicts in a row.
    conflicts: u32,
    /// After a failure, no request before this time.
    paused_until: Duration,
}

impl Election {
    /// `born` is a time after which no earlier process of our pod was alive, and `call` the
    /// hard deadline of a mutating call to a cloud.
    pub fn new(identity: Identity, timing: Timing, call: Duration, born: Duration) -> Self {
        Self {
            identity,
            timing,
            inherits_at: born + timing.settled_after_death(call),
            seen: None,
            heard: Duration::ZERO,
            barred_until: Duration::ZERO,
            unsettled_until: Duration::ZERO,
            hold: None,
            terms: 0,
            outdated: true,
            in_doubt: false,
            conflicts: 0,
            paused_until: Duration::ZERO,
        }
    }

    pub fn next(&self, now: Duration) -> Next {
        let lost_at = self.lost_at();
        if lost_at.is_some_and(|at| now >= at) {
            return Next::StepDown;
        }
        let (at, step) = self.intent(now);
        let at = at.max(self.paused_until);
        if now >= at { step } else { Next::WaitUntil(lost_at.map_or(at, |lost| at.min(lost))) }
    }

    /// When we stop leading unless a renewal gets through.
    pub fn lost_at(&self) -> Option<Duration> {
        self.hold.as_ref().map(|hold| hold.renewed + self.timing.renew_deadline)
    }

    /// The next request and when it is due.
    fn intent(&self, now: Duration) -> (Duration, Next) {
        if self.outdated {
            return (Duration::ZERO, Next::Read);
        }
        let claim = if self.seen.is_some() { Next::Replace } else { Next::Create };
        match &self.hold {
            Some(hold) if hold.contested => (Duration::ZERO, claim),
            Some(hold) => (hold.renewed + self.timing.retry_period, claim),
            None => {
                let ask_at = self.heard + self.timing.silence();
                if now < self.barred_until && ask_at < self.barred_until {
                    (ask_at, Next::Read)
                } else {
                    (self.barred_until, claim)
                }
            }
        }
    }

    /// A quorum read was answered at `now`: it is at least as new as any write of ours that
    /// was answered before, so a leader that reads another's name has lost.
    pub fn read(&mut self, found: Option<Lease>, now: Duration) {
        (self.outdated, self.in_doubt) = (false, false);
        if !found.as_ref().is_some_and(|lease| self.is_ours(lease)) {
            self.lose();
        }
        self.take(found, now);
    }

    /// We lead no more, and may lead again before calls of our own have taken effect: they
    /// are as good as another's.
    fn lose(&mut self) {
        if let Some(hold) = self.hold.take() {
            let settled = hold.renewed + self.timing.quiet(self.timing.lease);
            self.unsettled_until = self.unsettled_until.max(settled);
        }
    }

    /// The watch showed this at `now`. It may lag behind the answers to our own writes: to
    /// a leader it is a reason to make sure, to a follower it is news; a claim on the
    /// strength of old news is refused by the server.
    pub fn glimpsed(&mut self, found: Option<Lease>, now: Duration) {
        let ours = found.as_ref().is_some_and(|lease| self.is_ours(lease));
        match &mut self.hold {
            Some(hold) => hold.contested |= !ours,
            None => self.take(found, now),
        }
    }

    fn take(&mut self, found: Option<Lease>, now: Duration) {
        self.heard = now;
        if let Some(lease) = &found {
            match record::holder(lease) {
                // Whoever releases has drained, and has waited for its own predecessor; or it
                // says how long a call of its own may still take effect.
                None => {
                    self.barred_until = Duration::ZERO;
                    if self.is_change(lease) {
                        let settle = record::settle(lease);
                        self.unsettled_until = settle.map_or(Duration::ZERO, |time| now + time);
                    }
                }
                Some(name) if name == self.identity.as_str() => self.barred_until = Duration::ZERO,
                // Nobody renews it and nobody calls any more; what was sent may take effect.
                Some(name) if self.identity.is_of_our_pod(name) => {
                    self.barred_until = Duration::ZERO;
                    self.unsettled_until = self.unsettled_until.max(self.inherits_at);
                }
                Some(_) if self.is_news(lease) => {
                    let lasts = record::duration(lease).unwrap_or(self.timing.lease);
                    self.barred_until = now + lasts;
                    self.unsettled_until = self.unsettled_until.max(now + self.timing.quiet(lasts));
                    self.conflicts = 0;
                }
                Some(_) => {}
            }
        }
        self.seen = found;
    }

    /// Whether this is not the very object that we saw before.
    fn is_change(&self, lease: &Lease) -> bool {
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        let same = |before: &Lease| before.spec == lease.spec && version(before) == version(lease);
        !self.seen.as_ref().is_some_and(same)
    }

    /// Whether the holder has written since. A label or an annotation is no sign of life.
    fn is_news(&self, lease: &Lease) -> bool {
        self.seen.as_ref().is_none_or(|before| before.spec != lease.spec)
    }

    /// Our claim, sent at `sent`, was answered with `lease` at `now`.
    pub fn held(&mut self, lease: Lease, sent: Duration, now: Duration) {
        let tenure = match &self.hold {
            Some(hold) => hold.tenure,
            None => {
                self.terms += 1;
                Tenure { term: self.terms, since: now, settle_until: now.max(self.unsettled_until) }
            }
        };
        self.hold = Some(Hold { tenure, renewed: sent, contested: false });
        self.barred_until = Duration::ZERO;
        self.seen = Some(lease);
        (self.heard, self.outdated, self.in_doubt, self.conflicts) = (now, false, false, 0);
    }

    /// A write was refused because the Lease is not as we saw it. Reading it again waits
    /// for nothing the first time.
    pub fn conflict(&mut self, retry_at: Duration) {
        self.outdated = true;
        self.conflicts += 1;
        if self.conflicts > 1 {
            self.paused_until = retry_at;
        }
    }

    /// A read failed.
    pub fn unread(&mut self, retry_at: Duration) {
        self.outdated = true;
        self.paused_until = retry_at;
    }

    /// A write failed, or its answer did not come: it may have been obeyed, or may yet be.
    pub fn unanswered(&mut self, retry_at: Duration) {
        self.in_doubt = true;
        self.unread(retry_at);
    }

    /// The renew deadline has passed. The Lease may still name us, and be renewed as any
    /// other that we may take.
    pub fn step_down(&mut self) {
        self.lose();
        self.outdated = true;
    }

    /// We no longer want to lead: nothing is renewed, and no deadline counts any more.
    pub fn resign(&mut self) {
        self.hold = None;
    }

    /// After [`resign`](Self::resign): how to free a Lease that names us, so that a follower
    /// takes over at once. Not before our predecessor's calls have taken effect: it would
    /// pass for a clean handover.
    pub fn leave(&self, now: Duration) -> Leave {
        let (at, step) = match (self.outdated, self.is_named()) {
            (true, named) if named || self.in_doubt => (Duration::ZERO, Leave::Read),
            (false, true) => (self.unsettled_until, Leave::Release),
            _ => return Leave::Done,
        };
        let at = at.max(self.paused_until);
        if now >= at { step } else { Leave::WaitUntil(at) }
    }

    /// The Lease as last seen, if it exists.
    pub fn seen(&self) -> Option<&Lease> {
        self.seen.as_ref()
    }

    /// Whether the Lease, as last seen, names us.
    fn is_named(&self) -> bool {
        self.seen.as_ref().is_some_and(|lease| self.is_ours(lease))
    }

    pub fn standing(&self) -> Standing {
        match &self.hold {
            Some(Hold { tenure, renewed, contested }) => Standing::Leader {
                tenure: *tenure,
                renewed: *renewed,
                trusted_until: *renewed + self.timing.trusted(),
                contested: *contested,
            },
            None => Standing::Follower {
                leader: self
                    .seen
                    .as_ref()
                    .and_then(record::holder)
                    .filter(|name| *name != self.identity.as_str())
                    .map(str::to_owned),
            },
        }
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        record::holder(lease) == Some(self.identity.as_str())
    }
}
