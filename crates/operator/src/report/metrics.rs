//! Metrics: the predecessor's names, types and labels, and a few of our own.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::action::{Action, FailureKind};
use pontoon_core::addresses::verdict::Verdict;
use pontoon_core::model::{Kind, ObjectKey};
use pontoon_core::records::verdict::RecordVerdict;
use pontoon_core::vips::verdict::VipVerdict;
use pontoon_core::world::World;
use prometheus::proto::MetricFamily;
use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounterVec, Opts,
    Registry, TextEncoder,
};

use super::move_metrics::{Drifted, MoveMetrics};
use super::names::names;
use super::object_series::{
    Book, CallSeries, Counting, ObjectSeries, ReplicaLabels, Series, SeriesLabels, VipWriteSeries,
    texts,
};
use super::process::Process;
use super::provider_errors::ProviderErrors;
use super::rival_metrics::RivalMetrics;
use super::write_metrics::{Write, WriteMetrics};
use crate::fronts::{Controllers, Front};
use crate::observe::pod::kind_of;

const CALL: &[&str] = &["provider", "call", "kind", "namespace", "name"];

const OUTCOME: &[&str] = &["provider", "call", "outcome", "kind", "namespace", "name"];
const CONDITION: &[&str] = &["kind", "namespace", "name", "condition", "status", "reason"];

/// Every metric of this process. Clones share the registry.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    /// The series of each kind.
    fronts: BTreeMap<&'static Kind, Arc<dyn Series>>,
    calls: IntCounterVec,
    call_duration: HistogramVec,
    provider_errors: ProviderErrors,
    pub(super) moves: MoveMetrics,
    leader: Gauge,
    plan_duration: Histogram,
    writes: WriteMetrics,
    rivals: RivalMetrics,
    watch_heard: GaugeVec,
    listing_success: GaugeVec,
    conditions: GaugeVec,
    /// Without a series while there is no policy.
    policy: GaugeVec,
    process: Option<Process>,
    /// Locked while a page is rendered, so that no page shows half of a change.
    book: Arc<Mutex<Book>>,
}

/// Registers a metric.
pub(crate) fn registered<M>(registry: &Registry, metric: M) -> Result<M, prometheus::Error>
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

impl Metrics {
    /// A new registry with all metrics.
    ///
    /// # Errors
    /// None in practice: the names are constants.
    pub fn new() -> Result<Self, prometheus::Error> {
        Self::of(&ReplicaLabels::default(), &Controllers::default())
    }

    /// A new registry with the metrics of a named replica that serves these kinds.
    ///
    /// # Errors
    /// As above.
    pub fn of(
        replica: &ReplicaLabels,
        controllers: &Controllers,
    ) -> Result<Self, prometheus::Error> {
        let registry = registry(replica)?;
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            let gauge = GaugeVec::new(Opts::new(name, help), labels)?;
            registered(&registry, gauge)
        };
        let counter = |name: &str, help: &str, labels: &[&str]| {
            registered(&registry, IntCounterVec::new(Opts::new(name, help), labels)?)
        };
        let build = gauge("pontoon_build_info", "1: the version that runs.", &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        let heard = "When the API server last said something on a watch.";
        let answered = "Send time of the last answered listing of an account.";
        let policy = "1: the policy file is in force; 0: the file cannot be used, the policy before is in force.";
        let series =
            |front: &'static dyn Front| Ok((front.kind(), front.series(&registry, replica)?));
        let fronts = controllers.fronts().map(series).collect::<Result<_, prometheus::Error>>()?;
        let condition = "1: a condition with its reason, as the object's own status has it.";
        Ok(Self {
            calls: counter("flipop_providers_calls_total", "Provider calls.", OUTCOME)?,
            fronts,
            call_duration: call_duration(&registry)?,
            provider_errors: ProviderErrors::new(&registry)?,
            moves: MoveMetrics::new(&registry)?,
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
            policy: gauge("pontoon_policy_current", policy, &[])?,
            process: None,
            writes: WriteMetrics::new(&registry)?,
            rivals: RivalMetrics::register(&registry, controllers)?,
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
        if let Err(error) = TextEncoder::new().encode(&in_order(self.registry.gather()), &mut page)
        {
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

    /// Sets when each kind was last heard. Of several watches over a kind, in several namespaces, the
    /// one that was silent longest counts.
    pub fn heard(&self, watches: &[(String, Option<Time>)]) {
        let mut kinds: BTreeMap<&str, f64> = BTreeMap::new();
        for (watch, heard) in watches {
            let heard = heard.map_or(0.0, seconds);
            let oldest = kinds.entry(kind_of(watch)).or_insert(heard);
            *oldest = oldest.min(heard);
        }
        let _whole = self.book();
        self.watch_heard.reset();
        for (kind, heard) in kinds {
            self.watch_heard.with_label_values(&[kind]).set(heard);
        }
    }

    /// Sets whether the policy in force is the content of the policy file.
    pub fn policy_is_current(&self, current: bool) {
        self.policy.with_label_values::<&str>(&[]).set(f64::from(u8::from(current)));
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
        self.fronts.values().for_each(|series| series.leads(leads));
        let mut book = self.book();
        book.leads = leads;
        if !leads {
            book.clear();
            // Series of accounts belong to no object.
            self.calls.reset();
            self.call_duration.reset();
            self.listing_success.reset();
            self.provider_errors.clear();
            self.moves.clear();
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

    /// Metrics about other controllers.
    pub fn rivals(&self) -> &RivalMetrics {
        &self.rivals
    }

    /// Records the duration of a planning pass.
    pub fn planned(&self, took: Duration) {
        self.plan_duration.observe(took.as_secs_f64());
    }

    /// Counts a failed write to Kubernetes.
    pub(super) fn unwritten(&self, write: Write, kind: FailureKind) {
        self.writes.failed(write, kind);
    }

    /// Counts events that are never written.
    pub(super) fn left_out(&self, events: u64) {
        self.writes.left_out(events);
    }

    /// Sets the conditions from an object's stored status.
    pub fn conditions(&self, key: &ObjectKey, conditions: &[Condition]) {
        let mut book = self.book();
        let Some(object) = book.shown(key) else { return };
        let labels = |one: &Condition| {
            let object = [key.kind.name, &key.namespace, &key.name];
            owned(&[&object[..], &[&one.type_, &one.status, &one.reason]].concat())
        };
        object.set_conditions(&self.conditions, conditions.iter().map(labels).collect());
    }

    /// Shows the verdict on an object's addresses.
    pub fn addresses(&self, labels: SeriesLabels<'_>, verdict: &Verdict) {
        self.with(labels.key, |series, object| {
            self.moves.begin(labels.key, Drifted::Address, object);
            series.addresses(labels, verdict, object);
        });
    }

    /// Shows the verdict on an object's records.
    pub fn records(&self, labels: SeriesLabels<'_>, verdict: &RecordVerdict) {
        self.with(labels.key, |series, object| {
            self.moves.begin(labels.key, Drifted::Record, object);
            series.records(labels, verdict, object);
        });
    }

    /// Counts an assignment, successful or failed.
    pub fn assigned(&self, labels: SeriesLabels<'_>, ip: IpAddr, worked: bool) {
        self.with(labels.key, |series, object| series.assigned(labels, ip, worked, object));
    }

    /// Counts an unassignment, successful or failed.
    pub fn unassigned(&self, labels: SeriesLabels<'_>, worked: bool) {
        self.with(labels.key, |series, object| series.unassigned(labels, worked, object));
    }

    /// Counts a plan that considered an object. `well` says whether the plan found no failure.
    pub fn considered(&self, labels: SeriesLabels<'_>, took: Duration, well: bool) {
        self.with(labels.key, |series, object| series.planned(labels, took, well, object));
    }

    /// Counts a finished write for the VIPs of an object.
    pub fn vip_written(&self, kind: &Kind, write: VipWriteSeries<'_>) {
        self.of_leader(kind, |series| series.vip_written(write));
    }

    /// Counts a plan that considered the VIPs of an object of a class.
    pub fn vips_planned(&self, kind: &Kind, class: &str, verdict: &VipVerdict, took: Duration) {
        self.of_leader(kind, |series| series.vips_planned(class, verdict, took));
    }

    /// Shows what all objects share.
    pub fn stock(&self, world: &World) {
        let book = self.book();
        self.fronts.values().filter(|_| book.leads).for_each(|series| series.stock(world));
    }

    /// Updates the series of a kind, if this replica leads.
    fn of_leader(&self, kind: &Kind, update: impl FnOnce(&dyn Series)) {
        let book = self.book();
        if let Some(series) = self.fronts.get(kind).filter(|_| book.leads) {
            update(&**series);
        }
    }

    /// Updates the series of a shown object, with those of its kind.
    fn with(&self, key: &ObjectKey, update: impl FnOnce(&dyn Series, &mut ObjectSeries)) {
        let mut book = self.book();
        if let (Some(series), Some(object)) = (self.fronts.get(key.kind), book.shown(key)) {
            update(&**series, object);
        }
    }

    /// Shows whether this replica is ready and healthy.
    pub fn health(&self, ready: bool, healthy: bool) {
        self.fronts.values().for_each(|series| series.health(ready, healthy));
    }

    /// Counts an attempted call to a provider, sent or not.
    pub fn attempted(&self, action: &Action, failure: Option<FailureKind>) {
        if let Some(account) = action.account().filter(|_| self.book().leads) {
            self.provider_errors.count(&account.0, failure);
        }
    }

    /// Counts a finished call to a provider.
    pub fn called(&self, action: &Action, failure: Option<FailureKind>, took: Duration) {
        let (Some(account), Some(call)) = (action.account(), names(action).call) else { return };
        let worked = failure.is_none();
        if let Action::Address(call) = action
            && self.book().leads
        {
            let call = CallSeries { provider: &account.0, call, failure, took };
            self.fronts.values().for_each(|series| series.called(call));
        }
        let owner = action.owner();
        let (kind, namespace, name) =
            owner.map_or(("", "", ""), |key| (key.kind.name, &*key.namespace, &*key.name));
        let outcome = if worked { "success" } else { "error" };
        let counted = owned(&[&account.0, call, outcome, kind, namespace, name]);
        let timed = owned(&[&account.0, call, kind, namespace, name]);
        let mut book = self.book();
        if let Some(key) = owner {
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

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A registry that names the cluster on every series, if the cluster has a name.
fn registry(replica: &ReplicaLabels) -> Result<Registry, prometheus::Error> {
    let cluster = replica.cluster.clone().map(|name| [("cluster".to_owned(), name)].into());
    Registry::new_custom(None, cluster)
}

/// The same families with the labels of each series in alphabetical order.
fn in_order(mut families: Vec<MetricFamily>) -> Vec<MetricFamily> {
    for metric in families.iter_mut().flat_map(|family| family.mut_metric()) {
        let mut labels = metric.take_label();
        labels.sort_by(|one, other| one.name().cmp(other.name()));
        metric.set_label(labels);
    }
    families
}

fn seconds(time: Time) -> f64 {
    time.as_micros() as f64 / 1_000_000.0
}

fn owned(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|text| (*text).to_owned()).collect()
}
