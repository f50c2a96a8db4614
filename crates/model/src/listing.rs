//! Listings: at most one under way, each as old as its request.

use crate::cloud::{ADDRESSES, Place, Request};
use crate::cluster::INTENTS;
use crate::faults::Fault;
use crate::protections::Protection;
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

    /// Sends a listing, answered at once.
    pub(crate) fn list(&self, state: &mut State, replica: usize) {
        let listing = snapshot(state, replica);
        state.replicas[replica].memory.fold(listing);
    }

    /// Sends a listing, answered late.
    pub(crate) fn list_slowly(&self, state: &mut State, replica: usize) -> Option<()> {
        state.faults.spend(Fault::LateListing)?;
        state.replicas[replica].memory.late_listing = Some(snapshot(state, replica));
        Some(())
    }

    /// The late answer arrives.
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
    /// Applies a listing (`Account::fold_listing`).
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

    /// An address changed: a listing under way tells nothing about the address.
    pub(crate) fn outdate(&mut self, address: usize) {
        if let Some(late) = &mut self.late_listing {
            late.tells.remove(address);
            late.places[address] = Place::ABSENT;
        }
    }
}

/// The content of a listing sent now, and the parts that are news to the sender.
fn snapshot(state: &State, replica: usize) -> Listing {
    let memory = &state.replicas[replica].memory;
    let places = state.cloud.places;
    let is_open = |is_it: &dyn Fn(Request) -> bool| {
        state.cloud.calls.iter().any(|call| call.is_of(replica) && is_it(call.request))
    };
    let tells = |address: &usize| match memory.operations[*address] {
        Operation::Sent(_) => false,
        // The address is at its destination, or the unanswered call is over.
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
