//! The ingress and its controllers: a workload with a pod on each schedulable node, kubelets that
//! start and end pods, and a controller that taints cordoned nodes. Deployments have controllers of
//! their own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::cluster::NAMESPACE;
use super::controllers::{Change, Controllers, Key, Object, key};
use super::nodes::{UNSCHEDULABLE, is_cordoned, is_well, taints};
use super::objects::{Node, Pod, watched};
use crate::observe::Followed;

/// The label selector of the ingress pods.
pub const SELECTOR: &str = "app=nginx,component=controller";

/// The controller in the owner reference of the ingress pods. No such object exists: the sandbox
/// makes the pods itself.
const OWNER: &str = "nginx-5d8c6b7f94";

/// Time that a pod takes to start or to end.
const TAKES: Duration = Duration::from_millis(300);

/// The manifest of an ingress pod on a node, without a name.
pub fn pod(node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": NAMESPACE, "labels": {"app": "nginx", "component": "controller"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": OWNER, "controller": true,
                "uid": "5d8c6b7f-9400-4000-8000-000000000000",
            }],
        },
        "spec": {"nodeName": node, "containers": [{"name": "nginx", "image": "nginx:1"}]},
    })
}

/// The status of a running pod.
pub fn running() -> Value {
    let now = now();
    json!({
        "phase": "Running", "startTime": now, "conditions": ready(true),
        "containerStatuses": [{
            "name": "nginx", "image": "nginx:1", "imageID": "", "restartCount": 0,
            "ready": true, "started": true, "state": {"running": {"startedAt": now}},
        }],
    })
}

/// The conditions of a pod.
pub fn ready(is_ready: bool) -> Value {
    let now = now();
    let one = |kind: &str, is_so: bool| {
        let status = if is_so { "True" } else { "False" };
        json!({"type": kind, "status": status, "lastTransitionTime": now})
    };
    json!([
        one("PodScheduled", true),
        one("Initialized", true),
        one("ContainersReady", is_ready),
        one("Ready", is_ready)
    ])
}

/// The current time, as objects tell it.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whether a pod is on a node.
pub fn is_on(pod: &Pod, node: &str) -> bool {
    pod.spec.node_name == node
}

fn is_pending(pod: &Pod) -> bool {
    pod.status.phase.as_deref().is_none_or(|phase| phase == "Pending")
}

fn is_of_ingress(pod: &Pod) -> bool {
    pod.owner_references().iter().any(|owner| owner.name == OWNER)
}

/// The state that the controllers have seen.
#[derive(Default)]
struct Seen {
    /// The ready nodes, and whether they accept pods.
    up: BTreeMap<String, bool>,
    /// The nodes of the ingress, with its pods.
    homes: BTreeMap<String, BTreeSet<Key>>,
    /// The pods in deletion, with their nodes.
    ending: BTreeMap<Key, String>,
}

/// A task for a controller.
#[derive(Debug, PartialEq, Eq)]
enum Chore {
    /// Adds or removes the taint of a cordoned node.
    Taint { node: String, on: bool },
    /// Starts a scheduled pod.
    Start(Key),
    /// Removes a pod in deletion.
    End(Key),
    /// Creates an ingress pod on a node without one.
    Replace(String),
    /// Removes the pods of a deleted node.
    Sweep(String),
}

/// Runs the controllers until the API server ends.
pub async fn run(client: Client) {
    let mut changes = Box::pin(changes(&client));
    let (mut seen, mut controllers) = (Seen::default(), Controllers::default());
    let mut chores = JoinSet::new();
    while let Some(change) = changes.next().await {
        for chore in seen.take(&change) {
            chores.spawn(carry_out(client.clone(), chore));
        }
        controllers.take(change);
        controllers.work(&client).await;
        // Drop finished tasks.
        while chores.try_join_next().is_some() {}
    }
}

fn changes(client: &Client) -> impl Stream<Item = Change> + Send + use<> {
    fn all<K>(client: &Client, of: fn(K) -> Object) -> BoxStream<'static, Change>
    where
        K: Followed + Resource<DynamicType = ()>,
    {
        let seen = watched(Api::<K>::all(client.clone()));
        seen.map(move |change| match change {
            Ok(object) => Change::Seen(of(object)),
            Err(object) => Change::Gone(of(object)),
        })
        .boxed()
    }
    stream::select_all([
        all(client, Object::Node),
        all(client, Object::Pod),
        all(client, Object::Deployment),
        all(client, Object::ReplicaSet),
        all(client, Object::Budget),
    ])
}

impl Seen {
    fn take(&mut self, change: &Change) -> Vec<Chore> {
        match change {
            Change::Seen(Object::Node(node)) => self.node(node),
            Change::Gone(Object::Node(node)) => {
                let node = node.name_any();
                self.up.remove(&node);
                self.homes.remove(&node);
                vec![Chore::Sweep(node)]
            }
            Change::Seen(Object::Pod(pod)) => self.pod(pod),
            Change::Gone(Object::Pod(pod)) => {
                self.ending.remove(&key(pod));
                let node = pod.spec.node_name.clone();
                if let Some(pods) = self.homes.get_mut(&node) {
                    pods.remove(&key(pod));
                }
                self.lacking(node).into_iter().collect()
            }
            Change::Seen(_) | Change::Gone(_) => Vec::new(),
        }
    }

    fn node(&mut self, node: &Node) -> Vec<Chore> {
        let name = node.name_any();
        let mut chores = Vec::new();
        let on = is_cordoned(node);
        if on != taints(node).iter().any(|taint| taint.key == UNSCHEDULABLE) {
            chores.push(Chore::Taint { node: name.clone(), on });
        }
        if !node.status.are_ready() {
            self.up.remove(&name);
            return chores;
        }
        self.up.insert(name.clone(), is_well(node));
        let mine = self.ending.iter().filter(|(_, on)| **on == name);
        chores.extend(mine.map(|(pod, _)| Chore::End(pod.clone())));
        chores.extend(self.lacking(name));
        chores
    }

    fn pod(&mut self, pod: &Pod) -> Vec<Chore> {
        let (name, node) = (key(pod), pod.spec.node_name.clone());
        if is_of_ingress(pod) {
            self.homes.entry(node.clone()).or_default().insert(name.clone());
        }
        let is_up = self.up.contains_key(&node);
        if pod.metadata.deletion_timestamp.is_some() {
            let is_new = self.ending.insert(name.clone(), node).is_none();
            return (is_up && is_new).then_some(Chore::End(name)).into_iter().collect();
        }
        (is_up && is_pending(pod)).then_some(Chore::Start(name)).into_iter().collect()
    }

    /// A task to create an ingress pod, if the node accepts pods and has no ingress pod.
    fn lacking(&self, node: String) -> Option<Chore> {
        let lacks = self.homes.get(&node).is_some_and(BTreeSet::is_empty);
        (lacks && self.up.get(&node) == Some(&true)).then_some(Chore::Replace(node))
    }
}

/// Carries out a task. Errors mean that another writer was faster; the next change leads to a new
/// task.
async fn carry_out(client: Client, chore: Chore) {
    let pods = |namespace: &str| Api::<Pod>::namespaced(client.clone(), namespace);
    match chore {
        Chore::Taint { node, on } => drop(taint(&client, &node, on).await),
        Chore::Start((namespace, name)) => {
            tokio::time::sleep(TAKES).await;
            drop(start(&pods(&namespace), &name).await);
        }
        Chore::End((namespace, name)) => {
            tokio::time::sleep(TAKES).await;
            drop(pods(&namespace).delete(&name, &DeleteParams::default().grace_period(0)).await);
        }
        Chore::Replace(node) => {
            let mut object = pod(&node);
            object["metadata"]["generateName"] = json!(format!("nginx-{node}-"));
            if let Ok(object) = serde_json::from_value(object) {
                drop(pods(NAMESPACE).create(&PostParams::default(), &object).await);
            }
        }
        Chore::Sweep(node) => sweep(&client, &node).await,
    }
}

async fn taint(client: &Client, name: &str, on: bool) -> kube::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = nodes.get(name).await?;
    if is_cordoned(&node) != on {
        return Ok(());
    }
    let mut left = taints(&node);
    left.retain(|taint| taint.key != UNSCHEDULABLE);
    let mut left = json!(left);
    if let Some(all) = left.as_array_mut().filter(|_| on) {
        let since = now();
        all.push(json!({"key": UNSCHEDULABLE, "effect": "NoSchedule", "timeAdded": since}));
    }
    let version = node.resource_version();
    let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": left}});
    nodes.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

/// Starts a pod that is still pending. Another writer may have set the status already.
async fn start(pods: &Api<Pod>, name: &str) -> kube::Result<()> {
    let pod = pods.get(name).await?;
    if !is_pending(&pod) {
        return Ok(());
    }
    let mut status = running();
    status["containerStatuses"] = pod
        .spec
        .containers
        .iter()
        .map(|one| {
            let mut state = status["containerStatuses"][0].clone();
            state["name"] = json!(one.name);
            state["image"] = json!(one.image);
            state
        })
        .collect();
    let version = pod.resource_version();
    let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

async fn sweep(client: &Client, node: &str) {
    let all: Api<Pod> = Api::all(client.clone());
    let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let Ok(pods) = all.list(&on_node).await else { return };
    for (namespace, name) in pods.iter().map(key) {
        let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        drop(pods.delete(&name, &DeleteParams::default().grace_period(0)).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(cordoned: bool, ready: bool) -> Object {
        let status = if ready { "True" } else { "Unknown" };
        let node = json!({
            "metadata": {"name": "n"}, "spec": {"unschedulable": cordoned},
            "status": {"conditions": [{"type": "Ready", "status": status}]},
        });
        Object::Node(serde_json::from_value(node).unwrap())
    }

    fn ingress(deleted: bool, status: Value) -> Object {
        let mut object = pod("n");
        object["metadata"]["name"] = json!("p");
        object["status"] = status;
        if deleted {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        Object::Pod(serde_json::from_value(object).unwrap())
    }

    fn p() -> Key {
        (NAMESPACE.to_owned(), "p".to_owned())
    }

    #[test]
    fn a_deleted_pod_ends_and_another_takes_its_place_where_its_node_takes_pods() {
        let mut seen = Seen::default();
        assert_eq!(seen.take(&Change::Seen(node(false, true))), []);
        assert_eq!(seen.take(&Change::Seen(ingress(false, running()))), []);
        assert_eq!(seen.take(&Change::Seen(ingress(true, running()))), [Chore::End(p())]);
        let gone = seen.take(&Change::Gone(ingress(true, running())));
        assert_eq!(gone, [Chore::Replace("n".to_owned())]);
        let new = seen.take(&Change::Seen(ingress(false, json!({"phase": "Pending"}))));
        assert_eq!(new, [Chore::Start(p())]);
        // A cordoned node gets no pod until it accepts pods again.
        seen.take(&Change::Seen(node(true, true)));
        assert_eq!(seen.take(&Change::Gone(ingress(true, running()))), []);
        let taint = Chore::Taint { node: "n".to_owned(), on: true };
        assert_eq!(seen.take(&Change::Seen(node(true, true))), [taint]);
        assert_eq!(seen.take(&Change::Seen(node(false, true))), [Chore::Replace("n".to_owned())]);
    }

    #[test]
    fn a_pod_on_a_silent_node_ends_when_the_node_is_back_or_gone() {
        let mut seen = Seen::default();
        seen.take(&Change::Seen(node(false, false)));
        assert_eq!(seen.take(&Change::Seen(ingress(true, running()))), []);
        assert_eq!(seen.take(&Change::Seen(node(false, true))), [Chore::End(p())]);
        let gone = seen.take(&Change::Gone(node(false, true)));
        assert_eq!(gone, [Chore::Sweep("n".to_owned())]);
    }
}
