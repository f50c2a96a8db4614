//! Invariants of every state, and examples that must be reachable.

use stateright::Property;

use crate::cloud::{Call, OURS, Place, Request, STRANGER, present};
use crate::cluster::INTENTS;
use crate::planner::Desk;
use crate::protections::Mark;
use crate::replica::Progress;
use crate::{Protocol, State};

/// The invariants of every state, numbered as in the simulation's oracle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// S3: no two calls that may still take effect concern the same address or node.
    OneCallAtATime,
    /// S4: an assignment takes an address only from the node seen by the sender. Eligibility of the
    /// node is not considered, so the invariant is stronger than S4.
    NothingTakenAway,
    /// S10: all calls that may still take effect were decided in a single term. Neither do two
    /// replicas act at once, nor does a replica act across the loss of its Lease.
    OneTermAtATime,
    /// S1: no more addresses exist than are wanted.
    NeverTooMany,
    /// S2: every reserved address is in the ledger, or carries the mark of an open intent that does
    /// not name the address as a stranger.
    NothingLost,
    /// S6: no stranger is in the ledger or moved.
    NothingStolen,
}

impl Invariant {
    /// All invariants.
    pub const ALL: [Self; 6] = [
        Self::NeverTooMany,
        Self::NothingLost,
        Self::OneCallAtATime,
        Self::NothingTakenAway,
        Self::NothingStolen,
        Self::OneTermAtATime,
    ];

    /// The number and content, for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::NeverTooMany => "S1 never too many addresses",
            Self::NothingLost => "S2 no created address is lost",
            Self::OneCallAtATime => "S3 one call at a time about an address or a node",
            Self::NothingTakenAway => "S4 no address is taken from where it was not seen",
            Self::NothingStolen => "S6 nothing of a stranger is touched",
            Self::OneTermAtATime => "S10 calls of one term of leadership at a time",
        }
    }

    /// Whether the invariant holds.
    fn holds(self, protocol: &Protocol, state: &State) -> bool {
        match self {
            Self::NeverTooMany => {
                let ours = (0..OURS).filter(|one| present(&state.cloud.places).contains(*one));
                ours.count() <= protocol.scale.wanted
            }
            Self::NothingLost => {
                let unrecorded = present(&state.cloud.places).minus(state.cluster.ledger.created);
                let mut made =
                    (protocol.scale.listed..OURS).filter(|one| unrecorded.contains(*one));
                made.all(|address| protocol.can_be_found(state, address))
            }
            Self::NothingStolen => {
                let is_theirs = |request| match request {
                    Request::Assign { address, .. } => usize::from(address) == STRANGER,
                    Request::Create { .. } => false,
                };
                let moved = state.cloud.calls.iter().any(|call| is_theirs(call.request));
                !moved && !state.cluster.ledger.created.contains(STRANGER)
            }
            Self::OneCallAtATime | Self::NothingTakenAway | Self::OneTermAtATime => {
                !state.broken.contains(self as usize)
            }
        }
    }

    fn property(self) -> Property<Protocol> {
        let holds: fn(&Protocol, &State) -> bool = match self {
            Self::NeverTooMany => |protocol, state| Self::NeverTooMany.holds(protocol, state),
            Self::NothingLost => |protocol, state| Self::NothingLost.holds(protocol, state),
            Self::OneCallAtATime => |protocol, state| Self::OneCallAtATime.holds(protocol, state),
            Self::NothingTakenAway => {
                |protocol, state| Self::NothingTakenAway.holds(protocol, state)
            }
            Self::NothingStolen => |protocol, state| Self::NothingStolen.holds(protocol, state),
            Self::OneTermAtATime => |protocol, state| Self::OneTermAtATime.holds(protocol, state),
        };
        Property::always(self.name(), holds)
    }
}

impl Protocol {
    /// The invariants, and reachable examples that show the invariants are not vacuous.
    pub(crate) fn all_properties(&self) -> Vec<Property<Self>> {
        let mut all: Vec<_> = Invariant::ALL.into_iter().map(Invariant::property).collect();
        let creation = EXAMPLES_OF_CREATION.iter().filter(|_| self.creates());
        let named = EXAMPLES_WITH_NAMES.iter().filter(|_| !self.nameless);
        let examples = EXAMPLES.iter().chain(creation).chain(named);
        all.extend(examples.map(|(name, happens)| Property::sometimes(name, *happens)));
        all
    }

    /// Whether the ledger's intents allow recognition of an unrecorded address.
    fn can_be_found(&self, state: &State, address: usize) -> bool {
        let place = state.cloud.places[address];
        (0..INTENTS).any(|intent| {
            let marked = match self.mark {
                Mark::Tag => place == Place::LOOSE,
                Mark::TargetMachine => place == Place::on(intent),
            };
            let strangers = state.cluster.ledger.intents[intent];
            marked && strangers.is_some_and(|strangers| !strangers.contains(address))
        })
    }
}

type Example = (&'static str, fn(&Protocol, &State) -> bool);

/// States that must be reachable, so that the invariants are not vacuous.
const EXAMPLES: [Example; 4] = [
    ("every wanted address is on a node", everything_is_placed),
    ("a leader waits for the calls of a term that is over", a_leader_waits),
    ("a lease is released with a call unanswered", a_call_is_owed),
    ("a lease runs out with a call of its holder under way", a_call_outlives_a_guard),
];

/// Examples that need names of replicas.
const EXAMPLES_WITH_NAMES: [Example; 1] = [("another replica takes over and acts", another_acts)];

/// Examples for pools that reserve addresses.
const EXAMPLES_OF_CREATION: [Example; 4] = [
    ("everything wanted is recorded", everything_is_recorded),
    ("an address is found by somebody who did not make it", somebody_else_finds),
    ("a listing tells what an unanswered reservation made", a_listing_tells),
    ("a leader knows that it does not know the ledger", the_ledger_is_in_doubt),
];

fn everything_is_placed(protocol: &Protocol, state: &State) -> bool {
    state.cloud.places[..protocol.scale.wanted].iter().all(|place| place.node().is_some())
}

fn a_leader_waits(_: &Protocol, state: &State) -> bool {
    state.replicas.iter().any(|one| one.leads && one.settling)
}

fn a_call_is_owed(_: &Protocol, state: &State) -> bool {
    state.cluster.lease.owed
}

fn a_call_outlives_a_guard(_: &Protocol, state: &State) -> bool {
    let under_way = |call: Call| call.is_on_its_way() && !call.past;
    state.cluster.lease.lapsed && state.cloud.calls.iter().any(under_way)
}

/// The first replica led at the start, so the second has taken over.
fn another_acts(_: &Protocol, state: &State) -> bool {
    state.cloud.calls.iter().any(|call| call.is_of(1) && call.is_on_its_way())
}

fn everything_is_recorded(protocol: &Protocol, state: &State) -> bool {
    let ledger = &state.cluster.ledger;
    ledger.created.len() == protocol.scale.wanted && ledger.intents == [None; INTENTS]
}

fn somebody_else_finds(protocol: &Protocol, state: &State) -> bool {
    let finds = |replica: usize| {
        let results = Desk::of(replica, protocol, state).creation().results;
        let progress = state.replicas[replica].memory.progress;
        (0..INTENTS).any(|one| progress[one] == Progress::Found && !results[one].is_empty())
    };
    (0..2).any(|replica| state.replicas[replica].leads && finds(replica))
}

fn a_listing_tells(_: &Protocol, state: &State) -> bool {
    state.replicas.iter().any(|one| one.memory.progress.contains(&Progress::Told))
}

fn the_ledger_is_in_doubt(_: &Protocol, state: &State) -> bool {
    state.replicas.iter().any(|one| one.memory.in_doubt)
}
