//! Faults of selected requests.
//!
//! A [`Rule`] holds a filter of requests ([`On`]), a [`Fault`] and a count. Rules are checked in
//! the order of their creation when a request arrives. All rules that match and are not used up
//! apply together: delays add up, and the first of two answers wins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::on::On;

/// The failure that a rule causes. `A` is an answer in the form of the emulated API, `O` the
/// faults that only this API has.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault<A, O> {
    /// Answers with a failure; the request has no effect.
    Answer(A),
    /// Answers with a failure, although the request has its effect, as a gateway does after a
    /// timeout.
    AnswerAfterEffect(A),
    /// The connection breaks before the effect: no answer, no effect.
    LostBefore,
    /// The connection breaks after the effect: no answer.
    LostAfter,
    /// Delays the request before its effect.
    DelayBefore(#[serde(with = "crate::millis")] Duration),
    /// Delays the answer after the effect.
    DelayAfter(#[serde(with = "crate::millis")] Duration),
    /// A fault of the emulated API alone.
    #[serde(untagged)]
    Own(O),
}

/// Faults that a request carries as an extension, for callers in the same process that choose
/// faults per request. Applied after the faults of the rules.
#[derive(Clone, Debug)]
pub struct Carried<F>(pub Vec<F>);

/// Handle of an injected rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct RuleId(pub(crate) u64);

/// A fault with its filter and its limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule<A, O> {
    /// The requests to which the rule applies.
    #[serde(default)]
    pub on: On,
    /// The failure of these requests.
    pub fault: Fault<A, O>,
    /// Number of requests to which the rule applies; `None`: until cleared.
    #[serde(default)]
    pub times: Option<u64>,
    /// Number of matching requests that pass unharmed first.
    #[serde(default)]
    pub skip: u64,
    /// Share of the matching requests in percent, drawn from the seeded source; `None`: all.
    #[serde(default)]
    pub percent: Option<u8>,
}

impl<A, O> Rule<A, O> {
    /// Applies the fault to every matching request until cleared.
    #[must_use]
    pub fn new(on: On, fault: Fault<A, O>) -> Self {
        Self { on, fault, times: None, skip: 0, percent: None }
    }

    /// Limits the rule to a number of requests.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Limits the rule to a single request.
    #[must_use]
    pub fn once(self) -> Self {
        self.times(1)
    }

    /// Lets a number of matching requests pass first.
    #[must_use]
    pub fn skip(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    /// Limits the rule to a share of the matching requests.
    #[must_use]
    pub fn percent(mut self, percent: u8) -> Self {
        self.percent = Some(percent);
        self
    }
}
