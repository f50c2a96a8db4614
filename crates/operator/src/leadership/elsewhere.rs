//! Leases of other controllers in namespaces that do not count: a reason for a warning, never
//! to stop. Whoever may write Leases in a namespace of their own can make one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use super::pulse::Pulse;
use super::rivalry::{Place, place};

/// However many there are, one line of the log a minute.
const REPEAT: Duration = Duration::from_secs(60);

/// How many a line names.
const NAMED: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    pulses: BTreeMap<Place, Pulse>,
    told: BTreeSet<Place>,
    told_at: Option<Duration>,
}

impl Elsewhere {
    pub fn seen(&mut self, lease: &Lease, now: Duration) {
        let place = place(lease);
        let pulse = Pulse::felt(self.pulses.get(&place), lease, now);
        self.pulses.insert(place, pulse);
    }

    pub fn gone(&mut self, place: &Place) {
        self.pulses.remove(place);
    }

    /// A whole list of this name showed these.
    pub fn retain(&mut self, name: &str, shown: &BTreeSet<Place>) {
        self.pulses.retain(|place, _| place.1 != name || shown.contains(place));
    }

    /// How many Leases of a name are being renewed.
    pub fn count(&self, name: &str, now: Duration) -> usize {
        self.alive(now).filter(|place| place.1 == name).count()
    }

    fn alive(&self, now: Duration) -> impl Iterator<Item = &Place> {
        self.pulses.iter().filter(move |(_, pulse)| pulse.lives(now)).map(|(place, _)| place)
    }

    /// When a count may change by itself.
    pub fn wake(&self, now: Duration) -> Option<Duration> {
        let alive = self.pulses.values().filter(|pulse| pulse.lives(now));
        alive.map(Pulse::alive_until).min()
    }

    /// The Leases to warn of now, in words: those that are renewed, if one of them is news.
    pub fn news(&mut self, now: Duration) -> Option<String> {
        let alive: BTreeSet<Place> = self.alive(now).cloned().collect();
        self.told.retain(|place| alive.contains(place));
        let due = self.told_at.is_none_or(|told| now >= told + REPEAT);
        if alive.is_subset(&self.told) || !due {
            return None;
        }
        let new = alive.difference(&self.told).take(NAMED);
        let named: Vec<_> = new.map(|(namespace, name)| format!("{namespace}/{name}")).collect();
        let more = alive.difference(&self.told).count() - named.len();
        (self.told, self.told_at) = (alive, Some(now));
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Some(format!("{}{more}", named.join(", ")))
    }
}
