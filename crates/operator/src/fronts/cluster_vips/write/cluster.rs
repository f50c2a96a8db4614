//! Writes VIPs on Clusters: by server-side apply, with a field manager for each subject, so that no
//! write takes back what another one wrote.

use std::net::IpAddr;

use kube::api::{ListParams, Patch, PatchParams};
use pontoon_core::action::{Done, EndpointWrite, Failure, FailureKind, IngressWrite, Version};
use pontoon_core::model::{ObjectKey, Text};
use pontoon_core::vips::model::Role;
use serde_json::{Value, json};

use super::super::{CLUSTER, VARIABLES, names};
use super::{Desk, api_version, changed, precondition, written};
use crate::api::api_failure;
use crate::observe::version;

/// Field managers.
const ENDPOINT: &str = "pontoon-endpoint";
const INGRESS: &str = "pontoon-ingress";
const CONTROL_PLANE_LIST: &str = "pontoon-control-plane-vips";
const INGRESS_LIST: &str = "pontoon-ingress-vips";

/// A write of a Cluster: our part of the metadata and of the spec.
struct Part<'w> {
    object: &'w Version,
    manager: &'static str,
    metadata: Value,
    spec: Value,
    /// The variable to write, with its value.
    variable: Option<(&'static str, String)>,
}

impl Desk<'_> {
    /// Fails if the API server has a Cluster of this name with one of these UIDs. Listed, because
    /// the right to get Clusters is not given everywhere.
    pub(super) async fn verify_gone(
        &self,
        cluster: &ObjectKey,
        uids: &[Text],
    ) -> Result<(), Failure> {
        if uids.is_empty() {
            return Ok(());
        }
        let api = self.api(&CLUSTER, self.served(&CLUSTER)?.version, &cluster.namespace);
        let params = ListParams::default().fields(&format!("metadata.name={}", cluster.name));
        let stored = api.list_metadata(&params).await.map_err(api_failure)?.items;
        let mut stored = stored.iter().filter_map(|one| one.metadata.uid.as_deref());
        match stored.any(|uid| uids.iter().any(|gone| **gone == *uid)) {
            true => Err(Failure::plain(FailureKind::Conflict, "the Cluster still exists")),
            false => Ok(()),
        }
    }

    /// Writes host, port and variable together: a host without a port would be cleared.
    pub(super) async fn set_endpoint(&self, write: &EndpointWrite) -> Result<Done, Failure> {
        let host = write.host.to_string();
        let endpoint = json!({"host": &host, "port": write.port});
        self.apply(Part {
            object: &write.object,
            manager: ENDPOINT,
            metadata: json!({}),
            spec: json!({"controlPlaneEndpoint": endpoint}),
            variable: write.variable.then_some((names::VARIABLE, host)),
        })
        .await
    }

    pub(super) async fn set_ingress(&self, write: &IngressWrite) -> Result<Done, Failure> {
        let ip = write.ip.to_string();
        let mut metadata = json!({"annotations": {names::INGRESS_VIP: &ip}});
        if write.label() {
            metadata["labels"] = json!({names::INGRESS_VIP: &ip});
        }
        self.apply(Part {
            object: &write.object,
            manager: INGRESS,
            metadata,
            spec: json!({}),
            variable: write.variable.then_some((names::INGRESS_VARIABLE, ip)),
        })
        .await
    }

    pub(super) async fn list_addresses(
        &self,
        object: &Version,
        role: Role,
        ips: &[IpAddr],
    ) -> Result<Done, Failure> {
        let ips: Vec<_> = ips.iter().map(ToString::to_string).collect();
        self.apply(Part {
            object,
            manager: match role {
                Role::ControlPlane => CONTROL_PLANE_LIST,
                Role::Ingress => INGRESS_LIST,
            },
            metadata: json!({"annotations": {names::list(role): ips.join(",")}}),
            spec: json!({}),
            variable: None,
        })
        .await
    }

    /// Applies a part of a Cluster. A default of the class may own the variable, so the apply is
    /// forced; the version rules out that the user wrote the variable since.
    async fn apply(&self, part: Part<'_>) -> Result<Done, Failure> {
        let served = self.served(&CLUSTER)?;
        if part.variable.is_some() && !served.merges(VARIABLES) {
            return self.merge(part, served.version).await;
        }
        let Part { object, manager, metadata, mut spec, variable } = part;
        if let Some((name, value)) = variable {
            spec["topology"] = json!({"variables": [{"name": name, "value": value}]});
        }
        let mut applied = json!({
            "apiVersion": api_version(&CLUSTER, served.version), "kind": CLUSTER.name,
            "metadata": with(precondition(object), metadata),
        });
        if spec != json!({}) {
            applied["spec"] = spec;
        }
        let api = self.api(&CLUSTER, served.version, &object.name.namespace);
        let params = PatchParams::apply(manager).force();
        let stored = api.patch(&object.name.name, &params, &Patch::Apply(&applied)).await;
        Ok(written(&stored.map_err(api_failure)?))
    }

    /// Writes a part of a Cluster whose variables are one list with one owner: the list as read, with
    /// our variable in place.
    async fn merge(&self, part: Part<'_>, served: &str) -> Result<Done, Failure> {
        let Part { object, manager, metadata, mut spec, variable } = part;
        let api = self.api(&CLUSTER, served, &object.name.namespace);
        let mut read = api.get(&object.name.name).await.map_err(api_failure)?;
        if read.metadata.uid.as_deref() != Some(&*object.uid)
            || version(read.metadata.resource_version.as_deref()) != object.version
        {
            return Err(changed());
        }
        let variables = read.data["spec"]["topology"]["variables"].take();
        spec["topology"] = json!({"variables": in_place(variables, variable)});
        let patch = json!({"metadata": with(precondition(object), metadata), "spec": spec});
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..Default::default() };
        let stored = api.patch(&object.name.name, &params, &Patch::Merge(&patch)).await;
        Ok(written(&stored.map_err(api_failure)?))
    }
}

/// A list of variables with one variable set.
fn in_place(list: Value, variable: Option<(&str, String)>) -> Vec<Value> {
    let mut list = match list {
        Value::Array(list) => list,
        _ => Vec::new(),
    };
    if let Some((name, value)) = variable {
        match list.iter_mut().find(|one| one["name"] == name) {
            Some(one) => one["value"] = json!(value),
            None => list.push(json!({"name": name, "value": value})),
        }
    }
    list
}

/// Metadata with further fields.
fn with(mut metadata: Value, more: Value) -> Value {
    if let (Some(metadata), Value::Object(more)) = (metadata.as_object_mut(), more) {
        metadata.extend(more);
    }
    metadata
}
