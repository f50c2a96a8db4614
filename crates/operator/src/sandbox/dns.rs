//! The sandbox's DNS: a zone at both hosts, and the records of its names.

use std::collections::BTreeMap;

use fakecloud::FakeCloud;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::cluster::{Cluster, listed};
use super::nodes::is_well;
use super::objects::Node;
use crate::api::CONDITION_DNS;
use crate::fronts::address_status::IpState;
use crate::fronts::flipop::IPV4_ANNOTATION;
use crate::fronts::floating_ip_pool::FloatingIPPool;
use crate::fronts::node_dns_record_set::NodeDNSRecordSet;

/// The zone that always exists.
pub const ZONE: &str = "example.com";

/// The record of the sandbox's own pool.
pub fn record(name: &str) -> Value {
    json!({"zone": ZONE, "recordName": name})
}

/// Creates the zone of an object.
pub fn provide(cloud: &FakeCloud, object: &Value) {
    let named = object["spec"]["dnsRecordSet"]["zone"].as_str().unwrap_or_default();
    let name = named.trim_end_matches('.').to_ascii_lowercase();
    for zone in [ZONE, &name] {
        // A zone without a dot is an ID, with an unknown name.
        if zone.contains('.') && cloud.look(|state| state.zone(zone).is_none()) {
            cloud.domain(zone);
        }
    }
}

/// The addresses of every record, by name and type.
pub fn names(cloud: &FakeCloud) -> BTreeMap<(String, String), Vec<String>> {
    let mut names: BTreeMap<_, Vec<String>> = BTreeMap::new();
    cloud.look(|state| {
        for zone in state.zones() {
            for record in zone.records.values().filter(|one| one.kind == "A" || one.kind == "AAAA")
            {
                let name = (zone.full_name(&record.name), record.kind.clone());
                names.entry(name).or_default().push(record.data.clone());
            }
        }
    });
    names.values_mut().for_each(|listed| listed.sort());
    names
}

/// Whether a pool's record lists its active addresses.
pub fn is_current(cloud: &FakeCloud, pool: &FloatingIPPool) -> bool {
    if pool.spec.dns_record_set.is_none() {
        return true;
    }
    let Some(status) = &pool.status else { return false };
    let ready =
        status.conditions.iter().any(|one| one.type_ == CONDITION_DNS && one.status == "True");
    let name = status.dns_record.as_ref().map(|held| held.name.clone()).unwrap_or_default();
    let active = |ip: &&String| status.ips[*ip].state == IpState::Active.as_str();
    let mut active: Vec<_> = status.ips.keys().filter(active).cloned().collect();
    let names = names(cloud);
    let mut listed: Vec<_> = ["A", "AAAA"]
        .into_iter()
        .filter_map(|kind| names.get(&(name.clone(), kind.into())))
        .flatten()
        .cloned()
        .collect();
    active.sort();
    listed.sort();
    ready && listed == active
}

impl Cluster {
    /// Record sets with incomplete records.
    pub(super) async fn unready_record_sets(&self, nodes: &[Node]) -> Result<Vec<String>, String> {
        let sets: Api<NodeDNSRecordSet> = Api::all(self.client().clone());
        let sets = listed(sets.list(&ListParams::default()).await)?.unwrap_or_default();
        let names = names(self.cloud());
        let marks: Vec<_> = nodes.iter().filter(|node| is_well(node)).filter_map(mark).collect();
        let unready = |set: &&NodeDNSRecordSet| {
            let status = set.status.clone().unwrap_or_default();
            let held = status.dns_record.unwrap_or_default();
            let listed = names.get(&(held.name, "A".to_owned()));
            let lacks = |mark: &String| listed.is_none_or(|listed| !listed.contains(mark));
            let behind = set.spec.address_type == IPV4_ANNOTATION && marks.iter().any(lacks);
            let current = status.observed_generation == set.metadata.generation;
            status.state != "active" || !current || behind
        };
        Ok(sets.iter().filter(unready).map(ResourceExt::name_any).collect())
    }
}

/// The address in a node's mark.
pub fn mark(node: &Node) -> Option<String> {
    node.annotations().get(IPV4_ANNOTATION).cloned()
}
