//! Metrics: the predecessor's names, types and labels, and a few of our own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::action::{Action, FailureKind};
use pontoon_core::addresses::verdict::{AddressVerdict, Note, State, Verdict};
use pontoon_core::model::ObjectKey;
use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounterVec, Opts,
    Registry, TextEncoder,
};

use super::process::Process;
use super::series::{Book, Counting, Object, texts};
use super::standing::Standing;
use super::status::provider_id;
use super::write_metrics::{Write, WriteMetrics};
use crate::api::IpState;

const POOL: &[&str] = &["namespace", "name", "provider", "dns"];
const IP: &[&str] = &["namespace", "name", "ip", "provider", "dns"];
/// Index of the address in [`IP`].
const IP_LABEL: usize = 2;
const ASSIGNMENTS: &str = "ip_assignments";
const ASSIGNMENT_ERRORS: &str = "ip_assignment_errors";
const CALL: &[&str] = &["provider", "call", "kind", "namespace", "name"];

const OUTCOME: &[&str] = &["provider", "call", "outcome", "kind", "namespace", "name"];
const PLACE: &[&str] = &["provider_id", "node"];
const CONDITION: &[&str] = &["kind", "namespace", "name", "condition", "status"];
const OF_POOLS: &str = "flipop_floatingippoolcontroller";

/// Every metric of this process. Clones share the registry.
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
    writes: WriteMetrics,
    standing: Standing,
    watch_heard: GaugeVec,
    listing_success: GaugeVec,
    conditions: GaugeVec,
    process: Option<Process>,
    /// Locked while a page is rendered, so that no page shows half of a change.
    book: Arc<Mutex<Book>>,
}

fn registered<M>(registry: &Registry, metric: M) -> Result<M, prometheus::Error>
where
    M: prometheus::core::Collector + Clone + 'static,
{
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn call_duration(registry: &Registry) -> Result<HistogramVec, prometheus::Error> {
    let name = "flipop_providers_call_duration_seconds";
    let opts = HistogramOpts::new(name, "How long provider calls took.");
    registered(registry, HistogramVec::new(opts, CALL)?)
}

fn plan_duration(registry: &Registry) -> Result<Histogram, prometheus::Error> {
    let name = "pontoon_plan_duration_seconds";
    let opts = HistogramOpts::new(name, "How long one planning pass took.")
        .buckets(prometheus::exponential_buckets(0.000_01, 4.0, 9)?);
    registered(registry, Histogram::with_opts(opts)?)
}

/// The labels of a pool's series.
#[derive(Clone, Copy, Debug)]
pub struct PoolLabels<'a> {
    /// Key of the pool.
    pub key: &'a ObjectKey,
    /// The pool's provider.
    pub provider: &'a str,
    /// The pool's DNS name, or empty.
    pub dns: &'a str,
}

impl Metrics {
    /// A new registry with all metrics.
    ///
    /// # Errors
    /// None in practice: the names are constants.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            let gauge = GaugeVec::new(Opts::new(name, help), labels)?;
            registered(&registry, gauge)
        };
        let of_pools = |name: &str, help: &str, labels: &[&str]| {
            gauge(&format!("{OF_POOLS}_{name}"), help, labels)
        };
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(&registry, IntCounterVec::new(Opts::new(name, help), labels)?)
        };
        let attempts = |name: &str, help: &str| counter(&format!("{OF_POOLS}_{name}"), help, IP);
        let build = gauge("pontoon_build_info", "1: the version that runs.", &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        let heard = "When the API server last said something on a watch.";
        let answered = "When the last listing of an account was sent that was answered.";
        let condition = "1: the status of a condition, as the object's own status has it.";
        Ok(Self {
            node_status: of_pools("node_status", "Nodes by status.", &with(POOL, &["status"]))?,
            ip_node: of_pools("ip_node", "The node that an IP is on.", &with(IP, PLACE))?,
            ip_state: of_pools("ip_state", "The state of an IP.", &with(IP, &["state"]))?,
            unfulfilled_ips: of_pools("unfulfilled_ips", "IPs wanted and not acquired yet.", POOL)?,
            ip_assignments: attempts("ip_assignments", "Assignments that worked.")?,
            ip_assignment_errors: attempts("ip_assignment_errors", "Assignments that failed.")?,
            calls: counter("flipop_providers_calls_total", "Provider calls.", OUTCOME)?,
            record_set_records: gauge(
                "flipop_nodednsrecordset_records",
                "DNS records under management.",
                POOL,
            )?,
            call_duration: call_duration(&registry)?,
            leader: registered(
                &registry,
                Gauge::new("pontoon_leader", "1 while this replica leads.")?,
            )?,
            plan_duration: plan_duration(&registry)?,
            watch_heard: gauge("pontoon_watch_last_heard_timestamp_seconds", heard, &["kind"])?,
            listing_success: gauge(
                "pontoon_listing_last_success_timestamp_seconds",
                answered,
                &["account"],
            )?,
            conditions: gauge("pontoon_condition", condition, CONDITION)?,
            process: None,
            writes: WriteMetrics::new(&registry)?,
            standing: Standing::register(&registry)?,
            book: Arc::default(),
            registry,
        })
    }

    /// The page for Prometheus.
    pub fn page(&self) -> String {
        let mut page = Vec::new();
        if let Some(process) = &self.process {
            process.look();
        }
        let _whole = self.book();
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut page) {
            tracing::error!(%error, "metrics cannot be shown");
        }
        String::from_utf8(page).unwrap_or_default()
    }

    /// The same metrics, plus the process metrics of the predecessor's client library.
    ///
    /// # Errors
    /// None in practice: the names are constants.
    pub fn with_process(mut self, started: Time) -> Result<Self, prometheus::Error> {
        self.process = Some(Process::register(&self.registry, started)?);
        Ok(self)
    }

    /// Sets when each watch was last heard.
    pub fn heard(&self, watches: &[(&'static str, Option<Time>)]) {
        let _whole = self.book();
        self.watch_heard.reset();
        for (watch, heard) in watches {
            let heard = heard.map_or(0.0, seconds);
            self.watch_heard.with_label_values(&[*watch]).set(heard);
        }
    }

    /// Sets when the last answered listing of an account was sent.
    pub fn listed(&self, account: &str, at: Option<Time>) {
        if let Some(at) = at.filter(|_| self.book().leads) {
            self.listing_success.with_label_values(&[account]).set(seconds(at));
        }
    }

    /// Sets whether this replica leads. A follower shows no objects and no calls.
    pub fn leads(&self, leads: bool) {
        self.leader.set(f64::from(u8::from(leads)));
        let mut book = self.book();
        book.leads = leads;
        if !leads {
            book.clear();
            // Series of accounts belong to no object.
            self.calls.reset();
            self.call_duration.reset();
            self.listing_success.reset();
        }
    }

    /// Notes that an object exists.
    pub fn see(&self, key: &ObjectKey, uid: &str) {
        self.book().see(key, uid);
    }

    /// Removes an object and its series.
    pub fn forget(&self, key: &ObjectKey) {
        self.book().forget(key);
    }

    /// Metrics of standing aside for other controllers.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Records the duration of a planning pass.
    pub fn planned(&self, took: Duration) {
        self.plan_duration.observe(took.as_secs_f64());
    }

    /// Counts a failed write to Kubernetes.
    pub(super) fn unwritten(&self, write: Write, kind: FailureKind) {
        self.writes.failed(write, kind);
    }

    /// Counts an event that is never written.
    pub(super) fn left_out(&self) {
        self.writes.left_out();
    }

    /// Sets the conditions from an object's stored status.
    pub fn conditions(&self, key: &ObjectKey, conditions: &[Condition]) {
        let mut book = self.book();
        let Some(object) = book.shown(key) else { return };
        let labels = |one: &Condition| {
            owned(&[key.kind.name, &key.namespace, &key.name, &one.type_, &one.status])
        };
        object.set_conditions(&self.conditions, conditions.iter().map(labels).collect());
    }

    /// Sets the gauges of a pool from its verdict.
    pub fn pool(&self, labels: PoolLabels<'_>, verdict: &Verdict) {
        let mut book = self.book();
        let Some(object) = book.shown(labels.key) else { return };
        let pool = labels.pool();
        let mut gauges =
            vec![(self.unfulfilled_ips.clone(), pool.clone(), lacking(verdict) as f64)];
        for (status, count) in
            [("available", verdict.available_count), ("assigned", assigned(verdict))]
        {
            gauges.push((self.node_status.clone(), join(&pool, &[status]), count as f64));
        }
        for one in &verdict.addresses {
            let ip = labels.ip(&one.ip.to_string());
            if let Some(state) = state(one.state) {
                gauges.push((self.ip_state.clone(), join(&ip, &[state.as_str()]), 1.0));
            }
            if let Some(machine) = one.machine.as_ref().filter(|_| is_managed(one)) {
                let provider_id = provider_id(labels.provider, machine);
                let place = [provider_id.as_str(), active_node(one)];
                gauges.push((self.ip_node.clone(), join(&ip, &place), 1.0));
            }
        }
        object.set(gauges);
        self.begin_counting(labels, verdict, object);
    }

    /// Starts the counters of each address at zero, and removes counters of addresses that left.
    fn begin_counting(&self, labels: PoolLabels<'_>, verdict: &Verdict, object: &mut Object) {
        let managed = verdict.addresses.iter().filter(|one| is_managed(one));
        let managed: BTreeSet<_> = managed.map(|one| one.ip.to_string()).collect();
        for (name, family) in
            [(ASSIGNMENTS, &self.ip_assignments), (ASSIGNMENT_ERRORS, &self.ip_assignment_errors)]
        {
            object.keep(name, |labels| labels.get(IP_LABEL).is_some_and(|ip| managed.contains(ip)));
            for ip in &managed {
                let labels = labels.ip(ip);
                family.with_label_values(&texts(&labels));
                object.count(name, labels, Counting::Counter(family.clone()));
            }
        }
    }

    /// Sets the number of addresses that a record set should list.
    pub fn record_set(&self, labels: PoolLabels<'_>, records: usize) {
        let mut book = self.book();
        let Some(object) = book.shown(labels.key) else { return };
        object.set(vec![(self.record_set_records.clone(), labels.pool(), records as f64)]);
    }

    /// Counts an assignment, successful or failed.
    pub fn assigned(&self, labels: PoolLabels<'_>, ip: &str, worked: bool) {
        let mut book = self.book();
        let Some(object) = book.shown(labels.key) else { return };
        let (name, family) = match worked {
            true => (ASSIGNMENTS, &self.ip_assignments),
            false => (ASSIGNMENT_ERRORS, &self.ip_assignment_errors),
        };
        let labels = labels.ip(ip);
        family.with_label_values(&texts(&labels)).inc();
        object.count(name, labels, Counting::Counter(family.clone()));
    }

    /// Counts a finished call to a provider.
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
            pool.map_or(("", "", ""), |key| (key.kind.name, &*key.namespace, &*key.name));
        let outcome = if worked { "success" } else { "error" };
        let counted = owned(&[&account.0, call, outcome, kind, namespace, name]);
        let timed = owned(&[&account.0, call, kind, namespace, name]);
        let mut book = self.book();
        if let Some(key) = pool {
            let Some(object) = book.shown(key) else { return };
            object.count("calls", counted.clone(), Counting::Counter(self.calls.clone()));
            let durations = Counting::Histogram(self.call_duration.clone());
            object.count("call_duration", timed.clone(), durations);
        } else if !book.leads {
            return;
        }
        self.calls.with_label_values(&texts(&counted)).inc();
        self.call_duration.with_label_values(&texts(&timed)).observe(took.as_secs_f64());
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
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
        labels.insert(IP_LABEL, ip.to_owned());
        labels
    }
}

fn seconds(time: Time) -> f64 {
    time.as_micros() as f64 / 1_000_000.0
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

/// Number of addresses on a machine or in progress, whether the node matches or not.
fn assigned(verdict: &Verdict) -> usize {
    verdict.addresses.iter().filter(|one| is_managed(one) && one.machine.is_some()).count()
}

/// Whether the predecessor would manage the address. For unused or unlisted addresses the
/// predecessor shows at most the state.
fn is_managed(one: &AddressVerdict) -> bool {
    !matches!(one.state, State::Disabled | State::Leaving)
}

/// The matching node that holds or receives an address; empty if the node does not match.
fn active_node(one: &AddressVerdict) -> &str {
    let active = matches!(one.state, State::Active | State::InProgress);
    one.node.as_ref().filter(|_| active).map_or("", |node| &node.0)
}

/// Number of wanted addresses that the pool lacks.
fn lacking(verdict: &Verdict) -> usize {
    let acquired = verdict.addresses.iter().filter(|one| is_acquired(one)).count();
    verdict.wanted.saturating_sub(acquired)
}

fn is_acquired(one: &AddressVerdict) -> bool {
    match (one.state, &one.note) {
        (_, Some(Note::Gone | Note::Conflict(_))) => false,
        (State::Leaving, note) => *note == Some(Note::Kept),
        (state, _) => state != State::Disabled,
    }
}

fn with<'a>(labels: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [labels, more].concat()
}

fn join(labels: &[String], more: &[&str]) -> Vec<String> {
    labels.iter().cloned().chain(more.iter().map(|text| (*text).to_owned())).collect()
}

fn owned(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|text| (*text).to_owned()).collect()
}
