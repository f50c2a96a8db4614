//! Turns NodeDNSRecordSets into record sets for planning. A defect is a finding on the object
//! itself.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use pontoon_core::model::{
    Finding, NodeAddress, ObjectKey, RecordRequest, RecordSet, RecordSource,
};

use super::NODE_DNS_RECORD_SET;
use super::status::RecordSetFace;
use super::types::{NodeDNSRecordSet, NodeDNSRecordSetSpec, NodeDNSRecordSetStatus};
use crate::fronts::dns_record;
use crate::fronts::flipop::{IPV4_ANNOTATION, MARKS};
use crate::fronts::observed::{Identity, finding};
use crate::fronts::selection::matching;
use crate::observe::objects::key;
use crate::observe::paused;
use crate::observe::schema::Schema;

/// A record set in the making: what it asks for, and its status.
pub(super) struct Decoded {
    pub set: RecordSet,
    pub provider: String,
    pub dns: String,
    pub face: RecordSetFace,
    pub decoded: bool,
}

/// Decodes an object. Of an undecodable object only the metadata is known.
pub(super) fn decode(object: DynamicObject, schema: Schema) -> Option<Decoded> {
    let metadata = object.metadata.clone();
    match serde_json::to_value(object).and_then(serde_json::from_value) {
        Ok(object) => understood(object, schema),
        Err(error) => {
            let problem = format!("the stored object cannot be decoded: {error}");
            bare(&metadata, Err(finding("Undecodable", problem)), schema)
        }
    }
}

/// An object with known metadata only.
fn bare(
    metadata: &ObjectMeta,
    request: Result<RecordRequest, Finding>,
    schema: Schema,
) -> Option<Decoded> {
    let Identity { key, uid, version, created_at } = Identity::of(&NODE_DNS_RECORD_SET, metadata)?;
    let paused = paused(metadata);
    let names = &dns_record::NAMES;
    let set = RecordSet { key, uid, version, created_at, request, held: None, paused, names };
    let face = RecordSetFace {
        status: NodeDNSRecordSetStatus::default(),
        generation: metadata.generation,
        remark: None,
        schema,
    };
    Some(Decoded { set, provider: String::new(), dns: String::new(), face, decoded: false })
}

fn understood(object: NodeDNSRecordSet, schema: Schema) -> Option<Decoded> {
    let NodeDNSRecordSet { metadata, spec, status } = object;
    let status = status.unwrap_or_default();
    let request = match schema {
        Schema::Old => Err(Schema::finding()),
        _ => request(&key(&NODE_DNS_RECORD_SET, &metadata)?, &spec),
    };
    let Decoded { mut set, mut face, .. } = bare(&metadata, request, schema)?;
    set.held = dns_record::held(status.dns_record.as_ref());
    face.remark = dns_record::remark(&spec.dns_record_set);
    face.status = status;
    let (provider, dns) = (spec.provider().to_owned(), dns_record::full_name(&spec.dns_record_set));
    Some(Decoded { set, provider, dns, face, decoded: true })
}

/// The request in a spec.
fn request(key: &ObjectKey, spec: &NodeDNSRecordSetSpec) -> Result<RecordRequest, Finding> {
    let addresses = match spec.address_type.as_str() {
        "" | "ExternalIP" => NodeAddress::External,
        "InternalIP" => NodeAddress::Internal,
        IPV4_ANNOTATION => NodeAddress::Marked(&MARKS[0]),
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
    dns_record::request(key, &spec.dns_record_set, spec.provider(), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(spec: serde_json::Value) -> Decoded {
        let object = serde_json::json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": NODE_DNS_RECORD_SET.name,
            "metadata": {"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "3"},
            "spec": spec,
        });
        decode(serde_json::from_value(object).unwrap(), Schema::Current).unwrap()
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
