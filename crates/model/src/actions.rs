//! All possible next steps.

use crate::cloud::{Call, Phase, Place, Request, STRANGER};
use crate::cluster::INTENTS;
use crate::faults::Fault;
use crate::ledger::{Change, Delivery};
use crate::planner::{Creation, Desk};
use crate::protections::Protection;
use crate::{Moves, Protocol, State, Strangers};

/// A step. A `usize` is the number of a replica unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A follower takes the Lease.
    Take(usize),
    /// A leader renews a lapsed Lease still its own.
    Renew(usize),
    /// A leader steps down.
    Lose(usize),
    /// A leader shuts down.
    Stop(usize),
    /// A replica dies, and starts again.
    Crash(usize),
    /// The Lease is not renewed for long.
    Lapse,
    /// A leader lists the account.
    List(usize),
    /// A leader lists the account, and the answer is late.
    ListSlowly(usize),
    /// The late answer arrives.
    HearLateListing(usize),
    /// A leader decides on a call and sends the call.
    Send(usize, Request),
    /// A leader decides on a call and is suspended before sending.
    Hold(usize, Request),
    /// A held call is sent.
    SendHeld(Call),
    /// A held call is dropped.
    DropHeld(Call),
    /// A leader moves an address in one step.
    Relocate(usize, Request),
    /// A call takes effect.
    TakeEffect(Call),
    /// The answer to a reservation arrives.
    Hear(Call),
    /// The caller stops waiting for the answer.
    LoseAnswer(Call),
    /// A call without a waiting caller is lost before its effect.
    Vanish(Call),
    /// The time limit passes for the effect of an unanswered call.
    EndDoubt(Call),
    /// A leader writes the ledger.
    Write(usize, Change, Delivery),
    /// An unanswered write takes effect, unseen by a replica's watch.
    LateWrite(Option<usize>),
    /// A replica's watch catches up.
    CatchUp(usize),
    /// A stranger appears, or is moved.
    StrangerAt(Place),
}

impl Protocol {
    pub(crate) fn list_actions(&self, state: &State, actions: &mut Vec<Action>) {
        for replica in 0..state.replicas.len() {
            self.list_leadership(state, replica, actions);
            if state.replicas[replica].leads {
                self.list_decisions(state, replica, actions);
            }
        }
        actions.push(Action::Lapse);
        for call in state.cloud.calls.iter() {
            list_fates(state, call, actions);
        }
        if state.cluster.late_write.is_some() {
            actions.push(Action::LateWrite(None));
            if state.faults.may(Fault::StaleWatch) {
                actions.extend([0, 1].map(|replica| Action::LateWrite(Some(replica))));
            }
        }
        if state.faults.may(Fault::Stranger) {
            self.list_strangers(state, actions);
        }
    }

    fn list_leadership(&self, state: &State, replica: usize, actions: &mut Vec<Action>) {
        let one = &state.replicas[replica];
        if one.leads {
            actions.extend([Action::Renew(replica), Action::Lose(replica)]);
            if state.faults.may(Fault::Stop) {
                actions.push(Action::Stop(replica));
            }
        } else {
            actions.push(Action::Take(replica));
        }
        if state.faults.may(Fault::Crash) {
            actions.push(Action::Crash(replica));
        }
        if one.stale.is_some() {
            actions.push(Action::CatchUp(replica));
        }
    }

    fn list_decisions(&self, state: &State, replica: usize, actions: &mut Vec<Action>) {
        if self.may_list(state, replica) {
            actions.push(Action::List(replica));
            if state.faults.may(Fault::LateListing) {
                actions.push(Action::ListSlowly(replica));
            }
        } else if state.replicas[replica].memory.late_listing.is_some() {
            actions.push(Action::HearLateListing(replica));
        }
        let desk = Desk::of(replica, self, state);
        let mut send = |request| {
            actions.push(Action::Send(replica, request));
            if state.faults.may(Fault::Pause) {
                actions.push(Action::Hold(replica, request));
            }
        };
        if self.scale.moves == Moves::AsCalls {
            desk.moves().for_each(&mut send);
        }
        if self.creates() {
            let creation = desk.creation();
            let unwritten =
                if self.has(Protection::CreationIntent) { [None; INTENTS] } else { creation.new };
            let new = (0..INTENTS).filter(|one| unwritten[*one].is_some());
            let create = |intent: usize| Request::Create { intent: intent as u8 };
            creation.ready.iter().chain(new).map(create).for_each(&mut send);
            self.list_writes(state, replica, &creation, actions);
        }
        if self.scale.moves == Moves::AtOnce {
            actions.extend(desk.moves().map(|request| Action::Relocate(replica, request)));
        }
    }

    fn list_writes(
        &self,
        state: &State,
        replica: usize,
        creation: &Creation,
        actions: &mut Vec<Action>,
    ) {
        let mut write = |change| {
            actions.push(Action::Write(replica, change, Delivery::Seen));
            if state.faults.may(Fault::StaleWatch) {
                actions.push(Action::Write(replica, change, Delivery::Unseen));
            }
            if state.faults.may(Fault::LostWrite) {
                actions.push(Action::Write(replica, change, Delivery::Unanswered));
            }
        };
        write(Change::Record);
        creation.idle.iter().map(Change::Drop).for_each(&mut write);
        let mut nothing_found = true;
        for (intent, results) in creation.results.iter().enumerate() {
            nothing_found &= results.is_empty();
            results.iter().map(|one| Change::Adopt(intent, one)).for_each(&mut write);
        }
        // Results already found are adopted in the same write at the latest.
        if nothing_found && self.has(Protection::CreationIntent) {
            let new = (0..INTENTS).filter(|one| creation.new[*one].is_some());
            new.map(Change::Add).for_each(&mut write);
        }
    }

    /// A stranger present from the start may be assigned to a node. A stranger appearing later
    /// stays loose, unless [`Strangers::Anywhere`] is set.
    fn list_strangers(&self, state: &State, actions: &mut Vec<Action>) {
        let is_there = state.cloud.places[STRANGER] != Place::ABSENT;
        if !is_there {
            actions.push(Action::StrangerAt(Place::LOOSE));
        }
        if is_there || self.strangers == Strangers::Anywhere {
            let free = (0..self.scale.nodes).filter(|node| !state.cloud.is_occupied(*node));
            actions.extend(free.map(|node| Action::StrangerAt(Place::on(node))));
        }
    }

    /// Takes a step. `None` if the step is not possible now.
    pub(crate) fn take_step(&self, state: &mut State, action: Action) -> Option<()> {
        match action {
            Action::Take(replica) => self.take(state, replica)?,
            Action::Renew(replica) => self.renew(state, replica)?,
            Action::Lose(replica) => self.lose(state, replica)?,
            Action::Stop(replica) => self.stop(state, replica)?,
            Action::Crash(replica) => self.crash(state, replica)?,
            Action::Lapse => self.lapse(state)?,
            Action::List(replica) => self.list(state, replica),
            Action::ListSlowly(replica) => self.list_slowly(state, replica)?,
            Action::HearLateListing(replica) => self.hear_late_listing(state, replica)?,
            Action::Send(replica, request) => self.send(state, replica, request)?,
            Action::Hold(replica, request) => self.hold(state, replica, request)?,
            Action::SendHeld(call) => self.send_held(state, call)?,
            Action::DropHeld(call) => self.drop_held(state, call)?,
            Action::Relocate(replica, request) => self.relocate(state, replica, request)?,
            Action::TakeEffect(call) => self.take_effect(state, call)?,
            Action::Hear(call) => self.hear(state, call)?,
            Action::LoseAnswer(call) => self.lose_answer(state, call)?,
            Action::Vanish(call) => self.vanish(state, call),
            Action::EndDoubt(call) => state.cloud.calls.remove(call),
            Action::Write(replica, change, delivery) => {
                self.write_ledger(state, replica, change, delivery)?;
            }
            Action::LateWrite(unseen) => self.late_write(state, unseen)?,
            Action::CatchUp(replica) => self.catch_up(state, replica)?,
            Action::StrangerAt(place) => {
                state.faults.spend(Fault::Stranger)?;
                state.cloud.places[STRANGER] = place;
            }
        }
        self.end_settling(state);
        Some(())
    }
}

/// The possible fates of a call.
fn list_fates(state: &State, call: Call, actions: &mut Vec<Action>) {
    match call.phase {
        Phase::Held => actions.extend([Action::SendHeld(call), Action::DropHeld(call)]),
        Phase::Waiting => {
            actions.push(Action::TakeEffect(call));
            if state.faults.may(Fault::LostAnswer) {
                actions.push(Action::LoseAnswer(call));
            }
        }
        Phase::Late => actions.extend([Action::TakeEffect(call), Action::Vanish(call)]),
        Phase::Answering(_) => actions.push(Action::Hear(call)),
        Phase::Spent => actions.push(Action::EndDoubt(call)),
    }
}
