//! Turns FloatingIPPools into pools. A defect is a finding on the object itself, and never stops
//! the watch or another pool.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use pontoon_core::model::{Finding, Ledger, Pool, RecordSet, RecordSource, Request};

use super::FLOATING_IP_POOL;
use super::status::PoolFace;
use super::types::{FloatingIPPool, FloatingIPPoolSpec, FloatingIPPoolStatus, MOST_ADDRESSES};
use crate::api::{ADDRESSES_ANNOTATION, RELEASE_FINALIZER, RESOLVE_CREATE_ANNOTATION};
use crate::fronts::address_status::recall;
use crate::fronts::dns_record::{self, DnsRecordSet};
use crate::fronts::flipop::MARKS;
use crate::fronts::ledger;
use crate::fronts::observed::{self, finding, given, known_provider};
use crate::fronts::selection::matching;
use crate::observe::schema::Schema;

/// A pool in the making: what it asks for, and its status.
pub(super) struct Decoded {
    pub pool: Pool,
    pub records: Option<RecordSet>,
    pub dns: String,
    pub face: PoolFace,
    pub decoded: bool,
}

/// Decodes an object. Of an undecodable object the metadata, and the addresses in its spec and its
/// status, are known all the same: other pools must not take them.
pub(super) fn decode(object: DynamicObject, schema: Schema) -> Option<Decoded> {
    let (metadata, data) = (object.metadata.clone(), object.data.clone());
    match serde_json::to_value(object).and_then(serde_json::from_value) {
        Ok(object) => understood(object, schema),
        Err(error) => {
            let problem = format!("the stored object cannot be decoded: {error}");
            let mut decoded = bare(&metadata, Err(finding("Undecodable", problem)), schema)?;
            decoded.pool.named = recall::salvaged(&data, "ips");
            decoded.pool.ledger =
                ledger::read(annotation(&metadata, ADDRESSES_ANNOTATION)).unwrap_or_default();
            Some(decoded)
        }
    }
}

fn annotation<'m>(metadata: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// An object with known metadata only.
fn bare(
    metadata: &ObjectMeta,
    request: Result<Request, Finding>,
    schema: Schema,
) -> Option<Decoded> {
    let pool = observed::bare(&FLOATING_IP_POOL, metadata, request)?;
    let face = PoolFace {
        status: FloatingIPPoolStatus::default(),
        generation: metadata.generation,
        provider: String::new(),
        has_record: false,
        remark: None,
        schema,
    };
    Some(Decoded { pool, records: None, dns: String::new(), face, decoded: false })
}

fn understood(object: FloatingIPPool, schema: Schema) -> Option<Decoded> {
    let FloatingIPPool { metadata, spec, status } = object;
    let status = status.unwrap_or_default();
    let annotation = |key: &str| annotation(&metadata, key);
    let ledger = ledger::read(annotation(ADDRESSES_ANNOTATION));
    let request = match (&schema, &ledger) {
        (Schema::Old, _) => Err(Schema::finding()),
        (_, Err(problem)) => Err(finding(
            "UnreadableLedger",
            format!(
                "the annotation {ADDRESSES_ANNOTATION} names the addresses that were reserved for \
                 this pool and cannot be read: {problem}; restore it, or remove it to start anew"
            ),
        )),
        (_, Ok(ledger)) => request(&spec).and_then(|request| at_its_provider(request, ledger)),
    };
    let Decoded { mut pool, mut face, .. } = bare(&metadata, request, schema)?;
    // With an unreadable ledger or an old definition, ledger and finalizer stay as they are.
    let writable = ledger.is_ok() && schema != Schema::Old;
    let mut finalizers = metadata.finalizers.iter().flatten();
    let stripped = annotation(ADDRESSES_ANNOTATION).is_none_or(|text| text.trim().is_empty());
    pool.ledger = ledger.unwrap_or_default();
    if pool.request.is_err() {
        pool.named = Some(recall::addresses("spec.ips", &spec.ips).0);
    }
    if stripped {
        pool.ledger_stripped = true;
        pool.ledger.created = mirrored(&status);
    }
    pool.ledger.guarded = writable && finalizers.any(|one| one == RELEASE_FINALIZER);
    pool.releases = spec.deletion_policy == "Release";
    pool.resolution = ledger::resolution(annotation(RESOLVE_CREATE_ANNOTATION));
    // `assigned` is set only by an acting replica, so addresses in a predecessor's status were
    // never ours to unassign. Our conditions may stand in the same status: we write nothing else
    // while the predecessor works.
    pool.remembered = recall::memories(&status.ips, !status.assigned.is_empty());
    pool.last_assignment = status.last_assignment_time.as_ref().map(recall::time);
    let record = spec.dns_record_set.as_ref();
    let records = record.map(|record| records(&pool, record, &spec.provider, &status, schema));
    let dns = record.map(dns_record::full_name).unwrap_or_default();
    face.remark = record.and_then(dns_record::remark);
    face.has_record = records.is_some();
    face.provider = spec.provider;
    face.status = status;
    Some(Decoded { pool, records, dns, face, decoded: true })
}

/// The records that a pool asks for.
fn records(
    pool: &Pool,
    record: &DnsRecordSet,
    provider: &str,
    status: &FloatingIPPoolStatus,
    schema: Schema,
) -> RecordSet {
    let provider = dns_record::provider_for(record, provider);
    let request = match schema {
        Schema::Old => Err(Schema::finding()),
        _ => dns_record::request(&pool.key, record, &provider, RecordSource::Pool),
    };
    RecordSet {
        key: pool.key.clone(),
        uid: pool.uid.clone(),
        version: pool.version,
        created_at: pool.created_at,
        request,
        held: dns_record::held(status.dns_record.as_ref()),
        paused: pool.paused.clone(),
        names: &dns_record::NAMES,
    }
}

/// The created addresses in the status, a copy of the ledger for pools whose annotation was
/// stripped by a tool. An existing annotation takes precedence, because the ledger is always
/// written before the status.
fn mirrored(status: &FloatingIPPoolStatus) -> Vec<IpAddr> {
    let mut created = Vec::new();
    for ip in status.created_ips.iter().filter_map(|ip| ip.parse().ok()) {
        if !created.contains(&ip) {
            created.push(ip);
        }
    }
    created
}

/// The request, if the pool's reserved addresses are at the provider of the spec. At another provider
/// they would count as deleted.
fn at_its_provider(request: Request, ledger: &Ledger) -> Result<Request, Finding> {
    let Some(own) = ledger.elsewhere(&request.account) else { return Ok(request) };
    let new = &request.account;
    let problem = if ledger.created.is_empty() {
        format!(
            "spec.provider is {new}, and a reservation for this pool at {own} may have made an \
             address; set spec.provider to {own}, or delete this pool (with spec.deletionPolicy \
             Retain) and create another"
        )
    } else {
        format!(
            "spec.provider is {new}, and the addresses that were reserved for this pool are at \
             {own}; set spec.provider to {own}, and create another pool for addresses at {new}"
        )
    };
    Err(finding("ProviderChanged", problem))
}

/// The request in a spec.
fn request(spec: &FloatingIPPoolSpec) -> Result<Request, Finding> {
    known_provider("spec.provider", &spec.provider)?;
    let (listed, unreadable) = recall::addresses("spec.ips", &spec.ips);
    let wanted = usize::try_from(spec.desired_ips).ok().filter(|wanted| *wanted > 0);
    if let Some(wanted) = wanted.filter(|wanted| *wanted > MOST_ADDRESSES) {
        let problem = format!("spec.desiredIPs is {wanted}; a pool has at most {MOST_ADDRESSES}");
        return Err(finding("TooManyAddresses", problem));
    }
    if let Some(finding) = unreadable.first().filter(|_| listed.is_empty() && wanted.is_none()) {
        return Err(finding.clone());
    }
    if listed.is_empty() && wanted.is_none() {
        let problem = "spec.ips is empty and spec.desiredIPs is 0: there is nothing to assign";
        return Err(finding("NoAddresses", problem));
    }
    if !["", "Retain", "Release"].contains(&spec.deletion_policy.as_str()) {
        let problem = format!(
            "spec.deletionPolicy \"{}\" is not known; use Retain or Release",
            spec.deletion_policy
        );
        return Err(finding("InvalidDeletionPolicy", problem));
    }
    Ok(Request {
        account: spec.provider.as_str().into(),
        region: given(&spec.region),
        listed,
        // Unreadable entries of the list are not replaced by reserved addresses.
        wanted: wanted.map(|wanted| wanted.saturating_sub(unreadable.len())),
        unreadable: unreadable.into_iter().next(),
        matching: Arc::new(matching(&spec.matching)?),
        marks: &MARKS,
        evicts: None,
        reread: None,
        cool_off: spec.cool_off(),
        grace: spec.grace(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(spec: serde_json::Value) -> Decoded {
        let object = serde_json::json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": FLOATING_IP_POOL.name,
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "3"},
            "spec": spec,
        });
        decode(serde_json::from_value(object).unwrap(), Schema::Current).unwrap()
    }

    fn reason(spec: serde_json::Value) -> (&'static str, String) {
        let finding = seen(spec).pool.request.unwrap_err();
        (finding.reason, finding.message.to_string())
    }

    #[test]
    fn a_pool_with_reserved_addresses_at_another_provider_is_not_planned() {
        let pool = |ledger: &str| {
            let object = serde_json::json!({
                "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": FLOATING_IP_POOL.name,
                "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "3",
                             "annotations": {ADDRESSES_ANNOTATION: ledger}},
                "spec": {"provider": "gcp", "region": "europe-west1", "desiredIPs": 1},
            });
            decode(serde_json::from_value(object).unwrap(), Schema::Current).unwrap().pool
        };
        let moved = pool(r#"{"created":["198.51.100.7"],"provider":"digitalocean"}"#);
        let finding = moved.request.unwrap_err();
        assert_eq!(finding.reason, "ProviderChanged");
        assert!(finding.message.contains("set spec.provider to digitalocean"), "{finding:?}");
        assert_eq!(moved.ledger.created.len(), 1, "the addresses stay the pool's");
        let open = r#"{"id":"1","region":"nyc3"}"#;
        let open = format!(r#"{{"created":[],"intents":[{open}],"provider":"digitalocean"}}"#);
        let finding = pool(&open).request.unwrap_err();
        assert_eq!(finding.reason, "ProviderChanged");
        assert!(finding.message.contains("may have made an address"), "{finding:?}");
        for fine in [
            r#"{"created":[],"provider":"digitalocean"}"#,
            r#"{"created":["198.51.100.7"],"provider":"gcp"}"#,
            r#"{"created":["198.51.100.7"]}"#,
        ] {
            assert!(pool(fine).request.is_ok(), "{fine}");
        }
    }

    #[test]
    fn bad_input_is_a_finding_that_says_what_to_write() {
        let cases = [
            (
                serde_json::json!({"provider": "digitalocaen", "ips": ["192.0.2.1"]}),
                "UnknownProvider",
                "known providers: digitalocean",
            ),
            (
                serde_json::json!({"provider": "digitalocean", "ips": ["192.0.2.256"]}),
                "InvalidAddress",
                "\"192.0.2.256\" is not an IPv4 or IPv6 address",
            ),
            (
                serde_json::json!({"provider": "digitalocean"}),
                "NoAddresses",
                "there is nothing to assign",
            ),
            (
                serde_json::json!({"provider": "digitalocean", "ips": ["192.0.2.1"],
                                "match": {"nodeLabel": "a==,,b"}}),
                "InvalidSelector",
                "spec.match.nodeLabel \"a==,,b\"",
            ),
            (
                serde_json::json!({"provider": "digitalocean", "ips": ["192.0.2.1"],
                                "deletionPolicy": "Delete"}),
                "InvalidDeletionPolicy",
                "use Retain or Release",
            ),
            (
                serde_json::json!({"provider": "digitalocean", "ips": "192.0.2.1"}),
                "Undecodable",
                "cannot be decoded",
            ),
        ];
        for (spec, wanted, words) in cases {
            let (reason, message) = reason(spec);
            assert_eq!(reason, wanted);
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn one_entry_that_is_no_address_does_not_keep_the_others_from_being_served() {
        let spec = serde_json::json!({"provider": "digitalocean", "desiredIPs": 3,
                                      "ips": ["192.0.2.1", "192.0.2.01", "192.0.2.3"]});
        let request = seen(spec).pool.request.unwrap();
        assert_eq!((request.listed.len(), request.wanted), (2, Some(2)), "none is reserved for it");
        assert!(request.unreadable.unwrap().message.contains("\"192.0.2.01\""));
    }

    #[test]
    fn the_status_stands_in_for_an_annotation_that_was_stripped_and_for_no_other() {
        let created = |annotations: serde_json::Value| {
            let object = serde_json::json!({
                "metadata": {"name": "p", "uid": "u", "annotations": annotations},
                "spec": {"provider": "digitalocean", "desiredIPs": 2, "region": "nyc3"},
                "status": {"createdIPs": ["192.0.2.1", "192.0.2.2"]},
            });
            let object = serde_json::from_value(object).unwrap();
            understood(object, Schema::Current).unwrap().pool.ledger.created.len()
        };
        let ledger = "{\"created\":[\"192.0.2.2\"]}";
        assert_eq!(created(serde_json::json!({})), 2);
        assert_eq!(created(serde_json::json!({ADDRESSES_ANNOTATION: ""})), 2);
        assert_eq!(
            created(serde_json::json!({ADDRESSES_ANNOTATION: ledger})),
            1,
            "one was dropped"
        );
    }

    #[test]
    fn a_pool_asks_for_pods_if_it_names_a_label_or_a_namespace() {
        let pods = |matching: serde_json::Value| {
            let spec = serde_json::json!({"provider": "digitalocean", "ips": ["192.0.2.1"],
                                          "match": matching});
            seen(spec).pool.request.unwrap().matching.pods.clone()
        };
        assert!(pods(serde_json::json!({})).is_none());
        assert!(pods(serde_json::json!({"podLabel": "app=x"})).unwrap().namespace.is_none());
        assert!(pods(serde_json::json!({"podNamespace": "n"})).unwrap().namespace.is_some());
    }

    #[test]
    fn an_object_that_cannot_be_decoded_keeps_the_addresses_that_it_lists_and_has() {
        let object = serde_json::json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u"},
            "spec": {"match": 7, "ips": ["192.0.2.2", "nonsense", 3]},
            "status": {"ips": {"192.0.2.1": {"state": "active"}}},
        });
        let decoded = decode(serde_json::from_value(object).unwrap(), Schema::Current).unwrap();
        assert_eq!(decoded.pool.request.unwrap_err().reason, "Undecodable");
        let named = ["192.0.2.1", "192.0.2.2"].map(|ip| ip.parse().unwrap());
        assert_eq!(decoded.pool.named.as_deref(), Some(&named[..]));
    }
}
