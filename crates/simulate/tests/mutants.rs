//! The oracle finds each planted fault within the standard seeds.
#![allow(clippy::print_stdout)] // the tests print figures
#![allow(clippy::unwrap_used, clippy::panic)] // a failed setup fails the test

use simulate::mutants::Mutant;
use simulate::schedule::{CloudState, HandEvent, PoolEvent, Sticking, What};
use simulate::{Manner, Schedule, generate, play};

/// The number of seeds that `./test` chooses from: seeds about a pair that occurs anyway are left out.
const SEEDS: u64 = 2_000;

/// The standard seeds, first the one that found the mutant last time. A mutant that another seed
/// finds now is printed, and its entry here is due.
fn seeds(mutant: Mutant) -> impl Iterator<Item = u64> {
    let known = match mutant {
        Mutant::DropsEgress | Mutant::EvictsEarly => 0,
        Mutant::ListsWithoutEnd => 1,
        Mutant::AdoptsStrangers
        | Mutant::BelievesOldEvents
        | Mutant::ForgetsIntents
        | Mutant::OutgrowsLedgers => 2,
        Mutant::IgnoresCoolOff => 6,
        Mutant::ReservesTooMany => 8,
        Mutant::BelievesOldListings | Mutant::RereadsAtOnce => 19,
        Mutant::KeepsFailedTargets => 26,
        Mutant::BelievesHalfLists => 48,
        Mutant::KeepsGhosts => 83,
        Mutant::GivesUp => 86,
        Mutant::KeepsForReservations => 174,
        Mutant::RemembersByName => 182,
        Mutant::Unfenced => 219,
        Mutant::TakesBreakdownForNo => 254,
        Mutant::TakesSilenceForNo => 277,
        Mutant::KeepsAbandoned => 279,
        Mutant::ForgetsLists => 426,
        Mutant::IgnoresGrace => 462,
        Mutant::TakesErrorsForAbsence => 514,
        Mutant::BlamesMachines => 920,
        Mutant::BelievesOldSightings => 1030,
        Mutant::DropsHolders => 58,
        Mutant::OverwritesUsers => 98,
        Mutant::TrustsNamesakes => 318,
    };
    std::iter::once(known).chain(0..SEEDS)
}

fn is_found(mutant: Mutant, by: &[&str]) {
    is_found_by_words(mutant, by, "", |_| true);
}

fn lasts(schedule: &Schedule, what: impl Fn(&What) -> bool) -> bool {
    schedule.lasting.iter().any(|event| what(&event.what))
}

fn happens(schedule: &Schedule, what: impl Fn(&What) -> bool) -> bool {
    schedule.events.iter().any(|event| what(&event.what))
}

/// The mutant is found by a violation of these invariants that is told with these words, in a
/// schedule selected by `about`. Other violations are ignored.
fn is_found_by_words(mutant: Mutant, by: &[&str], words: &str, about: impl Fn(&Schedule) -> bool) {
    simulate::panics::keep();
    let manner = Manner { mutant: Some(mutant), ..Manner::default() };
    let found = seeds(mutant).map(generate).filter(about).find_map(|one| {
        let violation = play(&one, &manner).unwrap().violation?;
        let fits = by.contains(&violation.invariant) && violation.text.contains(words);
        fits.then_some((one.seed, violation))
    });
    let (seed, violation) = found.unwrap_or_else(|| panic!("{mutant:?} is not found"));
    println!("{mutant:?}: seed {seed}: {}: {}", violation.invariant, violation.text);
}

fn is_found_where(mutant: Mutant, by: &[&str], about: impl Fn(&Schedule) -> bool) {
    is_found_by_words(mutant, by, "", about);
}

fn is_found_by_a_name(mutant: Mutant, by: &[&str], words: &str) {
    is_found_by_words(mutant, by, words, |one| one.setting.has_names());
}

#[test]
fn an_operator_that_does_not_write_down_what_it_reserves_is_found() {
    is_found(Mutant::ForgetsIntents, &["S10"]);
}

#[test]
fn an_operator_that_takes_silence_for_a_refusal_is_found() {
    is_found(Mutant::TakesSilenceForNo, &["S1", "S2", "S3", "S6"]);
}

#[test]
fn an_operator_that_believes_old_events_is_found() {
    is_found(Mutant::BelievesOldEvents, &["S1", "S2", "S4", "S6", "L1", "L3"]);
}

#[test]
fn an_operator_that_gives_up_on_a_node_is_found() {
    is_found(Mutant::GivesUp, &["L1", "L3"]);
}

#[test]
fn an_operator_that_believes_old_listings_is_found() {
    is_found(Mutant::BelievesOldListings, &["S4", "L1", "L3"]);
}

#[test]
fn an_operator_that_does_not_ask_the_lease_is_found() {
    is_found(Mutant::Unfenced, &["S10"]);
}

#[test]
fn an_operator_that_takes_an_error_for_absence_is_found_by_a_name_that_shrinks() {
    is_found_by_a_name(Mutant::TakesErrorsForAbsence, &["S5"], "loses");
}

#[test]
fn an_operator_that_writes_names_from_half_a_list_is_found_by_a_name_that_shrinks() {
    is_found_by_a_name(Mutant::BelievesHalfLists, &["S5"], "loses");
}

#[test]
fn an_operator_that_keeps_what_a_list_does_not_show_is_found_by_a_name_that_lists_it() {
    is_found_by_a_name(Mutant::KeepsGhosts, &["L1"], "instead of");
}

#[test]
fn an_operator_that_blames_a_machine_for_one_refused_address_is_found() {
    is_found_where(Mutant::BlamesMachines, &["L1"], |one| {
        lasts(one, |what| matches!(what, What::Refuses(Sticking::Address(_))))
    });
}

#[test]
fn an_operator_that_keeps_a_node_for_a_reservation_that_cannot_be_made_is_found() {
    is_found_where(Mutant::KeepsForReservations, &["L1"], |one| {
        lasts(one, |what| matches!(what, What::CloudIs(CloudState::Full)))
    });
}

#[test]
fn an_operator_that_keeps_a_node_for_a_reservation_it_gave_up_is_found() {
    is_found_where(Mutant::KeepsAbandoned, &["L1", "L3"], |one| {
        happens(one, |what| matches!(what, What::Process(..)))
    });
}

#[test]
fn an_operator_that_believes_what_it_saw_before_an_address_was_listed_is_found() {
    is_found_where(Mutant::BelievesOldSightings, &["S4"], |one| {
        happens(one, |what| matches!(what, What::Hand(HandEvent::MovesLast(..))))
    });
}

#[test]
fn an_operator_that_forgets_the_list_of_a_spec_with_a_typo_is_found() {
    is_found_where(Mutant::ForgetsLists, &["S4", "S6", "S8"], |one| {
        happens(one, |what| matches!(what, What::Pool(_, PoolEvent::Mistyped(_))))
    });
}

#[test]
fn an_operator_that_keeps_a_node_for_an_attempt_of_a_paused_pool_is_found() {
    is_found_where(Mutant::KeepsFailedTargets, &["L1"], |one| {
        lasts(one, |what| matches!(what, What::Pool(_, PoolEvent::Paused)))
    });
}

#[test]
fn an_operator_that_takes_a_new_pool_for_the_one_that_had_its_name_is_found() {
    is_found_where(Mutant::RemembersByName, &["S6"], |one| {
        happens(one, |what| matches!(what, What::Pool(_, PoolEvent::Deleted)))
    });
}

#[test]
fn an_operator_that_takes_a_breakdown_for_a_refusal_is_found() {
    is_found(Mutant::TakesBreakdownForNo, &["S1", "S2", "S6"]);
}

#[test]
fn an_operator_that_reserves_more_than_a_pool_wants_is_found() {
    is_found_where(Mutant::ReservesTooMany, &["S1"], |one| {
        one.setting.pools.iter().any(|pool| pool.wanted.is_some())
    });
}

#[test]
fn an_operator_that_does_not_wait_between_assignments_is_found() {
    is_found(Mutant::IgnoresCoolOff, &["cool-off"]);
}

#[test]
fn an_operator_that_forgets_what_a_machine_is_owed_is_found() {
    is_found(Mutant::DropsEgress, &["egress", "L1"]);
}

#[test]
fn an_operator_that_evicts_pods_before_the_address_has_left_is_found() {
    is_found_where(Mutant::EvictsEarly, &["evict"], |one| !one.setting.allocations.is_empty());
}

#[test]
fn an_operator_that_trusts_the_claim_of_a_namesake_is_found() {
    is_found_where(Mutant::TrustsNamesakes, &["S12"], |one| one.setting.management.is_some());
}

#[test]
fn an_operator_that_lets_an_address_go_before_the_machines_is_found() {
    is_found_where(Mutant::DropsHolders, &["S12"], |one| {
        one.setting.management.as_ref().is_some_and(|management| management.holds)
    });
}

#[test]
fn an_operator_that_claims_an_address_for_a_user_s_own_host_is_found() {
    is_found_where(Mutant::OverwritesUsers, &["S12"], |one| one.setting.management.is_some());
}

#[test]
fn an_operator_that_adopts_an_address_from_before_its_reservation_is_found() {
    is_found(Mutant::AdoptsStrangers, &["S6"]);
}

#[test]
fn an_operator_whose_ledger_outgrows_an_annotation_is_found() {
    is_found(Mutant::OutgrowsLedgers, &["L1", "L3"]);
}

#[test]
fn an_operator_that_reads_a_missing_address_at_network_speed_is_found() {
    is_found(Mutant::RereadsAtOnce, &["L5"]);
}

#[test]
fn an_operator_that_lists_a_locked_address_without_end_is_found() {
    is_found_by_words(Mutant::ListsWithoutEnd, &["L3"], "not at rest", |_| true);
}

#[test]
fn an_operator_that_does_not_wait_for_a_node_that_fails_is_found() {
    is_found_where(Mutant::IgnoresGrace, &["grace"], |one| {
        one.setting.pools.iter().any(|pool| pool.grace > 0)
    });
}
