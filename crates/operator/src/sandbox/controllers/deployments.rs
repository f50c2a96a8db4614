//! Deployments and ReplicaSets: a ReplicaSet for each template, and as many pods as asked for. A new
//! template replaces one pod at a time.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::steps::Step;
use super::{Controllers, count, is_healthy, key, stays};
use crate::sandbox::objects::{Deployment, Pod, ReplicaSet};
use crate::sandbox::workload::now;

/// The label that tells the pods of one template from those of another.
const TEMPLATE_HASH: &str = "pod-template-hash";

impl Controllers {
    /// The next step for a Deployment.
    pub(super) fn deploy(&self, one: &Deployment) -> Option<Step> {
        if !stays(&one.metadata) {
            return None;
        }
        let wanted = replicas(one.spec.replicas);
        let name = format!("{}-{}", one.name_any(), template_hash(one));
        let sets: Vec<_> = self.sets_of(one).collect();
        let old = sets.iter().filter(|set| set.name_any() != name);
        let old: Vec<_> = old.filter(|set| size(set) > 0).copied().collect();
        let Some(new) = sets.iter().find(|set| set.name_any() == name) else {
            let size = if old.is_empty() { wanted } else { 0 };
            return Some(Step::CreateSet(replica_set(one, &name, size)));
        };
        if let Some(step) = self.roll(new, &old, wanted) {
            return Some(step);
        }
        self.report(one, new, &sets)
    }

    /// Moves one replica at a time from the old ReplicaSets to the new one.
    fn roll(&self, new: &ReplicaSet, old: &[&ReplicaSet], wanted: i32) -> Option<Step> {
        let total = size(new) + old.iter().map(|set| size(set)).sum::<i32>();
        if size(new) > wanted {
            return Some(Step::Scale(key(new), wanted));
        }
        if total < wanted {
            return Some(Step::Scale(key(new), size(new) + wanted - total));
        }
        let first = old.first()?;
        let healthy = |set: &ReplicaSet| {
            count(self.pods_of(set).filter(|pod| is_healthy(pod))).min(size(set))
        };
        let all = healthy(new) + old.iter().map(|set| healthy(set)).sum::<i32>();
        let is_ill = healthy(first) < size(first);
        (total > wanted || all >= wanted || is_ill)
            .then(|| Step::Scale(key(*first), size(first) - 1))
    }

    /// The next step for a ReplicaSet.
    pub(super) fn replicate(&self, one: &ReplicaSet) -> Option<Step> {
        if !stays(&one.metadata) {
            return None;
        }
        let pods: Vec<_> = self.pods_of(one).collect();
        let (wanted, there) = (size(one), count(pods.iter()));
        if there < wanted {
            return Some(Step::CreatePod(pod(one)));
        }
        if there > wanted {
            // Pods without a node go first, then those that are not ready.
            let rank = |pod: &&&Pod| (!pod.spec.node_name.is_empty(), pod.status.are_ready());
            let spare = pods.iter().min_by_key(rank)?;
            return Some(Step::DeletePod(Box::new((*spare).clone())));
        }
        let ready = count(pods.iter().filter(|pod| is_healthy(pod)));
        let seen = &one.status;
        let told = (seen.replicas, seen.ready_replicas, seen.observed_generation);
        (told != (there, ready, one.metadata.generation)).then(|| {
            let status = json!({
                "replicas": there, "fullyLabeledReplicas": there, "readyReplicas": ready,
                "availableReplicas": ready, "observedGeneration": one.metadata.generation,
            });
            Step::TellSet(key(one), status)
        })
    }

    fn report(&self, one: &Deployment, new: &ReplicaSet, sets: &[&ReplicaSet]) -> Option<Step> {
        let wanted = replicas(one.spec.replicas);
        let pods: Vec<_> = sets.iter().flat_map(|set| self.pods_of(set)).collect();
        let ready = count(pods.iter().filter(|pod| is_healthy(pod)));
        let (total, updated) = (count(pods.iter()), count(self.pods_of(new)));
        let seen = &one.status;
        let missing = (wanted - ready).max(0);
        let is_told = (seen.replicas, seen.updated_replicas) == (total, updated)
            && (seen.ready_replicas, seen.unavailable_replicas) == (ready, missing)
            && seen.observed_generation == one.metadata.generation
            && seen.conditions.is_some();
        let mut status = json!({
            "observedGeneration": one.metadata.generation, "replicas": total,
            "updatedReplicas": updated, "readyReplicas": ready, "availableReplicas": ready,
            "unavailableReplicas": missing,
        });
        let is_available = missing <= may_lack(one, wanted);
        status["conditions"] = conditions(one, new, is_available, updated == total && missing == 0);
        (!is_told).then(|| Step::TellDeployment(key(one), status))
    }
}

/// The conditions of a Deployment, with the times of earlier ones.
fn conditions(one: &Deployment, new: &ReplicaSet, is_available: bool, is_done: bool) -> Value {
    let (name, now) = (new.name_any(), now());
    let available = match is_available {
        true => ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        false => (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        ),
    };
    let progress = match is_done {
        true => ("NewReplicaSetAvailable", "has successfully progressed."),
        false => ("ReplicaSetUpdated", "is progressing."),
    };
    let progress = ("True", progress.0, &*format!("ReplicaSet \"{name}\" {}", progress.1));
    let seen = one.status.conditions.as_deref();
    let condition = |kind: &str, (status, reason, message): (&str, &str, &str)| {
        let before = seen.into_iter().flatten().find(|one| one.kind == kind);
        let since = before.filter(|before| before.status == status);
        let since = since.and_then(|before| before.last_transition_time.as_ref());
        let since = since.map_or_else(|| json!(now), |time| json!(time));
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastUpdateTime": now, "lastTransitionTime": since,
        })
    };
    json!([condition("Available", available), condition("Progressing", progress)])
}

/// The number of pods that an available Deployment may lack.
fn may_lack(one: &Deployment, wanted: i32) -> i32 {
    let strategy = one.spec.strategy.as_ref();
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    match rolling.and_then(|rolling| rolling.max_unavailable.as_ref()) {
        Some(IntOrString::Int(number)) => *number,
        Some(IntOrString::String(text)) => {
            wanted * text.trim_end_matches('%').parse().unwrap_or(0) / 100
        }
        None => 0,
    }
}

fn replicas(count: Option<i32>) -> i32 {
    count.unwrap_or(1).max(0)
}

/// The number of replicas that a ReplicaSet is to have.
fn size(set: &ReplicaSet) -> i32 {
    replicas(set.spec.replicas)
}

/// The manifest of the ReplicaSet for the template of a Deployment.
fn replica_set(one: &Deployment, name: &str, size: i32) -> Value {
    let hash = template_hash(one);
    let mut selector = one.spec.selector.clone();
    selector["matchLabels"][TEMPLATE_HASH] = json!(hash);
    let mut template = one.spec.template.clone();
    template["metadata"]["labels"][TEMPLATE_HASH] = json!(hash);
    json!({
        "metadata": {
            "name": name, "namespace": one.namespace(),
            "labels": template["metadata"]["labels"], "ownerReferences": [owner(one)],
        },
        "spec": {"replicas": size, "selector": selector, "template": template},
    })
}

/// The manifest of a pod of a ReplicaSet.
fn pod(set: &ReplicaSet) -> Value {
    let template = &set.spec.template;
    json!({
        "metadata": {
            "generateName": format!("{}-", set.name_any()), "namespace": set.namespace(),
            "labels": template["metadata"]["labels"],
            "annotations": template["metadata"]["annotations"],
            "ownerReferences": [owner(set)],
        },
        "spec": template["spec"],
    })
}

fn owner<K: Resource<DynamicType = ()>>(one: &K) -> Value {
    let mut owner = json!(one.controller_owner_ref(&()));
    owner["blockOwnerDeletion"] = json!(true);
    owner
}

/// A name for the template of a Deployment, other for another template.
fn template_hash(one: &Deployment) -> String {
    // As in Kubernetes: no vowels, and nothing that looks like one.
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let text = one.spec.template.to_string();
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let letter = |_| {
        let at = usize::try_from(hash % 27).unwrap_or_default();
        hash /= 27;
        char::from(LETTERS[at])
    };
    (0..10).map(letter).collect()
}
