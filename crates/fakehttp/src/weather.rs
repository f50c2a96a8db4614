//! The combined faults of a request.

use std::time::Duration;

use crate::faults::{Fault, RuleId};
use crate::passage::Loss;

/// A fault that only one API has.
pub trait OwnFault {
    /// The combined faults of this kind.
    type Combined: Default;

    /// Adds the fault. `rule` is the rule that caused it; `None` if the request carries it.
    fn add_to(&self, combined: &mut Self::Combined, rule: Option<RuleId>);
}

/// The combined faults of a request.
#[derive(Clone, Debug)]
pub struct Weather<A, C> {
    /// Replaces the answer; the request has no effect.
    pub answer: Option<A>,
    /// Replaces the answer after the effect.
    pub answer_after: Option<A>,
    /// The answer is lost.
    pub loss: Option<Loss>,
    /// Delay from arrival to effect.
    pub before: Duration,
    /// Delay from effect to answer.
    pub after: Duration,
    /// The combined faults of the emulated API alone.
    pub own: C,
}

impl<A, C: Default> Default for Weather<A, C> {
    fn default() -> Self {
        let (before, after) = (Duration::ZERO, Duration::ZERO);
        Self { answer: None, answer_after: None, loss: None, before, after, own: C::default() }
    }
}

impl<A: Clone, C> Weather<A, C> {
    /// Adds a fault of a rule, or one that the request carries.
    pub(crate) fn add<O>(&mut self, rule: Option<RuleId>, fault: &Fault<A, O>)
    where
        O: OwnFault<Combined = C>,
    {
        match fault {
            Fault::Answer(answer) => {
                self.answer.get_or_insert_with(|| answer.clone());
            }
            Fault::AnswerAfterEffect(answer) => {
                self.answer_after.get_or_insert_with(|| answer.clone());
            }
            Fault::LostBefore => self.loss = Some(Loss::BeforeEffect),
            Fault::LostAfter => {
                self.loss.get_or_insert(Loss::AfterEffect);
            }
            Fault::DelayBefore(delay) => self.before += *delay,
            Fault::DelayAfter(delay) => self.after += *delay,
            Fault::Own(own) => own.add_to(&mut self.own, rule),
        }
    }
}
