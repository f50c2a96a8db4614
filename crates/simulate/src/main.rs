//! `cargo simulate`: runs the schedules of many seeds, traces a single run, checks that a fault
//! planted in the operator is found, or measures recovery.

mod campaign;
mod measure;
mod report;

use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use simulate::mutants::Mutant;
use simulate::vendor::Vendor;
use simulate::{Manner, Schedule, generate, generate_at, play};

/// Simulates the whole operator.
#[derive(Debug, Parser)]
#[command(name = "cargo simulate")]
struct Args {
    /// The seeds to run.
    #[arg(long, value_name = "FROM..TO", value_parser = seeds, default_value = "0..2000")]
    seeds: Range<u64>,
    /// Run a single seed.
    #[arg(long, value_name = "N", conflicts_with_all = ["seeds", "schedule"])]
    seed: Option<u64>,
    /// Run a single schedule from a file.
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    schedule: Option<PathBuf>,
    /// Print every event, and every external call with its answer.
    #[arg(long)]
    trace: bool,
    /// Measure the time from the end of 240 seconds of random faults until everything is right again.
    #[arg(long, value_name = "FROM..TO", value_parser = seeds, conflicts_with_all = ["at", "seeds", "seed", "schedule", "mutant"])]
    recovery: Option<Range<u64>>,
    /// Plant a fault in the operator. Finding the fault is success.
    #[arg(long)]
    mutant: Option<Mutant>,
    /// The number of parallel runs; by default, the number of processors.
    #[arg(long)]
    jobs: Option<usize>,
    /// Run every seed at this vendor.
    #[arg(long, value_name = "VENDOR", conflicts_with = "schedule")]
    at: Option<Vendor>,
    /// Fail if a fault never met an action it applies to. Seeds about a single pair of fault and action
    /// are run only if the pair has not occurred in the other seeds.
    #[arg(long, conflicts_with = "at")]
    covered: bool,
}

impl Args {
    fn generate(&self, seed: u64) -> Schedule {
        self.at.map_or_else(|| generate(seed), |vendor| generate_at(seed, vendor))
    }

    /// The number of parallel runs.
    fn jobs(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, Into::into);
        self.jobs.unwrap_or_else(processors)
    }
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let words = || format!("\"{text}\" is not like 0..2000");
    let (from, to) = text.split_once("..").ok_or_else(words)?;
    let range = from.parse().map_err(|_| words())?..to.parse().map_err(|_| words())?;
    if range.is_empty() { Err(format!("\"{text}\" has no seed in it")) } else { Ok(range) }
}

fn main() -> ExitCode {
    simulate::panics::keep();
    let args = Args::parse();
    let done = match (&args.schedule, args.seed, &args.recovery) {
        (_, _, Some(seeds)) => measure::run(&args, seeds.clone()),
        (Some(path), ..) => read(path).and_then(|schedule| one(&schedule, &args)),
        (None, Some(seed), _) => one(&args.generate(seed), &args),
        (None, None, None) => campaign::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::say(&error);
            ExitCode::FAILURE
        }
    }
}

fn read(path: &PathBuf) -> Result<Schedule, String> {
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| problem(&error))?;
    serde_json::from_str(&text).map_err(|error| problem(&error))
}

/// Runs a single schedule.
fn one(schedule: &Schedule, args: &Args) -> Result<(), String> {
    let manner = Manner { tells: args.trace, mutant: args.mutant, ..Manner::default() };
    let played = play(schedule, &manner)?;
    report::story(&played);
    match &played.violation {
        Some(violation) => Err(report::failure(schedule, violation)),
        None => {
            report::say(&format!("seed {}: every promise kept", schedule.seed));
            Ok(())
        }
    }
}
