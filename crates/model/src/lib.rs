//! A model check of the protocol by which replicas lead, move addresses and create them.
//!
//! Two replicas, an API server with the Lease and a pool's ledger, a cloud whose calls take
//! effect late and in any order. `stateright` goes through every state that these can get
//! into, with faults at every step, and checks the [invariants](Invariant) in each. With all
//! [protections](Protection) on they hold; with any one left out, one of them is broken, and
//! the tests print the shortest way there.
//!
//! # What stands for what
//!
//! | here | in `crates/operator/src` and `crates/core/src` |
//! |---|---|
//! | `election` | `leadership/election.rs`, `run.rs` `follow` and `hand_over` |
//! | `calls`: the guard, calls and answers | `leadership/guard.rs`, `execute/mod.rs`, `world/{work,moves,reservations}.rs` |
//! | `listing`: what a listing tells | `world/{account,address}.rs`, `plan/reading.rs` |
//! | `desk`: what a leader may decide | `plan/{placement,standing,creation,outcome}.rs` |
//! | `ledger`: writing and seeing it | `plan/creation.rs` `write`, `execute/cluster.rs`, `world/pool.rs` |
//! | [`Protection`] | each rule, with the function that keeps it |
//!
//! # Runs
//!
//! Any number of faults of each kind, not one: a state then need not say how many there were,
//! which makes fewer states. Of strangers there is one.
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
//! Everything together at 3 x 3 would be some ten million states, so it is split: in the runs
//! of creation at 3 x 3 an address is moved in one step, because how calls fare is what the
//! run of moves is for; the last run leaves nothing out. Runs of creation count states that
//! differ in names only as one (`symmetry`).
//!
//! # What is abstracted, and so not proven
//!
//! - **Time.** There are no clocks. Three orders are taken from the timing of
//!   `leadership/timing.rs`: a holder's guard is shut before anybody else may take its lease;
//!   every call that passed a guard is over when a successor stops settling, whether that has
//!   waited for the lease to run out or runs in the pod of a process that has died; a call
//!   without an answer is over when its doubt ends. That the seconds give these orders is for the tests of
//!   `leadership` to show. A provider that takes longer than the settling time, a clock that
//!   runs wrong by more than 5 %, and a pause between the guard's last look and the wire are
//!   outside.
//! - **Waiting** ends as soon as there is nothing to wait for. The code waits for the clock,
//!   which is later: it does less than the model.
//! - **The planner** may decide any move to any node with room, at any time. So eligibility of
//!   nodes, its changes and stale news of them are all covered, but nothing is shown of where
//!   addresses should be.
//! - **Answers.** A move has its effect and its answer in one step, unless the answer is lost.
//!   Refusals and errors with an answer lead back to where the call was not sent. An operation
//!   that the cloud has accepted and works on (`Operation::Accepted`, `busy`) is a call that is
//!   not over; that one can see it in a listing is not used.
//! - **Creation** is one pool's. A reservation on a machine makes its address there at once,
//!   never loose; one without a machine carries a tag. Reservations by region without a
//!   project, the user's word (`resolve-create`) and a wiped ledger are left to the planner's
//!   tests. So are release and unassignment.
//! - **Strangers**: see [`Strangers`]; what happens without that assumption is in
//!   `tests/check/limits.rs`.
//! - **Two replicas**, one of which leads at first. Either may be a new process at any time, in
//!   the same pod or in another one. That a pod runs one process at a time is assumed
//!   ([`Pods`]); what happens otherwise is in `tests/check/limits.rs`.
//! - Safety only: nothing is shown to happen in the end. `tests/check/reached.rs` shows that
//!   what matters can happen.
//!
//! # What it found
//!
//! Four protections are in the code because the check found that they are needed:
//! [`Protection::SettleAfterOwnLapse`], [`Protection::OwnIntentsOnly`], and, where a project is
//! the mark, [`Protection::ResultsAreNoStrangers`] and [`Protection::AdoptionWaitsForAnswers`].

mod actions;
mod calls;
mod cloud;
mod cluster;
mod design;
mod desk;
mod election;
mod faults;
mod ledger;
mod listing;
mod properties;
mod replica;
mod set;
mod state;
mod symmetry;

use stateright::{Model, Property};

pub use actions::Action;
pub use cloud::{Call, Phase, Place, Request};
pub use design::{Design, Mark, Protection};
pub use faults::{Fault, Faults};
pub use ledger::{Change, Delivery};
pub use properties::Invariant;
pub use state::State;

use cloud::{Calls, Cloud, STRANGER};
use cluster::{Cluster, Holder, Lease, Ledger};
use replica::Replica;
use set::Set;

/// How much there is.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Addresses that the pool lists, and that exist from the beginning.
    pub listed: usize,
    /// Addresses that it wants; what is missing is created. Three at most.
    pub wanted: usize,
    /// Nodes, three at most.
    pub nodes: usize,
    /// How addresses are moved.
    pub moves: Moves,
}

/// How addresses are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// By calls, with everything that can happen to a call.
    AsCalls,
    /// In one step: for what depends on where an address is, and not on how it got there.
    AtOnce,
}

/// What is assumed of addresses of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strangers {
    /// One that gets on a machine which a reservation is for was in the account when the
    /// reservation was decided.
    Known,
    /// Nothing. Then one that is put on such a machine meanwhile is taken for ours.
    Anywhere,
}

/// What is assumed of the processes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pods {
    /// One runs at a time: who finds the lease held by another one of its pod runs after it.
    OneEach,
    /// Nothing: both replicas say that they are of one pod, and may run at the same time.
    OneForAll,
}

/// The protocol, with what it runs on and what may go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// How much there is.
    pub scale: Scale,
    /// How created addresses are recognised.
    pub mark: Mark,
    /// Which protections are on.
    pub design: Design,
    /// What may go wrong.
    pub faults: Faults,
    /// What is assumed of addresses of others.
    pub strangers: Strangers,
    /// What is assumed of the processes of a pod.
    pub pods: Pods,
    /// States that differ in names only count as one. Paths then lose their names too.
    pub nameless: bool,
}

impl Protocol {
    /// A pool that lists its addresses: they are moved, none is created.
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

    /// A pool that creates all its addresses, and moves them.
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

    /// The first replica leads and knows nothing. If there may be a stranger's address, it
    /// is there already, or will be.
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
