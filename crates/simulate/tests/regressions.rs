//! Schedules of former violations. Seeds change their meaning with the generator, schedules do not.

#![allow(clippy::unwrap_used, clippy::panic)] // a failed setup fails the test

use std::path::Path;

use simulate::{Manner, Schedule, play};

#[test]
fn no_schedule_that_once_broke_a_promise_does_so_again() {
    simulate::panics::keep();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut played = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let schedule: Schedule = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let violation = play(&schedule, &Manner::default()).unwrap().violation;
        assert_eq!(violation, None, "{}", path.display());
        played += 1;
    }
    assert!(played > 0, "there are schedules to play");
}
