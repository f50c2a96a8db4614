//! When each watch was last heard. Readiness and metrics report silent watches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pontoon_core::Time;

use super::follow::Event;

/// Longest silence of a healthy watch. A server sends a bookmark about once a minute, and a watch
/// restarts after [`super::follow::SILENCE`].
const SILENT: Duration = Duration::from_secs(120);

/// Longest time that a watch may be broken before readiness fails.
const BROKEN: Duration = Duration::from_secs(20);

/// Time after which a watch that was broken counts as mended, though it has said nothing.
const STEADY: Duration = Duration::from_secs(5);

/// When each watch was last heard. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Hearing(Arc<Mutex<BTreeMap<String, Ear>>>);

/// The state of a watch.
///
/// The mere start of a watch proves little: each start may be followed by the same break. And a quiet
/// watch that is mended may say nothing for a minute. So a start hides the trouble, and ends it only once
/// the watch has stood for a while or has said something; a break soon after the start brings the trouble
/// back with its whole duration.
#[derive(Clone, Copy, Debug)]
struct Ear {
    begun: Time,
    /// Whether the whole list has been read once.
    listed: bool,
    /// Whether a list is under way.
    listing: bool,
    heard: Option<Time>,
    broken_since: Option<Time>,
    /// The start of the watch after a break, as long as nothing else has happened.
    restarted: Option<Time>,
}

impl Hearing {
    /// Adds a watch.
    pub fn begins(&self, watch: &str, now: Time) {
        let ear = Ear {
            begun: now,
            listed: false,
            listing: false,
            heard: None,
            broken_since: None,
            restarted: None,
        };
        self.ears().insert(watch.to_owned(), ear);
    }

    /// Removes a watch that is no longer needed.
    pub fn ends(&self, watch: &str) {
        self.ears().remove(watch);
    }

    /// Notes an event of a watch.
    pub(crate) fn heeds<K>(&self, watch: &str, event: &Event<K>, now: Time) {
        self.change(watch, |ear| ear.heeds(event, now));
    }

    /// Notes that a watch broke, or that a restart failed.
    pub fn breaks(&self, watch: &str, now: Time) {
        self.change(watch, |ear| ear.breaks(now));
    }

    /// When each watch was last heard; `None` before the first answer.
    pub fn last_heard(&self) -> Vec<(String, Option<Time>)> {
        self.ears().iter().map(|(watch, ear)| (watch.clone(), ear.last_heard())).collect()
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
    fn heeds<K>(&mut self, event: &Event<K>, now: Time) {
        match event {
            Event::Listing => self.listing = true,
            Event::Listed => {
                (self.listed, self.listing) = (true, false);
                self.hears(now);
            }
            // The rest of a list may break again.
            _ if self.listing => {
                if self.broken_since.is_none() {
                    self.hears(now);
                }
            }
            Event::Answered if self.broken_since.is_some() && !self.is_steady(now) => {
                self.restarted.get_or_insert(now);
            }
            Event::Answered | Event::Bookmark | Event::Seen(_) | Event::Gone(_) => self.hears(now),
        }
    }

    fn hears(&mut self, now: Time) {
        (self.heard, self.broken_since, self.restarted) = (Some(now), None, None);
    }

    fn breaks(&mut self, now: Time) {
        if let Some(restarted) = self.restarted.filter(|_| self.is_steady(now)) {
            self.hears(restarted);
        }
        (self.broken_since, self.restarted) = (self.broken_since.or(Some(now)), None);
    }

    /// Whether the watch stands for a while since the last break.
    fn is_steady(&self, now: Time) -> bool {
        self.restarted.is_some_and(|restarted| now.since(restarted) >= STEADY)
    }

    fn last_heard(&self) -> Option<Time> {
        self.heard.max(self.restarted)
    }

    fn trouble(&self, watch: &str, now: Time) -> Option<String> {
        if !self.listed {
            return Some(format!("the watch of {watch} has not read its list yet"));
        }
        let broken = self.broken_since.filter(|_| self.restarted.is_none());
        let silent = now.since(self.last_heard().unwrap_or(self.begun));
        match broken.map(|since| now.since(since)) {
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

    /// A watch that takes these events at a time.
    fn takes(hearing: &Hearing, watch: &str, seconds: u64, events: &[Event<()>]) {
        events.iter().for_each(|event| hearing.heeds(watch, event, at(seconds)));
    }

    /// Nodes, listed at the start.
    fn listed() -> Hearing {
        let hearing = Hearing::default();
        hearing.begins("Node", at(0));
        takes(&hearing, "Node", 0, &[Event::Listing, Event::Answered, Event::Listed]);
        hearing
    }

    fn heard(hearing: &Hearing) -> Option<Time> {
        hearing.last_heard()[0].1
    }

    #[test]
    fn a_watch_is_trusted_once_it_has_listed_and_for_as_long_as_it_is_heard() {
        let hearing = Hearing::default();
        let says = |now| hearing.trouble(at(now)).unwrap_or_default();
        assert_eq!(says(0), "no watch has begun yet");
        hearing.begins("Node", at(0));
        takes(&hearing, "Node", 1, &[Event::Listing, Event::Answered]);
        assert_eq!(says(1), "the watch of Node has not read its list yet");
        takes(&hearing, "Node", 1, &[Event::Listed]);
        assert_eq!(says(121), "");
        assert_eq!(says(122), "the watch of Node has heard nothing for 121 s");
        takes(&hearing, "Node", 130, &[Event::Bookmark]);
        assert_eq!(says(130), "");
    }

    #[test]
    fn a_watch_that_stays_broken_is_named_with_the_time_since_it_broke() {
        let hearing = listed();
        hearing.begins("Pod", at(0));
        takes(&hearing, "Pod", 0, &[Event::Listed]);
        hearing.breaks("Pod", at(10));
        hearing.breaks("Pod", at(29));
        assert_eq!(hearing.trouble(at(30)), None, "it may start again");
        let said = hearing.trouble(at(31)).unwrap();
        assert_eq!(said, "the watch of Pod has been broken for 21 s");
        hearing.ends("Pod");
        assert_eq!(hearing.trouble(at(31)), None, "nobody asks for pods");
    }

    #[test]
    fn a_watch_that_breaks_after_each_start_stays_broken_and_is_not_heard() {
        let hearing = listed();
        for seconds in [10, 15, 20, 25, 30] {
            takes(&hearing, "Node", seconds, &[Event::Answered]);
            hearing.breaks("Node", at(seconds));
        }
        let said = hearing.trouble(at(31)).unwrap();
        assert_eq!(said, "the watch of Node has been broken for 21 s");
        assert_eq!(heard(&hearing), Some(at(10)), "the first start came before the first break");
    }

    #[test]
    fn a_list_that_breaks_after_its_first_page_stays_broken() {
        let hearing = listed();
        hearing.breaks("Node", at(10));
        for seconds in [11, 31] {
            let page = [Event::Listing, Event::Answered, Event::Seen(())];
            takes(&hearing, "Node", seconds, &page);
            hearing.breaks("Node", at(seconds));
        }
        assert!(hearing.trouble(at(31)).is_some());
        assert_eq!(heard(&hearing), Some(at(0)));
        takes(&hearing, "Node", 32, &[Event::Listed]);
        assert_eq!((hearing.trouble(at(32)), heard(&hearing)), (None, Some(at(32))));
    }

    #[test]
    fn a_quiet_watch_is_trusted_at_its_restart_and_its_next_break_counts_from_then() {
        let hearing = listed();
        hearing.breaks("Node", at(10));
        takes(&hearing, "Node", 40, &[Event::Answered]);
        assert_eq!((hearing.trouble(at(40)), heard(&hearing)), (None, Some(at(40))));
        hearing.breaks("Node", at(60));
        assert_eq!(hearing.trouble(at(80)), None, "broken for 20 s");
        assert!(hearing.trouble(at(81)).is_some());
    }
}
