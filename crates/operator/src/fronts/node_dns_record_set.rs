//! NodeDNSRecordSets become records of the nodes that match. What cannot be understood is a
//! finding on the object itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DeserializeGuard;
use pontoon_core::Time;
use pontoon_core::model::{Finding, NodeAddress, PoolKey, RecordRequest, RecordSet, RecordSource};

use super::pool::{finding, matching};
use super::schema::Schema;
use super::{Observation, Watch, dns, paused, version};
use crate::api::{IPV4_ANNOTATION, NodeDNSRecordSet, NodeDNSRecordSetSpec, NodeDNSRecordSetStatus};

/// The kind, as core names it.
pub const KIND: &str = "NodeDNSRecordSet";

/// A record set, and what reporting on it needs.
#[derive(Clone, Debug)]
pub struct ObservedRecordSet {
    /// As planning sees it.
    pub set: RecordSet,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// The status that is stored now.
    pub status: NodeDNSRecordSetStatus,
    /// The DNS provider that the spec names, or the default.
    pub provider: String,
    /// The full name of the record.
    pub dns: String,
    /// What there is to say of that name.
    pub remark: Option<String>,
    /// The stored definition cannot hold what we report.
    pub schema: Schema,
    /// The object could be decoded; if not, its status is not known either.
    pub decoded: bool,
}

/// Watches NodeDNSRecordSets.
#[derive(Debug)]
pub struct RecordSets {
    schema: Schema,
    /// What the list that is under way has shown.
    listing: Option<BTreeSet<PoolKey>>,
}

impl RecordSets {
    /// A watch over record sets whose definition is as `schema` says.
    pub fn new(schema: Schema) -> Self {
        Self { schema, listing: None }
    }
}

impl Watch for RecordSets {
    type Object = DeserializeGuard<NodeDNSRecordSet>;

    fn name(&self) -> &'static str {
        KIND
    }

    fn restart(&mut self) {
        self.listing = Some(BTreeSet::new());
    }

    fn seen(&mut self, object: Self::Object) -> Option<Observation> {
        let observed = match object.0 {
            Ok(object) => understood(object, self.schema),
            Err(invalid) => {
                let problem = format!("the stored object cannot be decoded: {}", invalid.error);
                bare(&invalid.metadata, Err(finding("Undecodable", problem)), self.schema)
            }
        }?;
        if let Some(listing) = &mut self.listing {
            listing.insert(observed.set.key.clone());
        }
        Some(Observation::RecordSet(Box::new(observed)))
    }

    fn gone(&mut self, object: Self::Object) -> Option<Observation> {
        let key = match &object.0 {
            Ok(object) => key(&object.metadata),
            Err(invalid) => key(&invalid.metadata),
        };
        key.map(Observation::RecordSetGone)
    }

    fn listed(&mut self) -> Option<Observation> {
        self.listing.take().map(Observation::RecordSetsListed)
    }
}

fn key(metadata: &ObjectMeta) -> Option<PoolKey> {
    let namespace = metadata.namespace.as_deref().unwrap_or_default().into();
    Some(PoolKey { kind: KIND, namespace, name: metadata.name.as_deref()?.into() })
}

/// An object of which only the metadata is known.
fn bare(
    metadata: &ObjectMeta,
    request: Result<RecordRequest, Finding>,
    schema: Schema,
) -> Option<ObservedRecordSet> {
    let created_at = metadata.creation_timestamp.as_ref();
    let set = RecordSet {
        key: key(metadata)?,
        uid: metadata.uid.as_deref().unwrap_or_default().into(),
        version: version(metadata.resource_version.as_deref()),
        created_at: Time::from_micros(created_at.map_or(0, |time| time.0.as_microsecond())),
        request,
        held: None,
        paused: paused(metadata),
    };
    Some(ObservedRecordSet {
        set,
        generation: metadata.generation,
        status: NodeDNSRecordSetStatus::default(),
        provider: String::new(),
        dns: String::new(),
        remark: None,
        schema,
        decoded: false,
    })
}

fn understood(object: NodeDNSRecordSet, schema: Schema) -> Option<ObservedRecordSet> {
    let NodeDNSRecordSet { metadata, spec, status } = object;
    let status = status.unwrap_or_default();
    let request = match schema {
        Schema::Old => Err(Schema::finding()),
        _ => request(&key(&metadata)?, &spec),
    };
    let mut observed = bare(&metadata, request, schema)?;
    observed.set.held = dns::held(status.dns_record.as_ref());
    observed.provider = spec.provider().to_owned();
    observed.dns = dns::full_name(&spec.dns_record_set);
    observed.remark = dns::remark(&spec.dns_record_set);
    observed.status = status;
    observed.decoded = true;
    Some(observed)
}

/// What a spec asks for.
fn request(key: &PoolKey, spec: &NodeDNSRecordSetSpec) -> Result<RecordRequest, Finding> {
    let addresses = match spec.address_type.as_str() {
        "" | "ExternalIP" => NodeAddress::External,
        "InternalIP" => NodeAddress::Internal,
        IPV4_ANNOTATION => NodeAddress::Reserved,
        other => {
            let problem = format!(
                "spec.addressType \"{other}\" is not known; use ExternalIP, InternalIP or \
                 {IPV4_ANNOTATION}"
            );
            return Err(finding("InvalidAddressType", problem));
        }
    };
    let matching = Arc::new(matching(&spec.matching)?);
    let source = RecordSource::Nodes { matching, addresses };
    dns::request(key, &spec.dns_record_set, spec.provider(), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(spec: serde_json::Value) -> ObservedRecordSet {
        let object = serde_json::json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": KIND,
            "metadata": {"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "3"},
            "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        match RecordSets::new(Schema::Current).seen(object) {
            Some(Observation::RecordSet(set)) => *set,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_provider_may_stand_in_both_places() {
        let record = serde_json::json!({"zone": "example.com", "recordName": "www"});
        let outer = seen(serde_json::json!({"provider": "cloudflare", "dnsRecordSet": record}));
        assert_eq!(outer.set.request.unwrap().account, "cloudflare".into());
        let inner = serde_json::json!({"zone": "example.com", "recordName": "www",
                                       "provider": "cloudflare"});
        let inner = seen(serde_json::json!({"dnsRecordSet": inner}));
        assert_eq!(
            (inner.provider.as_str(), inner.dns.as_str()),
            ("cloudflare", "www.example.com")
        );
        let neither = seen(serde_json::json!({"dnsRecordSet": record}));
        assert_eq!(neither.set.request.unwrap().account, "digitalocean".into());
    }

    #[test]
    fn bad_input_is_a_finding_that_says_what_to_write() {
        let record = serde_json::json!({"zone": "example.com", "recordName": "www"});
        let cases = [
            (
                serde_json::json!({"dnsRecordSet": record, "addressType": "Hostname"}),
                "InvalidAddressType",
            ),
            (serde_json::json!({"dnsRecordSet": record, "provider": "bind"}), "UnknownProvider"),
            (serde_json::json!({"dnsRecordSet": {"zone": "example.com"}}), "InvalidRecord"),
            (
                serde_json::json!({"dnsRecordSet": record, "match": {"nodeLabel": "a==,,b"}}),
                "InvalidSelector",
            ),
            (serde_json::json!({"dnsRecordSet": "www"}), "Undecodable"),
        ];
        for (spec, reason) in cases {
            assert_eq!(seen(spec).set.request.unwrap_err().reason, reason);
        }
    }
}
