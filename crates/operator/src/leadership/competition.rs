//! Detects other controllers of the same objects by their Leases, as a pure state machine. Inputs
//! are sightings with their times on [`Env::elapsed`](crate::env::Env::elapsed).
//!
//! A Lease counts only in the places that are watched for it: a user with the right to write Leases
//! in a namespace of their own must not be able to stop us.
//!
//! | another controller's Lease | meaning |
//! |---|---|
//! | changed within its own duration | a rival |
//! | found held, and unchanged since | unknown until its duration is over |
//! | unchanged for its own duration (a minute or our own at most), released or gone | quiet |
//! | a predecessor's, held by a Pontoon | quiet: our own Lease says which replica acts |
//! | not read yet, or forbidden to read | unknown |

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use super::pulse::{LONGEST_DURATION, Pulse};
use super::{LEASE, lease_object};

/// A system whose objects we serve in its place, and which may still run.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Predecessor {
    /// The usual name of its Lease, by which we know the predecessor.
    pub lease: &'static str,
    /// Whether its users can choose another name for the Lease.
    pub renamable: bool,
    /// The namespace in its own installation guide.
    pub namespace: &'static str,
}

/// Prefix of the name under which a Pontoon holds a predecessor's Lease.
pub(super) const US: &str = "pontoon/";

/// The other controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rivalry {
    /// Another Pontoon that acts while we do not. Concerns every object.
    pub pontoon: Presence,
    /// Each predecessor, by the usual name of its Lease. Concerns the objects of its kinds alone.
    pub predecessors: BTreeMap<&'static str, Presence>,
}

/// Whether another controller is at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Not at work.
    Absent,
    /// Unknown, for this reason.
    Unknown(Doubt),
    /// At work.
    AtWork(Rival),
}

impl Rivalry {
    /// Whether we may act for the kinds of the predecessor whose Lease usually has this name;
    /// without a name, for every kind.
    pub fn permits(&self, lease: Option<&str>) -> bool {
        let absent = |presence: &Presence| *presence == Presence::Absent;
        let concerned = |name: &str| lease.is_none_or(|lease| lease == name);
        let mut predecessors = self.predecessors.iter().filter(|(name, _)| concerned(name));
        absent(&self.pontoon) && predecessors.all(|(_, presence)| absent(presence))
    }
}

/// Another controller at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// The rival's Lease, as `namespace/name`.
    pub lease: String,
    /// The holder of the Lease.
    pub holder: String,
}

/// Why a presence is unknown. Leases are `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The role does not let us read this Lease.
    Forbidden(String),
    /// This Lease could not be read yet.
    Unread(String),
    /// The holder of the Lease was neither seen to renew nor silent for long enough.
    Undecided(Rival),
    /// The predecessor's Lease is quiet, and could not be taken.
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
                     namespace {namespace}; grant both as the chart's roles do"
                )
            }
            Self::Unread(lease) => write!(f, "the Lease {lease} cannot be read"),
            Self::Undecided(Rival { lease, holder }) => {
                write!(f, "the Lease {lease} names {holder}, and may have been left behind")
            }
            Self::Untaken(lease) => write!(f, "the Lease {lease} cannot be taken"),
        }
    }
}

/// Namespace and name of a Lease.
pub(super) type Place = (String, String);

/// Why a Lease cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blindness {
    NotListed,
    Forbidden,
}

#[derive(Debug)]
struct Seen {
    lease: Lease,
    pulse: Pulse,
    /// Earliest time of the next attempt to hold the Lease.
    claim_at: Duration,
    /// Whether the last attempt was refused for lack of rights.
    refused: bool,
}

#[derive(Debug)]
pub(super) struct Rivals {
    /// The Lease of each predecessor: the usual name, and the name in this cluster.
    predecessors: BTreeMap<&'static str, String>,
    /// The longest duration that a Lease can claim for itself.
    longest: Duration,
    /// Our name in a predecessor's Lease.
    us: String,
    /// Places that count and cannot be seen.
    hidden: BTreeMap<Place, Blindness>,
    leases: BTreeMap<Place, Seen>,
}

impl Rivals {
    /// Rivals with Leases at `places`, of which those of `predecessors` are named: by their usual
    /// names, and by those in this cluster. Every place starts unseen. `lasts` is the duration that
    /// the user gave to Leases.
    pub fn new(
        places: &BTreeSet<Place>,
        predecessors: BTreeMap<&'static str, String>,
        identity: &str,
        lasts: Duration,
    ) -> Self {
        let hidden = places.iter().map(|place| (place.clone(), Blindness::NotListed)).collect();
        let (us, longest) = (format!("{US}{identity}"), lasts.max(LONGEST_DURATION));
        Self { predecessors, longest, us, hidden, leases: BTreeMap::new() }
    }

    /// Our name in a predecessor's Lease.
    pub fn us(&self) -> &str {
        &self.us
    }

    /// Handles a sighting at `now`: the Lease at a place, or its absence.
    pub fn seen(&mut self, place: &Place, lease: Option<Lease>, now: Duration) {
        self.hidden.remove(place);
        let Some(lease) = lease else {
            self.leases.remove(place);
            return;
        };
        let before = self.leases.get(place);
        let pulse = Pulse::felt(before.map(|before| &before.pulse), &lease, self.longest, now);
        let (claim_at, refused) =
            before.map_or((Duration::ZERO, false), |before| (before.claim_at, before.refused));
        self.leases.insert(place.clone(), Seen { lease, pulse, claim_at, refused });
    }

    /// Handles a place that became forbidden to read.
    pub fn forbidden(&mut self, place: &Place) {
        self.hidden.insert(place.clone(), Blindness::Forbidden);
    }

    /// The rivalry now, and when it may change without an event.
    pub fn judge(&self, now: Duration) -> (Rivalry, Option<Duration>) {
        let alive = self.leases.values().filter(|seen| seen.pulse.may_live(now));
        let wake = alive.map(|seen| seen.pulse.alive_until()).min();
        let of = |(usual, lease): (&&'static str, &String)| (*usual, self.presence(lease, now));
        let predecessors = self.predecessors.iter().map(of).collect();
        (Rivalry { pontoon: self.presence(LEASE, now), predecessors }, wake)
    }

    /// Whether the holder of a Lease of this name is at work, at any place.
    fn presence(&self, name: &str, now: Duration) -> Presence {
        let mut alive =
            self.leases.iter().filter(|(place, seen)| place.1 == name && seen.pulse.may_live(now));
        let first = alive.clone().next();
        let at_work = alive.find(|(_, seen)| seen.pulse.lives(now));
        match (at_work, self.blindness(name), first) {
            (Some((place, seen)), ..) => Presence::AtWork(rival(place, seen)),
            (None, Some(doubt), _) => Presence::Unknown(doubt),
            (None, None, Some((place, seen))) => {
                Presence::Unknown(Doubt::Undecided(rival(place, seen)))
            }
            (None, None, None) => Presence::Absent,
        }
    }

    /// A place of a Lease of this name that cannot be seen. A missing right comes first, because
    /// waiting does not help.
    fn blindness(&self, name: &str) -> Option<Doubt> {
        let of =
            |wanted| self.hidden.iter().find(|(place, why)| place.1 == name && **why == wanted);
        let forbidden = of(Blindness::Forbidden).map(|(at, _)| Doubt::Forbidden(words(at)));
        forbidden.or_else(|| of(Blindness::NotListed).map(|(at, _)| Doubt::Unread(words(at))))
    }

    /// A Lease of an absent predecessor to claim or renew now, if we act.
    pub fn due(&self, rivalry: &Rivalry, now: Duration) -> Option<&Lease> {
        let mut absent = self.absent(rivalry);
        absent.find(|(_, seen)| now >= seen.claim_at).map(|(_, seen)| &seen.lease)
    }

    /// Time at which the next claim is due.
    pub fn next_due(&self, rivalry: &Rivalry) -> Option<Duration> {
        self.absent(rivalry).map(|(_, seen)| seen.claim_at).min()
    }

    /// The rivalry for an acting replica: a predecessor is absent only once its Lease is ours,
    /// unless we have no right to hold the Lease.
    pub fn with_untaken(&self, mut rivalry: Rivalry) -> Rivalry {
        for (usual, presence) in &mut rivalry.predecessors {
            let name = self.predecessors.get(usual);
            let mut all = self.leases.iter().filter(|(place, _)| Some(&place.1) == name);
            let untaken = all.find(|(_, seen)| !seen.refused && !self.is_ours(&seen.lease));
            if let (Presence::Absent, Some((place, _))) = (&*presence, untaken) {
                *presence = Presence::Unknown(Doubt::Untaken(words(place)));
            }
        }
        rivalry
    }

    /// The Leases of absent predecessors.
    fn absent(&self, rivalry: &Rivalry) -> impl Iterator<Item = (&Place, &Seen)> {
        let is_absent = |usual: &str| rivalry.predecessors.get(usual) == Some(&Presence::Absent);
        let absent = move |place: &Place| {
            self.predecessors.iter().any(|(usual, name)| *name == place.1 && is_absent(usual))
        };
        self.leases.iter().filter(move |(place, _)| absent(place))
    }

    /// The predecessors' Leases held by us.
    pub fn held(&self) -> Vec<Lease> {
        let held = self.predecessors().filter(|(_, seen)| self.is_ours(&seen.lease));
        held.map(|(_, seen)| seen.lease.clone()).collect()
    }

    fn predecessors(&self) -> impl Iterator<Item = (&Place, &Seen)> {
        let theirs = |place: &Place| self.predecessors.values().any(|name| *name == place.1);
        self.leases.iter().filter(move |(place, _)| theirs(place))
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        lease_object::holder(lease) == Some(&self.us)
    }

    /// Handles the result of an attempt to hold a predecessor's Lease; `again` is the next attempt.
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

/// The result of an attempt to hold a Lease.
pub(super) enum Claim {
    /// We hold the Lease, in this version.
    Held(Box<Lease>),
    /// Another writer was faster.
    Lost,
    /// We have no right to write the Lease.
    Refused,
    /// Unknown: another controller may hold the Lease.
    Unanswered,
}

/// Namespace and name of a Lease.
pub(super) fn place(lease: &Lease) -> Place {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&lease.metadata.namespace), text(&lease.metadata.name))
}

fn words((namespace, name): &Place) -> String {
    format!("{namespace}/{name}")
}

fn rival(place: &Place, seen: &Seen) -> Rival {
    let holder = lease_object::holder(&seen.lease).unwrap_or_default().to_owned();
    Rival { lease: words(place), holder }
}
