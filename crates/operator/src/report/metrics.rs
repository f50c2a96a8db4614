//! Metrics: the predecessor's names, types and labels, and a few of our own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pontoon_core::action::Action;
use pontoon_core::model::PoolKey;
use pontoon_core::verdict::{State, Verdict};
use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounterVec, Opts,
    Registry, TextEncoder,
};

use super::status::provider_id;
use crate::api::IpState;

const POOL: &[&str] = &["namespace", "name", "provider", "dns"];
const IP: &[&str] = &["namespace", "name", "ip", "provider", "dns"];
const CALL: &[&str] = &["provider", "call", "kind", "namespace", "name"];

/// Every metric of this process. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    node_status: GaugeVec,
    ip_node: GaugeVec,
    ip_state: GaugeVec,
    unfulfilled_ips: GaugeVec,
    ip_assignments: IntCounterVec,
    ip_assignment_errors: IntCounterVec,
    record_set_records: GaugeVec,
    calls: IntCounterVec,
    call_duration: HistogramVec,
    leader: Gauge,
    plan_duration: Histogram,
    /// The series of each pool, so that they vanish with it.
    series: Arc<Mutex<BTreeMap<PoolKey, Vec<Series>>>>,
}

#[derive(Debug)]
struct Series {
    family: GaugeVec,
    labels: Vec<String>,
}

/// How a pool is labelled.
#[derive(Clone, Copy, Debug)]
pub struct PoolLabels<'a> {
    /// The pool.
    pub key: &'a PoolKey,
    /// Its provider.
    pub provider: &'a str,
    /// Its DNS name, or nothing.
    pub dns: &'a str,
}

impl Metrics {
    /// A fresh set.
    ///
    /// # Errors
    /// None in practice: the names are constants.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let pool = "flipop_floatingippoolcontroller";
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            let gauge = GaugeVec::new(Opts::new(format!("{pool}_{name}"), help), labels)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let counter = |name: String, help: &str, labels: &[&str]| {
            let counter = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        let opts = Opts::new("flipop_nodednsrecordset_records", "DNS records under management.");
        let record_set_records = GaugeVec::new(opts, POOL)?;
        registry.register(Box::new(record_set_records.clone()))?;
        let name = "flipop_providers_call_duration_seconds";
        let help = "How long provider calls took.";
        let call_duration = HistogramVec::new(HistogramOpts::new(name, help), CALL)?;
        registry.register(Box::new(call_duration.clone()))?;
        let leader = Gauge::new("pontoon_leader", "1 while this replica leads.")?;
        registry.register(Box::new(leader.clone()))?;
        let plan_duration = Histogram::with_opts(
            HistogramOpts::new("pontoon_plan_duration_seconds", "How long one planning pass took.")
                .buckets(prometheus::exponential_buckets(0.000_01, 4.0, 9)?),
        )?;
        registry.register(Box::new(plan_duration.clone()))?;
        let calls = ["provider", "call", "outcome", "kind", "namespace", "name"];
        Ok(Self {
            node_status: gauge("node_status", "Nodes by status.", &with(POOL, &["status"]))?,
            ip_node: gauge(
                "ip_node",
                "The node that an IP is on.",
                &with(IP, &["provider_id", "node"]),
            )?,
            ip_state: gauge("ip_state", "The state of an IP.", &with(IP, &["state"]))?,
            unfulfilled_ips: gauge("unfulfilled_ips", "IPs wanted and not acquired yet.", POOL)?,
            ip_assignments: counter(
                format!("{pool}_ip_assignments"),
                "Assignments that worked.",
                IP,
            )?,
            ip_assignment_errors: counter(
                format!("{pool}_ip_assignment_errors"),
                "Assignments that failed.",
                IP,
            )?,
            calls: counter("flipop_providers_calls_total".into(), "Provider calls.", &calls)?,
            record_set_records,
            call_duration,
            leader,
            plan_duration,
            series: Arc::default(),
            registry,
        })
    }

    /// The page that Prometheus reads.
    pub fn page(&self) -> String {
        let mut page = Vec::new();
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut page) {
            tracing::error!(%error, "metrics cannot be shown");
        }
        String::from_utf8(page).unwrap_or_default()
    }

    /// This replica leads, or not. A follower shows no pools: it does not know.
    pub fn leads(&self, leads: bool) {
        self.leader.set(f64::from(u8::from(leads)));
        if !leads {
            self.series.lock().unwrap_or_else(PoisonError::into_inner).clear();
            for family in [&self.node_status, &self.ip_node, &self.ip_state, &self.unfulfilled_ips]
            {
                family.reset();
            }
            self.record_set_records.reset();
            self.ip_assignments.reset();
            self.ip_assignment_errors.reset();
        }
    }

    /// One planning pass took this long.
    pub fn planned(&self, took: Duration) {
        self.plan_duration.observe(took.as_secs_f64());
    }

    /// A pool is doing as `verdict` says.
    pub fn pool(&self, labels: PoolLabels<'_>, verdict: &Verdict) {
        self.forget_pool(labels.key);
        let mut series = Vec::new();
        let mut set = |family: &GaugeVec, labels: Vec<String>, value: f64| {
            let texts: Vec<_> = labels.iter().map(String::as_str).collect();
            family.with_label_values(&texts).set(value);
            series.push(Series { family: family.clone(), labels });
        };
        let pool = labels.pool();
        let wanting = verdict.wanted.saturating_sub(verdict.addresses.len());
        set(&self.unfulfilled_ips, pool.clone(), wanting as f64);
        for (status, count) in
            [("available", verdict.available_count), ("assigned", verdict.active())]
        {
            set(&self.node_status, join(&pool, &[status]), count as f64);
        }
        for one in &verdict.addresses {
            let ip = labels.ip(&one.ip.to_string());
            if let Some(state) = state(one.state) {
                set(&self.ip_state, join(&ip, &[state.as_str()]), 1.0);
            }
            if let (Some(node), Some(machine)) = (&one.node, &one.machine) {
                let provider_id = provider_id(labels.provider, machine);
                set(&self.ip_node, join(&ip, &[&provider_id, &node.0]), 1.0);
            }
        }
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(labels.key.clone(), series);
    }

    /// A record set lists so many addresses.
    pub fn record_set(&self, key: &PoolKey, provider: &str, dns: &str, records: usize) {
        self.forget_pool(key);
        let labels = PoolLabels { key, provider, dns }.pool();
        let texts: Vec<_> = labels.iter().map(String::as_str).collect();
        self.record_set_records.with_label_values(&texts).set(records as f64);
        let family = self.record_set_records.clone();
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key.clone(), vec![Series { family, labels }]);
    }

    /// An object is gone, and its gauges with it.
    pub fn forget_pool(&self, key: &PoolKey) {
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        for series in all.remove(key).into_iter().flatten() {
            let labels: Vec<_> = series.labels.iter().map(String::as_str).collect();
            // Not there any more is what we want.
            drop(series.family.remove_label_values(&labels));
        }
    }

    /// An assignment worked, or did not.
    pub fn assigned(&self, labels: PoolLabels<'_>, ip: &str, worked: bool) {
        let family = if worked { &self.ip_assignments } else { &self.ip_assignment_errors };
        let labels = labels.ip(ip);
        let texts: Vec<_> = labels.iter().map(String::as_str).collect();
        family.with_label_values(&texts).inc();
    }

    /// A call to a cloud came back.
    pub fn called(&self, action: &Action, worked: bool, took: Duration) {
        let (account, call, pool) = match action {
            Action::List { account, .. } | Action::ReadAddress { account, .. } => {
                (account, "IPToProviderID", None)
            }
            Action::ReadOperation { account, .. } => (account, "ReadOperation", None),
            Action::Assign { account, pool, .. } => (account, "AssignIP", Some(pool)),
            Action::Unassign { account, pool, .. } => (account, "UnassignIP", Some(pool)),
            Action::Create { account, pool, .. } => (account, "CreateIP", Some(pool)),
            Action::Release { account, pool, .. } => (account, "ReleaseIP", Some(pool)),
            Action::ReadRecords { owner, request, .. } => {
                (&request.account, "ListDNSRecords", Some(owner))
            }
            Action::ChangeRecords { owner, site, .. } => {
                (&site.account, "EnsureDNSARecordSet", Some(owner))
            }
            Action::WriteLedger { .. } | Action::Mark { .. } => return,
        };
        let (kind, namespace, name) =
            pool.map_or(("", "", ""), |key| (key.kind, &*key.namespace, &*key.name));
        let outcome = if worked { "success" } else { "error" };
        self.calls.with_label_values(&[&account.0, call, outcome, kind, namespace, name]).inc();
        self.call_duration
            .with_label_values(&[&account.0, call, kind, namespace, name])
            .observe(took.as_secs_f64());
    }
}

impl PoolLabels<'_> {
    fn pool(&self) -> Vec<String> {
        let PoolLabels { key, provider, dns } = self;
        vec![
            key.namespace.to_string(),
            key.name.to_string(),
            (*provider).to_owned(),
            (*dns).to_owned(),
        ]
    }

    fn ip(&self, ip: &str) -> Vec<String> {
        let mut labels = self.pool();
        labels.insert(2, ip.to_owned());
        labels
    }
}

fn state(state: State) -> Option<IpState> {
    match state {
        State::Active => Some(IpState::Active),
        State::InProgress => Some(IpState::InProgress),
        State::Error => Some(IpState::Error),
        State::NoMatch => Some(IpState::NoMatch),
        State::Unassigned => Some(IpState::Unassigned),
        State::Disabled | State::Leaving => Some(IpState::Disabled),
        State::Unknown => None,
    }
}

fn with<'a>(labels: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [labels, more].concat()
}

fn join(labels: &[String], more: &[&str]) -> Vec<String> {
    labels.iter().cloned().chain(more.iter().map(|text| (*text).to_owned())).collect()
}
