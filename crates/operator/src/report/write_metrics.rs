//! Counts failed writes to Kubernetes.

use pontoon_core::action::FailureKind;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};

/// The label of a write that the API server refuses.
const REFUSED: &str = "refused";

/// Kind of a write to Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// The status of a pool or a record set.
    Status,
    /// The ledger annotation of a pool.
    Ledger,
    /// The mark of a node.
    Annotation,
    /// The eviction of a pod.
    Eviction,
    /// A claim, a holder, or the object that shows a VIP.
    Vip,
    /// An event.
    Event,
}

impl Write {
    const ALL: [Self; 6] =
        [Self::Status, Self::Ledger, Self::Annotation, Self::Eviction, Self::Vip, Self::Event];

    fn word(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Ledger => "ledger",
            Self::Annotation => "annotation",
            Self::Eviction => "eviction",
            Self::Vip => "vip",
            Self::Event => "event",
        }
    }
}

/// The counters. Clones share the counters.
#[derive(Clone, Debug)]
pub(super) struct WriteMetrics {
    errors: IntCounterVec,
    left_out: IntCounter,
}

impl WriteMetrics {
    /// Counters at zero, registered at `registry`.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let name = "pontoon_kubernetes_write_errors_total";
        let opts = Opts::new(name, "Writes to Kubernetes that did not work.");
        let errors = IntCounterVec::new(opts, &["write", "error"])?;
        registry.register(Box::new(errors.clone()))?;
        // An increase from nothing is not seen, and a refusal needs a person.
        for write in Write::ALL {
            errors.with_label_values(&[write.word(), REFUSED]);
        }
        let name = "pontoon_events_left_out_total";
        let left_out = IntCounter::new(name, "Events that were never written.")?;
        registry.register(Box::new(left_out.clone()))?;
        Ok(Self { errors, left_out })
    }

    /// Counts a failed write.
    pub fn failed(&self, write: Write, kind: FailureKind) {
        let error = match kind {
            // Never sent.
            FailureKind::NotSent | FailureKind::HeldBack { .. } => return,
            FailureKind::Conflict => "conflict",
            FailureKind::NotFound => "not_found",
            kind if kind.is_refusal() => REFUSED,
            _ => "unavailable",
        };
        self.errors.with_label_values(&[write.word(), error]).inc();
    }

    /// Counts events that are never written.
    pub fn left_out(&self, events: u64) {
        self.left_out.inc_by(events);
    }
}
