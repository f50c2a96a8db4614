//! The controllers, the scheduler and the kubelets of the workloads: pods that end are gone soon
//! after, and come back on another node; a node that is drained loses its pods one after the other.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fakekube::FakeKube;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::allocations::Workload;
use crate::cluster::{NAMESPACE, REPLICA_SET, owner};
use crate::untyped::{create, objects_of};

/// The time between two steps: the end of a pod, the start of another.
const STEP: Duration = Duration::from_millis(700);

/// The controllers at work.
pub struct Controllers {
    drained: Arc<Mutex<BTreeSet<String>>>,
    changed: Arc<Notify>,
    _task: JoinHandle<()>,
}

impl Controllers {
    /// Starts the controllers. `changed` tells of every write of a pod or node.
    pub async fn start(kube: FakeKube, user: Client, nodes: usize, changed: Arc<Notify>) -> Self {
        let drained: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let pods = objects_of::<Pod>(&user, Some(NAMESPACE));
        let mut work =
            Work { kube, pods, nodes, drained: Arc::clone(&drained), made: 0, ending: vec![] };
        while work.step().await {}
        let wakes = Arc::clone(&changed);
        let task = tokio::spawn(async move {
            loop {
                wakes.notified().await;
                loop {
                    sleep(STEP).await;
                    if !work.step().await {
                        break;
                    }
                }
            }
        });
        Self { drained, changed, _task: task }
    }

    /// Begins or ends the removal of all pods from a node.
    pub fn drain(&self, node: String, begins: bool) {
        let mut drained = lock(&self.drained);
        if begins {
            drained.insert(node);
        } else {
            drained.remove(&node);
        }
        self.changed.notify_one();
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Work {
    kube: FakeKube,
    pods: Api<DynamicObject>,
    /// The number of pods of a workload that is no DaemonSet.
    nodes: usize,
    drained: Arc<Mutex<BTreeSet<String>>>,
    made: u32,
    /// Pods that were ending at the last step.
    ending: Vec<String>,
}

impl Work {
    /// Makes a step of each controller. Returns whether anything was done.
    async fn step(&mut self) -> bool {
        let pods = self.kube.objects("", "pods");
        let nodes = self.kube.objects("", "nodes");
        let mut done = self.end(&pods, &nodes).await;
        done |= self.drain(&pods).await;
        for workload in Workload::ALL {
            done |= self.run(workload, &pods, &nodes).await;
        }
        done
    }

    /// Removes pods that were ending at the last step, and pods of nodes that are gone.
    async fn end(&mut self, pods: &[Arc<Value>], nodes: &[Arc<Value>]) -> bool {
        let mut done = false;
        let mut ending = Vec::new();
        for pod in pods {
            let name = text(&pod["metadata"]["name"]);
            let lost = is_of_workload(pod)
                && !nodes.iter().any(|node| node["metadata"]["name"] == *on(pod));
            if lost || (is_ending(pod) && self.ending.iter().any(|one| one == name)) {
                let at_once = DeleteParams::default().grace_period(0);
                drop(self.pods.delete(name, &at_once).await);
                done = true;
            } else if is_ending(pod) {
                ending.push(name.to_owned());
                done = true;
            }
        }
        self.ending = ending;
        done
    }

    /// Ends a pod of each drained node. Pods of DaemonSets stay.
    async fn drain(&self, pods: &[Arc<Value>]) -> bool {
        let drained = lock(&self.drained).clone();
        let mut done = false;
        for node in drained {
            let here = |pod: &&Arc<Value>| *on(pod) == node.as_str() && !is_ending(pod);
            let stays = |pod: &&Arc<Value>| owned_by(pod, Workload::DaemonSet);
            let next = pods.iter().find(|pod| here(pod) && !stays(pod));
            if let Some(pod) = next {
                let name = text(&pod["metadata"]["name"]);
                drop(self.pods.delete(name, &DeleteParams::default()).await);
                done = true;
            }
        }
        done
    }

    /// Starts a pod of a workload that has too few.
    async fn run(&mut self, workload: Workload, pods: &[Arc<Value>], nodes: &[Arc<Value>]) -> bool {
        let its: Vec<_> = pods.iter().filter(|pod| owned_by(pod, workload)).collect();
        let alive = its.iter().filter(|pod| !is_ending(pod));
        let on_node = |node: &str| its.iter().filter(|pod| *on(pod) == node).count();
        let names = nodes.iter().map(|node| (text(&node["metadata"]["name"]), node));
        let target = if workload == Workload::DaemonSet {
            names.map(|(name, _)| name).find(|name| on_node(name) == 0)
        } else if alive.count() < self.nodes {
            let open = names.filter(|(_, node)| is_schedulable(node));
            open.map(|(name, _)| name).min_by_key(|name| (on_node(name), (*name).to_owned()))
        } else {
            None
        };
        let Some(target) = target else { return false };
        self.start(workload, target).await;
        true
    }

    async fn start(&mut self, workload: Workload, node: &str) {
        self.made += 1;
        let name = format!("{}-{}", workload.name(), self.made);
        let (kind, owned, plural) = match workload {
            Workload::Deployment => ("ReplicaSet", REPLICA_SET, "replicasets"),
            Workload::StatefulSet => ("StatefulSet", "db", "statefulsets"),
            Workload::DaemonSet => ("DaemonSet", "agent", "daemonsets"),
        };
        let sets = self.kube.objects("apps", plural);
        let uid = sets.iter().find(|set| set["metadata"]["name"] == owned);
        let uid = uid.and_then(|set| set["metadata"]["uid"].as_str());
        let object = json!({
            "metadata": {
                "name": name, "labels": {"app": workload.name()},
                "ownerReferences": [owner(kind, owned, uid)],
            },
            "spec": {"nodeName": node, "containers": [{"name": "a", "image": "a"}]},
        });
        drop(create::<Pod>(&self.pods, object).await);
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        let patch = json!({"status": {"phase": "Running", "conditions": conditions}});
        let params = PatchParams::default();
        drop(self.pods.patch_status(&name, &params, &Patch::Merge(&patch)).await);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn on(pod: &Value) -> &Value {
    &pod["spec"]["nodeName"]
}

fn is_ending(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_string()
}

fn is_schedulable(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
    let mut ready = conditions.filter(|one| one["type"] == "Ready");
    node["spec"]["unschedulable"] != json!(true) && ready.any(|one| one["status"] == "True")
}

fn is_of_workload(pod: &Value) -> bool {
    pod["metadata"]["ownerReferences"][0].is_object()
}

fn owned_by(pod: &Value, workload: Workload) -> bool {
    is_of_workload(pod) && pod["metadata"]["labels"]["app"] == workload.name()
}
