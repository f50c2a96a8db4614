//! ip-address-controller's series of the process and of its calls to clouds.

use pontoon_core::action::{AddressAction, FailureKind};
use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Registry};

use super::metrics::opts;
use crate::report::metrics::registered;
use crate::report::object_series::{CallSeries, ReplicaLabels};

/// The provider whose calls the predecessor counts by name.
const THEIRS: &str = "gcp";

/// The version that the predecessor shows if none is given.
const VERSION: &str = "1.0.0";

const POD: &str = "pod_name";

/// The series of the process.
#[derive(Debug)]
pub(super) struct ProcessSeries {
    pod: String,
    leads: GaugeVec,
    ready: GaugeVec,
    healthy: GaugeVec,
    errors: IntCounterVec,
    other_errors: IntCounterVec,
    duration: HistogramVec,
}

impl ProcessSeries {
    pub fn register(
        registry: &Registry,
        replica: &ReplicaLabels,
    ) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, GaugeVec::new(opts(name, help), labels)?)
        };
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, IntCounterVec::new(opts(name, help), labels)?)
        };
        let info = gauge("controller_info", "1: the version that runs.", &["version", POD])?;
        let version = replica.version.as_deref().unwrap_or(VERSION);
        info.with_label_values(&[version, &replica.pod]).set(1.0);
        let buckets = vec![0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
        let duration = opts("gcp_api_duration_seconds", "Duration of calls to Google Cloud.");
        let duration = HistogramOpts::from(duration).buckets(buckets);
        let errors = "Failed calls to Google Cloud.";
        let series = Self {
            pod: replica.pod.clone(),
            leads: gauge("controller_is_leader", "1 while this replica leads.", &[POD])?,
            ready: gauge("controller_ready", "1 while this replica is ready.", &[POD])?,
            healthy: gauge("controller_healthy", "1 while this replica is healthy.", &[POD])?,
            errors: counter("gcp_api_errors_total", errors, &["operation", "error_type"])?,
            other_errors: counter(
                "cloud_api_errors_total",
                "Failed calls to other clouds.",
                &["provider", "operation", "error_type"],
            )?,
            duration: registered(registry, HistogramVec::new(duration, &["operation"])?)?,
        };
        series.leads(false);
        series.health(false, true);
        Ok(series)
    }

    /// A replica that does not lead makes no calls, and shows none.
    pub fn leads(&self, leads: bool) {
        self.leads.with_label_values(&[&self.pod]).set(f64::from(u8::from(leads)));
        if !leads {
            self.errors.reset();
            self.other_errors.reset();
            self.duration.reset();
        }
    }

    pub fn health(&self, ready: bool, healthy: bool) {
        self.ready.with_label_values(&[&self.pod]).set(f64::from(u8::from(ready)));
        self.healthy.with_label_values(&[&self.pod]).set(f64::from(u8::from(healthy)));
    }

    pub fn called(&self, call: CallSeries<'_>) {
        let Some(operation) = operation(call.call) else { return };
        if call.provider == THEIRS {
            self.duration.with_label_values(&[operation]).observe(call.took.as_secs_f64());
        }
        let Some(error) = call.failure.map(error_type) else { return };
        if call.provider == THEIRS {
            self.errors.with_label_values(&[operation, error]).inc();
        } else {
            self.other_errors.with_label_values(&[call.provider, operation, error]).inc();
        }
    }
}

/// The predecessor's word for a call. The predecessor restores no machine's own address.
fn operation(call: &AddressAction) -> Option<&'static str> {
    match call {
        AddressAction::Assign { .. } | AddressAction::Create { .. } => Some("attach"),
        AddressAction::Unassign { .. } | AddressAction::Release { .. } => Some("detach"),
        AddressAction::List { .. }
        | AddressAction::Read { .. }
        | AddressAction::ReadOperation { .. } => Some("check_ip"),
        AddressAction::RestoreEgress { .. } => None,
    }
}

/// The predecessor has one word for every failure; ours are finer where the cause is known.
fn error_type(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Refused => "permission_denied",
        FailureKind::Throttled { .. } => "rate_limited",
        FailureKind::NotFound => "not_found",
        FailureKind::Quota => "quota_exceeded",
        FailureKind::NoAnswer => "timeout",
        _ => "api_error",
    }
}
