//! The election as a pure state machine. Inputs are sightings of the Lease and answers to our
//! requests, each with its time on [`Env::elapsed`](crate::env::Env::elapsed); the output is the
//! next step.
//!
//! | we | the Lease, as last seen | next |
//! |---|---|---|
//! | any | not read yet, or a write of ours failed | read |
//! | follow | free (released, or never held) | take at once; settle if the Lease says so |
//! | follow | ours (an answer got lost, or we missed the deadline) | renew |
//! | follow | of a dead process of our own pod | take at once; settle for its last calls |
//! | follow | another's, changed within its own duration | wait; read after silence |
//! | follow | another's, unchanged for its own duration | take; settle first |
//! | follow | gone, its last holder seen within its duration | wait, then create; settle first |
//! | follow | gone or never there | create |
//! | lead | ours | renew each retry period |
//! | lead | seen in other hands | renew at once: only the answer, or a read, is proof |
//! | lead | not renewed by the deadline | step down; settle before leading again |
//!
//! Times that other machines write into the Lease are never compared with a clock of ours.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use super::guard::Standing;
use super::{Identity, LONGEST_LEASE, Tenure, Timing, lease_object};

/// The next step of the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Read the Lease (a quorum read), then [`Election::read`].
    Read,
    /// Create the Lease as held by us, then [`Election::held`].
    Create,
    /// Replace the Lease as last seen with a Lease held by us, then [`Election::held`].
    Replace,
    /// [`Election::step_down`].
    StepDown,
    /// Nothing before this time, unless the watch shows something.
    WaitUntil(Duration),
}

/// The next step of a replica that has resigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// Read the Lease, then [`Election::read`].
    Read,
    /// Replace the Lease as last seen with a free Lease.
    Release,
    /// Nothing before this time.
    WaitUntil(Duration),
    /// Nothing: the Lease is not ours.
    Done,
}

/// The Lease while it is ours.
#[derive(Debug)]
struct HeldLease {
    tenure: Tenure,
    /// When the last successful renewal was sent.
    renewed: Duration,
    contested: bool,
}

#[derive(Debug)]
pub(super) struct Election {
    identity: Identity,
    timing: Timing,
    /// Time by which calls of an earlier process of our pod have taken effect.
    inherits_at: Duration,
    /// The Lease as last seen, if the Lease existed then.
    seen: Option<Lease>,
    /// Time of the last sighting, changed or not.
    heard: Duration,
    /// Until this time another holder keeps us out without renewing.
    barred_until: Duration,
    /// Until this time calls of an earlier leader that did not release may take effect.
    unsettled_until: Duration,
    held: Option<HeldLease>,
    terms: u64,
    /// Whether `seen` may be out of date. A read must come before the next write.
    outdated: bool,
    /// Whether a claim had no answer, so that the Lease may name us.
    in_doubt: bool,
    /// Conflicts in a row.
    conflicts: u32,
    /// After a failure, earliest time of the next request.
    paused_until: Duration,
}

impl Election {
    /// An election that has seen nothing. `born` is a time after which no earlier process of our
    /// pod was alive, and `call` the hard deadline of a mutating call to a provider.
    pub fn new(identity: Identity, timing: Timing, call: Duration, born: Duration) -> Self {
        Self {
            identity,
            timing,
            inherits_at: born + timing.settled_after_death(call),
            seen: None,
            heard: Duration::ZERO,
            barred_until: Duration::ZERO,
            unsettled_until: Duration::ZERO,
            held: None,
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

    /// Time at which we stop leading unless a renewal succeeds.
    pub fn lost_at(&self) -> Option<Duration> {
        self.held.as_ref().map(|held| held.renewed + self.timing.renew_deadline)
    }

    /// The next request and when it is due.
    fn intent(&self, now: Duration) -> (Duration, Next) {
        if self.outdated {
            return (Duration::ZERO, Next::Read);
        }
        let claim = if self.seen.is_some() { Next::Replace } else { Next::Create };
        match &self.held {
            Some(held) if held.contested => (Duration::ZERO, claim),
            Some(held) => (held.renewed + self.timing.retry_period, claim),
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

    /// Handles the answer to a quorum read. The answer is at least as new as any answered write of
    /// ours, so a leader that reads another's name has lost.
    pub fn read(&mut self, found: Option<Lease>, now: Duration) {
        (self.outdated, self.in_doubt) = (false, false);
        if !found.as_ref().is_some_and(|lease| self.is_ours(lease)) {
            self.lose();
        }
        self.take(found, now);
    }

    /// Ends our leadership. Our own calls may still take effect when we lead again, so they count
    /// as a previous leader's.
    fn lose(&mut self) {
        if let Some(held) = self.held.take() {
            let settled = held.renewed + self.timing.quiet(self.timing.lease);
            self.unsettled_until = self.unsettled_until.max(settled);
        }
    }

    /// Handles a sighting by the watch, which may lag behind the answers to our writes. A leader
    /// renews to make sure; a follower accepts the sighting, because the server refuses a claim
    /// based on an old version.
    pub fn glimpsed(&mut self, found: Option<Lease>, now: Duration) {
        let ours = found.as_ref().is_some_and(|lease| self.is_ours(lease));
        match &mut self.held {
            Some(held) => held.contested |= !ours,
            None => self.take(found, now),
        }
    }

    fn take(&mut self, found: Option<Lease>, now: Duration) {
        self.heard = now;
        if let Some(lease) = &found {
            match lease_object::holder(lease) {
                // A releasing holder has drained its calls and waited for its own predecessor;
                // otherwise the annotation says how long a call may still take effect.
                None => {
                    self.barred_until = Duration::ZERO;
                    if self.is_change(lease) {
                        let settle = lease_object::settle(lease);
                        self.unsettled_until = settle.map_or(Duration::ZERO, |time| now + time);
                    }
                }
                Some(name) if name == self.identity.as_str() => self.barred_until = Duration::ZERO,
                // A dead holder neither renews nor calls; its last calls may still take effect.
                Some(name) if self.identity.is_of_our_pod(name) => {
                    self.barred_until = Duration::ZERO;
                    self.unsettled_until = self.unsettled_until.max(self.inherits_at);
                }
                Some(_) if self.is_news(lease) => {
                    let lasts = lease_object::duration(lease).unwrap_or(self.timing.lease);
                    // A Lease that somebody else wrote could keep us out for decades.
                    let lasts = lasts.min(self.timing.lease.max(LONGEST_LEASE));
                    self.barred_until = now + lasts;
                    self.unsettled_until = self.unsettled_until.max(now + self.timing.quiet(lasts));
                    self.conflicts = 0;
                }
                Some(_) => {}
            }
        }
        self.seen = found;
    }

    /// Whether the object differs from the last sighting.
    fn is_change(&self, lease: &Lease) -> bool {
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        let same = |before: &Lease| before.spec == lease.spec && version(before) == version(lease);
        !self.seen.as_ref().is_some_and(same)
    }

    /// Whether the holder has written since.
    fn is_news(&self, lease: &Lease) -> bool {
        let sign = lease_object::sign_of_life;
        self.seen.as_ref().is_none_or(|before| sign(before) != sign(lease))
    }

    /// Handles a successful claim: sent at `sent`, answered with `lease` at `now`.
    pub fn held(&mut self, lease: Lease, sent: Duration, now: Duration) {
        let tenure = match &self.held {
            Some(held) => held.tenure,
            None => {
                self.terms += 1;
                Tenure { term: self.terms, since: now, settle_until: now.max(self.unsettled_until) }
            }
        };
        self.held = Some(HeldLease { tenure, renewed: sent, contested: false });
        self.barred_until = Duration::ZERO;
        self.seen = Some(lease);
        (self.heard, self.outdated, self.in_doubt, self.conflicts) = (now, false, false, 0);
    }

    /// Handles a write that was refused because the Lease has changed. The first re-read happens at
    /// once.
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

    /// Handles a write that failed or had no answer: the write may have taken effect, or may yet.
    pub fn unanswered(&mut self, retry_at: Duration) {
        self.in_doubt = true;
        self.unread(retry_at);
    }

    /// Steps down after the renew deadline. A Lease that still names us can be taken again by a
    /// follower's claim.
    pub fn step_down(&mut self) {
        self.lose();
        self.outdated = true;
    }

    /// Stops leading for good: no renewals, no deadline.
    pub fn resign(&mut self) {
        self.held = None;
    }

    /// The next step after [`resign`](Self::resign): frees a Lease that names us, so that a
    /// follower takes over at once. Waits until the predecessor's calls have taken effect, because
    /// a free Lease means a clean handover.
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
        match &self.held {
            Some(HeldLease { tenure, renewed, contested }) => Standing::Leader {
                tenure: *tenure,
                renewed: *renewed,
                trusted_until: *renewed + self.timing.trusted(),
                contested: *contested,
            },
            None => Standing::Follower {
                leader: self
                    .seen
                    .as_ref()
                    .and_then(lease_object::holder)
                    .filter(|name| *name != self.identity.as_str())
                    .map(str::to_owned),
            },
        }
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        lease_object::holder(lease) == Some(self.identity.as_str())
    }
}
