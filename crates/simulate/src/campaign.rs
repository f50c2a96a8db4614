//! Runs many seeds on all processors.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use simulate::coverage::{Coverage, Pair};
use simulate::oracle::Violation;
use simulate::shrink::shrink;
use simulate::{Manner, Schedule, about, play};

use crate::{Args, report};

/// The results so far.
#[derive(Default)]
struct Results {
    coverage: Coverage,
    played: BTreeSet<u64>,
    /// Simulated time of all runs, in milliseconds.
    lived: u64,
    failures: Vec<(Schedule, Violation)>,
    problem: Option<String>,
}

/// The number of failures after which the campaign stops.
const ENOUGH: usize = 5;

impl Results {
    fn is_enough(&self, args: &Args) -> bool {
        let limit = if args.mutant.is_some() { 1 } else { ENOUGH };
        self.failures.len() >= limit || self.problem.is_some()
    }

    /// The wanted pairs that have not occurred.
    fn missing(&self, args: &Args) -> Vec<Pair> {
        if args.covered { self.coverage.missing() } else { vec![] }
    }
}

/// Runs the requested seeds.
///
/// # Errors
/// A description of the failures, or of missing coverage.
pub fn run(args: &Args) -> Result<(), String> {
    let started = Instant::now();
    let mut results = Results::default();
    for some in [seeds, seeds_still_needed, remaining_seeds] {
        let seeds = some(args, &results);
        results = play_all(args, &seeds, results);
    }
    results.failures.sort_by_key(|(schedule, _)| schedule.seed);
    report::say(&format!(
        "{} seeds in {:.0?}, {:.1} days of cluster life, {} broke a promise",
        results.played.len(),
        started.elapsed(),
        results.lived as f64 / 86_400_000.0,
        results.failures.len(),
    ));
    conclude(args, results)
}

/// The seeds to run first: all, or, if coverage is wanted, those about no single pair.
fn seeds(args: &Args, _: &Results) -> Vec<u64> {
    args.seeds.clone().filter(|seed| !args.covered || about(*seed).is_none()).collect()
}

/// The seeds about a single pair that has not occurred yet.
fn seeds_still_needed(args: &Args, results: &Results) -> Vec<u64> {
    let missing: BTreeSet<_> = results.missing(args).into_iter().collect();
    let needed = |seed: &u64| about(*seed).is_some_and(|pair| missing.contains(&pair));
    args.seeds.clone().filter(needed).collect()
}

/// All other seeds, if a pair has still not occurred.
fn remaining_seeds(args: &Args, results: &Results) -> Vec<u64> {
    let remain = |seed: &u64| !results.played.contains(seed);
    args.seeds.clone().filter(remain).filter(|_| !results.missing(args).is_empty()).collect()
}

/// Runs these seeds, unless enough have failed.
fn play_all(args: &Args, seeds: &[u64], results: Results) -> Results {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(results));
    std::thread::scope(|scope| {
        for _ in 0..args.jobs() {
            let work = || work(args, seeds, &next, &results);
            let thread = std::thread::Builder::new().name("simulate".to_owned());
            if let Err(error) = thread.spawn_scoped(scope, work) {
                lock(&results).problem = Some(error.to_string());
            }
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock(results: &Mutex<Results>) -> std::sync::MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(args: &Args, seeds: &[u64], next: &AtomicUsize, results: &Mutex<Results>) {
    let manner = Manner { mutant: args.mutant, ..Manner::default() };
    while !lock(results).is_enough(args)
        && let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed))
    {
        let schedule = args.generate(*seed);
        let played = play(&schedule, &manner);
        let mut results = lock(results);
        match played {
            Ok(played) => {
                results.played.insert(*seed);
                results.lived += played.took;
                results.coverage.add(&played.coverage);
                results.failures.extend(played.violation.map(|violation| (schedule, violation)));
            }
            Err(problem) => results.problem = Some(problem),
        }
    }
}

fn conclude(args: &Args, results: Results) -> Result<(), String> {
    if let Some(problem) = results.problem {
        return Err(problem);
    }
    if let Some(mutant) = args.mutant {
        return match results.failures.first() {
            Some((schedule, violation)) => {
                let (seed, invariant) = (schedule.seed, violation.invariant);
                report::say(&format!("{mutant:?}: found by seed {seed}: {invariant}"));
                Ok(())
            }
            None => Err(format!("{mutant:?}: not found: the oracle is too weak")),
        };
    }
    if !results.failures.is_empty() {
        let texts: Result<Vec<_>, _> = results.failures.iter().map(explain).collect();
        return Err(texts?.join("\n\n"));
    }
    report::say(&results.coverage.to_string());
    let missing = results.missing(args);
    if !missing.is_empty() {
        let pairs: Vec<_> =
            missing.iter().map(|(fault, action)| format!("{fault} × {action}")).collect();
        return Err(format!("never met: {}", pairs.join(", ")));
    }
    Ok(())
}

/// Shrinks a failing schedule, saves the result as a file, and describes the failure.
fn explain((schedule, violation): &(Schedule, Violation)) -> Result<String, String> {
    let fails = |shorter: &Schedule| {
        let played = play(shorter, &Manner::default());
        let found = played.ok().and_then(|played| played.violation);
        found.is_some_and(|found| found.invariant == violation.invariant)
    };
    let shrunk = shrink(schedule, fails);
    let folder = PathBuf::from("target/simulate");
    let path = folder.join(format!("{}-{}.json", violation.invariant, schedule.seed));
    let text = serde_json::to_string_pretty(&shrunk).map_err(|error| error.to_string())?;
    let kept = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, text));
    kept.map_err(|error| format!("{}: {error}", path.display()))?;
    let again = format!("cargo simulate --trace --schedule {}", path.display());
    Ok(format!("{}\nAGAIN: {again}", report::failure(&shrunk, violation)))
}
