//! Listings: one at a time, each as old as its sending.

use crate::cloud::{ADDRESSES, Place, Request};
use crate::cluster::INTENTS;
use crate::design::Protection;
use crate::faults::Fault;
use crate::replica::{Listing, Memory, Operation, Progress};
use crate::set::Set;
use crate::{Protocol, State};

impl Protocol {
    /// Whether a leader may list now (`plan/reading.rs` `plan`, `Listing::in_flight`).
    pub(crate) fn may_list(&self, state: &State, replica: usize) -> bool {
        let one = &state.replicas[replica];
        let settled = !one.settling || !self.has(Protection::ListingAfterSettling);
        one.leads && settled && one.memory.late_listing.is_none()
    }

    /// A listing is sent and answered.
    pub(crate) fn list(&self, state: &mut State, replica: usize) {
        let listing = snapshot(state, replica);
        state.replicas[replica].memory.fold(listing);
    }

    /// A listing is sent, and not answered for a while.
    pub(crate) fn list_slowly(&self, state: &mut State, replica: usize) -> Option<()> {
        state.faults.spend(Fault::LateListing)?;
        state.replicas[replica].memory.late_listing = Some(snapshot(state, replica));
        Some(())
    }

    /// The answer to that.
    pub(crate) fn hear_late_listing(&self, state: &mut State, replica: usize) -> Option<()> {
        let memory = &mut state.replicas[replica].memory;
        let mut listing = memory.late_listing.take()?;
        if !self.has(Protection::AgeOfReads) {
            listing.tells = Set::below(ADDRESSES);
            listing.settles = Set::below(INTENTS);
        }
        memory.fold(listing);
        Some(())
    }
}

impl Memory {
    /// Takes a listing in (`Account::fold_listing`).
    fn fold(&mut self, listing: Listing) {
        self.listed = true;
        for address in listing.tells.iter() {
            self.places[address] = listing.places[address];
            self.operations[address] = Operation::None;
        }
        for intent in listing.settles.iter() {
            if self.progress[intent] == Progress::Doubtful {
                self.progress[intent] = Progress::Told;
            }
        }
    }

    /// Something was done to an address: a listing that is under way tells nothing of it.
    pub(crate) fn outdate(&mut self, address: usize) {
        if let Some(late) = &mut self.late_listing {
            late.tells.remove(address);
            late.places[address] = Place::ABSENT;
        }
    }
}

/// What a listing that is sent now shows, and what of it will be news to its sender.
fn snapshot(state: &State, replica: usize) -> Listing {
    let memory = &state.replicas[replica].memory;
    let places = state.cloud.places;
    let is_open = |is_it: &dyn Fn(Request) -> bool| {
        state.cloud.calls.iter().any(|call| call.is_of(replica) && is_it(call.request))
    };
    let tells = |address: &usize| match memory.operations[*address] {
        Operation::Sent(_) => false,
        // It is where it was to go, or the call that nobody answered is over.
        Operation::Uncertain(to) => {
            let about = |request| matches!(request, Request::Assign { address: one, .. } if usize::from(one) == *address);
            places[*address] == Place::on(to.into()) || !is_open(&about)
        }
        Operation::None => true,
    };
    let settles = |intent: &usize| {
        let about = |request| matches!(request, Request::Create { intent: one } if usize::from(one) == *intent);
        memory.progress[*intent] == Progress::Doubtful && !is_open(&about)
    };
    Listing {
        places,
        tells: (0..ADDRESSES).filter(tells).collect(),
        settles: (0..INTENTS).filter(settles).collect(),
    }
}
