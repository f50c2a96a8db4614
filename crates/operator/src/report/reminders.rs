//! Limits repeated reports to one a minute.

use std::collections::BTreeMap;
use std::time::Duration;

use pontoon_core::Time;

const MINUTE: Duration = Duration::from_secs(60);

/// When each subject was last reported.
#[derive(Debug, Default)]
pub(super) struct Reminders {
    said: BTreeMap<String, Time>,
}

impl Reminders {
    /// Whether the subject was not reported within the last minute. If so, notes the report.
    pub fn is_due(&mut self, subject: &str, now: Time) -> bool {
        self.said.retain(|_, at| now.since(*at) < MINUTE);
        if self.said.contains_key(subject) {
            return false;
        }
        self.said.insert(subject.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_is_spoken_of_once_a_minute() {
        let mut reminders = Reminders::default();
        let at = |seconds: i64| Time::from_micros(seconds * 1_000_000);
        let due: Vec<_> =
            [0, 1, 59, 60, 61, 120].map(|time| reminders.is_due("status", at(time))).into();
        assert_eq!(due, [true, false, false, true, false, true]);
        assert!(reminders.is_due("ledger", at(121)));
    }
}
