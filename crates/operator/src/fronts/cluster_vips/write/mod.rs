//! Writes of claims, holders and Clusters. Each write of an existing object has the object's UID and
//! version as preconditions.

mod claim;
mod cluster;
mod holder;

use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Client};
use pontoon_core::action::{Done, Failure, FailureKind, Version, VipAction};
use pontoon_core::model::Kind;
use serde_json::{Value, json};

use crate::api::{api_failure, objects_within};
use crate::observe::objects::ObjectView;
use crate::observe::schema::{Generation, Schemas};
use crate::observe::version;

/// Carries out a write.
pub(super) async fn write(
    client: Client,
    action: &VipAction,
    schemas: &Schemas,
) -> Result<Done, Failure> {
    let desk = Desk { client, schemas };
    match action {
        VipAction::CreateClaim { cluster, uid, job, pool } => {
            desk.create_claim(cluster, uid, *job, pool).await
        }
        VipAction::AdoptClaim { cluster, job, claim, owner, holder, gone } => {
            desk.verify_gone(cluster, gone).await?;
            desk.adopt_claim((cluster, owner), *job, claim, holder.as_deref()).await
        }
        VipAction::DeleteClaim { claim, .. } => desk.delete_claim(claim).await,
        VipAction::SetEndpoint(write) | VipAction::RepairEndpoint(write) => {
            desk.set_endpoint(write).await
        }
        VipAction::SetIngress(write) => desk.set_ingress(write).await,
        VipAction::ListAddresses { object, role, ips, .. } => {
            desk.list_addresses(object, *role, ips).await
        }
        VipAction::KeepHolder { cluster, uid, job, holder } => {
            desk.keep_holder(cluster, uid, *job, holder.as_ref()).await
        }
        VipAction::DropHolder { cluster, holder, gone, .. } => {
            desk.verify_gone(cluster, gone).await?;
            desk.drop_holder(holder).await
        }
    }
}

/// Writes objects in the versions that the API server serves.
struct Desk<'s> {
    client: Client,
    schemas: &'s Schemas,
}

impl Desk<'_> {
    /// The served version of a kind.
    fn served(&self, kind: &Kind) -> Result<&'static Generation, Failure> {
        let unknown = || {
            let message = format!("no version of {kind} that we know is served");
            Failure::plain(FailureKind::NotSent, message)
        };
        self.schemas.generation(kind).ok_or_else(unknown)
    }

    fn api(&self, kind: &Kind, version: &str, namespace: &str) -> Api<ObjectView> {
        objects_within(self.client.clone(), kind, version, Some(namespace))
    }
}

/// Deletes an object that did not change since the last read. An object that is gone is fine.
async fn delete(api: &Api<ObjectView>, object: &Version) -> Result<Done, Failure> {
    let preconditions = Preconditions {
        uid: Some(object.uid.to_string()),
        resource_version: Some(object.version.to_string()),
    };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match api.delete(&object.name.name, &params).await {
        Ok(_) => Ok(Done::VipDeleted),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Done::VipDeleted),
        Err(error) => Err(api_failure(error)),
    }
}

/// The metadata of a write of an existing object.
fn precondition(object: &Version) -> Value {
    json!({
        "name": *object.name.name, "namespace": *object.name.namespace,
        "uid": *object.uid, "resourceVersion": object.version.to_string(),
    })
}

/// The `apiVersion` of a kind in a version.
fn api_version(kind: &Kind, version: &str) -> String {
    format!("{}/{version}", kind.group)
}

/// An object that was created.
fn created(object: &ObjectView) -> Done {
    let uid = object.metadata.uid.as_deref().unwrap_or_default().into();
    Done::VipCreated { uid, version: version(object.metadata.resource_version.as_deref()) }
}

/// An object that was written.
fn written(object: &ObjectView) -> Done {
    Done::VipWritten { version: version(object.metadata.resource_version.as_deref()) }
}

/// An object from its JSON.
fn object(value: Value) -> Result<ObjectView, Failure> {
    serde_json::from_value(value)
        .map_err(|error| Failure::plain(FailureKind::NotSent, error.to_string()))
}

/// The failure of a write whose object changed since the last read.
fn changed() -> Failure {
    Failure::plain(FailureKind::Conflict, "the object changed since the last read")
}
