//! NetIPAllocations, and the workloads that use them.

use std::net::IpAddr;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use pontoon::api::PAUSED_ANNOTATION;
use pontoon::fronts::net_ip_allocation::NetIPAllocation;
use serde_json::{Value, json};

use super::{Cluster, NAMESPACE, listed};
use crate::allocations::{AllocationEvent, AllocationSetting, Workload};
use crate::schedule::{Setting, Wish};
use crate::untyped::objects_of;

/// The numbers of addresses are those of a pool after all others.
const FIRST: usize = 10;

/// More than the number of pods.
const UNLIMITED: i64 = 1_000;

/// The ReplicaSet of the Deployment.
pub const REPLICA_SET: &str = "web-1";

impl Cluster {
    /// Creates the workloads without pods, their disruption budgets, and the allocations.
    pub(super) async fn make_allocations(&mut self, setting: &Setting) {
        if setting.allocations.is_empty() {
            return;
        }
        self.make_workload::<Deployment>(Workload::Deployment, "web", Value::Null).await;
        let api = objects_of::<Deployment>(&self.user, Some(NAMESPACE));
        let uid = api.get("web").await.ok().and_then(|one| one.metadata.uid);
        let owner = json!([owner("Deployment", "web", uid.as_deref())]);
        self.make_workload::<ReplicaSet>(Workload::Deployment, REPLICA_SET, owner).await;
        self.make_workload::<StatefulSet>(Workload::StatefulSet, "db", Value::Null).await;
        self.make_workload::<DaemonSet>(Workload::DaemonSet, "agent", Value::Null).await;
        for workload in [Workload::Deployment, Workload::StatefulSet] {
            let name = workload.name();
            let selector = json!({"matchLabels": {"app": name}});
            let spec = json!({"minAvailable": 0, "selector": selector});
            let budget = json!({"metadata": {"name": name}, "spec": spec});
            self.create::<PodDisruptionBudget>(Some(NAMESPACE), budget).await;
            self.allow_disruptions(workload, true).await;
        }
        for (index, allocation) in setting.allocations.iter().enumerate() {
            let manifest = self.allocation(index, *allocation);
            self.allocations.push(manifest);
            self.apply_allocation(index).await;
        }
    }

    async fn make_workload<K>(&self, workload: Workload, name: &str, owners: Value)
    where
        K: Resource<DynamicType = ()>,
    {
        let labels = json!({"app": workload.name()});
        let template = json!({
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        });
        let mut object = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        });
        if !owners.is_null() {
            object["metadata"]["ownerReferences"] = owners;
        }
        if workload == Workload::StatefulSet {
            object["spec"]["serviceName"] = json!("db");
        }
        self.create::<K>(Some(NAMESPACE), object).await;
    }

    /// Lets a workload's budget allow every eviction, or none.
    pub async fn allow_disruptions(&self, workload: Workload, allowed: bool) {
        let api = objects_of::<PodDisruptionBudget>(&self.user, Some(NAMESPACE));
        let count = if allowed { UNLIMITED } else { 0 };
        let status = json!({
            "observedGeneration": 1, "disruptionsAllowed": count, "currentHealthy": UNLIMITED,
            "desiredHealthy": 0, "expectedPods": UNLIMITED,
        });
        let patch = Patch::Merge(json!({"status": status}));
        drop(api.patch_status(workload.name(), &PatchParams::default(), &patch).await);
    }

    /// The number of allocations, present or not.
    pub fn allocations(&self) -> usize {
        self.allocations.len()
    }

    fn allocation(&self, index: usize, setting: AllocationSetting) -> Value {
        let number = |number| listed(FIRST + index, number, false);
        let mut ips: Vec<IpAddr> = (0..setting.listed.max(1)).map(number).collect();
        if setting.covets {
            ips.extend(self.first_of_another(index, 0).filter(|ip| ip.is_ipv4()));
        }
        for ip in &ips {
            if self.cloud.look(|state| state.address(*ip).is_none()) {
                self.cloud.reserve(*ip, self.region());
            }
        }
        ips.dedup();
        let mut spec = json!({
            "reservedIPs": ips, "nodeSelector": selector(setting.wish),
            "cloud": {"provider": self.vendor.provider(), "region": self.region()},
            "eviction": if setting.stays { "Disabled" } else { "Enabled" },
        });
        if let Some(workload) = setting.workload {
            spec["workloadRef"] = reference(workload);
        }
        if setting.interval > 0 {
            spec["reconcileInterval"] = json!(setting.interval);
        }
        if let Some(grace) = setting.grace {
            spec["gracePeriodSeconds"] = json!(grace);
        }
        json!({
            "apiVersion": "netinfra.darkbrains.com/v1alpha1", "kind": "NetIPAllocation",
            "metadata": {"name": allocation_name(index)}, "spec": spec,
        })
    }

    /// The first address of a pool, or else of another allocation.
    fn first_of_another(&self, index: usize, other: usize) -> Option<IpAddr> {
        let of_pool = self.pools.get(other).map(|pool| &pool["spec"]["ips"][0]);
        let others = self.allocations.iter().enumerate().filter(|(one, _)| *one != index);
        let mut others = others.map(|(_, one)| &one["spec"]["reservedIPs"][0]);
        of_pool.filter(|ip| ip.is_string()).or_else(|| others.next())?.as_str()?.parse().ok()
    }

    fn allocation_api(&self) -> Api<NetIPAllocation> {
        Api::all(self.user.clone())
    }

    /// Creates an allocation, or restores its manifest's spec.
    async fn apply_allocation(&self, index: usize) {
        let manifest = &self.allocations[index];
        let Ok(object) = serde_json::from_value(manifest.clone()) else { return };
        if self.allocation_api().create(&PostParams::default(), &object).await.is_err() {
            let mut spec = manifest["spec"].clone();
            for field in ["workloadRef", "reconcileInterval", "gracePeriodSeconds"] {
                if spec[field].is_null() {
                    spec[field] = Value::Null;
                }
            }
            // A merge leaves labels that the manifest does not select by.
            for label in ["role", "half"] {
                if spec["nodeSelector"][label].is_null() {
                    spec["nodeSelector"][label] = Value::Null;
                }
            }
            self.patch_allocation(index, &json!({"spec": spec})).await;
        }
    }

    /// Recreates missing allocations.
    pub async fn restore_allocations(&self) {
        for index in 0..self.allocations.len() {
            if let Ok(None) = self.allocation_api().get_opt(&allocation_name(index)).await {
                self.apply_allocation(index).await;
            }
        }
    }

    async fn patch_allocation(&self, index: usize, patch: &Value) {
        let (params, name) = (PatchParams::default(), allocation_name(index));
        drop(self.allocation_api().patch(&name, &params, &Patch::Merge(patch)).await);
    }

    /// Applies a user's change to an allocation, or undoes it.
    pub async fn change_allocation(&self, index: usize, what: AllocationEvent, begins: bool) {
        let manifest = &self.allocations[index];
        let mut ips = manifest["spec"]["reservedIPs"].as_array().cloned().unwrap_or_default();
        let spec = match what {
            AllocationEvent::Paused => {
                let why = begins.then_some("moving the rack");
                let patch = json!({"metadata": {"annotations": {PAUSED_ANNOTATION: why}}});
                return self.patch_allocation(index, &patch).await;
            }
            _ if !begins => return self.apply_allocation(index).await,
            AllocationEvent::Deleted => {
                let params = DeleteParams::default();
                let name = allocation_name(index);
                return drop(self.allocation_api().delete(&name, &params).await);
            }
            AllocationEvent::Unlisted => {
                ips.pop();
                // An allocation lists one address at least.
                if ips.is_empty() {
                    return;
                }
                json!({"reservedIPs": ips})
            }
            AllocationEvent::Adopts(other) => {
                let Some(its) = self.first_of_another(index, usize::from(other)) else { return };
                if ips.contains(&json!(its)) || its.is_ipv6() {
                    return;
                }
                ips.push(json!(its));
                json!({"reservedIPs": ips})
            }
            AllocationEvent::Reselected(wish) => {
                let mut all = json!({"role": null, "half": null});
                all.as_object_mut().into_iter().for_each(|all| {
                    all.extend(selector(wish).as_object().cloned().unwrap_or_default());
                });
                json!({"nodeSelector": all})
            }
            AllocationEvent::Reworked(workload) => {
                json!({"workloadRef": workload.map(reference)})
            }
            AllocationEvent::Interval(seconds) => json!({"reconcileInterval": seconds.max(5)}),
            AllocationEvent::Grace(seconds) => json!({"gracePeriodSeconds": seconds}),
            AllocationEvent::Stays(stays) => {
                json!({"eviction": if stays { "Disabled" } else { "Enabled" }})
            }
        };
        self.patch_allocation(index, &json!({"spec": spec})).await;
    }
}

/// An owner reference to a controller.
pub fn owner(kind: &str, name: &str, uid: Option<&str>) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true})
}

fn reference(workload: Workload) -> Value {
    json!({"kind": workload.kind(), "name": workload.name(), "namespace": NAMESPACE})
}

fn selector(wish: Wish) -> Value {
    match wish {
        Wish::Plain | Wish::Tolerant => json!({"role": "edge"}),
        Wish::Even => json!({"half": "even"}),
        Wish::Odd => json!({"half": "odd"}),
    }
}

fn allocation_name(index: usize) -> String {
    format!("allocation-{index}")
}
