//! The active rules of a server, applied to each arriving request.

use std::time::Duration;

use crate::call::Call;
use crate::faults::{Answer, Fault, Rule, RuleId};
use crate::ids::Ids;
use crate::record::Loss;

/// The combined faults of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weather {
    pub(crate) answer: Option<Answer>,
    pub(crate) answer_after: Option<Answer>,
    pub(crate) loss: Option<Loss>,
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) stale: Option<RuleId>,
    pub(crate) breaks_after: Option<Duration>,
}

impl Weather {
    /// Adds a fault that the request carries itself.
    pub(crate) fn carry(&mut self, fault: &Fault) {
        if !matches!(fault, Fault::StaleCache(_) | Fault::StaleReads(_)) {
            // Rule ids only matter for staleness.
            self.add(RuleId(0), fault);
        }
    }

    fn add(&mut self, id: RuleId, fault: &Fault) {
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
            Fault::StaleCache(_) | Fault::StaleReads(_) => {
                self.stale.get_or_insert(id);
            }
            Fault::WatchBreaks(after) => self.breaks_after = Some(*after),
        }
    }
}

#[derive(Debug)]
struct Active {
    id: RuleId,
    rule: Rule,
    fitted: u64,
    hits: u64,
    cleared: bool,
}

/// The rules of a server.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    active: Vec<Active>,
    made: u64,
}

impl Rules {
    pub(crate) fn add(&mut self, rule: Rule) -> RuleId {
        self.made += 1;
        let id = RuleId(self.made);
        self.active.push(Active { id, rule, fitted: 0, hits: 0, cleared: false });
        id
    }

    /// Ends a rule; its hits stay readable until `clear_all`.
    pub(crate) fn clear(&mut self, id: RuleId) {
        if let Some(active) = self.active.iter_mut().find(|a| a.id == id) {
            active.cleared = true;
        }
    }

    pub(crate) fn clear_all(&mut self) {
        self.active.clear();
    }

    pub(crate) fn hits(&self, id: RuleId) -> u64 {
        self.active.iter().find(|a| a.id == id).map_or(0, |a| a.hits)
    }

    /// The last visible resource version under a staleness rule, while the rule holds.
    pub(crate) fn sees(&self, id: RuleId, consistent: bool) -> Option<u64> {
        let active = self.active.iter().find(|a| a.id == id && !a.cleared)?;
        match active.rule.fault {
            Fault::StaleCache(at) if !consistent => Some(at),
            Fault::StaleReads(at) => Some(at),
            _ => None,
        }
    }

    /// The combined faults of a request. Counts the request against each matching rule.
    pub(crate) fn weather(&mut self, call: &Call, dice: &mut Ids) -> Weather {
        let mut weather = Weather::default();
        for active in self.active.iter_mut().filter(|active| !active.cleared) {
            let rule = &active.rule;
            if rule.times.is_some_and(|times| active.hits >= times) || !rule.on.fits(call) {
                continue;
            }
            active.fitted += 1;
            if active.fitted <= rule.skip || rule.percent.is_some_and(|p| dice.percent() >= p) {
                continue;
            }
            active.hits += 1;
            weather.add(active.id, &rule.fault);
        }
        weather
    }
}
