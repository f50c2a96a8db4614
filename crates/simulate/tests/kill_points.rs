//! A crash at any point of any external call leads to the same final state as no crash.
#![allow(clippy::print_stdout)] // the tests print figures
#![allow(clippy::unwrap_used, clippy::panic)] // a failed setup fails the test

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use simulate::kill_points::Scenario;
use simulate::process::Effect;
use simulate::{Kill, Played};

/// Compares the final state of a run with crashes. Returns whether the user had to be asked.
fn check(scenario: Scenario, clean: &Played, kills: Vec<Kill>) -> Result<bool, String> {
    let what = format!("{scenario:?} {kills:?}");
    let deaths = kills.len();
    let played = scenario.play(kills)?;
    if played.deaths != deaths {
        return Err(format!("{what}: {} died", played.deaths));
    }
    if played.end != clean.end {
        return Err(format!("{what}: {:#} instead of {:#}", played.end, clean.end));
    }
    Ok(played.resolved > 0)
}

/// The number of crashes with a question to the user.
fn check_all(
    scenario: Scenario,
    clean: &Played,
    all: impl Iterator<Item = Vec<Kill>>,
) -> Result<usize, String> {
    let asked: Result<Vec<bool>, String> = all.map(|kills| check(scenario, clean, kills)).collect();
    Ok(asked?.into_iter().filter(|asked| *asked).count())
}

fn every_point(scenario: Scenario) {
    simulate::panics::keep();
    let clean = scenario.clean().unwrap();
    let calls = &clean.calls[scenario.victim()];
    let points = Scenario::points(scenario.victim(), calls);
    let kills = points.iter().map(|point| vec![point.clone()]);
    let asked = check_all(scenario, &clean, kills).unwrap_or_else(|error| panic!("{error}"));
    let (points, made) = (points.len(), calls.len());
    println!("{scenario:?}: {made} calls, {points} kill points, {asked} asked the user");
    assert!(made > 10, "a scenario with calls: {made}");
    let changes = calls.iter().filter(|effect| **effect == Effect::Change).count();
    assert!(points >= 3 * changes, "every phase of {changes} changes: {points}");
}

#[test]
fn a_crash_while_addresses_are_reserved_costs_nothing() {
    every_point(Scenario::Create);
}

#[test]
fn a_crash_while_an_ipv6_address_is_reserved_costs_a_question_at_most() {
    every_point(Scenario::CreateSix);
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
fn a_crash_while_a_pool_gives_back_its_addresses_costs_nothing() {
    every_point(Scenario::GiveBack);
}

#[test]
fn a_crash_of_the_successor_during_a_takeover_costs_nothing() {
    every_point(Scenario::Takeover);
}

#[test]
fn a_crash_while_names_are_filled_and_lose_an_address_costs_nothing() {
    every_point(Scenario::Names);
}

#[test]
fn a_crash_between_the_steps_of_a_move_leaves_no_machine_without_egress() {
    every_point(Scenario::MoveAtGoogle);
}

#[test]
fn a_crash_between_the_steps_of_a_move_that_are_operations_costs_nothing() {
    every_point(Scenario::MoveLikeAzure);
}

#[test]
fn a_crash_while_a_machine_gets_many_marked_addresses_costs_nothing() {
    every_point(Scenario::CreateLikeHetzner);
}

#[test]
fn a_crash_between_the_note_and_an_eviction_loses_no_eviction() {
    every_point(Scenario::Evict);
}

#[test]
fn a_crash_while_a_cluster_gets_its_vips_or_goes_costs_nothing() {
    every_point(Scenario::Vips);
}

/// Checks every pair of crashes with this first crash. Returns the number of pairs, and of pairs
/// with a question to the user.
fn every_second_point(
    scenario: Scenario,
    clean: &Played,
    first: &Kill,
) -> Result<(usize, usize), String> {
    let once = scenario.play(vec![first.clone()])?;
    let calls = once.calls.get("a2").ok_or_else(|| format!("{first:?}: nobody died"))?;
    let points = Scenario::points("a2", calls);
    let kills = points.iter().map(|second| vec![first.clone(), second.clone()]);
    Ok((points.len(), check_all(scenario, clean, kills)?))
}

#[test]
fn two_crashes_while_an_address_is_reserved_cost_nothing() {
    simulate::panics::keep();
    let scenario = Scenario::CreateOne;
    let clean = scenario.clean().unwrap();
    let firsts = Scenario::points(scenario.victim(), &clean.calls[scenario.victim()]);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut sum = (0, 0);
        while let Some(first) = firsts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (pairs, asked) = every_second_point(scenario, &clean, first)?;
            sum = (sum.0 + pairs, sum.1 + asked);
        }
        Ok::<_, String>(sum)
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let (pairs, asked) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let sums = threads
            .into_iter()
            .map(|thread| thread.join().unwrap().unwrap_or_else(|error: String| panic!("{error}")));
        sums.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    });
    println!("{pairs} pairs of kill points, {asked} asked the user");
    assert!(pairs > 500, "pairs of crashes: {pairs}");
}
