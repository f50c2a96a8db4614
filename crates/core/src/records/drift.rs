//! Drift of records, and DNS hosts that do not store the settings they are asked for.

use std::time::Duration;

use super::known::{KnownSet, RecordDrift, Stubborn};
use crate::Time;
use crate::model::{Record, RecordChange};
use crate::world::Settings;

/// Quiet time that ends a series of drift: a read at least this long after the last drift, with the
/// records as we left them, resets the count.
const QUIET: Duration = Duration::from_secs(600);

impl KnownSet {
    /// Notes drift: a read differs from the known records, with no change of ours in between.
    /// Further differences before our next write count as the same drift.
    pub(crate) fn drifts(&mut self, ours: Vec<Record>, now: Time) {
        let times = match &self.drift {
            Some(drift) if drift.ours.is_some() => return,
            Some(drift) => drift.times.saturating_add(1),
            None => 1,
        };
        self.drift = Some(RecordDrift { times, at: now, ours: Some(ours) });
    }

    /// Ends a series of drift after a quiet time. Called for a read, sent at `sent_at`, that shows
    /// the known records.
    pub(crate) fn is_calm(&mut self, sent_at: Time) {
        let quiet = |drift: &RecordDrift| drift.ours.is_none() && sent_at >= drift.at + QUIET;
        if self.drift.as_ref().is_some_and(quiet) {
            self.drift = None;
        }
    }

    /// Ends the current drift: the records of the name count as ours from now on.
    pub(crate) fn clear_drift(&mut self) {
        if let Some(drift) = &mut self.drift {
            drift.ours = None;
        }
    }

    /// Compares the settings that a change asked for with the stored settings.
    pub(crate) fn heed_settings(
        &mut self,
        change: &RecordChange,
        written: &[Record],
        now: Time,
        settings: &Settings,
    ) {
        let odd = written.iter().find(|record| record.ttl != change.ttl || record.proxied);
        self.stubborn = odd.map(|record| {
            let message = match record.proxied {
                true => format!("{} was stored with the host's proxy on", record.value),
                false => format!(
                    "{} was stored with a TTL of {} s instead of {} s",
                    record.value, record.ttl, change.ttl
                ),
            };
            Stubborn { message: message.into(), until: now + settings.retry_max }
        });
    }
}

/// Whether two reads of a name differ in more than the identifiers of records.
pub(crate) fn differ(before: &[Record], after: &[Record]) -> bool {
    let plain = |records: &[Record]| {
        let mut plain: Vec<_> =
            records.iter().map(|record| (record.value, record.ttl, record.proxied)).collect();
        plain.sort_unstable();
        plain
    };
    plain(before) != plain(after)
}
