//! capi-vip-allocator's series. Their counters are by class, so that none ends with a Cluster.

use std::time::Duration;

use pontoon_core::action::{FailureKind, VipAction};
use pontoon_core::verdict::Outlook;
use pontoon_core::vips::model::{Role, VipPool};
use pontoon_core::vips::verdict::{VipReason, VipVerdict};
use pontoon_core::world::World;
use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

use crate::report::metrics::registered;
use crate::report::object_series::{Series, VipWriteSeries};

const PREFIX: &str = "capi_vip_allocator_";
const ROLE: &str = "role";
const CLASS: &str = "cluster_class";
const POOL: &str = "pool_name";
const NAMESPACE: &str = "namespace";

/// The predecessor's words for failed steps.
const UNCLAIMED: &str = "claim_creation_failed";
const UNRESOLVED: &str = "ip_resolution_failed";
const UNPATCHED: &str = "cluster_patch_failed";

/// The series of VIPs.
#[derive(Debug)]
pub(super) struct VipSeries {
    allocations: IntCounterVec,
    errors: IntCounterVec,
    allocation_duration: HistogramVec,
    planned: IntCounterVec,
    plan_duration: HistogramVec,
    pools: GaugeVec,
    total: GaugeVec,
    free: GaugeVec,
    used: GaugeVec,
    claims: GaugeVec,
    ready: GaugeVec,
    pending: GaugeVec,
}

impl VipSeries {
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let name = |name: &str| format!("{PREFIX}{name}");
        let gauge = |of: &str, help: &str, labels: &[&str]| {
            registered(registry, GaugeVec::new(Opts::new(name(of), help), labels)?)
        };
        let counter = |of: &str, help: &str, labels: &[&str]| {
            registered(registry, IntCounterVec::new(Opts::new(name(of), help), labels)?)
        };
        let histogram = |of: &str, help: &str, labels: &[&str]| {
            registered(registry, HistogramVec::new(HistogramOpts::new(name(of), help), labels)?)
        };
        let errors = [ROLE, CLASS, "reason"];
        let duration = "Time from the creation of a claim until its Cluster shows the VIP.";
        let planned = "Plans that considered a Cluster, by result.";
        Ok(Self {
            allocations: counter("allocations_total", "VIPs written on Clusters.", &[ROLE, CLASS])?,
            errors: counter("allocation_errors_total", "Failed steps, by reason.", &errors)?,
            allocation_duration: histogram(
                "allocation_duration_seconds",
                duration,
                &[ROLE, CLASS],
            )?,
            planned: counter("reconcile_total", planned, &[CLASS, "result"])?,
            plan_duration: histogram(
                "reconcile_duration_seconds",
                "Duration of plans that considered a Cluster.",
                &[CLASS],
            )?,
            pools: gauge("pools_available", "Pools that may serve a class.", &[CLASS, ROLE])?,
            total: gauge("pool_addresses_total", "Addresses of a pool.", &[POOL])?,
            free: gauge("pool_addresses_free", "Free addresses of a pool.", &[POOL])?,
            used: gauge("pool_addresses_used", "Used addresses of a pool.", &[POOL])?,
            claims: gauge("claims_total", "Claims.", &[ROLE, NAMESPACE])?,
            ready: gauge("claims_ready", "Bound claims.", &[ROLE, NAMESPACE])?,
            pending: gauge("claims_pending", "Claims without an address.", &[ROLE, NAMESPACE])?,
        })
    }

    fn gauges(&self) -> [&GaugeVec; 7] {
        let Self { pools, total, free, used, claims, ready, pending, .. } = self;
        [pools, total, free, used, claims, ready, pending]
    }

    fn clear_gauges(&self) {
        self.gauges().into_iter().for_each(GaugeVec::reset);
    }

    /// Starts the errors of a class at zero, because an increase from nothing is not seen.
    fn begin_errors(&self, class: &str) {
        for role in [Role::ControlPlane, Role::Ingress] {
            for reason in [UNCLAIMED, UNRESOLVED, UNPATCHED] {
                self.errors.with_label_values(&[role.word(), class, reason]);
            }
        }
    }

    fn show_pool(&self, pool: &VipPool) {
        let Some(room) = pool.room else { return };
        let name = pool.id.to_string();
        let counts = [(&self.total, room.total), (&self.free, room.free), (&self.used, room.used)];
        for (gauge, count) in counts {
            gauge.with_label_values(&[&name]).set(count as f64);
        }
    }
}

impl Series for VipSeries {
    /// A replica that does not lead shows no Clusters, because its view is incomplete.
    fn leads(&self, leads: bool) {
        if !leads {
            self.clear_gauges();
            let Self { allocations, errors, planned, .. } = self;
            [allocations, errors, planned].into_iter().for_each(IntCounterVec::reset);
            self.allocation_duration.reset();
            self.plan_duration.reset();
        }
    }

    fn vip_written(&self, write: VipWriteSeries<'_>) {
        let VipWriteSeries { class, action, failure, now } = write;
        let shown = match action {
            VipAction::SetEndpoint(write) => Some((Role::ControlPlane, write.claimed_at)),
            VipAction::SetIngress(write) => Some((Role::Ingress, write.claimed_at)),
            _ => None,
        };
        match (failure, shown) {
            (None, Some((role, claimed_at))) => {
                let labels = [role.word(), class];
                self.allocations.with_label_values(&labels).inc();
                let took = now.since(claimed_at).as_secs_f64();
                self.allocation_duration.with_label_values(&labels).observe(took);
            }
            // A write whose object has changed is made again, on the newer version.
            (Some(FailureKind::Conflict | FailureKind::NotSent) | None, _) => {}
            (Some(_), _) => {
                if let Some((role, reason)) = error(action) {
                    self.errors.with_label_values(&[role.word(), class, reason]).inc();
                }
            }
        }
    }

    fn vips_planned(&self, class: &str, verdict: &VipVerdict, took: Duration) {
        self.begin_errors(class);
        self.planned.with_label_values(&[class, result(verdict)]).inc();
        self.plan_duration.with_label_values(&[class]).observe(took.as_secs_f64());
        for (job, part) in &verdict.parts {
            if matches!(part.reason, VipReason::AddressUnread(_)) {
                let labels = [job.role.word(), class, UNRESOLVED];
                self.errors.with_label_values(&labels).inc();
            }
        }
    }

    fn stock(&self, world: &World) {
        self.clear_gauges();
        world.vip_pools().for_each(|pool| self.show_pool(pool));
        for ((class, role), number) in world.tally_vip_pools() {
            self.pools.with_label_values(&[&*class, role.word()]).set(number as f64);
        }
        for ((role, namespace), tally) in world.tally_vip_claims() {
            let labels = [role.word(), &*namespace];
            self.claims.with_label_values(&labels).set(tally.total as f64);
            self.ready.with_label_values(&labels).set(tally.ready as f64);
            self.pending.with_label_values(&labels).set(tally.pending as f64);
        }
    }
}

/// The role and the predecessor's word for a failed write.
fn error(action: &VipAction) -> Option<(Role, &'static str)> {
    match action {
        VipAction::CreateClaim { job, .. } | VipAction::AdoptClaim { job, .. } => {
            Some((job.role, UNCLAIMED))
        }
        VipAction::SetEndpoint(_) | VipAction::RepairEndpoint(_) => {
            Some((Role::ControlPlane, UNPATCHED))
        }
        VipAction::SetIngress(_) => Some((Role::Ingress, UNPATCHED)),
        VipAction::ListAddresses { role, .. } => Some((*role, UNPATCHED)),
        VipAction::DeleteClaim { .. }
        | VipAction::KeepHolder { .. }
        | VipAction::DropHolder { .. } => None,
    }
}

/// The predecessor's word for a verdict.
fn result(verdict: &VipVerdict) -> &'static str {
    let failed = matches!(verdict.reason, VipReason::Failed(..));
    match verdict.outlook() {
        _ if verdict.reason.is_silent() => "skipped",
        Outlook::Stuck => "error",
        _ if failed => "error",
        Outlook::Well => "success",
        Outlook::Working | Outlook::Waiting => "requeued",
    }
}
