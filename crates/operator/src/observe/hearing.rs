//! When each watch was last heard. Readiness and metrics report silent watches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pontoon_core::Time;

/// Longest silence of a healthy watch. A server sends a bookmark about once a minute, and a watch
/// restarts after [`super::follow::SILENCE`].
const SILENT: Duration = Duration::from_secs(120);

/// Longest time that a watch may be broken before readiness fails.
const BROKEN: Duration = Duration::from_secs(20);

/// When each watch was last heard. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Hearing(Arc<Mutex<BTreeMap<String, Ear>>>);

/// The state of a watch.
#[derive(Clone, Copy, Debug)]
struct Ear {
    begun: Time,
    /// Whether the whole list has been read once.
    listed: bool,
    heard: Option<Time>,
    broken_since: Option<Time>,
}

impl Hearing {
    /// Adds a watch.
    pub fn begins(&self, watch: &str, now: Time) {
        let ear = Ear { begun: now, listed: false, heard: None, broken_since: None };
        self.ears().insert(watch.to_owned(), ear);
    }

    /// Removes a watch that is no longer needed.
    pub fn ends(&self, watch: &str) {
        self.ears().remove(watch);
    }

    /// Notes an answer of the server on a watch: a page, an event, a bookmark.
    pub fn hears(&self, watch: &str, now: Time) {
        self.change(watch, |ear| (ear.heard, ear.broken_since) = (Some(now), None));
    }

    /// Notes that a watch has read its whole list.
    pub fn lists(&self, watch: &str) {
        self.change(watch, |ear| ear.listed = true);
    }

    /// Notes that a watch broke, or that a restart failed.
    pub fn breaks(&self, watch: &str, now: Time) {
        self.change(watch, |ear| ear.broken_since = ear.broken_since.or(Some(now)));
    }

    /// When each watch was last heard; `None` before the first answer.
    pub fn last_heard(&self) -> Vec<(String, Option<Time>)> {
        self.ears().iter().map(|(watch, ear)| (watch.clone(), ear.heard)).collect()
    }

    /// Why our view of the cluster may be out of date, if so.
    pub fn trouble(&self, now: Time) -> Option<String> {
        let ears = self.ears();
        if ears.is_empty() {
            return Some("no watch has begun yet".to_owned());
        }
        let troubles: Vec<_> =
            ears.iter().filter_map(|(watch, ear)| ear.trouble(watch, now)).collect();
        (!troubles.is_empty()).then(|| troubles.join("; "))
    }

    fn change(&self, watch: &str, change: impl FnOnce(&mut Ear)) {
        if let Some(ear) = self.ears().get_mut(watch) {
            change(ear);
        }
    }

    fn ears(&self) -> MutexGuard<'_, BTreeMap<String, Ear>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ear {
    fn trouble(&self, watch: &str, now: Time) -> Option<String> {
        if !self.listed {
            return Some(format!("the watch of {watch} has not read its list yet"));
        }
        let broken = self.broken_since.map(|since| now.since(since));
        let silent = now.since(self.heard.unwrap_or(self.begun));
        match broken {
            Some(time) if time > BROKEN => {
                Some(format!("the watch of {watch} has been broken for {} s", time.as_secs()))
            }
            _ if silent > SILENT => {
                Some(format!("the watch of {watch} has heard nothing for {} s", silent.as_secs()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::default() + Duration::from_secs(seconds)
    }

    #[test]
    fn a_watch_is_trusted_once_it_has_listed_and_for_as_long_as_it_is_heard() {
        let hearing = Hearing::default();
        let says = |now| hearing.trouble(at(now)).unwrap_or_default();
        assert_eq!(says(0), "no watch has begun yet");
        hearing.begins("Node", at(0));
        hearing.hears("Node", at(1));
        assert_eq!(says(1), "the watch of Node has not read its list yet");
        hearing.lists("Node");
        assert_eq!(says(121), "");
        assert_eq!(says(122), "the watch of Node has heard nothing for 121 s");
        hearing.hears("Node", at(130));
        assert_eq!(says(130), "");
    }

    #[test]
    fn a_watch_that_stays_broken_is_named_with_the_time_since_it_broke() {
        let hearing = Hearing::default();
        for watch in ["Node", "Pod"] {
            hearing.begins(watch, at(0));
            hearing.hears(watch, at(0));
            hearing.lists(watch);
        }
        hearing.breaks("Pod", at(10));
        hearing.breaks("Pod", at(29));
        assert_eq!(hearing.trouble(at(30)), None, "it may start again");
        let said = hearing.trouble(at(31)).unwrap();
        assert_eq!(said, "the watch of Pod has been broken for 21 s");
        hearing.ends("Pod");
        assert_eq!(hearing.trouble(at(31)), None, "nobody asks for pods");
    }
}
