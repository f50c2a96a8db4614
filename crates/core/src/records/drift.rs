//! Names in DNS that somebody else changes too, and hosts that store something else than they
//! were asked to.

use std::time::Duration;

use super::KnownSet;
use crate::Time;
use crate::model::{Record, RecordChange, Text};
use crate::world::Settings;

/// A name that was read as we left it so long after the last change by somebody else is at
/// peace: the next such change is the first again.
const QUIET: Duration = Duration::from_secs(600);

/// Somebody else changed what a name lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordDrift {
    /// How often, with no quiet time in between.
    pub times: u32,
    /// When it was last found.
    pub at: Time,
    /// What the name listed before, until we have written to it again.
    pub ours: Option<Vec<Record>>,
}

/// A host stored a record with another setting than it was asked for, and called that success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stubborn {
    /// What it stored.
    pub message: Text,
    /// The setting is asked for again from then on.
    pub until: Time,
}

impl KnownSet {
    /// A read shows something else than what was known, and no change of ours lies between.
    /// While the last one has not been put right, a further change is the same affair.
    pub(crate) fn drifts(&mut self, ours: Vec<Record>, now: Time) {
        let times = match &self.drift {
            Some(drift) if drift.ours.is_some() => return,
            Some(drift) => drift.times.saturating_add(1),
            None => 1,
        };
        self.drift = Some(RecordDrift { times, at: now, ours: Some(ours) });
    }

    /// A read that was sent at `sent_at` shows the name as it is known.
    pub(crate) fn is_calm(&mut self, sent_at: Time) {
        let quiet = |drift: &RecordDrift| drift.ours.is_none() && sent_at >= drift.at + QUIET;
        if self.drift.as_ref().is_some_and(quiet) {
            self.drift = None;
        }
    }

    /// The name is written anew, whoever changed it: what it lists from now on is ours.
    pub(crate) fn mend(&mut self) {
        if let Some(drift) = &mut self.drift {
            drift.ours = None;
        }
    }

    /// Compares what a change asked for with what the host says that it stored.
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
                true => format!("it stored {} with its proxy on", record.value),
                false => format!(
                    "it stored {} with a TTL of {} s instead of {} s",
                    record.value, record.ttl, change.ttl
                ),
            };
            Stubborn { message: message.into(), until: now + settings.retry_max }
        });
    }
}

/// Whether two readings of a name differ in more than the host's own names for the records.
pub(crate) fn differ(before: &[Record], after: &[Record]) -> bool {
    let plain = |records: &[Record]| {
        let mut plain: Vec<_> =
            records.iter().map(|record| (record.value, record.ttl, record.proxied)).collect();
        plain.sort_unstable();
        plain
    };
    plain(before) != plain(after)
}
