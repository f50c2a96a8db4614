//! The known records of one name and family, and what is known of changes to them.

use crate::Time;
use crate::model::{Record, Text};
use crate::world::Work;

/// Knowledge of one set: the records of one name and family.
#[derive(Clone, Debug, Default)]
pub struct KnownSet {
    /// The records; `None` if unknown.
    pub records: Option<Vec<Record>>,
    /// As of when the records are known: when the read was sent, or when our change ended.
    pub at: Time,
    /// Reads sent before are ignored: our own change may not show yet.
    pub(crate) firm_until: Time,
    /// A read is under way.
    pub reading: bool,
    /// Back-off of failed reads.
    pub read_work: Work,
    /// Back-off of failed changes.
    pub change_work: Work,
    /// Drift of the set.
    pub drift: Option<RecordDrift>,
    /// A setting that the DNS host does not store as asked.
    pub stubborn: Option<Stubborn>,
}

/// Drift of a name: somebody else changed the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordDrift {
    /// Number of changes by others, with no quiet time in between.
    pub times: u32,
    /// When the last change was found.
    pub at: Time,
    /// The records before the change, until our next write.
    pub ours: Option<Vec<Record>>,
}

/// A setting that the DNS host stored differently while it reported success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stubborn {
    /// The stored setting, in words.
    pub message: Text,
    /// When the setting is asked for again.
    pub until: Time,
}

/// A set before its first read.
pub(super) const NOTHING_KNOWN: &KnownSet = &KnownSet {
    records: None,
    at: Time::from_micros(0),
    firm_until: Time::from_micros(0),
    reading: false,
    read_work: NO_WORK,
    change_work: NO_WORK,
    drift: None,
    stubborn: None,
};

const NO_WORK: Work = Work {
    in_flight: false,
    failures: 0,
    not_before: Time::from_micros(0),
    failure: None,
    failed_at: Time::from_micros(0),
    unanswered_until: Time::from_micros(0),
};

impl KnownSet {
    /// Earliest time of the next read: after the back-off, and late enough to show our last change.
    pub(crate) fn readable_from(&self) -> Time {
        self.read_work.not_before.max(self.firm_until)
    }

    /// Whether a failed change or a drift counts, which matters no more once the records are as wanted.
    pub(super) fn is_burdened(&self) -> bool {
        let drifted = self.drift.as_ref().is_some_and(|drift| drift.ours.is_some());
        drifted || self.change_work != Work::default()
    }

    /// Forgets failed changes and the current drift: the records are as wanted.
    pub(super) fn rests(&mut self) {
        self.change_work = Work::default();
        self.clear_drift();
    }

    /// Clears all back-offs, so that a new request is tried at once.
    pub(super) fn retry_now(&mut self) {
        (self.read_work, self.change_work) = (Work::default(), Work::default());
        self.stubborn = None;
        self.clear_drift();
    }
}
