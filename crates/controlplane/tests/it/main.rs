//! A single binary for all tests of this crate that need a plane, so that tests can share planes.
//!
//! Clippy lets test functions unwrap, but not helper functions.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cleanup;
mod lent;
mod missing;
mod serves;
mod victim;

use std::path::Path;
use std::time::{Duration, Instant};

/// Polls a condition until it holds; panics after 30 seconds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command lines of all processes that name `folder`. Zombies have an empty command line, so
/// ended processes do not count.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().expect("a folder with a plain name");
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(folder))
        .collect()
}

/// Waits until neither a process nor a file of the plane in `folder` is left.
fn assert_nothing_remains(folder: &Path) {
    wait_until("all processes end", || processes_of(folder).is_empty());
    wait_until("the folder is deleted", || !folder.exists());
}
