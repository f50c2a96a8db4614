//! Counts failed calls to providers and DNS hosts by cause, also calls that were held back.

use pontoon_core::action::FailureKind;
use prometheus::{IntCounterVec, Opts, Registry};

use super::metrics::registered;

/// The labels of causes.
const ERRORS: [&str; 11] = [
    "throttled",
    "held_back",
    "paced",
    "no_answer",
    "unavailable",
    "refused",
    "not_found",
    "busy",
    "quota",
    "rejected",
    "conflict",
];

/// The counter. Clones share the counter.
#[derive(Clone, Debug)]
pub(super) struct ProviderErrors(IntCounterVec);

impl ProviderErrors {
    /// A counter without series, registered at `registry`.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let opts = Opts::new("pontoon_provider_errors_total", "Failed calls, by cause.");
        let errors = IntCounterVec::new(opts, &["provider", "error"])?;
        Ok(Self(registered(registry, errors)?))
    }

    /// Counts an attempt. The first attempt at a provider starts every cause at zero, because an
    /// increase from nothing is not seen.
    pub fn count(&self, provider: &str, failure: Option<FailureKind>) {
        for error in ERRORS {
            self.0.with_label_values(&[provider, error]);
        }
        if let Some(error) = failure.and_then(word) {
            self.0.with_label_values(&[provider, error]).inc();
        }
    }

    /// Removes all series.
    pub fn clear(&self) {
        self.0.reset();
    }
}

/// The label of a failure; `None` for a call that leadership or the mode kept from being sent.
fn word(kind: FailureKind) -> Option<&'static str> {
    Some(match kind {
        FailureKind::NotSent => return None,
        FailureKind::Throttled { .. } => "throttled",
        FailureKind::HeldBack { pacing: false, .. } => "held_back",
        FailureKind::HeldBack { pacing: true, .. } => "paced",
        FailureKind::NoAnswer => "no_answer",
        FailureKind::Unavailable => "unavailable",
        FailureKind::Refused => "refused",
        FailureKind::NotFound => "not_found",
        FailureKind::Busy => "busy",
        FailureKind::Quota => "quota",
        FailureKind::Rejected => "rejected",
        FailureKind::Conflict => "conflict",
    })
}
