//! What an account remembers between calls: only what helps to ask less. Nothing here is proof of
//! where an address is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::place::Place;
use super::wire::{Fact, Found};
use crate::address::{ListRequest, MachineId};

/// A refused listing is not tried again for so long: permissions change rarely, and a person who
/// grants one can wait that long to see it used.
const BLIND_FOR: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub(super) struct Known(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The projects of machines named so far.
    projects: BTreeSet<String>,
    /// The machines of the last listing's request.
    machines: Vec<MachineId>,
    /// The addresses that somebody asked about.
    asked: BTreeSet<IpAddr>,
    /// Reserved addresses, from listings and reads.
    facts: BTreeMap<IpAddr, Fact>,
    /// Who had an address, while listings are refused.
    holders: BTreeMap<IpAddr, MachineId>,
    /// Listings are refused: until when that is taken for granted, and the vendor's words.
    blind: Option<(Instant, String)>,
}

impl Known {
    /// Takes note of a listing's request.
    pub fn request(&self, request: &ListRequest) {
        let mut state = self.state();
        state.machines.clone_from(&request.machines);
        state.asked = request.addresses.iter().copied().collect();
        for place in request.machines.iter().filter_map(|machine| Place::of(machine).ok()) {
            state.projects.insert(place.project);
        }
    }

    /// Takes note of a machine.
    pub fn machine(&self, place: &Place) {
        self.state().projects.insert(place.project.clone());
    }

    pub fn projects(&self) -> Vec<String> {
        self.state().projects.iter().cloned().collect()
    }

    /// The machines to search for an address, the last known holder first.
    pub fn machines(&self, ip: IpAddr) -> Vec<MachineId> {
        let state = self.state();
        let holder = state.holders.get(&ip);
        let others = state.machines.iter().filter(|machine| Some(*machine) != holder);
        holder.into_iter().chain(others).cloned().collect()
    }

    /// Takes note of addresses. A whole listing replaces what was known.
    pub fn found<'a>(&self, found: impl Iterator<Item = &'a Found>, whole: bool) {
        let mut state = self.state();
        if whole {
            state.facts.clear();
        }
        state.facts.extend(found.map(|one| (one.address.ip, one.fact.clone())));
    }

    pub fn fact(&self, ip: IpAddr) -> Option<Fact> {
        self.state().facts.get(&ip).cloned()
    }

    /// Whether an address was seen as a reserved one, or is asked about as such.
    pub fn is_reserved(&self, ip: IpAddr) -> bool {
        let state = self.state();
        state.facts.contains_key(&ip) || state.asked.contains(&ip)
    }

    /// Takes note of where addresses are, while listings are refused.
    pub fn held(&self, ip: IpAddr, holder: Option<&MachineId>) {
        let mut state = self.state();
        match holder {
            Some(machine) => drop(state.holders.insert(ip, machine.clone())),
            None => drop(state.holders.remove(&ip)),
        }
    }

    pub fn holder(&self, ip: IpAddr) -> Option<MachineId> {
        self.state().holders.get(&ip).cloned()
    }

    /// Takes note of a refused listing.
    pub fn refused(&self, words: &str) {
        self.state().blind = Some((Instant::now() + BLIND_FOR, words.to_owned()));
    }

    /// Why addresses cannot be listed, if that is known.
    pub fn blind(&self) -> Option<String> {
        let state = self.state();
        let (until, words) = state.blind.as_ref()?;
        (*until > Instant::now()).then(|| words.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
