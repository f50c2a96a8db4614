//! The controllers, with a server that does what each step asks for, and kubelets that start pods at
//! once.

use serde_json::{Value, json};

use super::*;

/// Controllers with their server.
#[derive(Default)]
struct Bench {
    controllers: Controllers,
    version: u64,
}

impl Bench {
    /// A Deployment of two pods with a host port, for nodes with a label; a budget; labelled nodes.
    fn new(labelled: &[&str], other: &[&str]) -> Self {
        let mut bench = Self::default();
        labelled.iter().for_each(|node| bench.node(node, true, false));
        other.iter().for_each(|node| bench.node(node, false, false));
        bench.deployment("v1", 2);
        let selector = json!({"matchLabels": {"app": "web"}});
        let budget = json!({"spec": {"maxUnavailable": 1, "selector": selector}});
        let budget = bench.object("web", budget);
        bench.controllers.see(Object::Budget(budget));
        bench
    }

    /// An object in its newest version, with its name as its UID.
    fn object<K: serde::de::DeserializeOwned>(&mut self, name: &str, mut object: Value) -> K {
        self.version += 1;
        let metadata = &mut object["metadata"];
        metadata["namespace"] = json!("default");
        metadata["resourceVersion"] = json!(self.version.to_string());
        metadata["name"] = json!(name);
        metadata["uid"] = json!(name);
        serde_json::from_value(object).unwrap()
    }

    fn node(&mut self, name: &str, is_labelled: bool, is_cordoned: bool) {
        let labels = if is_labelled { json!({"edge": "true"}) } else { json!({}) };
        let node = json!({
            "metadata": {"labels": labels}, "spec": {"unschedulable": is_cordoned},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        let node = self.object(name, node);
        self.controllers.see(Object::Node(node));
    }

    fn deployment(&mut self, image: &str, replicas: i32) {
        let labels = json!({"app": "web"});
        let ports = json!([{"containerPort": 80, "hostPort": 80}]);
        let containers = json!([{"name": "web", "image": image, "ports": ports}]);
        let spec = json!({"nodeSelector": {"edge": "true"}, "containers": containers});
        let template = json!({"metadata": {"labels": labels}, "spec": spec});
        let spec = json!({
            "replicas": replicas, "selector": {"matchLabels": labels}, "template": template,
        });
        let deployment = self.object("web", json!({"spec": spec}));
        self.controllers.see(Object::Deployment(deployment));
    }

    /// Takes all steps. Returns the largest number of pods that lacked meanwhile, of two.
    fn settle(&mut self) -> usize {
        let mut lacked = 0;
        for _ in 0..200 {
            let Some(step) = self.controllers.next() else { return lacked };
            self.take(step);
            let ready = self.controllers.pods.values().filter(|pod| is_healthy(pod)).count();
            lacked = lacked.max(2_usize.saturating_sub(ready));
        }
        panic!("no rest: {:?}", self.controllers.next());
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::CreateSet(manifest) => {
                let name = manifest["metadata"]["name"].as_str().unwrap().to_owned();
                let set = self.object(&name, manifest);
                self.controllers.see(Object::ReplicaSet(set));
            }
            Step::Scale(key, size) => {
                let mut set = self.controllers.sets[&key].clone();
                set.spec.replicas = Some(size);
                self.controllers.see(Object::ReplicaSet(set));
            }
            Step::DeleteSet(set) => self.controllers.lose(&Object::ReplicaSet(*set)),
            Step::CreatePod(manifest) => {
                let name = format!("pod-{}", self.version);
                let pod = self.object(&name, manifest);
                self.controllers.see(Object::Pod(pod));
            }
            Step::DeletePod(pod) => self.controllers.lose(&Object::Pod(*pod)),
            Step::Bind(key, node) => {
                let mut pod = json!(self.controllers.pods[&key]);
                pod["spec"]["nodeName"] = json!(node);
                pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
                let pod = self.object(&key.1, pod);
                self.controllers.see(Object::Pod(pod));
            }
            Step::Unschedulable(key, why) => {
                let mut pod = json!(self.controllers.pods[&key]);
                let condition = json!({"type": "PodScheduled", "status": "False", "message": why});
                pod["status"]["conditions"] = json!([condition]);
                let pod = self.object(&key.1, pod);
                self.controllers.see(Object::Pod(pod));
            }
            Step::TellSet(key, status) => {
                let mut set = self.controllers.sets[&key].clone();
                set.status = serde_json::from_value(status).unwrap();
                self.controllers.see(Object::ReplicaSet(set));
            }
            Step::TellDeployment(key, status) => {
                let mut one = self.controllers.deployments[&key].clone();
                one.status = serde_json::from_value(status).unwrap();
                self.controllers.see(Object::Deployment(one));
            }
            Step::TellBudget(key, _, mut status) => {
                let mut one = self.controllers.budgets[&key].clone();
                // A merge patch: what is not named stays.
                let mut noted = json!(one.status.as_ref().map(|status| &status.disrupted_pods));
                for over in status["disruptedPods"].as_object().unwrap().keys() {
                    noted.as_object_mut().unwrap().remove(over);
                }
                status["disruptedPods"] = noted;
                one.status = serde_json::from_value(status).unwrap();
                self.controllers.see(Object::Budget(one));
            }
        }
    }

    /// The nodes of the pods, in order.
    fn homes(&self) -> Vec<&str> {
        let pods = self.controllers.pods.values();
        let mut homes: Vec<_> = pods.map(|pod| pod.spec.node_name.as_str()).collect();
        homes.sort_unstable();
        homes
    }

    /// The first pod on a node is evicted: gone, as far as the budget goes, when it is marked.
    fn evict(&mut self, node: &str) {
        let pod = self.controllers.pods.values().find(|pod| pod.spec.node_name == node);
        let mut pod = json!(pod.unwrap());
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        let pod = self.object(&name, pod);
        self.controllers.see(Object::Pod(pod));
    }

    fn ready(&self) -> (i32, i32) {
        let one = self.controllers.deployments.values().next().unwrap();
        (one.status.ready_replicas, one.status.unavailable_replicas)
    }

    fn allowed(&self) -> i32 {
        let one = self.controllers.budgets.values().next().unwrap();
        one.status.clone().unwrap().disruptions_allowed
    }
}

#[test]
fn pods_go_to_nodes_that_they_select_and_two_never_share_a_port() {
    let mut bench = Bench::new(&["a"], &["b", "c"]);
    bench.settle();
    assert_eq!(bench.homes(), ["", "a"]);
    assert_eq!((bench.ready(), bench.allowed()), ((1, 1), 0));
    let waiting = bench.controllers.pods.values().find(|pod| pod.spec.node_name.is_empty());
    let why = &waiting.unwrap().status.conditions[0].message;
    assert_eq!(
        why,
        "0/3 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, \
         2 node(s) didn't match Pod's node affinity/selector."
    );
    bench.node("c", true, false);
    bench.settle();
    assert_eq!(bench.homes(), ["a", "c"]);
    assert_eq!((bench.ready(), bench.allowed()), ((2, 0), 1));
}

#[test]
fn an_evicted_pod_comes_back_on_another_node_and_never_on_a_cordoned_one() {
    let mut bench = Bench::new(&["a", "b"], &["c"]);
    bench.settle();
    bench.node("a", true, true);
    bench.evict("a");
    bench.settle();
    assert_eq!(bench.homes(), ["", "a", "b"], "the old pod ends, the new one waits");
    assert_eq!(bench.allowed(), 0);
    bench.node("c", true, false);
    bench.settle();
    assert_eq!(bench.homes(), ["a", "b", "c"]);
    assert_eq!((bench.ready(), bench.allowed()), ((2, 0), 1));
}

#[test]
fn a_pod_that_an_eviction_has_noted_is_not_counted_until_its_deletion_is_seen() {
    let mut bench = Bench::new(&["a", "b"], &[]);
    bench.settle();
    let pod = bench.controllers.pods.keys().next().unwrap().clone();
    let mut budget = json!(bench.controllers.budgets.values().next().unwrap());
    budget["status"]["disruptionsAllowed"] = json!(0);
    budget["status"]["disruptedPods"] = json!({&pod.1: "2026-01-01T00:00:00Z"});
    let budget = bench.object("web", budget);
    bench.controllers.see(Object::Budget(budget));
    bench.settle();
    assert_eq!(bench.allowed(), 0, "the pod is there, and to be deleted");
    let home = bench.controllers.pods[&pod].spec.node_name.clone();
    bench.evict(&home);
    bench.settle();
    let budget = bench.controllers.budgets.values().next().unwrap();
    assert_eq!(budget.status.clone().unwrap().disrupted_pods, Some(BTreeMap::new()));
}

#[test]
fn a_new_template_replaces_one_pod_at_a_time() {
    let mut bench = Bench::new(&["a", "b"], &[]);
    bench.settle();
    bench.deployment("v2", 2);
    assert_eq!(bench.settle(), 1);
    assert_eq!(bench.homes(), ["a", "b"]);
    let images: BTreeSet<_> = bench
        .controllers
        .pods
        .values()
        .map(|pod| pod.spec.containers[0].image.clone().unwrap())
        .collect();
    assert_eq!(images, BTreeSet::from(["v2".to_owned()]));
    bench.deployment("v2", 1);
    bench.settle();
    assert_eq!(bench.homes().len(), 1);
}

#[test]
fn the_pods_of_a_deleted_deployment_go() {
    let mut bench = Bench::new(&["a", "b"], &[]);
    bench.settle();
    let deployment = bench.controllers.deployments.values().next().unwrap().clone();
    bench.controllers.lose(&Object::Deployment(deployment));
    bench.settle();
    assert!(bench.homes().is_empty());
    assert!(bench.controllers.sets.is_empty());
}
