//! Searches and their output.

use std::collections::BTreeSet;
use std::time::Instant;

use model::{Action, Invariant, Protocol};
use stateright::{Checker, HasDiscoveries, Model};

/// Visits every state. Fails if an invariant is broken anywhere, or if an example is unreachable.
pub fn assert_holds(what: &str, protocol: Protocol) {
    let started = Instant::now();
    let checker = protocol.checker().spawn_bfs().join();
    checker.assert_properties();
    let (states, steps) = (checker.unique_state_count(), checker.state_count());
    println!("{what}: holds in {states} states, {steps} steps, {:.1?}", started.elapsed());
}

/// A shortest path to a state with a broken invariant.
pub fn shortest(protocol: Protocol, invariant: Invariant) -> Option<Vec<Action>> {
    let name = invariant.name();
    let mut best: Option<Vec<Action>> = None;
    loop {
        let finish = HasDiscoveries::AnyOf(BTreeSet::from([name]));
        let mut search = protocol.checker().finish_when(finish);
        // A search ends some states after its first find and returns the last find.
        if let Some(path) = &best {
            search = search.target_max_depth(path.len() + 1);
        }
        match search.spawn_bfs().join().discovery(name) {
            Some(path) => best = Some(path.into_actions()),
            None => return best,
        }
    }
}

/// Fails unless each of `invariants` is broken somewhere, and prints the path.
pub fn assert_broken(what: &str, protocol: Protocol, invariants: &[Invariant]) {
    for invariant in invariants {
        let started = Instant::now();
        let path = shortest(protocol, *invariant);
        let path = path.unwrap_or_else(|| panic!("{what}: {} is not broken", invariant.name()));
        let took = started.elapsed();
        println!("{what}: {} is broken in {} steps, {took:.1?}", invariant.name(), path.len());
        path.iter().for_each(|action| println!("    {action:?}"));
    }
}
