//! The active rules of a cloud, applied to each arriving request.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

use crate::faults::{Answer, Fault, Loss, Rule, RuleId};
use crate::operation::Fate;

/// The parts of a request that filters need.
pub(crate) struct Arriving<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) body: &'a Bytes,
    pub(crate) mutates: bool,
}

/// The combined faults of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weather {
    pub(crate) answer: Option<Answer>,
    pub(crate) answer_after: Option<Answer>,
    pub(crate) loss: Option<Loss>,
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) duplicated: bool,
    pub(crate) action_time: Option<Duration>,
    pub(crate) action_fate: Option<Fate>,
    pub(crate) action_hidden: Option<Duration>,
    pub(crate) page_gap: bool,
}

impl Weather {
    /// Whether a rule replaces the vendor's format of the answer.
    pub(crate) fn writes_raw(&self) -> bool {
        let mut answers = self.answer.iter().chain(&self.answer_after);
        answers.any(|answer| answer.raw.is_some())
    }

    pub(crate) fn add(&mut self, fault: &Fault) {
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
            Fault::Duplicated => self.duplicated = true,
            Fault::ActionTakes(time) => self.action_time = Some(*time),
            Fault::ActionErrors => self.action_fate = Some(Fate::Errors),
            Fault::ActionIgnored => self.action_fate = Some(Fate::Ignored),
            Fault::ActionHidden(time) => self.action_hidden = Some(*time),
            Fault::PageGap => self.page_gap = true,
        }
    }
}

#[derive(Debug)]
struct Active {
    id: RuleId,
    rule: Rule,
    fitted: u64,
    hits: u64,
}

/// The rules of a cloud.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    active: Vec<Active>,
    made: u64,
}

impl Rules {
    pub(crate) fn add(&mut self, rule: Rule) -> RuleId {
        self.made += 1;
        let id = RuleId(self.made);
        self.active.push(Active { id, rule, fitted: 0, hits: 0 });
        id
    }

    /// Ends a rule; its hits stay readable until all rules are cleared.
    pub(crate) fn clear(&mut self, id: RuleId) {
        if let Some(active) = self.active.iter_mut().find(|a| a.id == id) {
            active.rule.times = Some(active.hits);
        }
    }

    pub(crate) fn clear_all(&mut self) {
        self.active.clear();
    }

    pub(crate) fn hits(&self, id: RuleId) -> u64 {
        self.active.iter().find(|a| a.id == id).map_or(0, |a| a.hits)
    }

    /// The combined faults of a request. Counts the request against each matching rule.
    pub(crate) fn weather(&mut self, request: &Arriving<'_>, dice: &mut fastrand::Rng) -> Weather {
        let mut weather = Weather::default();
        for active in &mut self.active {
            let rule = &active.rule;
            if rule.times.is_some_and(|times| active.hits >= times) || !rule.on.fits(request) {
                continue;
            }
            active.fitted += 1;
            if active.fitted <= rule.skip || rule.percent.is_some_and(|p| dice.u8(0..100) >= p) {
                continue;
            }
            active.hits += 1;
            weather.add(&rule.fault);
        }
        weather
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::On;

    fn weather(rules: &mut Rules, method: &Method, path: &str) -> Weather {
        let request =
            Arriving { method, path, body: &Bytes::new(), mutates: method != Method::GET };
        rules.weather(&request, &mut fastrand::Rng::with_seed(7))
    }

    #[test]
    fn a_rule_skips_then_hits_as_often_as_it_says_and_counts() {
        let mut rules = Rules::default();
        let id = rules.add(Rule::new(On::call("post", "/a"), Fault::LostAfter).skip(1).times(2));
        let hit: Vec<bool> =
            (0..5).map(|_| weather(&mut rules, &Method::POST, "/a").loss.is_some()).collect();
        assert_eq!(hit, [false, true, true, false, false]);
        assert_eq!(rules.hits(id), 2);
        assert!(weather(&mut rules, &Method::GET, "/a").loss.is_none());
    }

    #[test]
    fn a_cleared_rule_does_nothing_and_keeps_its_count() {
        let mut rules = Rules::default();
        let id = rules.add(Rule::new(On::reads(), Fault::DelayAfter(Duration::from_secs(1))));
        assert_eq!(weather(&mut rules, &Method::GET, "/").after, Duration::from_secs(1));
        rules.clear(id);
        assert_eq!(weather(&mut rules, &Method::GET, "/").after, Duration::ZERO);
        assert_eq!(rules.hits(id), 1);
    }
}
