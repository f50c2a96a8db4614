//! Writes to Kubernetes that a plan asks for: ledgers and marks.

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use pontoon_core::action::{Action, Done, Failure, FailureKind};
use pontoon_core::model::{Family, Ledger, NodeName, PoolKey};
use serde_json::json;

use crate::api::{
    ADDRESSES_ANNOTATION, FloatingIPPool, IPV4_ANNOTATION, IPV6_ANNOTATION,
    RESOLVE_CREATE_ANNOTATION,
};
use crate::connect::WRITE_DEADLINE;
use crate::observe::{ledger, version};

/// Carries out an action in the cluster.
pub(super) async fn write(client: &Client, action: &Action) -> Result<Done, Failure> {
    let write = async {
        match action {
            Action::WriteLedger { pool, uid, version, ledger } => {
                write_ledger(client, pool, uid, *version, ledger).await
            }
            Action::Mark { node, uid, family, mark } => {
                write_mark(client, node, uid, *family, mark.as_deref()).await
            }
            _ => Err(Failure::plain(FailureKind::NotSent, "the account has no client")),
        }
    };
    let late = |_| Failure::plain(FailureKind::NoAnswer, "the API server did not answer in time");
    tokio::time::timeout(WRITE_DEADLINE, write).await.map_err(late)?
}

/// The resource version and UID make it a compare-and-swap: a stale view, or another object
/// of the same name, is refused.
async fn write_ledger(
    client: &Client,
    pool: &PoolKey,
    uid: &str,
    at_version: u64,
    ledger: &Ledger,
) -> Result<Done, Failure> {
    let patch = json!({"metadata": {
        "uid": uid,
        "resourceVersion": at_version.to_string(),
        "annotations": {
            ADDRESSES_ANNOTATION: ledger::write(ledger),
            // It was the word on an intent that this write settles.
            RESOLVE_CREATE_ANNOTATION: null,
        },
    }});
    let api: Api<PartialObjectMeta<FloatingIPPool>> =
        Api::namespaced(client.clone(), &pool.namespace);
    let params = PatchParams::default();
    let written = api.patch(&pool.name, &params, &Patch::Merge(&patch)).await.map_err(failure)?;
    Ok(Done::LedgerWritten { version: version(written.metadata.resource_version.as_deref()) })
}

async fn write_mark(
    client: &Client,
    node: &NodeName,
    uid: &str,
    family: Family,
    mark: Option<&str>,
) -> Result<Done, Failure> {
    let annotation = match family {
        Family::V4 => IPV4_ANNOTATION,
        Family::V6 => IPV6_ANNOTATION,
    };
    let patch = json!({"metadata": {"uid": uid, "annotations": {annotation: mark}}});
    let api: Api<PartialObjectMeta<Node>> = Api::all(client.clone());
    let params = PatchParams::default();
    let written = api.patch(&node.0, &params, &Patch::Merge(&patch)).await.map_err(failure)?;
    Ok(Done::Marked { version: version(written.metadata.resource_version.as_deref()) })
}

fn failure(error: kube::Error) -> Failure {
    let kind = match &error {
        kube::Error::Api(status) => match status.code {
            409 => FailureKind::Conflict,
            404 => FailureKind::NotFound,
            401 | 403 => FailureKind::Refused,
            504 => FailureKind::NoAnswer,
            500.. | 429 => FailureKind::Unavailable,
            _ => FailureKind::Rejected,
        },
        _ => FailureKind::NoAnswer,
    };
    let message = match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    };
    Failure::plain(kind, message)
}
