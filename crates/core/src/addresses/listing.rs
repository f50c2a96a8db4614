//! The listings of an account, and the outage that failed ones amount to.

use std::time::Duration;

use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::model::Text;
use crate::world::Settings;

/// Longest back-off of an awaited listing. A wait demanded by the provider may be longer.
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Shortest interval between two listings that failed calls ask for. One listing shows the outcome
/// of many calls, and each of many busy machines may refuse a call in turn.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// State of the listings of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Whether a listing is in flight.
    pub in_flight: bool,
    /// Sending time of the last successful listing.
    pub last: Option<Time>,
    /// Earliest time of a requested listing.
    pub wanted: Option<Time>,
    /// Number of failures since the last success.
    pub failures: u32,
    /// Earliest time of any listing.
    pub not_before: Time,
    /// Earliest time of a listing that confirms no operation. Set by our own rate limiter.
    pub held_until: Time,
    /// Earliest time of a routine listing after failures.
    pub rests_until: Time,
    /// Earliest time of an awaited listing after failures.
    pub probed_from: Time,
    /// The gap in the last successful listing, and the missing permission.
    pub limited: Option<Text>,
    /// The outage since the last successful listing.
    pub silence: Option<Silence>,
}

/// An outage: every listing since the last successful one failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The first of several failures alike, so that the message in the status stays the same.
    pub failure: Failure,
    /// Time from which fully assigned pools report the outage too. A single failure is not
    /// reported.
    pub told_from: Time,
    /// Whether fully assigned pools were already planned again because of the outage.
    pub(crate) told: bool,
}

impl Listing {
    /// Earliest time of the next listing, `awaited` by a pool or routine.
    pub(crate) fn opens(&self, awaited: bool) -> Time {
        self.not_before.max(if awaited { self.probed_from } else { self.rests_until })
    }

    /// Earliest time of a listing that a failed call asks for.
    pub(crate) fn after_failure(&self) -> Time {
        self.last.map_or(Time::default(), |last| last + BETWEEN_LOOKS)
    }

    /// Requests a listing at `when`, unless an earlier one is due.
    pub(crate) fn want(&mut self, when: Time) {
        self.wanted = Some(self.wanted.map_or(when, |wanted| wanted.min(when)));
    }

    /// Notes a failed listing, and extends the back-off.
    pub(crate) fn failed(
        &mut self,
        failure: &Failure,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        self.failures = self.failures.saturating_add(1);
        match failure.kind {
            // The provider says how long; further waiting would only delay.
            FailureKind::Throttled { wait } => {
                let wait = wait.max(settings.retry_initial);
                self.not_before = self.not_before.max(now + wait);
            }
            _ => self.rest(now, jitter, settings),
        }
        self.want(now);
        self.fall_silent(failure, now, settings);
    }

    /// Starts the back-offs after a failure.
    pub(crate) fn rest(&mut self, now: Time, jitter: u16, settings: &Settings) {
        let failures = self.failures.max(1);
        self.rests_until = now + settings.back_off(failures, jitter);
        self.probed_from = now + settings.back_off_within(failures, ASK_AGAIN, jitter);
    }

    /// Shortens the back-off of routine listings after another call on this account succeeded.
    pub(crate) fn retry_sooner(&mut self) {
        self.rests_until = self.rests_until.min(self.probed_from);
    }

    /// Ends the back-offs, because the credential was replaced, and requests a listing.
    pub(crate) fn ask_now(&mut self, now: Time) {
        self.rests_until = self.rests_until.min(now);
        self.probed_from = self.probed_from.min(now);
        self.want(now);
    }

    fn fall_silent(&mut self, failure: &Failure, now: Time, settings: &Settings) {
        let before = self.silence.take();
        let (told_from, told) = match &before {
            Some(silence) => (silence.told_from, silence.told),
            None => (self.last.unwrap_or(now) + settings.resync.saturating_mul(2), false),
        };
        let told_from = match failure.kind {
            // Refused credentials do not recover without a person.
            FailureKind::Refused => told_from.min(now),
            _ => told_from,
        };
        let alike = before.filter(|silence| tone(&silence.failure) == tone(failure));
        let failure = alike.map_or_else(|| failure.clone(), |silence| silence.failure);
        self.silence = Some(Silence { failure, told_from, told });
    }
}

/// Groups failures with the same message in a status.
fn tone(failure: &Failure) -> u8 {
    match failure.kind {
        FailureKind::Refused => 0,
        FailureKind::Throttled { .. } => 1,
        _ => 2,
    }
}
