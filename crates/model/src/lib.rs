//! A model check of the protocol for leading, moving addresses and reserving addresses.
//!
//! The model has two replicas, an API server with the Lease and a pool's ledger, and a provider
//! with calls that take effect late and in any order. `stateright` visits every reachable state,
//! with faults at every step, and checks the [invariants](Invariant) in each. All invariants hold
//! with all [protections](Protection) active. Leaving out any protection breaks an invariant, and
//! the tests print the shortest path to the violation.
//!
//! # Correspondence to the code
//!
//! | here | in `crates/operator/src` and `crates/core/src` |
//! |---|---|
//! | `election` | `leadership/election.rs`, `run/replica.rs` `follow` and `hand_over` |
//! | `calls`: the guard, calls and answers | `leadership/guard.rs`, `execute/mod.rs`, `world/work.rs`, `addresses/fold_{moves,creations}.rs` |
//! | `listing`: the information in a listing | `addresses/{account,address}.rs`, `addresses/plan/reading.rs` |
//! | `planner`: the decisions open to a leader | `addresses/plan/{placement,survey,creation,recognise}.rs` |
//! | `ledger`: reads and writes | `plan/creation.rs` `write`, `execute/cluster.rs`, `addresses/pool/ledger.rs` |
//! | [`Protection`] | each rule, with the function that implements the rule |
//!
//! # Runs
//!
//! Faults of each kind are unlimited: a state then need not count faults, which gives fewer states.
//! At most one stranger exists.
//!
//! | run | addresses x nodes | faults | states |
//! |---|---|---|---|
//! | moves | 3 x 3 | all that concern moves | 210,490 |
//! | creation by tag | 3 x 3, [`Moves::AtOnce`] | all but the stranger | 596,716 |
//! | creation by target machine | 3 x 3, [`Moves::AtOnce`] | all but the stranger | 488,479 |
//! | creation by tag, beside a stranger | 3 x 3, [`Moves::AtOnce`] | all but stale watches, late listings | 56,598 |
//! | creation by target machine, beside a stranger | 3 x 3, [`Moves::AtOnce`] | the same | 88,563 |
//! | creation by tag, and moves | 2 x 2 | all but the stranger | 75,281 |
//! | creation by target machine, and moves | 2 x 2 | all | 270,165 |
//!
//! All combinations at 3 x 3 would give some ten million states, so the runs are split. The runs of
//! creation at 3 x 3 move an address in one step, because the run of moves covers the fates of
//! calls. The last run leaves nothing out. Runs of creation count states that differ only in names
//! as equal (`symmetry`).
//!
//! # Abstractions, and therefore not proven
//!
//! - **Time.** The model has no clocks. Three orders are taken from `leadership/timing.rs`. A
//!   holder's guard is shut before another replica may take the Lease. Every call that passed a
//!   guard is over when a successor stops settling, whether the successor waited for the Lease to
//!   expire or runs in the pod of a dead process. An unanswered call is over when its doubt ends.
//!   The tests of `leadership` show that the configured seconds give these orders. Outside the
//!   model are a provider slower than the settling time, a clock wrong by more than 5 %, and a
//!   suspension between the guard's last check and the wire.
//! - **Waiting** ends as soon as the awaited calls are over. The code waits for the clock, which is
//!   later, and so does less than the model.
//! - **The planner** may decide on any move to any node with room, at any time. Eligibility, its
//!   changes and stale observations are therefore covered, but the check says nothing about the
//!   right place of an address.
//! - **Answers.** A move takes effect and is answered in one step, unless the answer is lost.
//!   Refusals and errors with an answer restore the state before the call. An operation accepted by
//!   the provider (`Operation::Accepted`, `busy`) is a call not yet over; its visibility in
//!   listings is not used.
//! - **Creation** concerns a single pool. A reservation on a machine is assigned at once, never
//!   loose. A reservation without a machine carries a tag. The planner's tests cover reservations
//!   by region without a project, the user's answer (`resolve-create`), a wiped ledger, release and
//!   unassignment.
//! - **Strangers**: see [`Strangers`]; `tests/check/limits.rs` shows the result without the
//!   assumption.
//! - **Two replicas**, the first leading at the start. Either may be a new process at any time, in
//!   the same pod or in another. A pod is assumed to run one process at a time ([`Pods`]);
//!   `tests/check/limits.rs` shows the result without the assumption.
//! - Safety only: liveness is not shown. `tests/check/reached.rs` shows that important states are
//!   reachable.
//!
//! # Findings
//!
//! Four protections are in the code because the check showed the need:
//! [`Protection::SettleAfterOwnLapse`], [`Protection::OwnIntentsOnly`], and, for recognition by
//! project, [`Protection::ResultsAreNoStrangers`] and [`Protection::AdoptionWaitsForAnswers`].

mod actions;
mod calls;
mod cloud;
mod cluster;
mod election;
mod faults;
mod ledger;
mod listing;
mod planner;
mod properties;
mod protections;
mod replica;
mod set;
mod state;
mod symmetry;

use stateright::{Model, Property};

pub use actions::Action;
pub use cloud::{Call, Phase, Place, Request};
pub use faults::{Fault, Faults};
pub use ledger::{Change, Delivery};
pub use properties::Invariant;
pub use protections::{Design, Mark, Protection};
pub use state::State;

use cloud::{Calls, Cloud, STRANGER};
use cluster::{Cluster, Holder, Lease, Ledger};
use replica::Replica;
use set::Set;

/// The size of the model.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Addresses listed by the pool, existing from the start.
    pub listed: usize,
    /// Addresses wanted by the pool, at most three. Missing addresses are reserved.
    pub wanted: usize,
    /// Nodes, three at most.
    pub nodes: usize,
    /// The way addresses are moved.
    pub moves: Moves,
}

/// The way addresses are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// By calls, with all possible fates of a call.
    AsCalls,
    /// In one step, for properties that depend on the place of an address and not on the calls.
    AtOnce,
}

/// The assumption about strangers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strangers {
    /// A stranger on the target machine of a reservation was in the account when the reservation
    /// was decided.
    Known,
    /// No assumption. A stranger assigned to the target machine meanwhile is taken for ours.
    Anywhere,
}

/// The assumption about the processes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pods {
    /// Processes of a pod run one after the other: a holder from the same pod must be dead.
    OneEach,
    /// No assumption: both replicas claim the same pod and may run at the same time.
    OneForAll,
}

/// The protocol, its size, and the possible faults.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// The size of the model.
    pub scale: Scale,
    /// The recognition of reserved addresses.
    pub mark: Mark,
    /// The active protections.
    pub design: Design,
    /// The possible faults.
    pub faults: Faults,
    /// The assumption about strangers.
    pub strangers: Strangers,
    /// The assumption about the processes of a pod.
    pub pods: Pods,
    /// States that differ only in names count as equal. Paths then lose their names too.
    pub nameless: bool,
}

impl Protocol {
    /// A pool with listed addresses: moves only, no reservations.
    pub fn of_moves(addresses: usize, nodes: usize) -> Self {
        let faults = [Fault::LostWrite, Fault::StaleWatch, Fault::Stranger];
        Self {
            scale: Scale { listed: addresses, wanted: addresses, nodes, moves: Moves::AsCalls },
            mark: Mark::Tag,
            design: Design::complete(),
            faults: faults.into_iter().fold(Faults::all(), Faults::without),
            strangers: Strangers::Known,
            pods: Pods::OneEach,
            nameless: false,
        }
    }

    /// A pool reserving all its addresses, and moving them.
    pub fn of_creation(wanted: usize, nodes: usize, mark: Mark) -> Self {
        Self {
            scale: Scale { listed: 0, wanted, nodes, moves: Moves::AsCalls },
            mark,
            faults: Faults::all(),
            ..Self::of_moves(0, nodes)
        }
    }

    /// The same without a protection.
    #[must_use]
    pub fn without(self, protection: Protection) -> Self {
        Self { design: self.design.without(protection), ..self }
    }

    pub(crate) fn has(&self, protection: Protection) -> bool {
        self.design.has(protection)
    }

    pub(crate) fn creates(&self) -> bool {
        self.scale.wanted > self.scale.listed
    }

    fn first_state(&self) -> State {
        let mut places = [Place::ABSENT; cloud::ADDRESSES];
        places[..self.scale.listed].fill(Place::LOOSE);
        let leader = Replica { leads: true, ..Replica::default() };
        let lease = Lease { holder: Holder::Replica(0), lapsed: false, owed: false };
        State {
            cloud: Cloud { places, calls: Calls::default() },
            cluster: Cluster { lease, ledger: Ledger::default(), late_write: None },
            replicas: [leader, Replica::default()],
            faults: self.faults,
            broken: Set::default(),
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    /// The first replica leads with an empty memory. If strangers are possible, there is one
    /// initial state with a stranger and one without.
    fn init_states(&self) -> Vec<State> {
        let first = self.first_state();
        let mut with_stranger = first;
        with_stranger.cloud.places[STRANGER] = Place::LOOSE;
        if self.faults.may(Fault::Stranger) { vec![first, with_stranger] } else { vec![first] }
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.list_actions(state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        self.take_step(&mut next, action)?;
        let next = if self.nameless { self.canonical(next) } else { next };
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        self.all_properties()
    }
}
