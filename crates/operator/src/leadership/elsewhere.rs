//! Leases of other controllers in namespaces that do not count: a reason for a warning, never a
//! reason to stop. Any user with the right to write Leases in a namespace can create such a Lease.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;

use super::competition::{Place, place};
use super::pulse::{LONGEST_DURATION, Pulse};

/// Time between two warnings, for any number of Leases.
const REPEAT: Duration = Duration::from_secs(60);

/// The most Leases that a warning names.
const MOST_LEASES_NAMED: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    pulses: BTreeMap<Place, Pulse>,
    told: BTreeSet<Place>,
    told_at: Option<Duration>,
}

impl Elsewhere {
    pub fn seen(&mut self, lease: &Lease, now: Duration) {
        let place = place(lease);
        let pulse = Pulse::felt(self.pulses.get(&place), lease, LONGEST_DURATION, now);
        self.pulses.insert(place, pulse);
    }

    pub fn gone(&mut self, place: &Place) {
        self.pulses.remove(place);
    }

    /// Handles a complete list of the Leases of a name.
    pub fn retain(&mut self, name: &str, shown: &BTreeSet<Place>) {
        self.pulses.retain(|place, _| place.1 != name || shown.contains(place));
    }

    /// Number of renewed Leases of a name.
    pub fn count(&self, name: &str, now: Duration) -> usize {
        self.alive(now).filter(|place| place.1 == name).count()
    }

    fn alive(&self, now: Duration) -> impl Iterator<Item = &Place> {
        self.pulses.iter().filter(move |(_, pulse)| pulse.lives(now)).map(|(place, _)| place)
    }

    /// Time at which a count may change without an event.
    pub fn wake(&self, now: Duration) -> Option<Duration> {
        let alive = self.pulses.values().filter(|pulse| pulse.lives(now));
        alive.map(Pulse::alive_until).min()
    }

    /// Newly renewed Leases to warn of now, in words.
    pub fn news(&mut self, now: Duration) -> Option<String> {
        let alive: BTreeSet<Place> = self.alive(now).cloned().collect();
        self.told.retain(|place| alive.contains(place));
        let due = self.told_at.is_none_or(|told| now >= told + REPEAT);
        if alive.is_subset(&self.told) || !due {
            return None;
        }
        let new = alive.difference(&self.told).take(MOST_LEASES_NAMED);
        let named: Vec<_> = new.map(|(namespace, name)| format!("{namespace}/{name}")).collect();
        let more = alive.difference(&self.told).count() - named.len();
        (self.told, self.told_at) = (alive, Some(now));
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Some(format!("{}{more}", named.join(", ")))
    }
}
