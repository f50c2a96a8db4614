//! Calls to the provider, from decision to answer.

use crate::cloud::{Call, NOBODY, OURS, Phase, Place, Request};
use crate::faults::Fault;
use crate::planner::Desk;
use crate::properties::Invariant;
use crate::protections::{Mark, Protection};
use crate::replica::{Operation, Progress};
use crate::{Pods, Protocol, State};

impl Protocol {
    /// Whether the guard lets a replica's call pass (`Standing::permit`). Without the guard,
    /// believing to lead is enough.
    pub(crate) fn may_send(&self, state: &State, replica: usize) -> bool {
        let one = &state.replicas[replica];
        // A replica wrongly taken for dead has renewed its Lease lately, and does not know another
        // process took the Lease.
        let open = !self.has(Protection::Guard) || self.pods == Pods::OneForAll;
        let guarded = self.has_good_lease(state, replica) || open;
        one.leads && !one.settling && guarded
    }

    fn has_good_lease(&self, state: &State, replica: usize) -> bool {
        state.cluster.lease.is_held_by(replica) && !state.cluster.lease.lapsed
    }

    /// Decides on a call and sends the call.
    pub(crate) fn send(&self, state: &mut State, replica: usize, request: Request) -> Option<()> {
        self.may_send(state, replica).then_some(())?;
        self.begin(state, replica, request);
        self.put_on_wire(state, replica, request, false)
    }

    /// Decides on a call, and suspends the replica before the call is sent.
    pub(crate) fn hold(&self, state: &mut State, replica: usize, request: Request) -> Option<()> {
        self.may_send(state, replica).then_some(())?;
        state.faults.spend(Fault::Pause)?;
        self.begin(state, replica, request);
        let by = replica as u8;
        let phase = Phase::Held;
        state.cloud.calls.add(Call { request, by, past: false, phase, covered: false })
    }

    /// The replica resumes and asks the guard.
    pub(crate) fn send_held(&self, state: &mut State, call: Call) -> Option<()> {
        let replica = usize::from(call.by);
        (self.may_send(state, replica) || !self.has(Protection::Guard)).then_some(())?;
        state.cloud.calls.remove(call);
        self.put_on_wire(state, replica, call.request, call.past)
    }

    /// The replica resumes, and the guard refuses or the term is known to be over.
    pub(crate) fn drop_held(&self, state: &mut State, call: Call) -> Option<()> {
        let replica = usize::from(call.by);
        (call.past || !self.may_send(state, replica)).then_some(())?;
        state.cloud.calls.remove(call);
        if !call.past {
            undo(state, replica, call.request);
        }
        Some(())
    }

    /// The touched address or intent is unknown until the call ends (`World::begin`).
    fn begin(&self, state: &mut State, replica: usize, request: Request) {
        match request {
            Request::Assign { address, to, .. } => {
                let memory = &mut state.replicas[replica].memory;
                memory.operations[usize::from(address)] = Operation::Sent(to);
                memory.outdate(address.into());
            }
            Request::Create { intent } => {
                let intent = usize::from(intent);
                let new = Desk::of(replica, self, state).creation().new[intent];
                let memory = &mut state.replicas[replica].memory;
                if !self.has(Protection::CreationIntent) {
                    memory.unwritten[intent] = memory.unwritten[intent].or(new);
                }
                memory.progress[intent] = Progress::Sent;
            }
        }
    }

    fn put_on_wire(
        &self,
        state: &mut State,
        replica: usize,
        request: Request,
        past: bool,
    ) -> Option<()> {
        for other in state.cloud.calls.iter().filter(Call::is_on_its_way) {
            if past || !other.is_of(replica) {
                state.broken.insert(Invariant::OneTermAtATime as usize);
            }
            if self.collide(request, other.request) {
                state.broken.insert(Invariant::OneCallAtATime as usize);
            }
        }
        let covered = self.has_good_lease(state, replica);
        let (phase, by) =
            if past { (Phase::Late, NOBODY) } else { (Phase::Waiting, replica as u8) };
        state.cloud.calls.add(Call { request, by, past, phase, covered })
    }

    /// Whether two calls concern the same address or node.
    fn collide(&self, one: Request, other: Request) -> bool {
        let address = |request| match request {
            Request::Assign { address, .. } => Some(address),
            Request::Create { .. } => None,
        };
        let node = |request| match request {
            Request::Assign { to, .. } => Some(to),
            Request::Create { intent } => (self.mark == Mark::TargetMachine).then_some(intent),
        };
        let same = |one: Option<u8>, other| one.is_some() && one == other;
        same(address(one), address(other)) || same(node(one), node(other))
    }

    /// The caller stops waiting. The call takes effect later, or never.
    pub(crate) fn lose_answer(&self, state: &mut State, call: Call) -> Option<()> {
        state.faults.spend(Fault::LostAnswer)?;
        state.cloud.calls.remove(call);
        state.cloud.calls.add(Call { phase: Phase::Late, ..call })?;
        let replica = usize::from(call.by);
        if !self.has(Protection::QuiescePerAddress) {
            undo(state, replica, call.request);
            return Some(());
        }
        let memory = &mut state.replicas[replica].memory;
        match call.request {
            Request::Assign { address, to, .. } => {
                memory.operations[usize::from(address)] = Operation::Uncertain(to);
            }
            Request::Create { intent } => memory.progress[usize::from(intent)] = Progress::Doubtful,
        }
        Some(())
    }

    /// A call takes effect. A move is answered in the same step, because listings in between do not
    /// matter. A reservation is answered in a later step.
    pub(crate) fn take_effect(&self, state: &mut State, call: Call) -> Option<()> {
        let done = self.effect(state, call.request);
        state.cloud.calls.remove(call);
        match (call.phase, call.request, done) {
            (Phase::Late, ..) => self.end_late(state, call),
            (_, _, None) => undo(state, call.by.into(), call.request),
            (_, Request::Assign { .. }, Some(address)) => answer(state, call, address),
            (_, Request::Create { .. }, Some(address)) => {
                let phase = Phase::Answering(address as u8);
                state.cloud.calls.add(Call { phase, ..call })?;
            }
        }
        Some(())
    }

    /// A call without a waiting caller is lost before its effect.
    pub(crate) fn vanish(&self, state: &mut State, call: Call) {
        state.cloud.calls.remove(call);
        self.end_late(state, call);
    }

    /// An unanswered reservation stays doubtful until its time is up, although its result can be
    /// seen earlier. An unanswered move can be confirmed as soon as the call is over.
    fn end_late(&self, state: &mut State, call: Call) {
        if !call.past && matches!(call.request, Request::Create { .. }) {
            // The call was just removed, so there is room.
            let _added = state.cloud.calls.add(Call { phase: Phase::Spent, ..call });
        }
    }

    /// The answer to a reservation arrives.
    pub(crate) fn hear(&self, state: &mut State, call: Call) -> Option<()> {
        let Phase::Answering(address) = call.phase else { return None };
        state.cloud.calls.remove(call);
        answer(state, call, address.into());
        Some(())
    }

    /// The effect of a call on the account. `None` if the provider refuses. Records broken
    /// invariants.
    fn effect(&self, state: &mut State, request: Request) -> Option<usize> {
        let cloud = &mut state.cloud;
        match request {
            Request::Assign { address, to, from } => {
                let (address, target) = (usize::from(address), Place::on(to.into()));
                let place = cloud.places[address];
                let refused = place != target && cloud.is_occupied(to.into());
                (!refused).then_some(())?;
                if place.node().is_some() && place != target && place != from {
                    state.broken.insert(Invariant::NothingTakenAway as usize);
                }
                cloud.places[address] = target;
                Some(address)
            }
            Request::Create { intent } => {
                let place = match self.mark {
                    Mark::Tag => Place::LOOSE,
                    Mark::TargetMachine if cloud.is_occupied(intent.into()) => return None,
                    Mark::TargetMachine => Place::on(intent.into()),
                };
                let address = (0..OURS).find(|one| cloud.places[*one] == Place::ABSENT)?;
                cloud.places[address] = place;
                Some(address)
            }
        }
    }

    /// A move decided, sent and answered in one step ([`Moves::AtOnce`](crate::Moves)).
    pub(crate) fn relocate(
        &self,
        state: &mut State,
        replica: usize,
        request: Request,
    ) -> Option<()> {
        self.may_send(state, replica).then_some(())?;
        let address = self.effect(state, request)?;
        let memory = &mut state.replicas[replica].memory;
        memory.places[address] = state.cloud.places[address];
        memory.outdate(address);
        Some(())
    }
}

/// Reverts the decision on a call not sent or refused.
fn undo(state: &mut State, replica: usize, request: Request) {
    let memory = &mut state.replicas[replica].memory;
    match request {
        Request::Assign { address, .. } => {
            memory.operations[usize::from(address)] = Operation::None;
        }
        Request::Create { intent } => memory.progress[usize::from(intent)] = Progress::Ready,
    }
}

/// The caller learns the effect of its call (`World::finish`).
fn answer(state: &mut State, call: Call, address: usize) {
    let memory = &mut state.replicas[usize::from(call.by)].memory;
    memory.places[address] = state.cloud.places[address];
    memory.outdate(address);
    match call.request {
        Request::Assign { .. } => memory.operations[address] = Operation::None,
        Request::Create { intent } => {
            memory.progress[usize::from(intent)] = Progress::Made(address as u8);
        }
    }
}
