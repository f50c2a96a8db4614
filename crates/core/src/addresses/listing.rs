//! How the listings of an account are going, and what there is to say while none works.

use std::time::Duration;

use crate::Time;
use crate::action::{Failure, FailureKind};
use crate::world::Settings;

/// While somebody waits for an account, it is asked again no later than this: the trouble may
/// be over. What the cloud itself asks us to wait for is another matter.
pub(crate) const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Listings of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// One is under way.
    pub in_flight: bool,
    /// When the last good one was sent.
    pub last: Option<Time>,
    /// One is wanted, not before this.
    pub wanted: Option<Time>,
    /// How many failed since the last good one.
    pub failures: u32,
    /// None is sent before.
    pub not_before: Time,
    /// None that no move waits for is sent before: we keep it back ourselves.
    pub held_until: Time,
    /// None that nobody waits for is sent before: the last ones failed.
    pub rests_until: Time,
    /// None that somebody waits for is sent before.
    pub probed_from: Time,
    /// None has worked since this began.
    pub silence: Option<Silence>,
}

/// The cloud has not been heard since the last good listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    /// What a listing failed with: the first one of several that failed alike, so that what is
    /// said of it stays the same.
    pub failure: Failure,
    /// When it is told to pools that lack nothing: not if a single listing fails.
    pub told_from: Time,
    /// Those pools are planned again, or have been.
    pub(crate) told: bool,
}

impl Listing {
    /// When the next one may be sent, for somebody who waits for it or for nobody.
    pub(crate) fn opens(&self, awaited: bool) -> Time {
        self.not_before.max(if awaited { self.probed_from } else { self.rests_until })
    }

    /// Asks for one at `when`, unless one is due earlier.
    pub(crate) fn want(&mut self, when: Time) {
        self.wanted = Some(self.wanted.map_or(when, |wanted| wanted.min(when)));
    }

    /// One failed: the next one waits longer.
    pub(crate) fn failed(
        &mut self,
        failure: &Failure,
        now: Time,
        jitter: u16,
        settings: &Settings,
    ) {
        self.failures = self.failures.saturating_add(1);
        match failure.kind {
            FailureKind::Throttled { wait: asked } => {
                let wait = settings.back_off(self.failures, jitter).max(asked);
                self.not_before = self.not_before.max(now + wait);
            }
            _ => self.rest(now, jitter, settings),
        }
        self.want(now);
        self.fall_silent(failure, now, settings);
    }

    /// Rests after what failed.
    pub(crate) fn rest(&mut self, now: Time, jitter: u16, settings: &Settings) {
        let failures = self.failures.max(1);
        self.rests_until = now + settings.back_off(failures, jitter);
        self.probed_from = now + settings.back_off_within(failures, ASK_AGAIN, jitter);
    }

    /// Something else on this account worked: whatever kept listings from working may be over.
    pub(crate) fn take_heart(&mut self) {
        self.rests_until = self.rests_until.min(self.probed_from);
    }

    fn fall_silent(&mut self, failure: &Failure, now: Time, settings: &Settings) {
        let before = self.silence.take();
        let (told_from, told) = match &before {
            Some(silence) => (silence.told_from, silence.told),
            None => (self.last.unwrap_or(now) + settings.resync.saturating_mul(2), false),
        };
        let told_from = match failure.kind {
            // That does not pass by itself.
            FailureKind::Refused => told_from.min(now),
            _ => told_from,
        };
        let alike = before.filter(|silence| tone(&silence.failure) == tone(failure));
        let failure = alike.map_or_else(|| failure.clone(), |silence| silence.failure);
        self.silence = Some(Silence { failure, told_from, told });
    }
}

/// Failures that are told in the same words.
fn tone(failure: &Failure) -> u8 {
    match failure.kind {
        FailureKind::Refused => 0,
        FailureKind::Throttled { .. } => 1,
        _ => 2,
    }
}
