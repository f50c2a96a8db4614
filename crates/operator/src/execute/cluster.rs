//! Writes to Kubernetes that a plan asks for: ledgers, marks and evictions.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use pontoon_core::action::{Done, Eviction, Failure, FailureKind, LedgerWrite, MarkWrite};
use pontoon_core::model::MarkPlace;
use serde_json::{Value, json};

use crate::api::{
    ADDRESSES_ANNOTATION, RELEASE_FINALIZER, RESOLVE_CREATE_ANNOTATION, api_failure, objects_within,
};
use crate::connect::WRITE_DEADLINE;
use crate::fronts::ledger;
use crate::observe::objects::ObjectView;
use crate::observe::version;

/// Writes with a deadline.
pub(super) async fn in_time(
    write: impl Future<Output = Result<Done, Failure>>,
) -> Result<Done, Failure> {
    let late = |_| Failure::plain(FailureKind::NoAnswer, "the API server did not answer in time");
    tokio::time::timeout(WRITE_DEADLINE, write).await.map_err(late)?
}

/// Writes a pool's ledger by compare-and-swap: the resource version and the UID refuse a stale
/// view and another object of the same name.
pub(super) async fn write_ledger(client: &Client, write: &LedgerWrite) -> Result<Done, Failure> {
    let LedgerWrite { pool, uid, version: at_version, ledger, new_intents: _, guard } = write;
    let mut patch = json!({"metadata": {
        "uid": **uid,
        "resourceVersion": at_version.to_string(),
        "annotations": {
            ADDRESSES_ANNOTATION: ledger::write(ledger),
            // A person's answer for an intent. The write settles the intent.
            RESOLVE_CREATE_ANNOTATION: null,
        },
    }});
    if let Some(others) = guard {
        let ours = ledger.guarded.then_some(RELEASE_FINALIZER);
        let all: Vec<&str> = others.iter().map(|one| &**one).chain(ours).collect();
        patch["metadata"]["finalizers"] = json!(all);
    }
    let (kind, namespace) = (pool.kind, Some(&*pool.namespace));
    let api: Api<ObjectView> = objects_within(client.clone(), kind, kind.version, namespace);
    let params = PatchParams::default();
    let written =
        api.patch(&pool.name, &params, &Patch::Merge(&patch)).await.map_err(api_failure)?;
    Ok(Done::LedgerWritten { version: version(written.metadata.resource_version.as_deref()) })
}

/// Writes a node's mark. The UID refuses another node of the same name, and a version any
/// other version of the node.
pub(super) async fn write_mark(client: &Client, write: &MarkWrite) -> Result<Done, Failure> {
    let MarkWrite { owner: _, node, uid, version: at_version, mark, value } = write;
    let place = match mark.place {
        MarkPlace::Annotation => "annotations",
        MarkPlace::Label => "labels",
    };
    let mut patch = json!({"metadata": {"uid": **uid, place: {mark.key: value.as_deref()}}});
    if let Some(at_version) = at_version {
        patch["metadata"]["resourceVersion"] = json!(at_version.to_string());
    }
    let api: Api<PartialObjectMeta<Node>> = Api::all(client.clone());
    let params = PatchParams::default();
    let written = api.patch(&node.0, &params, &Patch::Merge(&patch)).await.map_err(api_failure)?;
    Ok(Done::Marked { version: version(written.metadata.resource_version.as_deref()) })
}

/// Evicts a pod, so that disruption budgets hold. The UID keeps a new pod of the same name.
pub(super) async fn evict(client: &Client, eviction: &Eviction) -> Result<Done, Failure> {
    let Eviction { owner: _, pod, namespace, name, node: _ } = eviction;
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let uid = Some(pod.to_string());
    let preconditions = Some(Preconditions { uid, resource_version: None });
    // Not `Api::evict`: its options are under a name that the API server does not know, and ignored.
    let object = v1::Eviction {
        delete_options: Some(DeleteOptions { preconditions, ..DeleteOptions::default() }),
        metadata: ObjectMeta { name: Some(name.to_string()), ..ObjectMeta::default() },
    };
    let params = PostParams::default();
    match api.create_subresource::<_, Value>("eviction", name, &params, &object).await {
        Ok(_) => Ok(Done::Evicted),
        // The pod is gone, or another pod has its name.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Done::Evicted),
        Err(kube::Error::Api(status)) if status.code == 429 => {
            Err(Failure::plain(FailureKind::Busy, status.message))
        }
        Err(error) => Err(api_failure(error)),
    }
}
