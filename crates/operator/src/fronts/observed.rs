//! What a front makes of an object: what the object asks for, and the face that its status shows.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use pontoon_core::Time;
use pontoon_core::addresses::verdict::Verdict;
use pontoon_core::model::{
    Finding, Kind, Ledger, MachineId, NodeName, ObjectKey, Pool, RecordSet, Request, Subject, Text,
};
use pontoon_core::records::verdict::RecordVerdict;
use pontoon_core::vips::model::Cluster;
use pontoon_core::vips::verdict::VipVerdict;
use pontoon_providers::address_vendors;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ledger::POOL_NAMES;
use crate::api::RELEASE_FINALIZER;
use crate::observe::objects::key;
use crate::observe::{paused, version};

/// A decoded object.
#[derive(Debug)]
pub struct Observed {
    /// The object.
    pub key: ObjectKey,
    /// The UID.
    pub uid: Text,
    /// The resource version.
    pub version: u64,
    /// Whether the object could be decoded; if not, its status is unknown too.
    pub decoded: bool,
    /// The addresses that the object asks for.
    pub addresses: Option<Pool>,
    /// The records that the object asks for.
    pub records: Option<RecordSet>,
    /// The VIPs that the object asks for.
    pub vips: Option<Cluster>,
    /// The labels of the object's series.
    pub labels: Labels,
    /// The node of each address, as far as the status says.
    pub homes: BTreeMap<IpAddr, (MachineId, NodeName)>,
    /// The status.
    pub face: Box<dyn Face>,
}

/// The labels of an object's series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The provider in the spec.
    pub provider: String,
    /// The full name of the DNS record in the spec, or empty.
    pub dns: String,
}

/// The latest verdicts on an object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdicts<'a> {
    /// The verdict on its addresses.
    pub addresses: Option<&'a Verdict>,
    /// The verdict on its records.
    pub records: Option<&'a RecordVerdict>,
    /// The verdict on its VIPs.
    pub vips: Option<&'a VipVerdict>,
}

/// The status of an object, whatever its kind.
pub trait Face: Debug + Send + Sync {
    /// The status that the object should have; `None` while there is nothing to say.
    fn wanted(&self, verdicts: Verdicts<'_>, now: Time) -> Option<Value>;

    /// The stored status, without unknown fields.
    fn stored(&self) -> Value;

    /// Replaces the stored status. An unreadable status counts as empty.
    fn store(&mut self, status: Value);

    /// The conditions in the stored status.
    fn conditions(&self) -> &[Condition];

    /// The reason that the stored status has for a subject, if it is a lasting one. A new leader
    /// does not report it again.
    fn said(&self, subject: Subject) -> Option<&'static str>;

    /// A warning about the object that is told once: the reason of the event, and the words.
    fn warning(&self) -> Option<(&'static str, &'static str)>;

    /// How a status with other writers is written; `None` if the whole status is ours.
    fn shared(&self) -> Option<Shared> {
        None
    }
}

/// How our part of a status with other writers is written: by server-side apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The version of the kind that the API server serves.
    pub version: &'static str,
    /// The field manager of our part.
    pub manager: &'static str,
}

/// The status of an object of one kind.
pub trait StatusOf: Debug + Send + Sync {
    /// The type of the status.
    type Status: Serialize + DeserializeOwned + Default;

    /// The stored status.
    fn status(&self) -> &Self::Status;

    /// The stored status, to be replaced.
    fn status_mut(&mut self) -> &mut Self::Status;

    /// As in [`Face::wanted`].
    fn wanted(&self, verdicts: Verdicts<'_>, now: Time) -> Option<Self::Status>;

    /// As in [`Face::conditions`].
    fn conditions(&self) -> &[Condition];

    /// As in [`Face::said`].
    fn said(&self, subject: Subject) -> Option<&'static str>;

    /// As in [`Face::warning`].
    fn warning(&self) -> Option<(&'static str, &'static str)> {
        None
    }
}

impl<F: StatusOf> Face for F {
    fn wanted(&self, verdicts: Verdicts<'_>, now: Time) -> Option<Value> {
        serde_json::to_value(StatusOf::wanted(self, verdicts, now)?).ok()
    }

    fn stored(&self) -> Value {
        serde_json::to_value(self.status()).unwrap_or_default()
    }

    fn store(&mut self, status: Value) {
        *self.status_mut() = serde_json::from_value(status).unwrap_or_default();
    }

    fn conditions(&self) -> &[Condition] {
        StatusOf::conditions(self)
    }

    fn said(&self, subject: Subject) -> Option<&'static str> {
        StatusOf::said(self, subject)
    }

    fn warning(&self) -> Option<(&'static str, &'static str)> {
        StatusOf::warning(self)
    }
}

/// The parts of an object's metadata that every front reads.
pub(super) struct Identity {
    pub key: ObjectKey,
    pub uid: Text,
    pub version: u64,
    pub created_at: Time,
}

impl Identity {
    /// The identity of an object; `None` for an object without a name.
    pub fn of(kind: &'static Kind, metadata: &ObjectMeta) -> Option<Self> {
        let created_at = metadata.creation_timestamp.as_ref();
        Some(Self {
            key: key(kind, metadata)?,
            uid: metadata.uid.as_deref().unwrap_or_default().into(),
            version: version(metadata.resource_version.as_deref()),
            created_at: Time::from_micros(created_at.map_or(0, |time| time.0.as_microsecond())),
        })
    }
}

/// A pool of which the metadata and the request are known, and nothing of the status. The release
/// finalizer is ours, and so no other controller's.
pub(super) fn bare(
    kind: &'static Kind,
    metadata: &ObjectMeta,
    request: Result<Request, Finding>,
) -> Option<Pool> {
    let Identity { key, uid, version, created_at } = Identity::of(kind, metadata)?;
    let finalizers = metadata.finalizers.iter().flatten().map(String::as_str);
    Some(Pool {
        key,
        uid,
        version,
        created_at,
        request,
        named: None,
        ledger: Ledger::default(),
        ledger_stripped: false,
        resolution: None,
        deleting: metadata.deletion_timestamp.is_some(),
        releases: false,
        finalizers: finalizers.filter(|one| *one != RELEASE_FINALIZER).map(Into::into).collect(),
        paused: paused(metadata),
        remembered: BTreeMap::new(),
        last_assignment: None,
        names: &POOL_NAMES,
    })
}

/// A defect of an object.
pub(super) fn finding(reason: &'static str, message: impl Into<Text>) -> Finding {
    Finding { reason, message: message.into() }
}

/// Checks that a field names a provider of addresses.
pub(super) fn known_provider(field: &str, provider: &str) -> Result<(), Finding> {
    if address_vendors().any(|(vendor, _)| vendor.name == provider) {
        return Ok(());
    }
    let known: Vec<_> = address_vendors().map(|(vendor, _)| vendor.name).collect();
    let known = known.join(", ");
    let problem = format!("{field} \"{provider}\" is not known; known providers: {known}");
    Err(finding("UnknownProvider", problem))
}

/// The text of a field. An empty text means *unset*.
pub(super) fn given(text: &str) -> Option<Text> {
    (!text.is_empty()).then(|| text.into())
}
