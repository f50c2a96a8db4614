//! Runs many seeds on all processors.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use simulate::coverage::Coverage;
use simulate::oracle::Violation;
use simulate::shrink::shrink;
use simulate::{Manner, Schedule, play};

use crate::{Args, report};

/// The results so far.
#[derive(Default)]
struct Results {
    coverage: Coverage,
    played: u64,
    /// Simulated time of all runs, in milliseconds.
    lived: u64,
    failures: Vec<(Schedule, Violation)>,
    problem: Option<String>,
}

/// The number of failures after which the campaign stops.
const ENOUGH: usize = 5;

/// Runs the requested seeds.
///
/// # Errors
/// A description of the failures, or of missing coverage.
pub fn run(args: &Args) -> Result<(), String> {
    let started = Instant::now();
    let results = Mutex::new(Results::default());
    let (next, enough) = (AtomicU64::new(args.seeds.start), AtomicBool::new(false));
    let limit = if args.mutant.is_some() { 1 } else { ENOUGH };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs() {
            let work = || work(args, &results, (&next, &enough), limit);
            let thread = std::thread::Builder::new().name("simulate".to_owned());
            if let Err(error) = thread.spawn_scoped(scope, work) {
                lock(&results).problem = Some(error.to_string());
            }
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.failures.sort_by_key(|(schedule, _)| schedule.seed);
    report::say(&format!(
        "{} seeds in {:.0?}, {:.1} days of cluster life, {} broke a promise",
        results.played,
        started.elapsed(),
        results.lived as f64 / 86_400_000.0,
        results.failures.len(),
    ));
    conclude(args, results)
}

fn lock(results: &Mutex<Results>) -> std::sync::MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(
    args: &Args,
    results: &Mutex<Results>,
    (next, enough): (&AtomicU64, &AtomicBool),
    limit: usize,
) {
    let manner = Manner { mutant: args.mutant, ..Manner::default() };
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= args.seeds.end || enough.load(Ordering::Relaxed) {
            return;
        }
        let schedule = args.generate(seed);
        let played = play(&schedule, &manner);
        let mut results = lock(results);
        match played {
            Ok(played) => {
                results.played += 1;
                results.lived += played.took;
                results.coverage.add(&played.coverage);
                results.failures.extend(played.violation.map(|violation| (schedule, violation)));
            }
            Err(problem) => results.problem = Some(problem),
        }
        if results.failures.len() >= limit || results.problem.is_some() {
            enough.store(true, Ordering::Relaxed);
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
    let missing = results.coverage.missing();
    if args.covered && !missing.is_empty() {
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
