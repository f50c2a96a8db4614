//! A Lease as the API server answers it. The server takes times that are too late for us, from every user
//! who may write Leases in some namespace: a time that cannot be decoded is no time, and fails no watch.

use std::borrow::Cow;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Resource;
use serde::{Deserialize, Serialize};

use crate::observe::metadata::{if_readable, lean_metadata};

/// A Lease without managed fields and without unreadable times.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct LeaseView(#[serde(deserialize_with = "lease")] pub Lease);

fn lease<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Lease, D::Error> {
    let Wire { metadata, spec } = Wire::deserialize(from)?;
    Ok(Lease { metadata, spec: spec.map(LeaseSpec::from) })
}

#[derive(Deserialize)]
struct Wire {
    #[serde(default, deserialize_with = "lean_metadata")]
    metadata: ObjectMeta,
    spec: Option<WireSpec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpec {
    #[serde(default, deserialize_with = "if_readable")]
    acquire_time: Option<MicroTime>,
    holder_identity: Option<String>,
    lease_duration_seconds: Option<i32>,
    lease_transitions: Option<i32>,
    preferred_holder: Option<String>,
    #[serde(default, deserialize_with = "if_readable")]
    renew_time: Option<MicroTime>,
    strategy: Option<String>,
}

impl From<WireSpec> for LeaseSpec {
    fn from(spec: WireSpec) -> Self {
        Self {
            acquire_time: spec.acquire_time,
            holder_identity: spec.holder_identity,
            lease_duration_seconds: spec.lease_duration_seconds,
            lease_transitions: spec.lease_transitions,
            preferred_holder: spec.preferred_holder,
            renew_time: spec.renew_time,
            strategy: spec.strategy,
        }
    }
}

impl From<LeaseView> for Lease {
    fn from(view: LeaseView) -> Self {
        view.0
    }
}

impl Resource for LeaseView {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(of: &()) -> Cow<'_, str> {
        Lease::kind(of)
    }

    fn group(of: &()) -> Cow<'_, str> {
        Lease::group(of)
    }

    fn version(of: &()) -> Cow<'_, str> {
        Lease::version(of)
    }

    fn plural(of: &()) -> Cow<'_, str> {
        Lease::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}
