//! The stance of a leader towards other controllers.

use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::verdict::Restraint;

use super::Mode;
use crate::leadership::{Rival, Rivalry};
use crate::report::standing::{COMPETING, UNSURE};

/// How long a rivalry may be unknown before this is reported. An abandoned Lease is recognised
/// after 15 seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The stance of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stance {
    /// Plans and reports; under a restraint no action is carried out.
    Plans(Option<Restraint>),
    /// Waits until this time, because the rivalry will be known soon.
    Waits(Time),
    /// Does nothing, because another Pontoon acts and reports.
    Aside(Rival),
}

/// The rivalry, and since when it is unknown.
#[derive(Debug)]
pub(super) struct Facing {
    rivalry: Rivalry,
    unknown_since: Option<Time>,
}

impl Facing {
    pub fn new(rivalry: Rivalry, now: Time) -> Self {
        let unknown_since = matches!(rivalry, Rivalry::Unknown(_)).then_some(now);
        Self { rivalry, unknown_since }
    }

    /// Begins a term. A follower's doubt concerned nobody.
    pub fn term_begins(&mut self, now: Time) {
        self.unknown_since = self.unknown_since.map(|_| now);
    }

    /// Takes a new rivalry. Returns whether another controller worked until now, or may have worked
    /// for long.
    pub fn rivalry_changed(&mut self, rivalry: Rivalry, now: Time) -> bool {
        let since = self.unknown_since.unwrap_or(now);
        let unknown = matches!(rivalry, Rivalry::Unknown(_));
        let doubted = !unknown && now >= since + PATIENCE;
        self.unknown_since = unknown.then_some(since);
        let before = std::mem::replace(&mut self.rivalry, rivalry);
        doubted || matches!(before, Rivalry::Predecessor(_) | Rivalry::Pontoon(_))
    }

    pub fn stance(&self, mode: Mode, now: Time) -> Stance {
        let restraint = match &self.rivalry {
            Rivalry::Pontoon(rival) => return Stance::Aside(rival.clone()),
            Rivalry::Unknown(doubt) => {
                let until = self.unknown_since.unwrap_or(now) + PATIENCE;
                if now < until {
                    return Stance::Waits(until);
                }
                Some(Restraint::Unsure(doubt.to_string().into()))
            }
            Rivalry::Predecessor(Rival { lease, holder }) => Some(Restraint::Competing {
                lease: lease.as_str().into(),
                holder: holder.as_str().into(),
            }),
            Rivalry::None => (mode == Mode::Observe).then_some(Restraint::Observing),
        };
        Stance::Plans(restraint)
    }
}

impl Stance {
    /// The restraint on every object.
    pub fn restraint(&self) -> Option<&Restraint> {
        match self {
            Self::Plans(restraint) => restraint.as_ref(),
            Self::Waits(_) | Self::Aside(_) => None,
        }
    }

    /// Reason and note of a leader that acts for no object because of another controller.
    pub fn aside(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Aside(Rival { lease, holder }) => {
                let note = format!(
                    "another Pontoon ({holder}) renews the Lease {lease}: this one does nothing \
                     until it stops"
                );
                Some((COMPETING, note))
            }
            Self::Plans(Some(by @ Restraint::Competing { .. })) => {
                Some((COMPETING, by.to_string()))
            }
            Self::Plans(Some(by @ Restraint::Unsure(_))) => Some((UNSURE, by.to_string())),
            Self::Plans(_) | Self::Waits(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leadership::Doubt;

    fn at(seconds: i64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    fn doubt(lease: &str) -> Rivalry {
        Rivalry::Unknown(Doubt::Unread(lease.to_owned()))
    }

    fn rival() -> Rival {
        Rival { lease: "net/theirs".to_owned(), holder: "flipop-0".to_owned() }
    }

    #[test]
    fn a_doubt_of_thirty_seconds_is_told_however_its_reason_changes() {
        let mut facing = Facing::new(doubt("net/a"), at(100));
        assert_eq!(facing.stance(Mode::Active, at(100)), Stance::Waits(at(130)));
        assert!(!facing.rivalry_changed(doubt("net/b"), at(120)));
        assert_eq!(facing.stance(Mode::Active, at(129)).aside(), None);
        let told = facing.stance(Mode::Active, at(130));
        let (word, note) = told.aside().unwrap();
        assert_eq!(word, "CompetitionUnknown");
        assert!(note.ends_with("the lease net/b cannot be read"), "{note}");
        assert!(told.restraint().is_some_and(Restraint::is_for_another));
        assert!(facing.rivalry_changed(Rivalry::None, at(131)), "somebody may have been at work");
        assert_eq!(facing.stance(Mode::Active, at(131)), Stance::Plans(None));
        facing.rivalry_changed(doubt("net/a"), at(140));
        assert_eq!(facing.stance(Mode::Active, at(140)), Stance::Waits(at(170)), "a new doubt");
        assert!(!facing.rivalry_changed(Rivalry::None, at(145)), "a passing doubt delays nothing");
    }

    #[test]
    fn a_followers_doubt_does_not_count_in_its_term() {
        let mut facing = Facing::new(doubt("net/a"), at(0));
        facing.term_begins(at(100));
        assert_eq!(facing.stance(Mode::Active, at(100)), Stance::Waits(at(130)));
        assert!(!facing.rivalry_changed(Rivalry::None, at(101)));
    }

    #[test]
    fn a_predecessor_at_work_restrains_observers_too_and_is_told() {
        let mut facing = Facing::new(Rivalry::Predecessor(rival()), at(0));
        for mode in [Mode::Active, Mode::Observe] {
            let (word, note) = facing.stance(mode, at(0)).aside().unwrap();
            assert_eq!(word, "CompetingController");
            assert!(note.contains("flipop-0 renews the lease net/theirs"), "{note}");
        }
        assert!(facing.rivalry_changed(Rivalry::None, at(1)), "its last calls may be under way");
        let observing = Stance::Plans(Some(Restraint::Observing));
        assert_eq!(facing.stance(Mode::Observe, at(1)), observing);
        assert_eq!(observing.aside(), None, "nobody else is the reason");
    }

    #[test]
    fn one_that_does_not_act_says_nothing_beside_one_that_does() {
        let facing = Facing::new(Rivalry::Pontoon(rival()), at(0));
        let stance = facing.stance(Mode::Observe, at(0));
        assert_eq!(stance, Stance::Aside(rival()));
        assert_eq!(stance.aside().unwrap().0, "CompetingController");
    }
}
