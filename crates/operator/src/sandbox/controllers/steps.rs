//! The steps of the controllers, as requests to the API server.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Change, Key, Object, key};
use crate::sandbox::objects::{Pod, ReplicaSet};
use crate::sandbox::workload::now;

/// A step of a controller.
#[derive(Clone, Debug)]
pub enum Step {
    CreateSet(Value),
    Scale(Key, i32),
    DeleteSet(Box<ReplicaSet>),
    CreatePod(Value),
    DeletePod(Box<Pod>),
    /// Assigns a pod to a node.
    Bind(Key, String),
    /// Tells why a pod has no node.
    Unschedulable(Key, String),
    TellSet(Key, Value),
    TellDeployment(Key, Value),
    /// Tells the status of a budget, unless the budget has another version by now.
    TellBudget(Key, String, Value),
}

impl Step {
    /// Takes the step. Returns the change that it made.
    pub async fn take(self, client: &Client) -> kube::Result<Change> {
        let done = match self {
            Self::CreateSet(manifest) => Object::ReplicaSet(create(client, manifest).await?),
            Self::Scale(set, replicas) => {
                let patch = json!({"spec": {"replicas": replicas}});
                let (api, params) = (api::<ReplicaSet>(client, &set.0), PatchParams::default());
                Object::ReplicaSet(api.patch(&set.1, &params, &Patch::Merge(patch)).await?)
            }
            Self::DeleteSet(set) => {
                let (namespace, name) = key(&*set);
                api::<ReplicaSet>(client, &namespace)
                    .delete(&name, &DeleteParams::default())
                    .await?;
                return Ok(Change::Gone(Object::ReplicaSet(*set)));
            }
            Self::CreatePod(manifest) => Object::Pod(create(client, manifest).await?),
            Self::DeletePod(pod) => return delete(client, *pod).await,
            Self::Bind(pod, node) => {
                // The API server in memory has no `pods/binding`.
                let patch = Patch::Merge(json!({"spec": {"nodeName": node}}));
                let api = api::<Pod>(client, &pod.0);
                Object::Pod(api.patch(&pod.1, &PatchParams::default(), &patch).await?)
            }
            Self::Unschedulable(pod, why) => {
                let condition = json!([{
                    "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                    "message": why, "lastTransitionTime": now(),
                }]);
                Object::Pod(tell(client, &pod, json!({"conditions": condition})).await?)
            }
            Self::TellSet(set, status) => Object::ReplicaSet(tell(client, &set, status).await?),
            Self::TellDeployment(one, status) => {
                Object::Deployment(tell(client, &one, status).await?)
            }
            Self::TellBudget(one, version, status) => {
                let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
                let api = api::<PodDisruptionBudget>(client, &one.0);
                let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
                Object::Budget(api.patch_status(&one.1, &params, &patch).await?)
            }
        };
        Ok(Change::Seen(done))
    }
}

fn api<K>(client: &Client, namespace: &str) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(client.clone(), namespace)
}

/// Creates an object. The manifest may have fields that the sandbox does not read.
async fn create<K>(client: &Client, manifest: Value) -> kube::Result<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + DeserializeOwned,
{
    let object: DynamicObject =
        serde_json::from_value(manifest).map_err(kube::Error::SerdeError)?;
    let namespace = object.namespace().unwrap_or_default();
    let kind = ApiResource::erase::<K>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
    let created = api.create(&PostParams::default(), &object).await?;
    let created = serde_json::to_value(created).and_then(serde_json::from_value);
    created.map_err(kube::Error::SerdeError)
}

async fn tell<K>(client: &Client, (namespace, name): &Key, status: Value) -> kube::Result<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let patch = Patch::Merge(json!({"status": status}));
    api(client, namespace).patch_status(name, &PatchParams::default(), &patch).await
}

/// Deletes a pod. A pod with a node is removed by its kubelet.
async fn delete(client: &Client, mut pod: Pod) -> kube::Result<Change> {
    let (namespace, name) = key(&pod);
    api::<Pod>(client, &namespace).delete(&name, &DeleteParams::default()).await?;
    if pod.spec.node_name.is_empty() {
        return Ok(Change::Gone(Object::Pod(pod)));
    }
    pod.metadata.deletion_timestamp = Some(Time(Timestamp::now()));
    Ok(Change::Seen(Object::Pod(pod)))
}
