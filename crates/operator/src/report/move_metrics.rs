//! Metrics of moves, and of changes by somebody else.

use std::time::Duration;

use pontoon_core::model::{Kind, ObjectKey};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use super::metrics::{Metrics, registered};
use super::move_cause::MoveCause;
use super::object_series::{Counting, ObjectSeries, texts};

const OBJECT: &[&str] = &["kind", "namespace", "name"];
const DURATION: &str = "pontoon_move_duration_seconds";
const DRIFTS: &str = "pontoon_drifts_total";

/// Seconds. Moves at most providers take one to ten.
const BUCKETS: [f64; 7] = [1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// A change by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drifted {
    /// The machine of an address.
    Address,
    /// The records of a name.
    Record,
}

impl Drifted {
    fn word(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Record => "record",
        }
    }
}

/// The series. Clones share the series.
#[derive(Clone, Debug)]
pub(super) struct MoveMetrics {
    /// By kind: with a series for each cause and object the page would be mostly zeros.
    moves: IntCounterVec,
    duration: HistogramVec,
    drifts: IntCounterVec,
}

impl MoveMetrics {
    /// Series at zero, registered at `registry`.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let moves = Opts::new("pontoon_moves_total", "Finished moves, by cause.");
        let help = "Time from the first call of a move until a listing shows its end.";
        let duration = HistogramOpts::new(DURATION, help).buckets(BUCKETS.to_vec());
        let drifts = Opts::new(DRIFTS, "Changes by somebody else, by subject.");
        let subject = [OBJECT, &["subject"]].concat();
        Ok(Self {
            moves: registered(registry, IntCounterVec::new(moves, &["kind", "cause"])?)?,
            duration: registered(registry, HistogramVec::new(duration, OBJECT)?)?,
            drifts: registered(registry, IntCounterVec::new(drifts, &subject)?)?,
        })
    }

    /// Removes the series that belong to no object.
    pub fn clear(&self) {
        self.moves.reset();
    }

    /// Starts the series of an object at zero, because an increase from nothing is not seen.
    pub fn begin(&self, key: &ObjectKey, subject: Drifted, object: &mut ObjectSeries) {
        let labels = drift_labels(key, subject);
        if object.counts(DRIFTS, &labels) {
            return;
        }
        self.drifts.with_label_values(&texts(&labels));
        object.count(DRIFTS, labels, Counting::Counter(self.drifts.clone()));
        if subject == Drifted::Address {
            let labels = labels_of(key);
            self.duration.with_label_values(&texts(&labels));
            object.count(DURATION, labels, Counting::Histogram(self.duration.clone()));
            self.begin_causes(key.kind);
        }
    }

    fn begin_causes(&self, kind: &Kind) {
        for cause in MoveCause::ALL {
            self.moves.with_label_values(&[kind.name, cause.word()]);
        }
    }
}

impl Metrics {
    /// Counts a finished move of an object's address.
    pub(super) fn moved(&self, key: &ObjectKey, cause: MoveCause, took: Duration) {
        let mut book = self.book();
        let Some(object) = book.shown(key) else { return };
        self.moves.begin(key, Drifted::Address, object);
        self.moves.moves.with_label_values(&[key.kind.name, cause.word()]).inc();
        let labels = labels_of(key);
        self.moves.duration.with_label_values(&texts(&labels)).observe(took.as_secs_f64());
    }

    /// Counts a change by somebody else.
    pub(super) fn drifted(&self, key: &ObjectKey, subject: Drifted) {
        let mut book = self.book();
        let Some(object) = book.shown(key) else { return };
        self.moves.begin(key, subject, object);
        self.moves.drifts.with_label_values(&texts(&drift_labels(key, subject))).inc();
    }
}

fn labels_of(key: &ObjectKey) -> Vec<String> {
    vec![key.kind.name.to_owned(), key.namespace.to_string(), key.name.to_string()]
}

fn drift_labels(key: &ObjectKey, subject: Drifted) -> Vec<String> {
    let mut labels = labels_of(key);
    labels.push(subject.word().to_owned());
    labels
}
