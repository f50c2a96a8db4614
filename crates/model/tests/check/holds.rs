//! All invariants hold with every protection active, however often each fault happens.

use model::{Fault, Mark, Moves, Protocol};

use crate::search::assert_holds;

#[test]
fn moves_hold_with_three_addresses_and_three_nodes() {
    assert_holds("moves, 3 x 3", Protocol::of_moves(3, 3));
}

#[test]
fn creation_by_tag_holds_with_three_addresses_and_three_nodes() {
    assert_holds("creation by tag, 3 x 3", three_by_three(Mark::Tag, &[Fault::Stranger]));
}

#[test]
fn creation_by_target_machine_holds_with_three_addresses_and_three_nodes() {
    let protocol = three_by_three(Mark::TargetMachine, &[Fault::Stranger]);
    assert_holds("creation by target machine, 3 x 3", protocol);
}

#[test]
fn creation_beside_strangers_holds_with_three_addresses_and_three_nodes() {
    let others = [Fault::StaleWatch, Fault::LateListing];
    for mark in [Mark::Tag, Mark::TargetMachine] {
        let what = format!("creation beside a stranger, {mark:?}, 3 x 3");
        assert_holds(&what, three_by_three(mark, &others));
    }
}

#[test]
fn creation_by_tag_and_moves_hold_together() {
    // A stranger has no tag, and its only effect would be an occupied node.
    let protocol = Protocol::of_creation(2, 2, Mark::Tag);
    let faults = protocol.faults.without(Fault::Stranger);
    let protocol = Protocol { faults, nameless: true, ..protocol };
    assert_holds("creation by tag and moves, 2 x 2", protocol);
}

#[test]
fn creation_by_target_machine_and_moves_hold_together_with_every_fault() {
    let protocol = Protocol::of_creation(2, 2, Mark::TargetMachine);
    let protocol = Protocol { nameless: true, ..protocol };
    assert_holds("creation by target machine and moves, 2 x 2", protocol);
}

fn three_by_three(mark: Mark, without: &[Fault]) -> Protocol {
    let mut protocol = Protocol::of_creation(3, 3, mark);
    protocol.scale.moves = Moves::AtOnce;
    protocol.faults = without.iter().fold(protocol.faults, |all, one| all.without(*one));
    Protocol { nameless: true, ..protocol }
}
