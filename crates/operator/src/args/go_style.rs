//! Command lines as the predecessors' programs take them: flags of Go, and no command.

use std::ffi::{OsStr, OsString};

/// The command that capi-vip-allocator's command line stands for.
const RUN: &str = "run";

/// The flag with the address of the probes, and its value in capi-vip-allocator.
const PROBES: (&str, &str) = ("--health-probe-bind-address", ":8081");

/// Arguments in the form that our parser knows. The first argument is the program.
///
/// A command line that begins with a flag means `run`, with the probes' port of capi-vip-allocator,
/// whose container has no command. A flag of `run` may have one dash.
pub fn understood(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut given = given.into_iter();
    let program = given.next();
    let mut rest: Vec<_> = given.collect();
    let implied = rest.first().is_some_and(|first| is_flag_of_run(first));
    if implied {
        rest.insert(0, RUN.into());
    }
    if rest.first().is_some_and(|first| first == RUN) {
        rest = rest.into_iter().map(two_dashes).collect();
    }
    if implied && !rest.iter().any(|one| is(one, PROBES.0)) {
        rest.push(format!("{}={}", PROBES.0, PROBES.1).into());
    }
    program.into_iter().chain(rest).collect()
}

/// Whether an argument is a flag, and none of those that need no command.
fn is_flag_of_run(argument: &OsStr) -> bool {
    let ours = ["-h", "--help", "-V", "--version", "-", "--"];
    argument.to_str().is_some_and(|text| text.starts_with('-') && !ours.contains(&text))
}

/// A flag with one dash gets its second one. A flag of one letter, as `-h`, stays.
fn two_dashes(argument: OsString) -> OsString {
    let text = argument.to_str().unwrap_or_default();
    let one = text.strip_prefix('-').filter(|name| !name.starts_with('-') && name.len() > 1);
    match one {
        Some(name) => format!("--{name}").into(),
        None => argument,
    }
}

/// Whether an argument is this flag, with or without a value.
fn is(argument: &OsStr, flag: &str) -> bool {
    let text = argument.to_str().unwrap_or_default();
    text.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}
