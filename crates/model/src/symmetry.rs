//! Symmetry reduction: states that differ only in names count as equal.
//!
//! No rule depends on the number of a replica, node or intent. Renaming these in a state gives a
//! state with the same successors, renamed. [`Protocol::canonical`] picks a representative by
//! sorting. Sorting by a digest is sufficient: a collision only leaves two equal states separate.

use crate::cloud::{Call, NOBODY, NODES, Phase, Place, Places, Request};
use crate::cluster::{Holder, INTENTS, Intents, Ledger};
use crate::protections::Mark;
use crate::replica::{Operation, Progress};
use crate::{Protocol, State};

/// New names of nodes and intents, indexed by the old names.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub nodes: [usize; NODES],
    pub intents: [usize; INTENTS],
}

impl Protocol {
    /// The representative of all states that differ from `state` only in names.
    pub(crate) fn canonical(&self, mut state: State) -> State {
        let [first, second] = &state.replicas;
        let swapped = match state.cluster.lease.holder {
            Holder::Replica(holder) | Holder::Dead(holder) => holder == 1,
            Holder::Free | Holder::Gone => first.stale.is_none() && second.stale.is_some(),
        };
        if swapped {
            swap_replicas(&mut state);
        }
        let intents: [u64; INTENTS] = std::array::from_fn(|one| intent_digest(&state, one));
        let nodes: [u64; NODES] = std::array::from_fn(|one| node_digest(&state, one));
        let names = match self.mark {
            Mark::Tag => {
                let wanted = self.scale.wanted;
                Names { nodes: self.order(nodes), intents: order(intents, wanted) }
            }
            Mark::TargetMachine => {
                let both = std::array::from_fn(|one| nodes[one] ^ intents[one].rotate_left(7));
                let both = self.order(both);
                Names { nodes: both, intents: both }
            }
        };
        if names.nodes != [0, 1, 2] || names.intents != [0, 1, 2] {
            names.apply(&mut state);
        }
        state
    }

    fn order(&self, digests: [u64; NODES]) -> [usize; NODES] {
        order(digests, self.scale.nodes)
    }
}

/// The rank of each of the first `count` digests.
fn order(digests: [u64; 3], count: usize) -> [usize; 3] {
    let mut sorted = [0, 1, 2];
    sorted[..count].sort_by_key(|one| digests[*one]);
    let mut places = [0; 3];
    for (place, one) in sorted.into_iter().enumerate() {
        places[one] = place;
    }
    places
}

/// Exchanges the names of the replicas.
pub(crate) fn swap_replicas(state: &mut State) {
    state.replicas.swap(0, 1);
    if let Holder::Replica(holder) | Holder::Dead(holder) = &mut state.cluster.lease.holder {
        *holder = 1 - *holder;
    }
    state.cloud.calls.change(|call| {
        let by = if call.by == NOBODY { NOBODY } else { 1 - call.by };
        Some(Call { by, ..call })
    });
}

impl Names {
    /// Renames nodes and intents.
    pub(crate) fn apply(&self, state: &mut State) {
        self.rename_places(&mut state.cloud.places);
        self.rename_intents(&mut state.cluster.ledger.intents);
        let ledger = |one: &mut Ledger| self.rename_intents(&mut one.intents);
        state.cluster.late_write.iter_mut().for_each(ledger);
        for one in &mut state.replicas {
            let memory = &mut one.memory;
            one.stale.iter_mut().chain(&mut memory.writing).for_each(ledger);
            self.rename_intents(&mut memory.unwritten);
            self.rename_intents(&mut memory.progress);
            self.rename_places(&mut memory.places);
            if let Some(late) = &mut memory.late_listing {
                self.rename_places(&mut late.places);
                late.settles = late.settles.iter().map(|one| self.intents[one]).collect();
            }
            for operation in &mut memory.operations {
                if let Operation::Sent(to) | Operation::Uncertain(to) = operation {
                    *to = self.nodes[usize::from(*to)] as u8;
                }
            }
        }
        state.cloud.calls.change(|mut call| {
            match &mut call.request {
                Request::Assign { to, from, .. } => {
                    *to = self.nodes[usize::from(*to)] as u8;
                    self.rename_place(from);
                }
                Request::Create { intent } => {
                    *intent = self.intents[usize::from(*intent)] as u8;
                }
            }
            Some(call)
        });
    }

    fn rename_place(&self, place: &mut Place) {
        if let Some(node) = place.node() {
            *place = Place::on(self.nodes[node]);
        }
    }

    fn rename_places(&self, places: &mut Places) {
        places.iter_mut().for_each(|place| self.rename_place(place));
    }

    fn rename_intents<T: Copy>(&self, all: &mut [T; INTENTS]) {
        let before = *all;
        for (one, name) in before.into_iter().zip(self.intents) {
            all[name] = one;
        }
    }
}

/// Folds values into a single number.
#[derive(Default)]
struct Digest(u64);

impl Digest {
    fn add(&mut self, value: impl Into<u64>) {
        self.0 = (self.0 ^ value.into()).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    fn add_call(&mut self, call: &Call) {
        let phase = match call.phase {
            Phase::Held => 0,
            Phase::Waiting => 1,
            Phase::Late => 2,
            Phase::Spent => 3,
            Phase::Answering(address) => 4 + address,
        };
        let flags = u8::from(call.past) + 2 * u8::from(call.covered);
        self.add(u64::from(phase) << 16 | u64::from(call.by) << 8 | u64::from(flags));
    }
}

/// A digest of all facts about a node, independent of its name.
fn node_digest(state: &State, node: usize) -> u64 {
    let here = Place::on(node);
    let addresses = |places: &Places| {
        places.iter().fold(0u64, |all, place| all << 1 | u64::from(*place == here))
    };
    let mut digest = Digest::default();
    digest.add(addresses(&state.cloud.places));
    for one in &state.replicas {
        let memory = &one.memory;
        digest.add(addresses(&memory.places));
        digest.add(memory.late_listing.map_or(0, |late| 1 + addresses(&late.places)));
        for operation in &memory.operations {
            digest.add(operation.to().is_some_and(|to| to == node));
        }
    }
    // The order of calls is arbitrary.
    let calls = state.cloud.calls.iter().filter_map(|call| match call.request {
        Request::Assign { address, to, from } => {
            let mut digest = Digest::default();
            digest.add(u64::from(usize::from(to) == node) << 1 | u64::from(from == here));
            digest.add(address);
            digest.add_call(&call);
            Some(digest.0)
        }
        Request::Create { .. } => None,
    });
    digest.add(calls.fold(0, u64::wrapping_add));
    digest.0
}

/// A digest of all facts about an intent, independent of its name.
fn intent_digest(state: &State, intent: usize) -> u64 {
    let named = |intents: &Intents| intents[intent].map_or(0, |one| 1 + u64::from(one.bits()));
    let ledger = |one: &Option<Ledger>| one.map_or(0, |one| named(&one.intents));
    let mut digest = Digest::default();
    digest.add(named(&state.cluster.ledger.intents));
    digest.add(ledger(&state.cluster.late_write));
    for one in &state.replicas {
        let memory = &one.memory;
        digest.add(
            ledger(&one.stale) << 40 | ledger(&memory.writing) << 20 | named(&memory.unwritten),
        );
        digest.add(memory.late_listing.is_some_and(|late| late.settles.contains(intent)));
        digest.add(match memory.progress[intent] {
            Progress::Found => 0,
            Progress::Ready => 1,
            Progress::Sent => 2,
            Progress::Doubtful => 3,
            Progress::Told => 4,
            Progress::Made(address) => 5 + address,
        });
    }
    let about = |call: &Call| matches!(call.request, Request::Create { intent: one } if usize::from(one) == intent);
    let calls = state.cloud.calls.iter().filter(about).map(|call| {
        let mut digest = Digest::default();
        digest.add_call(&call);
        digest.0
    });
    digest.add(calls.fold(0, u64::wrapping_add));
    digest.0
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use stateright::Model;

    use super::*;

    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

    /// The first reachable states, by distance.
    fn first_states(protocol: &Protocol, count: usize) -> Vec<State> {
        let mut reached = protocol.init_states();
        let mut known: HashSet<State> = reached.iter().copied().collect();
        let mut next = 0;
        while next < reached.len() && reached.len() < count {
            let further = protocol.next_states(&reached[next]);
            reached.extend(further.into_iter().filter(|state| known.insert(*state)));
            next += 1;
        }
        reached
    }

    fn assert_names_do_not_matter(protocol: &Protocol, renamings: &[Names]) {
        // A stride, so that the sample has states of all distances.
        for state in first_states(protocol, 60_000).into_iter().step_by(97) {
            let next = protocol.next_states(&state);
            for names in renamings {
                let rename = |mut state: State| {
                    swap_replicas(&mut state);
                    names.apply(&mut state);
                    state
                };
                let one_way: HashSet<State> = next.iter().copied().map(rename).collect();
                let other_way: HashSet<State> =
                    protocol.next_states(&rename(state)).into_iter().collect();
                assert_eq!(one_way, other_way, "after {state:?}");
            }
        }
    }

    #[test]
    fn what_follows_from_a_state_does_not_depend_on_names_where_machines_are_the_mark() {
        let renamings = ORDERS.map(|nodes| Names { nodes, intents: nodes });
        let protocol = Protocol::of_creation(2, 3, Mark::TargetMachine);
        assert_names_do_not_matter(&protocol, &renamings);
    }

    #[test]
    fn what_follows_from_a_state_does_not_depend_on_names_where_a_tag_is_the_mark() {
        // With two addresses, only two of three intents are used.
        let all = |nodes| [[0, 1, 2], [1, 0, 2]].map(|intents| Names { nodes, intents });
        let protocol = Protocol::of_creation(2, 3, Mark::Tag);
        assert_names_do_not_matter(&protocol, &ORDERS.map(all).concat());
    }
}
