//! ip-address-controller's series of allocations.

use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::addresses::verdict::{AddressVerdict, State, Verdict};
use pontoon_core::verdict::Outlook;
use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use super::process_metrics::ProcessSeries;
use crate::report::metrics::registered;
use crate::report::object_series::{
    CallSeries, Counting, ObjectSeries, ReplicaLabels, Series, SeriesLabels, texts,
};

const NAME: &str = "crd_name";
const ATTACHED: &str = "ip_attach_total";
const DETACHED: &str = "ip_detach_total";
const PLANNED: &str = "reconcile_total";
const DURATION: &str = "reconcile_duration_seconds";

/// The series of allocations.
#[derive(Debug)]
pub(super) struct AllocationSeries {
    status: GaugeVec,
    reserved: GaugeVec,
    attached: GaugeVec,
    unattached: GaugeVec,
    ip_attached: GaugeVec,
    node_ready: GaugeVec,
    node_cordoned: GaugeVec,
    attach: IntCounterVec,
    detach: IntCounterVec,
    planned: IntCounterVec,
    duration: HistogramVec,
    process: ProcessSeries,
}

impl AllocationSeries {
    pub fn register(
        registry: &Registry,
        replica: &ReplicaLabels,
    ) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, GaugeVec::new(opts(name, help), labels)?)
        };
        let counter = |name: &str, help: &str| {
            registered(registry, IntCounterVec::new(opts(name, help), &[NAME, "status"])?)
        };
        let buckets = vec![0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
        let duration = HistogramOpts::from(opts(DURATION, "Duration of plans.")).buckets(buckets);
        let ip = [NAME, "ip", "node"];
        Ok(Self {
            status: gauge("crd_status", "Whether every IP is attached, without error.", &[NAME])?,
            reserved: gauge("reserved_ips_total", "IPs of an allocation.", &[NAME])?,
            attached: gauge("attached_ips_total", "IPs on healthy nodes.", &[NAME])?,
            unattached: gauge("unattached_ips_total", "IPs on no healthy node.", &[NAME])?,
            ip_attached: gauge("ip_attached", "Whether an IP is on a node.", &ip)?,
            node_ready: gauge("node_ip_ready", "Whether a node serves an IP.", &["node", NAME])?,
            node_cordoned: gauge("node_cordoned", "Whether a node is cordoned.", &["node"])?,
            attach: counter(ATTACHED, "Assignments.")?,
            detach: counter(DETACHED, "Unassignments.")?,
            planned: counter(PLANNED, "Plans that considered an allocation.")?,
            duration: registered(registry, HistogramVec::new(duration, &[NAME])?)?,
            process: ProcessSeries::register(registry, replica)?,
        })
    }

    fn count(
        &self,
        (name, family): (&'static str, &IntCounterVec),
        labels: SeriesLabels<'_>,
        worked: bool,
        object: &mut ObjectSeries,
    ) {
        for status in ["success", "error"] {
            let labels = vec![labels.key.name.to_string(), status.to_owned()];
            let counter = family.with_label_values(&texts(&labels));
            counter.inc_by(u64::from((status == "success") == worked));
            object.count(name, labels, Counting::Counter(family.clone()));
        }
    }
}

/// The name and help of a series.
pub(super) fn opts(name: &str, help: &str) -> Opts {
    Opts::new(format!("netipallocation_{name}"), help)
}

impl Series for AllocationSeries {
    fn leads(&self, leads: bool) {
        self.process.leads(leads);
    }

    fn health(&self, ready: bool, healthy: bool) {
        self.process.health(ready, healthy);
    }

    fn called(&self, call: CallSeries<'_>) {
        self.process.called(call);
    }

    fn addresses(&self, labels: SeriesLabels<'_>, verdict: &Verdict, object: &mut ObjectSeries) {
        let name = labels.key.name.to_string();
        let (active, wanted) = (verdict.active(), verdict.wanted);
        let well = active >= wanted && verdict.outlook() == Outlook::Well;
        let mut gauges = vec![
            (self.status.clone(), vec![name.clone()], f64::from(u8::from(well))),
            (self.reserved.clone(), vec![name.clone()], wanted as f64),
            (self.attached.clone(), vec![name.clone()], active as f64),
            (self.unattached.clone(), vec![name.clone()], wanted.saturating_sub(active) as f64),
        ];
        for one in &verdict.addresses {
            let node = node(one);
            let value = f64::from(u8::from(node.is_some()));
            let labels = [&*name, &one.ip.to_string(), node.unwrap_or("none")];
            gauges.push((self.ip_attached.clone(), labels.map(str::to_owned).to_vec(), value));
            if let Some(node) = node {
                let labels = vec![node.to_owned(), name.clone()];
                gauges.push((self.node_ready.clone(), labels, 1.0));
            }
            if let Some(node) = &one.node {
                let cordoned = f64::from(u8::from(one.cordoned));
                gauges.push((self.node_cordoned.clone(), vec![node.to_string()], cordoned));
            }
        }
        object.set(gauges);
    }

    fn assigned(
        &self,
        labels: SeriesLabels<'_>,
        _: IpAddr,
        worked: bool,
        object: &mut ObjectSeries,
    ) {
        self.count((ATTACHED, &self.attach), labels, worked, object);
    }

    fn unassigned(&self, labels: SeriesLabels<'_>, worked: bool, object: &mut ObjectSeries) {
        self.count((DETACHED, &self.detach), labels, worked, object);
    }

    fn planned(
        &self,
        labels: SeriesLabels<'_>,
        took: Duration,
        well: bool,
        object: &mut ObjectSeries,
    ) {
        self.count((PLANNED, &self.planned), labels, well, object);
        let labels = vec![labels.key.name.to_string()];
        self.duration.with_label_values(&texts(&labels)).observe(took.as_secs_f64());
        object.count(DURATION, labels, Counting::Histogram(self.duration.clone()));
    }
}

/// The healthy node that serves an address.
fn node(one: &AddressVerdict) -> Option<&str> {
    one.node.as_ref().filter(|_| one.state == State::Active).map(|node| &*node.0)
}
