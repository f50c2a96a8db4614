//! Zones, and the objects requesting names in them.

use std::net::Ipv4Addr;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use pontoon::fronts::flipop::IPV4_ANNOTATION;
use pontoon::fronts::node_dns_record_set::NodeDNSRecordSet;
use serde_json::{Value, json};

use super::{APPS, Cluster, NAMESPACE};
use crate::names::{Addresses, Host, LABELS, ListingSetting, NameEvent, NameSetting, label};
use crate::schedule::Setting;

/// The initial TTL of all objects.
const TTL: u16 = 60;

/// An IPv6 address that somebody else lists in a name.
pub const SOMEBODYS: &str = "2001:db8::1";

impl Cluster {
    /// Creates the zones with foreign records, and the NodeDNSRecordSets.
    pub(super) async fn make_names(&mut self, setting: &Setting) {
        if !setting.has_names() {
            return;
        }
        for host in Host::ALL {
            let (cloud, zone) = (&self.cloud, host.zone());
            cloud.domain(zone);
            cloud.record(zone, "A", "www", "198.18.2.1", 300);
            cloud.record(zone, "MX", "@", "mail.example", 300);
            for name in (0..LABELS).map(label) {
                cloud.record(zone, "TXT", &name, "somebody else's", 300);
            }
            cloud.record(zone, "MX", &label(0), "mail.example", 300);
            cloud.record(zone, "AAAA", &label(1), SOMEBODYS, 300);
        }
        for (index, listing) in setting.listings.iter().enumerate() {
            let manifest = self.listing(index, listing);
            self.listings.push(manifest);
            self.names.push(Some(listing.name));
            self.make_listing(index).await;
        }
    }

    fn listing(&self, index: usize, listing: &ListingSetting) -> Value {
        let matching = match listing.app {
            Some(app) => {
                json!({"podNamespace": NAMESPACE, "podLabel": format!("app=app-{}", app % APPS)})
            }
            None => json!({"nodeLabel": "role=edge"}),
        };
        let addresses = match listing.addresses {
            Addresses::External => "ExternalIP",
            Addresses::Internal => "InternalIP",
            Addresses::Reserved => IPV4_ANNOTATION,
        };
        json!({
            "apiVersion": "flipop.digitalocean.com/v1alpha1", "kind": "NodeDNSRecordSet",
            "metadata": {"name": listing_name(index), "namespace": NAMESPACE},
            "spec": {
                "match": matching, "addressType": addresses,
                "dnsRecordSet": self.record_set(listing.name),
            },
        })
    }

    /// The `dnsRecordSet` field for a name.
    pub(super) fn record_set(&self, name: NameSetting) -> Value {
        let (zone, record) = (name.host.zone(), label(name.label));
        let by_id = name.in_full && name.host == Host::Cloudflare;
        json!({
            "provider": name.host.provider(),
            "zone": if by_id { self.cloud.zone_id(zone) } else { zone.to_owned() },
            "recordName": if name.in_full { format!("{record}.{zone}") } else { record },
            "ttl": TTL,
            "emptyPolicy": if name.removes { "Remove" } else { "Keep" },
        })
    }

    fn listing_api(&self) -> Api<NodeDNSRecordSet> {
        Api::namespaced(self.user.clone(), NAMESPACE)
    }

    async fn make_listing(&self, index: usize) {
        if let Ok(object) = serde_json::from_value(self.listings[index].clone()) {
            drop(self.listing_api().create(&PostParams::default(), &object).await);
        }
    }

    async fn delete_listing(&self, index: usize) {
        let params = DeleteParams::default();
        drop(self.listing_api().delete(&listing_name(index), &params).await);
    }

    /// Applies a user's change to an object's name.
    pub async fn change_name(&self, which: usize, what: NameEvent, begins: bool) {
        let Some(which) = which.checked_rem(self.names.len()) else { return };
        let own = self.names[which];
        let asks = own.unwrap_or_default();
        let wish = match (what, begins) {
            (NameEvent::Ttl(ttl), true) if own.is_some() => {
                return self.ask(which, &json!({"ttl": ttl})).await;
            }
            (NameEvent::Ttl(_), _) => return,
            (NameEvent::Renamed(label), true) => Some(NameSetting { label, ..asks }),
            (NameEvent::Rehosted, true) => Some(NameSetting { host: asks.host.other(), ..asks }),
            (NameEvent::Unnamed, true) => None,
            (_, false) => own,
        };
        match (wish, which.checked_sub(self.pools.len())) {
            (None, Some(listing)) => self.delete_listing(listing).await,
            (Some(name), Some(listing)) => {
                self.make_listing(listing).await;
                self.ask(which, &self.record_set(name)).await;
            }
            (Some(name), None) => self.ask(which, &self.record_set(name)).await,
            (None, None) => self.ask(which, &Value::Null).await,
        }
    }

    /// Sets or removes the object's `dnsRecordSet`.
    async fn ask(&self, which: usize, record_set: &Value) {
        let patch = json!({"spec": {"dnsRecordSet": record_set}});
        match which.checked_sub(self.pools.len()) {
            None => self.patch_pool(which, &patch).await,
            Some(listing) => {
                let (params, name) = (PatchParams::default(), listing_name(listing));
                drop(self.listing_api().patch(&name, &params, &Patch::Merge(&patch)).await);
            }
        }
    }

    /// The node's own addresses, derived from its machine.
    pub(super) fn node_addresses(machine: u64) -> Value {
        let last = u8::try_from(machine % 250).unwrap_or(0);
        let row = u8::try_from(machine / 250 % 250).unwrap_or(0);
        json!([
            {"type": "ExternalIP", "address": Ipv4Addr::new(203, 0, row, last)},
            {"type": "InternalIP", "address": Ipv4Addr::new(172, 16, row, last)},
        ])
    }
}

fn listing_name(listing: usize) -> String {
    format!("nodes-{listing}")
}
