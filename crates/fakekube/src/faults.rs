//! The faults of an API server, beside those that all emulators have.

use std::time::Duration;

use fakehttp::{OwnFault, RuleId};

/// The failure that a rule causes.
pub type Fault = fakehttp::Fault<Answer, KubeFault>;

/// A fault with its filter and its limits.
pub type Rule = fakehttp::Rule<Answer, KubeFault>;

/// The active rules of a server.
pub(crate) type Rules = fakehttp::Rules<Answer, KubeFault>;

/// The combined faults of a request.
pub(crate) type Weather = fakehttp::Weather<Answer, KubeWeather>;

/// A request that has arrived.
pub(crate) type Arrival = fakehttp::Arrival<Answer, KubeWeather>;

/// A failure that replaces the server's answer, as a Status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code: 409, 429, 500, 503, ...
    pub status: u16,
    /// Message of the Status; by default the usual message for the code.
    pub message: Option<String>,
    /// Seconds in `Retry-After`, as with 429 and 503.
    pub retry_after: Option<u64>,
}

impl Answer {
    /// A status code with its usual message.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, message: None, retry_after: None }
    }

    /// Replaces the usual message.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        self.message = Some(message.to_owned());
        self
    }

    /// Adds `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

/// The faults that only API servers have. Staleness outlasts a request, so the `Stale*` faults need
/// a rule and are ignored if a request carries them.
#[derive(Clone, Debug)]
pub enum KubeFault {
    /// Simulates a replica with a stuck watch cache: watches, and reads with `resourceVersion` set,
    /// see no writes after the given resource version while the rule holds. Other reads are
    /// consistent, as on a real server. See [`crate::FakeKube::freeze`].
    StaleCache(u64),
    /// As [`KubeFault::StaleCache`], but for all reads. No healthy server behaves so.
    StaleReads(u64),
    /// Breaks a watch after the given time.
    WatchBreaks(Duration),
}

impl KubeFault {
    /// The last resource version that a read can see.
    pub(crate) fn sees(&self, consistent: bool) -> Option<u64> {
        match self {
            Self::StaleCache(at) if !consistent => Some(*at),
            Self::StaleReads(at) => Some(*at),
            _ => None,
        }
    }
}

/// The combined faults that only API servers have.
#[derive(Clone, Debug, Default)]
pub struct KubeWeather {
    pub(crate) stale: Option<RuleId>,
    pub(crate) breaks_after: Option<Duration>,
}

impl OwnFault for KubeFault {
    type Combined = KubeWeather;

    fn add_to(&self, weather: &mut KubeWeather, rule: Option<RuleId>) {
        match self {
            Self::StaleCache(_) | Self::StaleReads(_) => weather.stale = weather.stale.or(rule),
            Self::WatchBreaks(after) => weather.breaks_after = Some(*after),
        }
    }
}
