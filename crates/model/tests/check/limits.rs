//! Limits of the protocol: violations once an assumption is dropped.

use model::{Invariant, Mark, Pods, Protocol, Strangers};

use crate::search::{assert_broken, assert_holds};

#[test]
fn an_address_that_somebody_puts_on_the_target_meanwhile_is_taken_for_ours() {
    let protocol = Protocol::of_creation(1, 2, Mark::TargetMachine);
    let protocol = Protocol { strangers: Strangers::Anywhere, ..protocol };
    assert_broken("a stranger on the target", protocol, &[Invariant::NothingStolen]);
}

#[test]
fn a_tag_keeps_strangers_out_wherever_they_are() {
    let protocol = Protocol::of_creation(1, 2, Mark::Tag);
    let protocol = Protocol { strangers: Strangers::Anywhere, ..protocol };
    assert_holds("a stranger anywhere, by tag", protocol);
}

#[test]
fn two_processes_that_run_in_one_pod_at_once_act_beside_each_other() {
    let protocol = Protocol { pods: Pods::OneForAll, ..Protocol::of_moves(2, 2) };
    let broken = [Invariant::OneTermAtATime, Invariant::NothingTakenAway];
    assert_broken("two processes in one pod", protocol, &broken);
}
