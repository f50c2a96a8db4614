//! Output.
#![allow(clippy::print_stdout)] // output is the purpose of this program

use std::io::Write;
use std::process::Command;

use simulate::oracle::Violation;
use simulate::{Played, Schedule};

/// Prints a text.
pub fn say(text: &str) {
    println!("{text}");
}

/// Prints the trace, if any.
pub fn story(played: &Played) {
    lines(&played.story);
}

/// Prints lines.
pub fn lines(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    for line in lines {
        // The reader may close the pipe early.
        if writeln!(out, "{line}").is_err() {
            return;
        }
    }
}

/// All information for reproducing a failure.
pub fn failure(schedule: &Schedule, violation: &Violation) -> String {
    let at = violation.at as f64 / 1000.0;
    let mut text = format!(
        "SEED={} COMMIT={} INVARIANT={} at {at:.3} s: {}\nFAULTS:",
        schedule.seed,
        commit(),
        violation.invariant,
        violation.text
    );
    for event in &schedule.events {
        let (at, lasts) = (event.at as f64 / 1000.0, event.lasts as f64 / 1000.0);
        text.push_str(&format!("\n  {at:>8.3} s for {lasts:>7.3} s: {:?}", event.what));
    }
    text
}

/// The current commit, if known.
fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let head = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    match git(&["status", "--porcelain"]) {
        Some(changes) if !changes.is_empty() => format!("{head}+changes"),
        _ => head,
    }
}
