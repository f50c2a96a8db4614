//! Turns NetIPAllocations into pools. A defect is a finding on the object itself, and never stops the
//! watch or another allocation.

use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use pontoon_core::model::{Evicts, Finding, Owner, Pool, Request, Text};
use pontoon_core::nodes::{Cordon, Match, OwnerMatch, PodMatch, Selector, Toleration, Workload};
use pontoon_providers::ZONE_LABEL;

use super::rules::WORKLOADS;
use super::status::AllocationFace;
use super::types::{NetIPAllocation, NetIPAllocationSpec, NetIPAllocationStatus, WorkloadRef};
use super::{MARKS, NET_IP_ALLOCATION};
use crate::fronts::address_status::recall;
use crate::fronts::observed::{bare, finding, given, known_provider};
use crate::fronts::{Labels, Observed};
use crate::observe::replica_set;
use crate::observe::schema::Schema;

/// Interval between two reads of the cloud, and its minimum, in seconds.
const INTERVAL: i64 = 30;
const SHORTEST_INTERVAL: i64 = 5;

/// Grace period.
const GRACE: Duration = Duration::from_secs(30);

const REGION_LABEL: &str = "topology.kubernetes.io/region";

/// Labels with the name of the workload, for pods without an owner.
const NAME_LABELS: [&str; 2] = ["app", "app.kubernetes.io/name"];

/// Namespaces whose pods do not keep an address, without a workload.
const SYSTEM: [&str; 3] = ["gke-system", "istio-system", "kube-system"];

/// Decodes an object. Of an undecodable object the metadata, and the addresses in its spec and its
/// status, are known all the same: other pools must not take them.
pub(super) fn decode(object: DynamicObject, schema: Schema) -> Option<Observed> {
    let (metadata, data) = (object.metadata.clone(), object.data.clone());
    let (pool, face, decoded) =
        match serde_json::to_value(object).and_then(serde_json::from_value::<NetIPAllocation>) {
            Ok(object) => {
                let (pool, face) = understood(object, schema)?;
                (pool, face, true)
            }
            Err(error) => {
                let problem = format!("the stored object cannot be decoded: {error}");
                let mut pool =
                    bare(&NET_IP_ALLOCATION, &metadata, Err(finding("Undecodable", problem)))?;
                pool.named = recall::salvaged(&data, "reservedIPs");
                (pool, AllocationFace::bare(&metadata, schema), false)
            }
        };
    Some(Observed {
        key: pool.key.clone(),
        uid: pool.uid.clone(),
        version: pool.version,
        decoded,
        labels: Labels { provider: face.provider.clone(), dns: String::new() },
        homes: recall::homes(&pool, &face.status.ips),
        addresses: Some(pool),
        records: None,
        vips: None,
        face: Box::new(face),
    })
}

fn understood(object: NetIPAllocation, schema: Schema) -> Option<(Pool, AllocationFace)> {
    let NetIPAllocation { metadata, spec, status } = object;
    let status: NetIPAllocationStatus = status.unwrap_or_default();
    let request = match schema {
        Schema::Old => Err(Schema::finding()),
        _ => request(&spec),
    };
    let mut pool = bare(&NET_IP_ALLOCATION, &metadata, request)?;
    if pool.request.is_err() {
        pool.named = Some(recall::addresses("spec.reservedIPs", &spec.reserved_ips).0);
    }
    // The predecessor has no status, so that every status was written by us. `attached` is set only
    // by an acting replica.
    pool.remembered = recall::memories(&status.ips, !status.attached.is_empty());
    pool.last_assignment = status.last_assignment_time.as_ref().map(recall::time);
    let face = AllocationFace {
        status,
        deprecated: spec.workload_ref.is_none() && spec.deployment_ref.is_some(),
        provider: spec.cloud.provider,
        ..AllocationFace::bare(&metadata, schema)
    };
    Some((pool, face))
}

/// The request in a spec.
fn request(spec: &NetIPAllocationSpec) -> Result<Request, Finding> {
    known_provider("spec.cloud.provider", &spec.cloud.provider)?;
    let (listed, unreadable) = recall::addresses("spec.reservedIPs", &spec.reserved_ips);
    if listed.is_empty() {
        let none =
            || finding("NoAddresses", "spec.reservedIPs is empty: there is nothing to attach");
        return Err(unreadable.into_iter().next().unwrap_or_else(none));
    }
    if !["", "Enabled", "Disabled"].contains(&spec.eviction.as_str()) {
        let problem =
            format!("spec.eviction \"{}\" is not known; use Enabled or Disabled", spec.eviction);
        return Err(finding("InvalidEviction", problem));
    }
    let workload = workload(spec)?;
    // The pods of a DaemonSet, and pods without a workload, are never evicted.
    let evictable = workload.as_ref().is_some_and(|workload| workload.kind != "DaemonSet");
    Ok(Request {
        account: spec.cloud.provider.as_str().into(),
        region: given(&spec.cloud.region),
        listed,
        unreadable: unreadable.into_iter().next(),
        wanted: None,
        matching: Arc::new(matching(spec, workload.as_ref())),
        marks: &MARKS[..1],
        evicts: Some(Evicts { note: &MARKS[1], enabled: evictable && spec.eviction != "Disabled" }),
        reread: Some(interval(spec.reconcile_interval)),
        cool_off: Duration::ZERO,
        grace: spec.grace_period_seconds.map_or(GRACE, |seconds| {
            Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
        }),
    })
}

/// The interval of reads. 0 means *unset*; smaller numbers than the minimum count as the minimum.
fn interval(seconds: i64) -> Duration {
    let seconds = if seconds == 0 { INTERVAL } else { seconds.max(SHORTEST_INTERVAL) };
    Duration::from_secs(seconds.unsigned_abs())
}

/// The workload of an allocation; `deploymentRef` is the old way to name a Deployment.
fn workload(spec: &NetIPAllocationSpec) -> Result<Option<WorkloadRef>, Finding> {
    let old = || {
        spec.deployment_ref.as_ref().map(|old| WorkloadRef {
            kind: "Deployment".to_owned(),
            name: old.name.clone(),
            namespace: old.namespace.clone(),
        })
    };
    let Some(workload) = spec.workload_ref.clone().or_else(old) else { return Ok(None) };
    if !WORKLOADS.contains(&workload.kind.as_str()) {
        let problem = format!(
            "spec.workloadRef.kind \"{}\" is not known; use {}",
            workload.kind,
            WORKLOADS.join(", ")
        );
        return Err(finding("InvalidWorkload", problem));
    }
    if workload.name.is_empty() {
        return Err(finding("InvalidWorkload", "the workload has no name"));
    }
    Ok(Some(workload))
}

/// The rules for nodes: selector, region and zones; taints do not matter.
fn matching(spec: &NetIPAllocationSpec, workload: Option<&WorkloadRef>) -> Match {
    let labels = spec.node_selector.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut nodes = Selector::equal(labels);
    if !spec.cloud.region.is_empty() {
        nodes = nodes.and_if_present(REGION_LABEL, [spec.cloud.region.as_str()]);
    }
    if !spec.cloud.zones.is_empty() {
        nodes = nodes.and_if_present(ZONE_LABEL, spec.cloud.zones.iter().map(String::as_str));
    }
    let every_taint = Toleration { key: None, value: None, effect: None };
    Match {
        nodes,
        pods: None,
        tolerations: vec![every_taint],
        cordon: Cordon::KeepsWhile(keeping(workload)),
    }
}

/// The pods that let a cordoned node keep its address.
fn keeping(workload: Option<&WorkloadRef>) -> PodMatch {
    let texts = |texts: &[&str]| texts.iter().map(|text| Text::from(*text)).collect::<Vec<_>>();
    // Pods of DaemonSets and mirror pods (of their node) never leave a node that is drained.
    let evictable = || OwnerMatch::NotOfKinds(texts(&["DaemonSet", "Node"]));
    let every = PodMatch::every_pod();
    match workload {
        None => PodMatch {
            labels: Selector::parse(NAME_LABELS[0]).unwrap_or_default(),
            except: texts(&SYSTEM),
            owner: evictable(),
            ..every
        },
        Some(workload) if workload.kind == "DaemonSet" => PodMatch { owner: evictable(), ..every },
        Some(WorkloadRef { kind, name, namespace }) => {
            let namespace = if namespace.is_empty() { "default" } else { namespace };
            let through = (kind == "Deployment").then(|| replica_set::KIND.into());
            let owner = Owner { kind: kind.as_str().into(), name: name.as_str().into() };
            let owner = OwnerMatch::Is(Workload { owner, through, labels: texts(&NAME_LABELS) });
            PodMatch { namespace: Some(namespace.into()), owner, ..every }
        }
    }
}
