//! Other controllers of the same objects, told by their Leases, as a pure state machine: it is
//! told what was seen, with the time of each on [`Env::elapsed`](crate::env::Env::elapsed).
//!
//! | a Lease of theirs | so |
//! |---|---|
//! | has changed, and that within its own duration | it is a rival |
//! | was found held, and has not changed since | nobody knows, until its duration is over |
//! | unchanged for its own duration, released or gone | quiet |
//! | the predecessor's, held by one of us | quiet: our own Lease says who acts |
//! | another Pontoon's, and younger than ours | it is the other who stands back |
//!
//! Times that other machines write into a Lease are never compared with a clock of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use super::{LEASE, record};

/// The Lease of the predecessor, in whatever namespace it ran.
pub const PREDECESSORS_LEASE: &str = "floating-ip-pool-controller-leader-election";

/// Begins the name under which one of us holds a predecessor's Lease.
const US: &str = "pontoon/";

/// A Lease without a duration is judged by what client-go takes for one.
const USUAL: Duration = Duration::from_secs(15);

/// Whether somebody else is at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rivalry {
    /// That is not known yet.
    Unknown,
    /// Nobody is.
    None,
    /// The predecessor is.
    Predecessor(Rival),
    /// Another installation of ours is, and goes first.
    Pontoon(Rival),
}

/// Somebody else at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Its Lease, as `namespace/name`.
    pub lease: String,
    /// Whoever holds that.
    pub holder: String,
}

/// Where a Lease is: namespace and name.
pub(super) type Place = (String, String);

#[derive(Debug)]
struct Seen {
    lease: Lease,
    /// Changed before our eyes since it was last quiet.
    renewed: bool,
    /// Its holder counts as alive until then.
    alive_until: Duration,
    /// No attempt to hold it before.
    claim_at: Duration,
    /// We may not write to it, said the answer to the last attempt.
    refused: bool,
}

#[derive(Debug)]
pub(super) struct Rivals {
    /// The Lease that we stand for ourselves.
    own: Option<Place>,
    /// What names us in a predecessor's Lease.
    us: String,
    /// Names of which not every Lease has been seen.
    unlisted: BTreeSet<&'static str>,
    leases: BTreeMap<Place, Seen>,
}

impl Rivals {
    pub fn new(own: Option<Place>, identity: &str) -> Self {
        let unlisted = [LEASE, PREDECESSORS_LEASE].into();
        Self { own, us: format!("{US}{identity}"), unlisted, leases: BTreeMap::new() }
    }

    /// What names us in a predecessor's Lease.
    pub fn us(&self) -> &str {
        &self.us
    }

    /// Every Lease of this name has been seen, or none can be.
    pub fn listed(&mut self, name: &str) {
        self.unlisted.remove(name);
    }

    /// A new list begins: what it does not show is gone.
    pub fn retain(&mut self, name: &str, shown: &BTreeSet<Place>) {
        self.leases.retain(|place, _| place.1 != name || shown.contains(place));
    }

    pub fn gone(&mut self, place: &Place) {
        self.leases.remove(place);
    }

    pub fn seen(&mut self, lease: Lease, now: Duration) {
        let place = place(&lease);
        let before = self.leases.get(&place);
        // A label is no sign of life.
        let news = before.is_none_or(|before| before.lease.spec != lease.spec);
        let free = match record::holder(&lease) {
            None => true,
            Some(holder) => place.1 == PREDECESSORS_LEASE && holder.starts_with(US),
        };
        let lasts = record::duration(&lease).unwrap_or(USUAL);
        let (renewed, alive_until) = match before {
            _ if free => (false, Duration::ZERO),
            Some(before) if !news => (before.renewed, before.alive_until),
            Some(_) => (true, now + lasts),
            None => (false, now + lasts),
        };
        let (claim_at, refused) =
            before.map_or((Duration::ZERO, false), |before| (before.claim_at, before.refused));
        self.leases.insert(place, Seen { lease, renewed, alive_until, claim_at, refused });
    }

    /// Whether somebody else is at work, and when that may change by itself.
    pub fn judge(&self, now: Duration) -> (Rivalry, Option<Duration>) {
        let alive: Vec<_> =
            self.leases.iter().filter(|(at, seen)| self.counts(at, seen, now)).collect();
        let wake = alive.iter().map(|(_, seen)| seen.alive_until).min();
        let ours = |place: &Place| place.1 == LEASE;
        // Another of us does all the work and says all there is to say: it comes first.
        let mut rivals = alive.iter().filter(|(_, seen)| seen.renewed);
        let first = rivals.clone().find(|(place, _)| ours(place)).or_else(|| rivals.next());
        let rivalry = match first {
            Some((place, seen)) => {
                let holder = record::holder(&seen.lease).unwrap_or_default().to_owned();
                let rival = Rival { lease: format!("{}/{}", place.0, place.1), holder };
                if ours(place) { Rivalry::Pontoon(rival) } else { Rivalry::Predecessor(rival) }
            }
            None if !self.unlisted.is_empty() || !alive.is_empty() => Rivalry::Unknown,
            None => Rivalry::None,
        };
        (rivalry, wake)
    }

    fn counts(&self, place: &Place, seen: &Seen, now: Duration) -> bool {
        if now >= seen.alive_until || self.own.as_ref() == Some(place) {
            return false;
        }
        let own = self.own.as_ref().and_then(|own| self.leases.get(own)).map(|own| age(&own.lease));
        place.1 == PREDECESSORS_LEASE || own.is_none_or(|own| own > age(&seen.lease))
    }

    /// A predecessor's Lease that we should write to now, as the one who acts. Each is
    /// renewed every `period`.
    pub fn due(&self, now: Duration) -> Option<&Lease> {
        self.predecessors().find(|seen| now >= seen.claim_at).map(|seen| &seen.lease)
    }

    /// When the next is due.
    pub fn next_due(&self) -> Option<Duration> {
        self.predecessors().map(|seen| seen.claim_at).min()
    }

    /// Whether every predecessor's Lease is ours, or cannot be.
    pub fn all_held(&self) -> bool {
        self.predecessors().all(|seen| seen.refused || self.is_ours(&seen.lease))
    }

    /// The predecessors' Leases that name us.
    pub fn held(&self) -> Vec<Lease> {
        let held = self.predecessors().filter(|seen| self.is_ours(&seen.lease));
        held.map(|seen| seen.lease.clone()).collect()
    }

    fn predecessors(&self) -> impl Iterator<Item = &Seen> {
        self.leases.iter().filter(|(place, _)| place.1 == PREDECESSORS_LEASE).map(|(_, seen)| seen)
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        record::holder(lease) == Some(&self.us)
    }

    /// An attempt to hold a predecessor's Lease came back; the next one is at `again`.
    pub fn claimed(&mut self, place: &Place, answer: Claim, again: Duration, now: Duration) {
        if let Claim::Held(lease) = &answer {
            self.seen((**lease).clone(), now);
        }
        if let Some(seen) = self.leases.get_mut(place) {
            seen.claim_at = again;
            seen.refused = matches!(answer, Claim::Refused);
        }
    }
}

/// What came of an attempt to hold a Lease.
pub(super) enum Claim {
    /// It is ours, and says so.
    Held(Box<Lease>),
    /// Somebody else was faster.
    Lost,
    /// We may not write to it.
    Refused,
    /// That is not known: it may be somebody else's.
    Unanswered,
}

/// Where a Lease is.
pub(super) fn place(lease: &Lease) -> Place {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&lease.metadata.namespace), text(&lease.metadata.name))
}

/// Of two installations the one whose Lease is older goes first: both see the same.
fn age(lease: &Lease) -> (Option<i64>, Option<&str>) {
    let created = lease.metadata.creation_timestamp.as_ref().map(|time| time.0.as_microsecond());
    (created, lease.metadata.uid.as_deref())
}
