//! The stance of a leader towards other controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::model::Kind;
use pontoon_core::verdict::Restraint;

use super::Mode;
use crate::execute::withhold::{Restraints, Withholding};
use crate::leadership::{Presence, Rival, Rivalry};
use crate::report::rival_metrics::{COMPETING, UNSURE};

/// How long a rivalry may be unknown before this is reported. An abandoned Lease is recognised
/// after 15 seconds.
const REPORT_UNKNOWN_AFTER: Duration = Duration::from_secs(30);

/// The stance of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stance {
    /// Plans and reports; for restrained kinds no action is carried out.
    Plans(Restraints),
    /// Waits until this time with every kind, because the rivalry will be known soon.
    Waits(Time),
    /// Does nothing, because another Pontoon acts and reports.
    Aside(Rival),
}

/// The rivalry, and since when each presence is unknown.
#[derive(Debug)]
pub(super) struct Facing {
    /// The kinds, each with the Lease of its predecessor.
    kinds: Vec<(&'static Kind, &'static str)>,
    /// Kinds of other projects that this cluster does not define. There are no objects of such a kind, so
    /// the Lease of its predecessor is not heeded.
    undefined: BTreeSet<&'static Kind>,
    rivalry: Rivalry,
    unknown_since: BTreeMap<Who, Time>,
}

/// Another Pontoon, or the predecessor with this Lease.
type Who = Option<&'static str>;

fn presences(rivalry: &Rivalry) -> impl Iterator<Item = (Who, &Presence)> {
    let predecessors = rivalry.predecessors.iter().map(|(lease, one)| (Some(*lease), one));
    predecessors.chain([(None, &rivalry.pontoon)])
}

impl Facing {
    pub fn new(kinds: Vec<(&'static Kind, &'static str)>, rivalry: Rivalry, now: Time) -> Self {
        let unknown = presences(&rivalry).filter(|(_, one)| matches!(one, Presence::Unknown(_)));
        let unknown_since = unknown.map(|(who, _)| (who, now)).collect();
        Self { kinds, undefined: BTreeSet::new(), rivalry, unknown_since }
    }

    /// Leaves kinds of other projects out until their definitions are seen.
    pub fn without(mut self, kinds: impl Iterator<Item = &'static Kind>) -> Self {
        self.undefined.extend(kinds);
        self
    }

    /// Takes whether a kind is defined. A kind of our own always counts.
    pub fn defines(&mut self, kind: &'static Kind, defined: bool) {
        if defined {
            self.undefined.remove(kind);
        }
    }

    fn counted(&self) -> impl Iterator<Item = &(&'static Kind, &'static str)> {
        self.kinds.iter().filter(|(kind, _)| !self.undefined.contains(kind))
    }

    /// Begins a term. The time for which a presence is unknown starts anew: a follower does not act, so
    /// the time before the term does not count.
    pub fn term_begins(&mut self, now: Time) {
        self.unknown_since.values_mut().for_each(|since| *since = now);
    }

    /// Takes a new rivalry. Returns whether another controller worked until now, or may have worked
    /// for long.
    pub fn rivalry_changed(&mut self, rivalry: Rivalry, now: Time) -> bool {
        let before = std::mem::replace(&mut self.rivalry, rivalry);
        let mut worked = false;
        for (who, presence) in presences(&self.rivalry) {
            let since = self.unknown_since.remove(&who).unwrap_or(now);
            match presence {
                Presence::Unknown(_) => drop(self.unknown_since.insert(who, since)),
                _ => worked |= now >= since + REPORT_UNKNOWN_AFTER,
            }
            let past = presences(&before).find(|(one, _)| *one == who);
            let was_at_work = past.is_some_and(|(_, past)| matches!(past, Presence::AtWork(_)));
            // With another holder of the same Lease the rival works on.
            worked |= was_at_work && !matches!(presence, Presence::AtWork(_));
        }
        worked
    }

    pub fn stance(&self, mode: Mode, now: Time) -> Stance {
        if let Presence::AtWork(rival) = &self.rivalry.pontoon {
            return Stance::Aside(rival.clone());
        }
        let withheld = |(kind, lease): &(&'static Kind, &'static str)| {
            Some((*kind, self.withholding(lease, mode, now)?))
        };
        let restraints = Restraints(self.counted().filter_map(withheld).collect());
        match restraints.wake() {
            Some(until) if self.counted().all(|(kind, _)| restraints.waits(kind)) => {
                Stance::Waits(until)
            }
            _ => Stance::Plans(restraints),
        }
    }

    /// The restraint on the kinds of a predecessor.
    fn withholding(&self, lease: &'static str, mode: Mode, now: Time) -> Option<Withholding> {
        let theirs = self.rivalry.predecessors.get(lease).unwrap_or(&Presence::Absent);
        if let Presence::AtWork(Rival { lease, holder }) = theirs {
            let (lease, holder) = (lease.as_str().into(), holder.as_str().into());
            return Some(Withholding::Restrained(Restraint::Competing { lease, holder }));
        }
        for (who, presence) in [(None, &self.rivalry.pontoon), (Some(lease), theirs)] {
            if let Presence::Unknown(doubt) = presence {
                let until =
                    self.unknown_since.get(&who).copied().unwrap_or(now) + REPORT_UNKNOWN_AFTER;
                let unsure =
                    || Withholding::Restrained(Restraint::Unsure(doubt.to_string().into()));
                return Some(if now < until { Withholding::Waits(until) } else { unsure() });
            }
        }
        (mode == Mode::Observe).then_some(Withholding::Restrained(Restraint::Observing))
    }
}

impl Stance {
    /// The kinds for which we do not act.
    pub fn held(&self) -> BTreeSet<&'static Kind> {
        match self {
            Self::Plans(restraints) => restraints.0.keys().copied().collect(),
            Self::Waits(_) | Self::Aside(_) => BTreeSet::new(),
        }
    }

    /// Reasons and notes of a leader that acts for no object of some kind because of another controller:
    /// one for each such controller.
    pub fn aside(&self) -> BTreeSet<(&'static str, String)> {
        match self {
            Self::Aside(Rival { lease, holder }) => {
                let note = format!(
                    "another Pontoon ({holder}) renews the Lease {lease}: this replica \
                     does nothing until the other one stops"
                );
                [(COMPETING, note)].into()
            }
            Self::Plans(restraints) => restraints.0.values().filter_map(of_another).collect(),
            Self::Waits(_) => BTreeSet::new(),
        }
    }
}

/// Reason and note of a restraint because of another controller.
fn of_another(withholding: &Withholding) -> Option<(&'static str, String)> {
    match withholding {
        Withholding::Restrained(by @ Restraint::Competing { .. }) => {
            Some((COMPETING, by.to_string()))
        }
        Withholding::Restrained(by @ Restraint::Unsure(_)) => Some((UNSURE, by.to_string())),
        Withholding::Restrained(_) | Withholding::Waits(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use pontoon_core::model::Scope;

    use super::*;
    use crate::leadership::Doubt;

    static POOLS: Kind = kind("pools");
    static ALLOCATIONS: Kind = kind("allocations");

    /// The Leases of their predecessors.
    const OF_POOLS: &str = "pools-controller";
    const OF_ALLOCATIONS: &str = "allocations-controller";

    const fn kind(name: &'static str) -> Kind {
        let (group, version, aliases, asks_for) = ("example.com", "v1", &[], &[]);
        Kind { group, version, name, plural: name, aliases, scope: Scope::Cluster, asks_for }
    }

    fn at(seconds: i64) -> Time {
        Time::from_micros(seconds * 1_000_000)
    }

    fn doubt(lease: &str) -> Presence {
        Presence::Unknown(Doubt::Unread(lease.to_owned()))
    }

    fn rival() -> Rival {
        Rival { lease: "net/theirs".to_owned(), holder: "flipop-0".to_owned() }
    }

    /// The presence of the predecessor of pools. Nobody else is at work.
    fn of_pools(presence: Presence) -> Rivalry {
        let predecessors = [(OF_POOLS, presence), (OF_ALLOCATIONS, Presence::Absent)].into();
        Rivalry { pontoon: Presence::Absent, predecessors }
    }

    /// A leader that serves pools alone.
    fn facing(presence: Presence, now: Time) -> Facing {
        Facing::new(vec![(&POOLS, OF_POOLS)], of_pools(presence), now)
    }

    fn plans(stance: &Stance) -> &Restraints {
        match stance {
            Stance::Plans(restraints) => restraints,
            other => panic!("it plans, under restraints: {other:?}"),
        }
    }

    /// The only reason to stand aside, with its note.
    fn only(stance: &Stance) -> (&'static str, String) {
        let aside = stance.aside();
        assert_eq!(aside.len(), 1, "{aside:?}");
        aside.into_iter().next().unwrap()
    }

    fn free() -> Stance {
        Stance::Plans(Restraints::default())
    }

    #[test]
    fn a_doubt_of_thirty_seconds_is_told_however_its_reason_changes() {
        let mut facing = facing(doubt("net/a"), at(100));
        assert_eq!(facing.stance(Mode::Active, at(100)), Stance::Waits(at(130)));
        assert!(!facing.rivalry_changed(of_pools(doubt("net/b")), at(120)));
        assert!(facing.stance(Mode::Active, at(129)).aside().is_empty());
        let told = facing.stance(Mode::Active, at(130));
        let (word, note) = only(&told);
        assert_eq!(word, "CompetitionUnknown");
        assert!(note.ends_with("the Lease net/b cannot be read"), "{note}");
        let unsure =
            |one: &Withholding| matches!(one, Withholding::Restrained(by) if by.is_for_another());
        assert!(plans(&told).0.get(&POOLS).is_some_and(unsure));
        let quiet = || of_pools(Presence::Absent);
        assert!(facing.rivalry_changed(quiet(), at(131)), "somebody may have been at work");
        assert_eq!(facing.stance(Mode::Active, at(131)), free());
        facing.rivalry_changed(of_pools(doubt("net/a")), at(140));
        assert_eq!(facing.stance(Mode::Active, at(140)), Stance::Waits(at(170)), "a new doubt");
        assert!(!facing.rivalry_changed(quiet(), at(145)), "a passing doubt delays nothing");
    }

    #[test]
    fn a_followers_doubt_does_not_count_in_its_term() {
        let mut facing = facing(doubt("net/a"), at(0));
        facing.term_begins(at(100));
        assert_eq!(facing.stance(Mode::Active, at(100)), Stance::Waits(at(130)));
        assert!(!facing.rivalry_changed(of_pools(Presence::Absent), at(101)));
    }

    #[test]
    fn a_predecessor_at_work_restrains_observers_too_and_is_told() {
        let mut facing = facing(Presence::AtWork(rival()), at(0));
        for mode in [Mode::Active, Mode::Observe] {
            let (word, note) = only(&facing.stance(mode, at(0)));
            assert_eq!(word, "CompetingController");
            assert!(note.contains("flipop-0 renews the Lease net/theirs"), "{note}");
        }
        let ends = facing.rivalry_changed(of_pools(Presence::Absent), at(1));
        assert!(ends, "its last calls may be under way");
        let observing = facing.stance(Mode::Observe, at(1));
        let one = Withholding::Restrained(Restraint::Observing);
        assert_eq!(observing, Stance::Plans(Restraints([(&POOLS, one)].into())));
        assert!(observing.aside().is_empty(), "nobody else is the reason");
    }

    #[test]
    fn a_predecessor_that_changes_its_own_leader_works_on() {
        let mut facing = facing(Presence::AtWork(rival()), at(0));
        let another = Rival { holder: "flipop-1".to_owned(), ..rival() };
        assert!(!facing.rivalry_changed(of_pools(Presence::AtWork(another)), at(1)));
        assert!(facing.rivalry_changed(of_pools(Presence::Absent), at(2)), "it works no more");
    }

    #[test]
    fn a_predecessor_restrains_its_own_kinds_alone() {
        let kinds = || vec![(&POOLS, OF_POOLS), (&ALLOCATIONS, OF_ALLOCATIONS)];
        let works = Facing::new(kinds(), of_pools(Presence::AtWork(rival())), at(0));
        let stance = works.stance(Mode::Active, at(0));
        assert_eq!(stance.held(), [&POOLS].into());
        assert_eq!(only(&stance).0, "CompetingController");

        let doubted = Facing::new(kinds(), of_pools(doubt("net/a")), at(0));
        let stance = doubted.stance(Mode::Active, at(29));
        assert!(plans(&stance).waits(&POOLS) && !plans(&stance).waits(&ALLOCATIONS));
        assert_eq!(plans(&stance).wake(), Some(at(30)));
        assert!(stance.aside().is_empty());
        let stance = doubted.stance(Mode::Active, at(30));
        assert_eq!((stance.held(), plans(&stance).wake()), ([&POOLS].into(), None));
        assert_eq!(only(&stance).0, "CompetitionUnknown");
    }

    #[test]
    fn two_predecessors_in_the_way_are_both_told_and_each_once() {
        static RECORDS: Kind = kind("records");
        let kinds = vec![(&POOLS, OF_POOLS), (&RECORDS, OF_POOLS), (&ALLOCATIONS, OF_ALLOCATIONS)];
        let presences =
            [(OF_POOLS, Presence::AtWork(rival())), (OF_ALLOCATIONS, doubt("kube-system/a"))];
        let rivalry = Rivalry { pontoon: Presence::Absent, predecessors: presences.into() };
        let told = Facing::new(kinds, rivalry, at(0)).stance(Mode::Active, at(30)).aside();
        let words: Vec<_> = told.iter().map(|(word, _)| *word).collect();
        assert_eq!(words, ["CompetingController", "CompetitionUnknown"]);
    }

    #[test]
    fn while_the_lease_of_another_pontoon_is_unread_every_kind_waits() {
        let unread = Rivalry { pontoon: doubt("net/pontoon"), ..of_pools(Presence::Absent) };
        let kinds = vec![(&POOLS, OF_POOLS), (&ALLOCATIONS, OF_ALLOCATIONS)];
        let facing = Facing::new(kinds, unread, at(0));
        assert_eq!(facing.stance(Mode::Observe, at(0)), Stance::Waits(at(30)));
        let both = BTreeSet::from([&POOLS, &ALLOCATIONS]);
        assert_eq!(facing.stance(Mode::Observe, at(30)).held(), both);
    }

    #[test]
    fn one_that_does_not_act_says_nothing_beside_one_that_does() {
        let acting = Presence::AtWork(rival());
        let rivalry = Rivalry { pontoon: acting, ..of_pools(Presence::Absent) };
        let facing = Facing::new(vec![(&POOLS, OF_POOLS)], rivalry, at(0));
        let stance = facing.stance(Mode::Observe, at(0));
        assert_eq!(stance, Stance::Aside(rival()));
        assert_eq!(only(&stance).0, "CompetingController");
    }
}
