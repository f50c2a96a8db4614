//! FloatingIPPools become pools. What cannot be understood is a finding on the object
//! itself: it never stops the watch, nor any other pool.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::core::DeserializeGuard;
use pontoon_core::Time;
use pontoon_core::matching::{Match, PodMatch, Selector, Toleration};
use pontoon_core::model::{
    Drift, Finding, Ledger, MachineId, Pool, PoolKey, RecordSet, RecordSource, Remembered, Request,
    Text,
};
use pontoon_providers::VENDORS;

use super::schema::Schema;
use super::{Observation, Watch, dns, ledger, paused, version};
use crate::api::{
    ADDRESSES_ANNOTATION, DriftStatus, FloatingIPPool, FloatingIPPoolSpec, FloatingIPPoolStatus,
    IpStatus, MOST_ADDRESSES, RELEASE_FINALIZER, RESOLVE_CREATE_ANNOTATION,
};

/// The kind, as core names it.
pub const KIND: &str = "FloatingIPPool";

/// A pool, and what reporting on it needs.
#[derive(Clone, Debug)]
pub struct ObservedPool {
    /// As planning sees it.
    pub pool: Pool,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// The status that is stored now.
    pub status: FloatingIPPoolStatus,
    /// The provider that the spec names.
    pub provider: String,
    /// The DNS record that the spec asks for.
    pub dns: Option<String>,
    /// What there is to say of that record's name.
    pub remark: Option<String>,
    /// That record, as planning sees it.
    pub records: Option<RecordSet>,
    /// The stored definition cannot hold what we report.
    pub schema: Schema,
    /// The object could be decoded; if not, its status is not known either.
    pub decoded: bool,
}

/// Watches FloatingIPPools.
#[derive(Debug)]
pub struct Pools {
    schema: Schema,
    /// What the list that is under way has shown.
    listing: Option<BTreeSet<PoolKey>>,
}

impl Pools {
    /// A watch over pools whose definition is as `schema` says.
    pub fn new(schema: Schema) -> Self {
        Self { schema, listing: None }
    }
}

impl Watch for Pools {
    type Object = DeserializeGuard<FloatingIPPool>;

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
                let finding = finding("Undecodable", problem);
                bare(&invalid.metadata, Err(finding), self.schema)
            }
        }?;
        if let Some(listing) = &mut self.listing {
            listing.insert(observed.pool.key.clone());
        }
        Some(Observation::Pool(Box::new(observed)))
    }

    fn gone(&mut self, object: Self::Object) -> Option<Observation> {
        let key = match &object.0 {
            Ok(object) => key(&object.metadata),
            Err(invalid) => key(&invalid.metadata),
        };
        key.map(Observation::PoolGone)
    }

    fn listed(&mut self) -> Option<Observation> {
        self.listing.take().map(|keys| Observation::PoolsListed(KIND, keys))
    }
}

fn key(metadata: &ObjectMeta) -> Option<PoolKey> {
    let namespace = metadata.namespace.as_deref().unwrap_or_default().into();
    Some(PoolKey { kind: KIND, namespace, name: metadata.name.as_deref()?.into() })
}

/// An object of which only the metadata is known.
fn bare(
    metadata: &ObjectMeta,
    request: Result<Request, Finding>,
    schema: Schema,
) -> Option<ObservedPool> {
    let created_at = metadata.creation_timestamp.as_ref();
    let finalizers = metadata.finalizers.iter().flatten().map(String::as_str);
    let pool = Pool {
        key: key(metadata)?,
        uid: metadata.uid.as_deref().unwrap_or_default().into(),
        version: version(metadata.resource_version.as_deref()),
        created_at: Time::from_micros(created_at.map_or(0, |time| time.0.as_microsecond())),
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
    };
    Some(ObservedPool {
        pool,
        generation: metadata.generation,
        status: FloatingIPPoolStatus::default(),
        provider: String::new(),
        dns: None,
        remark: None,
        records: None,
        schema,
        decoded: false,
    })
}

fn understood(object: FloatingIPPool, schema: Schema) -> Option<ObservedPool> {
    let FloatingIPPool { metadata, spec, status } = object;
    let status = status.unwrap_or_default();
    let annotation =
        |key: &str| metadata.annotations.as_ref().and_then(|all| all.get(key)).map(String::as_str);
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
        _ => request(&spec),
    };
    let mut observed = bare(&metadata, request, schema)?;
    // What cannot be read is not written, either: it stays as it is.
    let writable = ledger.is_ok() && schema != Schema::Old;
    let mut finalizers = metadata.finalizers.iter().flatten();
    let stripped = annotation(ADDRESSES_ANNOTATION).is_none_or(|text| text.trim().is_empty());
    observed.pool.ledger = ledger.unwrap_or_default();
    if observed.pool.request.is_err() {
        observed.pool.named = Some(addresses(&spec.ips).0);
    }
    if stripped {
        observed.pool.ledger_stripped = true;
        observed.pool.ledger.created = mirrored(&status);
    }
    observed.pool.ledger.guarded = writable && finalizers.any(|one| one == RELEASE_FINALIZER);
    observed.pool.releases = spec.deletion_policy == "Release";
    observed.pool.resolution = ledger::resolution(annotation(RESOLVE_CREATE_ANNOTATION));
    observed.pool.remembered = remembered(&status);
    observed.pool.last_assignment = status.last_assignment_time.as_ref().map(time);
    observed.dns = spec.dns_record_set.as_ref().map(dns::full_name);
    observed.remark = spec.dns_record_set.as_ref().and_then(dns::remark);
    observed.records = spec.dns_record_set.as_ref().map(|record| {
        let provider = dns::provider_for(record, &spec.provider);
        let pool = &observed.pool;
        let request = match schema {
            Schema::Old => Err(Schema::finding()),
            _ => dns::request(&pool.key, record, &provider, RecordSource::Pool),
        };
        RecordSet {
            key: pool.key.clone(),
            uid: pool.uid.clone(),
            version: pool.version,
            created_at: pool.created_at,
            request,
            held: dns::held(status.dns_record.as_ref()),
            paused: pool.paused.clone(),
        }
    });
    observed.provider = spec.provider;
    observed.status = status;
    observed.decoded = true;
    Some(observed)
}

/// The status mirrors the ledger: addresses survive a tool that strips our annotation. While
/// that is there, its word counts alone: it is written first, also when an address is dropped.
fn mirrored(status: &FloatingIPPoolStatus) -> Vec<IpAddr> {
    let mut created = Vec::new();
    for ip in status.created_ips.iter().filter_map(|ip| ip.parse().ok()) {
        if !created.contains(&ip) {
            created.push(ip);
        }
    }
    created
}

fn remembered(status: &FloatingIPPoolStatus) -> BTreeMap<IpAddr, Remembered> {
    // What a predecessor's status says was never ours to let go of. Conditions of ours may
    // stand beside it: while it works, they are all that we write.
    let ours = !status.assigned.is_empty();
    let memory = |status: &IpStatus| Remembered {
        had: ours && !matches!(status.state.as_str(), "" | "error"),
        held: matches!(status.state.as_str(), "active" | "in-progress" | "no-match")
            || !status.node_name.is_empty(),
        machine: seen_on(status),
        ineligible_since: status.ineligible_since.as_ref().map(time),
        assigned_at: status.last_assignment_time.as_ref().map(time),
        drift: status.drift.as_ref().and_then(drift),
    };
    let entry = |(ip, status): (&String, &IpStatus)| Some((ip.parse().ok()?, memory(status)));
    status.ips.iter().filter_map(entry).collect()
}

fn drift(status: &DriftStatus) -> Option<Drift> {
    let at = time(status.last_found_time.as_ref()?);
    Some(Drift { times: status.times, at, from: machine(&status.from) })
}

fn machine(provider_id: &str) -> Option<MachineId> {
    pontoon_providers::machine_of(provider_id).map(|(_, id)| id.0.as_str().into())
}

/// The machine that a status says an address is on. One that is on its way may be elsewhere.
fn seen_on(status: &IpStatus) -> Option<MachineId> {
    let there = matches!(status.state.as_str(), "active" | "no-match" | "disabled");
    machine(&status.provider_id).filter(|_| there)
}

fn time(time: &MicroTime) -> Time {
    Time::from_micros(time.0.as_microsecond())
}

/// What a spec asks for.
fn request(spec: &FloatingIPPoolSpec) -> Result<Request, Finding> {
    if !VENDORS.iter().any(|vendor| vendor.name == spec.provider) {
        let known: Vec<_> = VENDORS.iter().map(|vendor| vendor.name).collect();
        let problem = format!(
            "spec.provider \"{}\" is not known; known providers: {}",
            spec.provider,
            known.join(", ")
        );
        return Err(finding("UnknownProvider", problem));
    }
    let (listed, unreadable) = addresses(&spec.ips);
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
        region: text(&spec.region),
        listed,
        // None is reserved in the place of one that cannot be read.
        wanted: wanted.map(|wanted| wanted.saturating_sub(unreadable.len())),
        unreadable: unreadable.into_iter().next(),
        matching: Arc::new(matching(&spec.matching)?),
        cool_off: spec.cool_off(),
        grace: spec.grace(),
    })
}

/// The addresses of a list, and what is wrong with the rest of it: a definition that is less
/// strict than ours may have let it in, and the others are served all the same.
fn addresses(texts: &[String]) -> (Vec<IpAddr>, Vec<Finding>) {
    let (mut addresses, mut unreadable) = (Vec::with_capacity(texts.len()), Vec::new());
    for text in texts {
        match text.trim().parse::<IpAddr>() {
            Ok(ip) if addresses.contains(&ip) => {}
            Ok(ip) => addresses.push(ip),
            Err(_) => {
                let problem = format!("spec.ips: \"{text}\" is not an IPv4 or IPv6 address");
                unreadable.push(finding("InvalidAddress", problem));
            }
        }
    }
    (addresses, unreadable)
}

/// The conditions on nodes that both kinds share.
pub(super) fn matching(wanted: &crate::api::Match) -> Result<Match, Finding> {
    let selector = |field: &str, text: &str| {
        Selector::parse(text).map_err(|error| {
            let problem = format!("spec.match.{field} \"{text}\" is not a label selector: {error}");
            finding("InvalidSelector", problem)
        })
    };
    let asks_for_pods = !wanted.pod_label.is_empty() || !wanted.pod_namespace.is_empty();
    let pod_labels = selector("podLabel", &wanted.pod_label)?;
    let tolerations = wanted.tolerations.iter().filter_map(toleration).collect();
    Ok(Match {
        nodes: selector("nodeLabel", &wanted.node_label)?,
        pods: asks_for_pods
            .then(|| PodMatch { namespace: text(&wanted.pod_namespace), labels: pod_labels }),
        tolerations,
    })
}

/// As Kubernetes itself compares it with a taint: an empty key is every key, and an operator
/// that is not known tolerates nothing.
fn toleration(toleration: &crate::api::Toleration) -> Option<Toleration> {
    let value = match toleration.operator.as_str() {
        "Exists" => None,
        "" | "Equal" => Some(toleration.value.as_str().into()),
        _ => return None,
    };
    let effect = text(&toleration.effect).map(|effect| (&*effect).into());
    Some(Toleration { key: text(&toleration.key), value, effect })
}

fn text(text: &str) -> Option<Text> {
    (!text.is_empty()).then(|| text.into())
}

pub(super) fn finding(reason: &'static str, message: impl Into<Text>) -> Finding {
    Finding { reason, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(spec: serde_json::Value) -> ObservedPool {
        let object = serde_json::json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": KIND,
            "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "3"},
            "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        match Pools::new(Schema::Current).seen(object) {
            Some(Observation::Pool(pool)) => *pool,
            other => panic!("{other:?}"),
        }
    }

    fn reason(spec: serde_json::Value) -> (&'static str, String) {
        let finding = seen(spec).pool.request.unwrap_err();
        (finding.reason, finding.message.to_string())
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
    fn a_toleration_without_a_key_is_for_every_key_and_one_of_an_unknown_kind_for_none() {
        let tolerates = |toleration: serde_json::Value, value: &str| {
            let spec = serde_json::json!({"provider": "digitalocean", "ips": ["192.0.2.1"],
                                          "match": {"tolerations": [toleration]}});
            let taint = pontoon_core::model::Taint {
                key: "k".into(),
                value: value.into(),
                effect: "NoSchedule".into(),
            };
            let request = seen(spec).pool.request.unwrap();
            request.matching.tolerations.iter().any(|one| one.tolerates(&taint))
        };
        assert!(tolerates(serde_json::json!({"operator": "Exists"}), "v"));
        assert!(tolerates(serde_json::json!({}), ""));
        assert!(!tolerates(serde_json::json!({}), "v"));
        assert!(tolerates(serde_json::json!({"key": "k"}), ""));
        assert!(!tolerates(serde_json::json!({"key": "k", "effect": "NoExecute"}), ""));
        assert!(!tolerates(serde_json::json!({"operator": "exists"}), ""));
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
}
