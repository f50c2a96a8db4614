//! Measures the time of recovery over many seeds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use simulate::recovery::{crashes_to_the_end, schedule};
use simulate::schedule::Millis;
use simulate::{Manner, Recovery, recover};

use crate::{Args, report};

/// `--retry-max` of an operator whose user sets nothing.
const RETRY_MAX: Duration = Duration::from_secs(300);

/// The number of slow seeds that are described.
const SLOWEST: usize = 12;

/// Measures recovery in the requested seeds.
///
/// # Errors
/// A description of broken promises.
pub fn run(args: &Args, seeds: std::ops::Range<u64>) -> Result<(), String> {
    let (next, results) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let work = || {
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < seeds.end
        {
            let manner =
                Manner { tells: args.trace, retry_max: Some(RETRY_MAX), ..Manner::default() };
            let recovery = recover(&schedule(seed), &manner);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((seed, recovery));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs() {
            scope.spawn(work);
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut all = Vec::new();
    for (seed, recovery) in results {
        all.push((seed, recovery?));
    }
    all.sort_by_key(|(seed, one)| (std::cmp::Reverse(one.took), *seed));
    tell(&all);
    let broken = all.iter().filter_map(|(seed, one)| Some((seed, one.violation.as_ref()?)));
    let broken: Vec<_> = broken
        .map(|(seed, found)| format!("seed {seed}: {} {}", found.invariant, found.text))
        .collect();
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

fn tell(all: &[(u64, Recovery)]) {
    for (_, one) in all {
        report::lines(&one.story);
    }
    for (seed, one) in all.iter().take(SLOWEST) {
        let last = one.last.join("; ");
        report::say(&format!("seed {seed}: {:.1} s, at last {last}", seconds(one.took)));
    }
    for late in [false, true] {
        let of = all.iter().filter(|(seed, _)| crashes_to_the_end(*seed) == late);
        let mut times: Vec<Millis> = of.map(|(_, one)| one.took).collect();
        times.sort_unstable();
        let until = if late { "to the end" } else { "until 20 s before the end" };
        let at = |part: usize| times.get(times.len() * part / 100).copied().map_or(0.0, seconds);
        let max = times.last().copied().map_or(0.0, seconds);
        report::say(&format!(
            "{} runs, crashes {until}: p50 {:.1} s, p90 {:.1} s, p99 {:.1} s, max {max:.1} s",
            times.len(),
            at(50),
            at(90),
            at(99)
        ));
    }
}

fn seconds(time: Millis) -> f64 {
    time as f64 / 1000.0
}
