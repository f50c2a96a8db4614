//! The active rules of an emulator, applied to each arriving request.

use crate::faults::{Fault, Rule, RuleId};
use crate::on::Arriving;
use crate::weather::{OwnFault, Weather};

#[derive(Debug)]
struct Active<A, O> {
    id: RuleId,
    rule: Rule<A, O>,
    fitted: u64,
    hits: u64,
    cleared: bool,
}

impl<A, O> Active<A, O> {
    /// Whether the rule strikes the request. Counts the request if its filter matches.
    fn strikes(&mut self, request: &Arriving<'_>, dice: &mut fastrand::Rng) -> bool {
        let Rule { on, times, skip, percent, .. } = &self.rule;
        let is_used_up = times.is_some_and(|times| self.hits >= times);
        if self.cleared || is_used_up || !on.fits(request) {
            return false;
        }
        self.fitted += 1;
        if self.fitted <= *skip || percent.is_some_and(|p| dice.u8(0..100) >= p) {
            return false;
        }
        self.hits += 1;
        true
    }
}

/// The rules of an emulator.
#[derive(Debug)]
pub struct Rules<A, O> {
    active: Vec<Active<A, O>>,
    made: u64,
}

impl<A, O> Default for Rules<A, O> {
    fn default() -> Self {
        Self { active: Vec::new(), made: 0 }
    }
}

impl<A, O> Rules<A, O> {
    /// Adds a rule for requests that arrive from now on.
    pub fn add(&mut self, rule: Rule<A, O>) -> RuleId {
        self.made += 1;
        let id = RuleId(self.made);
        self.active.push(Active { id, rule, fitted: 0, hits: 0, cleared: false });
        id
    }

    /// Ends a rule; its hits stay readable until `clear_all`.
    pub fn clear(&mut self, id: RuleId) {
        if let Some(active) = self.active.iter_mut().find(|a| a.id == id) {
            active.cleared = true;
        }
    }

    /// Ends all rules and forgets their hits.
    pub fn clear_all(&mut self) {
        self.active.clear();
    }

    /// Number of requests to which a rule applied.
    #[must_use]
    pub fn hits(&self, id: RuleId) -> u64 {
        self.active.iter().find(|a| a.id == id).map_or(0, |a| a.hits)
    }

    /// The fault of a rule, until the rule is cleared.
    #[must_use]
    pub fn fault(&self, id: RuleId) -> Option<&Fault<A, O>> {
        self.active.iter().find(|a| a.id == id && !a.cleared).map(|a| &a.rule.fault)
    }
}

impl<A: Clone, O: OwnFault> Rules<A, O> {
    /// The combined faults of a request: those of the rules, then those that the request carries.
    /// Counts the request against each matching rule.
    pub fn weather(
        &mut self,
        request: &Arriving<'_>,
        carried: &[Fault<A, O>],
        dice: &mut fastrand::Rng,
    ) -> Weather<A, O::Combined> {
        let mut weather = Weather::default();
        for active in &mut self.active {
            if active.strikes(request, dice) {
                weather.add(Some(active.id), &active.rule.fault);
            }
        }
        carried.iter().for_each(|fault| weather.add(None, fault));
        weather
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Method;

    use super::*;
    use crate::on::On;

    type Fault = crate::Fault<(), NoOther>;

    /// An API without faults of its own.
    enum NoOther {}

    impl OwnFault for NoOther {
        type Combined = ();

        fn add_to(&self, (): &mut (), _: Option<RuleId>) {}
    }

    fn weather(rules: &mut Rules<(), NoOther>, method: &Method, path: &str) -> Weather<(), ()> {
        let mutates = method != Method::GET;
        let request = Arriving { method, path, user_agent: "", body: b"", mutates, watches: false };
        rules.weather(&request, &[], &mut fastrand::Rng::with_seed(7))
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
