//! The model is not vacuous: the situations behind the protections are reachable.

use model::{Action, Fault, Faults, Mark, Protocol};
use stateright::{Checker, Model};

/// The actions on the way to an example.
fn way_to(example: &'static str, protocol: Protocol) -> Vec<Action> {
    let checker = protocol.checker().spawn_bfs().join();
    let path = checker.discovery(example).unwrap_or_else(|| panic!("never: {example}"));
    path.into_actions()
}

fn only(fault: Fault) -> Faults {
    Faults::none().often(fault)
}

#[test]
fn after_a_crash_the_other_replica_moves_addresses() {
    let protocol = Protocol { faults: only(Fault::Crash), ..Protocol::of_moves(2, 2) };
    let way = way_to("another replica takes over and acts", protocol);
    assert!(way.contains(&Action::Crash(0)), "{way:?}");
}

#[test]
fn after_a_crash_the_next_process_of_the_pod_need_not_wait_for_the_lease() {
    let protocol = Protocol { faults: only(Fault::Crash), ..Protocol::of_moves(2, 2) };
    let after = |state, action| protocol.next_state(&state, action);
    let dead = after(protocol.init_states()[0], Action::Crash(0)).expect("a leader may crash");
    assert!(after(dead, Action::Take(0)).is_some(), "its own pod's process knows that it is dead");
    assert!(after(dead, Action::Take(1)).is_none(), "another pod's process does not");
    let run_out = after(dead, Action::Lapse).expect("nobody renews it");
    assert!([0, 1].into_iter().all(|one| after(run_out, Action::Take(one)).is_some()));
}

#[test]
fn after_a_crash_the_other_replica_finds_what_was_made() {
    for mark in [Mark::Tag, Mark::TargetMachine] {
        let faults = only(Fault::Crash);
        let protocol = Protocol { faults, ..Protocol::of_creation(2, 2, mark) };
        let way = way_to("an address is found by somebody who did not make it", protocol);
        assert!(way.iter().any(|action| matches!(action, Action::Crash(_))), "{way:?}");
    }
}

#[test]
fn without_any_fault_everything_wanted_is_made_recorded_and_placed() {
    for mark in [Mark::Tag, Mark::TargetMachine] {
        let protocol = Protocol { faults: Faults::none(), ..Protocol::of_creation(3, 3, mark) };
        way_to("everything wanted is recorded", protocol);
        way_to("every wanted address is on a node", protocol);
    }
}

#[test]
fn with_every_fault_everything_that_should_be_possible_is() {
    let checker = Protocol::of_moves(2, 2).checker().spawn_bfs().join();
    checker.assert_properties();
    for mark in [Mark::Tag, Mark::TargetMachine] {
        Protocol::of_creation(1, 2, mark).checker().spawn_bfs().join().assert_properties();
    }
}
