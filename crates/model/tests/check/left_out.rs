//! Each protection is needed: leaving any out breaks an invariant.

use model::Invariant::{
    NeverTooMany, NothingLost, NothingStolen, NothingTakenAway, OneCallAtATime, OneTermAtATime,
};
use model::{Fault, Faults, Invariant, Mark, Protection, Protocol};

use crate::search::assert_broken;

fn in_moves(protection: Protection, broken: &[Invariant]) {
    let what = format!("moves without {protection:?}");
    assert_broken(&what, Protocol::of_moves(2, 2).without(protection), broken);
}

fn in_creation(mark: Mark, protection: Protection, broken: &[Invariant]) {
    let what = format!("creation by {mark:?} without {protection:?}");
    assert_broken(&what, Protocol::of_creation(1, 2, mark).without(protection), broken);
}

fn in_creation_by_either(protection: Protection, broken: &[Invariant]) {
    in_creation(Mark::Tag, protection, broken);
    in_creation(Mark::TargetMachine, protection, broken);
}

/// Two addresses, with lost answers and crashes as the only faults.
fn in_creation_of_two(mark: Mark, protection: Protection, broken: &[Invariant]) {
    let what = format!("creation of two by {mark:?} without {protection:?}");
    let faults = Faults::none().often(Fault::Crash).often(Fault::LostAnswer);
    let protocol = Protocol { faults, ..Protocol::of_creation(2, 2, mark) };
    assert_broken(&what, protocol.without(protection), broken);
}

#[test]
fn without_the_guard_a_leader_that_was_stopped_acts_beside_its_successor() {
    in_moves(Protection::Guard, &[NothingTakenAway, OneTermAtATime]);
    in_creation_by_either(Protection::Guard, &[NothingLost, OneTermAtATime]);
}

#[test]
fn without_settling_at_takeover_a_dead_leaders_call_undoes_its_successors() {
    in_moves(Protection::SettleAtTakeover, &[NothingTakenAway, OneTermAtATime]);
    in_creation_by_either(Protection::SettleAtTakeover, &[NeverTooMany, NothingLost]);
}

#[test]
fn without_settling_after_a_restart_a_dead_processs_call_undoes_its_heirs() {
    in_moves(Protection::SettleAfterRestart, &[NothingTakenAway, OneTermAtATime]);
    in_creation_by_either(Protection::SettleAfterRestart, &[NeverTooMany, NothingLost]);
}

#[test]
fn without_quiescing_a_call_without_an_answer_undoes_the_next_one() {
    in_moves(Protection::QuiescePerAddress, &[OneCallAtATime, NothingTakenAway]);
    in_creation_by_either(Protection::QuiescePerAddress, &[NeverTooMany, NothingLost]);
}

#[test]
fn without_an_intent_a_created_address_is_lost_in_a_crash_and_made_again() {
    in_creation_by_either(Protection::CreationIntent, &[NothingLost, NeverTooMany]);
}

#[test]
fn intents_that_do_not_count_make_too_many_addresses() {
    in_creation_by_either(Protection::IntentsCount, &[NeverTooMany]);
}

#[test]
fn a_ledger_that_is_not_compared_before_it_is_swapped_loses_intents() {
    in_creation_by_either(Protection::CompareAndSwap, &[NothingLost]);
}

#[test]
fn a_reservation_that_is_sent_before_its_intent_is_known_to_be_written_is_lost() {
    in_creation_by_either(Protection::LedgerKnown, &[NothingLost]);
}

#[test]
fn a_call_that_was_decided_in_an_earlier_term_undoes_what_was_done_since() {
    in_moves(Protection::TermInGuard, &[NothingTakenAway, OneTermAtATime]);
    in_creation_by_either(Protection::TermInGuard, &[NothingLost]);
}

#[test]
fn what_was_listed_before_the_last_leaders_calls_were_over_misleads() {
    in_moves(Protection::ListingAfterSettling, &[NothingTakenAway]);
    in_creation_by_either(Protection::ListingAfterSettling, &[NothingLost]);
}

#[test]
fn a_clean_handover_with_a_call_unanswered_is_not_clean() {
    in_moves(Protection::SettleAtHandover, &[NothingTakenAway, OneTermAtATime]);
    in_creation_by_either(Protection::SettleAtHandover, &[NothingLost]);
}

#[test]
fn a_leader_that_leaves_while_it_waits_passes_the_danger_on() {
    in_moves(Protection::HandoverAfterSettling, &[NothingTakenAway, OneTermAtATime]);
    in_creation_by_either(Protection::HandoverAfterSettling, &[NothingLost]);
}

#[test]
fn a_leader_that_loses_its_lease_and_wins_it_back_trips_over_its_own_calls() {
    in_moves(Protection::SettleAfterOwnLapse, &[OneCallAtATime, NothingTakenAway]);
    in_creation_by_either(Protection::SettleAfterOwnLapse, &[NeverTooMany, NothingLost]);
}

#[test]
fn an_intent_that_a_late_watch_still_shows_is_sent_though_it_is_gone() {
    in_creation_by_either(Protection::OwnIntentsOnly, &[NothingLost, NeverTooMany]);
}

#[test]
fn a_strangers_address_that_is_not_named_is_adopted_when_it_gets_on_the_target() {
    in_creation(Mark::TargetMachine, Protection::StrangersNamed, &[NothingStolen]);
}

#[test]
fn a_result_that_is_named_as_a_stranger_is_lost() {
    let broken = [NothingLost, NeverTooMany];
    in_creation_of_two(Mark::Tag, Protection::ResultsAreNoStrangers, &broken);
}

#[test]
fn an_adoption_beside_a_reservation_takes_the_wrong_address_and_loses_the_right_one() {
    let broken = [NothingLost, NeverTooMany];
    in_creation_of_two(Mark::Tag, Protection::AdoptionWaitsForAnswers, &broken);
}

#[test]
fn an_address_that_is_moved_before_it_is_recorded_is_not_found_again() {
    in_creation_by_either(Protection::RecordedBeforeMoved, &[NothingLost]);
}

#[test]
fn a_move_to_the_target_of_a_reservation_gets_in_its_way() {
    in_creation_of_two(Mark::TargetMachine, Protection::TargetsReserved, &[OneCallAtATime]);
}

#[test]
fn a_listing_that_counts_for_more_than_its_age_misleads() {
    in_moves(Protection::AgeOfReads, &[OneCallAtATime, NothingTakenAway]);
    in_creation_by_either(Protection::AgeOfReads, &[NothingLost]);
}
