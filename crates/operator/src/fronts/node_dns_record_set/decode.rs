//! Turns NodeDNSRecordSets into record sets for planning. A defect is a finding on the object
//! itself.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use pontoon_core::Time;
use pontoon_core::model::{
    Finding, Kind, NodeAddress, ObjectKey, RecordRequest, RecordSet, RecordSource,
};

use super::floating_ip_pool::{finding, matching};
use super::{Front, Observed, dns};
use crate::api::{
    IPV4_ANNOTATION, NODE_DNS_RECORD_SET, NodeDNSRecordSet, NodeDNSRecordSetSpec,
    NodeDNSRecordSetStatus,
};
use crate::observe::objects::key;
use crate::observe::schema::Schema;
use crate::observe::{paused, version};

/// A record set, with the data for reporting on the record set.
#[derive(Clone, Debug)]
pub struct ObservedRecordSet {
    /// The record set for planning.
    pub set: RecordSet,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// The stored status.
    pub status: NodeDNSRecordSetStatus,
    /// The DNS provider in the spec, or the default.
    pub provider: String,
    /// The full name of the record.
    pub dns: String,
    /// A remark on the record's name.
    pub remark: Option<String>,
    /// State of the stored definition.
    pub schema: Schema,
    /// Whether the object could be decoded; if not, its status is unknown too.
    pub decoded: bool,
}

/// The front of NodeDNSRecordSets.
#[derive(Debug)]
pub struct NodeDNSRecordSets;

impl Front for NodeDNSRecordSets {
    fn kind(&self) -> &'static Kind {
        &NODE_DNS_RECORD_SET
    }

    fn decode(&self, object: DynamicObject, schema: Schema) -> Option<Observed> {
        let metadata = object.metadata.clone();
        let observed = match serde_json::to_value(object).and_then(serde_json::from_value) {
            Ok(object) => understood(object, schema),
            Err(error) => {
                let problem = format!("the stored object cannot be decoded: {error}");
                bare(&metadata, Err(finding("Undecodable", problem)), schema)
            }
        }?;
        Some(Observed::RecordSet(observed))
    }
}

/// An object with known metadata only.
fn bare(
    metadata: &ObjectMeta,
    request: Result<RecordRequest, Finding>,
    schema: Schema,
) -> Option<ObservedRecordSet> {
    let created_at = metadata.creation_timestamp.as_ref();
    let set = RecordSet {
        key: key(&NODE_DNS_RECORD_SET, metadata)?,
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
        _ => request(&key(&NODE_DNS_RECORD_SET, &metadata)?, &spec),
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

/// The request in a spec.
fn request(key: &ObjectKey, spec: &NodeDNSRecordSetSpec) -> Result<RecordRequest, Finding> {
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
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": NODE_DNS_RECORD_SET.name,
            "metadata": {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "3"},
            "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        match NodeDNSRecordSets.decode(object, Schema::Current) {
            Some(Observed::RecordSet(observed)) => observed,
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
