//! A crash at any moment of any call to the outside ends where no crash ends.
#![allow(clippy::print_stdout)] // the figures are the point
#![allow(clippy::unwrap_used, clippy::panic)] // a test that cannot go on fails

use simulate::kill_points::Scenario;
use simulate::{Kill, Played};

/// Ends alike, or where nobody can know and says so.
fn check(scenario: Scenario, clean: &Played, kills: Vec<Kill>) -> bool {
    let what = format!("{scenario:?} {kills:?}");
    let played = scenario.play(kills).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(played.end, clean.end, "{what}");
    played.resolved > 0
}

fn every_point(scenario: Scenario) {
    simulate::panics::keep();
    let clean = scenario.clean().unwrap();
    let calls = clean.calls[scenario.victim()];
    let points = Scenario::points(scenario.victim(), calls);
    let unknown =
        points.iter().filter(|point| check(scenario, &clean, vec![(*point).clone()])).count();
    println!("{scenario:?}: {calls} calls, {} kill points, {unknown} asked the user", points.len());
    assert_eq!(points.len() as u64, 3 * calls);
    assert!(calls > 10, "a scenario with calls: {calls}");
}

#[test]
fn a_crash_while_addresses_are_reserved_costs_nothing() {
    every_point(Scenario::Create);
}

#[test]
fn a_crash_while_an_address_moves_costs_nothing() {
    every_point(Scenario::Move);
}

#[test]
fn a_crash_while_two_addresses_change_places_costs_nothing() {
    every_point(Scenario::Swap);
}

#[test]
fn a_crash_while_a_pool_is_deleted_costs_nothing() {
    every_point(Scenario::Delete);
}

#[test]
fn a_crash_of_the_successor_during_a_takeover_costs_nothing() {
    every_point(Scenario::Takeover);
}
