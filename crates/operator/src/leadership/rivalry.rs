//! Other controllers of the same objects, told by their Leases, as a pure state machine: it is
//! told what was seen, with the time of each on [`Env::elapsed`](crate::env::Env::elapsed).
//!
//! A Lease counts in the places that are watched for it, and nowhere else: whoever may write
//! Leases in a namespace of their own must not be able to stop us.
//!
//! | a Lease of theirs | so |
//! |---|---|
//! | has changed, and that within its own duration | it is a rival |
//! | was found held, and has not changed since | nobody knows, until its duration is over |
//! | unchanged for its own duration (a minute at most), released or gone | quiet |
//! | the predecessor's, held by one of us | quiet: our own Lease says who acts |
//! | not read yet, or we may not read it | nobody knows |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use super::pulse::Pulse;
use super::{LEASE, record};

/// The Lease of the predecessor.
pub const PREDECESSORS_LEASE: &str = "floating-ip-pool-controller-leader-election";

/// The namespace that the predecessor's documents install it into.
pub const PREDECESSORS_NAMESPACE: &str = "flipop";

/// Begins the name under which one of us holds a predecessor's Lease.
pub(super) const US: &str = "pontoon/";

/// Whether somebody else is at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rivalry {
    /// That is not known.
    Unknown(Doubt),
    /// Nobody is.
    None,
    /// The predecessor is.
    Predecessor(Rival),
    /// Another of us is, which acts, and we do not.
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

/// Why it is not known whether somebody else is at work. Leases are `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The role does not let us read this Lease.
    Forbidden(String),
    /// This Lease could not be read yet.
    Unread(String),
    /// This Lease has a holder that was neither seen to renew it nor silent for long enough.
    Undecided(Rival),
    /// This Lease of the predecessor's is quiet, and could not be taken.
    Untaken(String),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(lease) => {
                let (namespace, name) = lease.split_once('/').unwrap_or(("", lease));
                write!(
                    f,
                    "no right to list and watch leases.coordination.k8s.io named {name} in \
                     namespace {namespace}; grant both as deploy/rbac.yaml does"
                )
            }
            Self::Unread(lease) => write!(f, "the lease {lease} cannot be read"),
            Self::Undecided(Rival { lease, holder }) => {
                write!(f, "the lease {lease} names {holder}, and may have been left behind")
            }
            Self::Untaken(lease) => write!(f, "the lease {lease} cannot be taken"),
        }
    }
}

/// Where a Lease is: namespace and name.
pub(super) type Place = (String, String);

/// What hides a Lease from us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blindness {
    NotListed,
    Forbidden,
}

#[derive(Debug)]
struct Seen {
    lease: Lease,
    pulse: Pulse,
    /// No attempt to hold it before.
    claim_at: Duration,
    /// We may not write to it, said the answer to the last attempt.
    refused: bool,
}

#[derive(Debug)]
pub(super) struct Rivals {
    /// What names us in a predecessor's Lease.
    us: String,
    /// The places that count and cannot be seen.
    hidden: BTreeMap<Place, Blindness>,
    leases: BTreeMap<Place, Seen>,
}

impl Rivals {
    /// Rivals that hold Leases at `places`, of which none was seen yet.
    pub fn new(places: &BTreeSet<Place>, identity: &str) -> Self {
        let hidden = places.iter().map(|place| (place.clone(), Blindness::NotListed)).collect();
        Self { us: format!("{US}{identity}"), hidden, leases: BTreeMap::new() }
    }

    /// What names us in a predecessor's Lease.
    pub fn us(&self) -> &str {
        &self.us
    }

    /// The Lease at a place, or that there is none, was seen at `now`.
    pub fn seen(&mut self, place: &Place, lease: Option<Lease>, now: Duration) {
        self.hidden.remove(place);
        let Some(lease) = lease else {
            self.leases.remove(place);
            return;
        };
        let before = self.leases.get(place);
        let pulse = Pulse::felt(before.map(|before| &before.pulse), &lease, now);
        let (claim_at, refused) =
            before.map_or((Duration::ZERO, false), |before| (before.claim_at, before.refused));
        self.leases.insert(place.clone(), Seen { lease, pulse, claim_at, refused });
    }

    /// We may not see the Lease at a place, or not any more.
    pub fn forbidden(&mut self, place: &Place) {
        self.hidden.insert(place.clone(), Blindness::Forbidden);
    }

    /// Whether somebody else is at work, and when that may change by itself.
    pub fn judge(&self, now: Duration) -> (Rivalry, Option<Duration>) {
        let alive: Vec<_> =
            self.leases.iter().filter(|(_, seen)| seen.pulse.may_live(now)).collect();
        let wake = alive.iter().map(|(_, seen)| seen.pulse.alive_until()).min();
        let ours = |place: &Place| place.1 == LEASE;
        // Another of us does all the work and says all there is to say: it comes first.
        let mut rivals = alive.iter().filter(|(_, seen)| seen.pulse.lives(now));
        let first = rivals.clone().find(|(place, _)| ours(place)).or_else(|| rivals.next());
        let rivalry = match (first, self.blindness(), alive.first()) {
            (Some((place, seen)), ..) if ours(place) => Rivalry::Pontoon(rival(place, seen)),
            (Some((place, seen)), ..) => Rivalry::Predecessor(rival(place, seen)),
            (None, Some(doubt), _) => Rivalry::Unknown(doubt),
            (None, None, Some((place, seen))) => {
                Rivalry::Unknown(Doubt::Undecided(rival(place, seen)))
            }
            (None, None, None) => Rivalry::None,
        };
        (rivalry, wake)
    }

    /// What cannot be seen; a right that is missing does not come by itself, and goes first.
    fn blindness(&self) -> Option<Doubt> {
        let of = |wanted| self.hidden.iter().find(|(_, why)| **why == wanted);
        let forbidden = of(Blindness::Forbidden).map(|(at, _)| Doubt::Forbidden(words(at)));
        forbidden.or_else(|| of(Blindness::NotListed).map(|(at, _)| Doubt::Unread(words(at))))
    }

    /// A predecessor's Lease that we should write to now, as the one who acts.
    pub fn due(&self, now: Duration) -> Option<&Lease> {
        self.predecessors().find(|(_, seen)| now >= seen.claim_at).map(|(_, seen)| &seen.lease)
    }

    /// When the next is due.
    pub fn next_due(&self) -> Option<Duration> {
        self.predecessors().map(|(_, seen)| seen.claim_at).min()
    }

    /// A predecessor's Lease that is not ours, and could be.
    pub fn untaken(&self) -> Option<Doubt> {
        let mut all = self.predecessors();
        let (place, _) = all.find(|(_, seen)| !seen.refused && !self.is_ours(&seen.lease))?;
        Some(Doubt::Untaken(words(place)))
    }

    /// The predecessors' Leases that name us.
    pub fn held(&self) -> Vec<Lease> {
        let held = self.predecessors().filter(|(_, seen)| self.is_ours(&seen.lease));
        held.map(|(_, seen)| seen.lease.clone()).collect()
    }

    fn predecessors(&self) -> impl Iterator<Item = (&Place, &Seen)> {
        self.leases.iter().filter(|(place, _)| place.1 == PREDECESSORS_LEASE)
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        record::holder(lease) == Some(&self.us)
    }

    /// An attempt to hold a predecessor's Lease came back; the next one is at `again`.
    pub fn claimed(&mut self, place: &Place, answer: Claim, again: Duration, now: Duration) {
        if let Claim::Held(lease) = &answer {
            self.seen(place, Some((**lease).clone()), now);
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

fn words((namespace, name): &Place) -> String {
    format!("{namespace}/{name}")
}

fn rival(place: &Place, seen: &Seen) -> Rival {
    let holder = record::holder(&seen.lease).unwrap_or_default().to_owned();
    Rival { lease: words(place), holder }
}
