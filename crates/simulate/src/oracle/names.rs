//! The true state of names: requests, owners, records.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fakecloud::{Record, State};
use fakekube::Write;
use pontoon::api::{CONDITION_DNS, CONDITION_READY, PAUSED_ANNOTATION};
use pontoon::fronts::flipop::IPV4_ANNOTATION;
use serde_json::Value;

use super::cluster::{Cluster, Node};
use super::matching::Matching;
use super::pool::Fit;
use crate::schedule::Millis;

/// A name with its zone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    pub zone: String,
    /// The name relative to the zone.
    pub label: String,
}

/// Names and the objects requesting them.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Objects that can request a name, by kind and key.
    pub asking: BTreeMap<String, Asking>,
    /// The owner of each name ever requested.
    pub owners: BTreeMap<Site, Owner>,
    /// All records, by zone and number.
    pub zones: BTreeMap<String, BTreeMap<u64, Record>>,
    /// The last known name and type of each record.
    labels: BTreeMap<(String, u64), (String, String)>,
    /// The last time each address was claimed by several pools.
    pub shared: BTreeMap<IpAddr, Millis>,
    /// The last change by hand of each name.
    pub touched: BTreeMap<Site, Millis>,
    /// The time of the last request, for names no longer requested.
    left: BTreeMap<Site, Millis>,
    /// Zones by identifier.
    ids: BTreeMap<String, &'static str>,
}

/// An object that requests a name, or could.
#[derive(Debug, Default)]
pub(super) struct Asking {
    pub uid: String,
    created: String,
    /// The requested name.
    pub site: Option<Site>,
    pub ttl: u64,
    /// `emptyPolicy: Remove`.
    pub removes: bool,
    pub source: Source,
    /// The name in the status, and the record types there.
    pub holds: Option<Site>,
    pub holds_types: Vec<String>,
    /// The status and reason of the condition about the name.
    pub says: Option<(String, String)>,
    /// The object is paused.
    paused: bool,
    /// The last change of the request.
    changed: Millis,
    /// Whether each address is to be listed, over time.
    pub fits: BTreeMap<IpAddr, Fit>,
    /// Whether each address is to be listed because of a certain node, over time.
    carried: BTreeMap<(IpAddr, String), Fit>,
}

/// The source of the listed addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    /// The addresses in place of the pool with this key.
    Pool(String),
    /// Node addresses, by `match` and address type.
    Nodes { matching: Matching, addresses: String },
    #[default]
    Nothing,
}

/// The owner of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner {
    /// The key of the owning object.
    pub key: Option<String>,
    /// All claimants: key, UID, and the last change of the request.
    claimants: Vec<(String, String, Millis)>,
    /// The time of the last change of owner or claimants.
    pub since: Millis,
}

/// The record types of addresses.
pub(super) const KINDS: [&str; 2] = ["A", "AAAA"];

/// The record type of an address.
pub(super) fn kind(ip: IpAddr) -> &'static str {
    KINDS[usize::from(ip.is_ipv6())]
}

impl Asking {
    /// Whether records of this type are the object's to change: A, and AAAA if it has, or had, an
    /// IPv6 address.
    pub fn may_change(&self, of: &str) -> bool {
        of == "A" || self.fits.keys().any(|ip| kind(*ip) == of)
    }

    /// Whether an address was to be listed all the time since `floor`.
    pub fn surely_lists(&self, ip: IpAddr, floor: Millis) -> bool {
        self.fits.get(&ip).is_some_and(|fit| fit.eligible && fit.since <= floor)
    }

    /// Whether an address was to be listed at some time since `floor`.
    pub fn might_list(&self, ip: IpAddr, floor: Millis) -> bool {
        self.fits.get(&ip).is_some_and(|fit| fit.eligible || fit.since >= floor)
    }

    /// The addresses to list now.
    pub fn lists(&self) -> impl Iterator<Item = IpAddr> {
        self.fits.iter().filter(|(_, fit)| fit.eligible).map(|(ip, _)| *ip)
    }

    /// Notes the addresses to list from now on.
    pub fn judge(&mut self, listed: &BTreeSet<IpAddr>, now: Millis) {
        judge(&mut self.fits, listed, now);
    }

    /// Notes the nodes whose addresses are to be listed from now on.
    pub fn judge_nodes(&mut self, carried: &BTreeSet<(IpAddr, String)>, now: Millis) {
        judge(&mut self.carried, carried, now);
        self.judge(&carried.iter().map(|(ip, _)| *ip).collect(), now);
    }

    /// Whether one and the same node was to have the address listed all the time since `floor`.
    pub fn is_surely_carried(&self, ip: IpAddr, floor: Millis) -> bool {
        self.carried.iter().any(|((of, _), fit)| *of == ip && fit.surely(floor))
    }
}

fn judge<Key: Clone + Ord>(fits: &mut BTreeMap<Key, Fit>, present: &BTreeSet<Key>, now: Millis) {
    for key in present {
        fits.entry(key.clone()).or_insert(Fit::never(now));
    }
    for (key, fit) in fits {
        fit.set(present.contains(key), now);
    }
}

impl Names {
    /// Whether a pool asks for a name, or has one.
    pub fn concern(&self, pool: &str) -> bool {
        let asking = self.asking.get(&format!("floatingippools {pool}"));
        asking.is_some_and(|one| one.site.is_some() || one.holds.is_some())
    }

    /// Notes a zone's identifier.
    pub fn zone_called(&mut self, id: String, zone: &'static str) {
        self.ids.insert(id, zone);
    }

    /// Applies a write of an object.
    pub fn wrote(&mut self, write: &Write<'_>, now: Millis) {
        if !matches!(write.plural, "floatingippools" | "nodednsrecordsets") {
            return;
        }
        let key = format!("{} {}", write.plural, write.key);
        match write.after {
            Some(object) => {
                let seen = self.read(write.plural, write.key, object);
                let asking = self.asking.entry(key).or_default();
                let same = |this: &Asking| {
                    let Asking { uid, site, ttl, removes, source, .. } = this;
                    (uid.clone(), site.clone(), *ttl, *removes, source.clone())
                };
                let changed = if same(asking) == same(&seen) { asking.changed } else { now };
                let (fits, carried) = if asking.uid == seen.uid {
                    (std::mem::take(&mut asking.fits), std::mem::take(&mut asking.carried))
                } else {
                    Default::default()
                };
                *asking = Asking { changed, fits, carried, ..seen };
            }
            None => drop(self.asking.remove(&key)),
        }
        self.settle_owners(now);
    }

    fn read(&self, plural: &str, key: &str, object: &Value) -> Asking {
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let wish = &spec["dnsRecordSet"];
        let held = &status["dnsRecord"];
        let is_pool = plural == "floatingippools";
        let matching = Matching::read(&spec["match"]).unwrap_or_default();
        let told = if is_pool { CONDITION_DNS } else { CONDITION_READY };
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let said = conditions.into_iter().find(|one| one["type"] == told);
        Asking {
            uid: text(&metadata["uid"]),
            created: text(&metadata["creationTimestamp"]),
            site: self.site(&wish["zone"], &wish["recordName"]),
            ttl: wish["ttl"].as_u64().unwrap_or(60),
            removes: wish["emptyPolicy"] == "Remove",
            source: if is_pool {
                Source::Pool(key.to_owned())
            } else {
                Source::Nodes { matching, addresses: text(&spec["addressType"]) }
            },
            holds: self.site(&held["zone"], &held["name"]),
            holds_types: held["types"].as_array().into_iter().flatten().map(text).collect(),
            says: said.map(|one| (text(&one["status"]), text(&one["reason"]))),
            paused: metadata["annotations"][PAUSED_ANNOTATION].is_string(),
            changed: 0,
            fits: BTreeMap::new(),
            carried: BTreeMap::new(),
        }
    }

    /// The name for a zone and name as written in an object or call.
    pub fn site(&self, zone: &Value, name: &Value) -> Option<Site> {
        let (zone, name) = (zone.as_str()?, name.as_str()?);
        let zone = self.ids.get(zone).copied().unwrap_or(zone);
        let relative = name.strip_suffix(zone).and_then(|rest| rest.strip_suffix('.'));
        Some(Site { zone: zone.to_owned(), label: relative.unwrap_or(name).to_owned() })
    }

    /// Determines owners. The object already having a name keeps the name. Otherwise the oldest
    /// claimant owns the name, unpaused objects first: a paused object that never had the name does
    /// not block others.
    fn settle_owners(&mut self, now: Millis) {
        let mut claims: BTreeMap<Site, Vec<(&String, &Asking)>> = BTreeMap::new();
        for (key, asking) in &self.asking {
            if let Some(site) = &asking.site {
                claims.entry(site.clone()).or_default().push((key, asking));
            }
        }
        for site in claims.keys() {
            self.owners.entry(site.clone()).or_default();
        }
        for (site, owner) in &mut self.owners {
            let claimants = claims.remove(site).unwrap_or_default();
            if claimants.is_empty() && owner.key.is_some() {
                self.left.insert(site.clone(), now);
            }
            let rank = |one: &&(&String, &Asking)| {
                let asking = one.1;
                let holds = asking.holds.as_ref() == Some(site);
                (!holds, asking.paused, asking.created.clone(), asking.uid.clone())
            };
            let key = claimants.iter().min_by_key(rank).map(|(key, _)| (*key).clone());
            let all = claimants.iter();
            let all = all.map(|(key, one)| ((*key).clone(), one.uid.clone(), one.changed));
            let fresh = Owner { key, claimants: all.collect(), since: owner.since };
            if *owner != fresh {
                *owner = Owner { since: now, ..fresh };
            }
        }
    }

    /// Whether a name was requested at some time since `floor`.
    pub fn is_asked_for(&self, site: &Site, floor: Millis) -> bool {
        let now = self.owners.get(site).is_some_and(|owner| owner.key.is_some());
        now || self.left.get(site).is_some_and(|left| *left >= floor)
    }

    /// All records in the emulator's state, by zone.
    pub fn of(state: &State) -> BTreeMap<String, BTreeMap<u64, Record>> {
        state.zones().map(|zone| (zone.name.clone(), zone.records.clone())).collect()
    }

    /// Whether the zones are unchanged.
    pub fn is(&self, state: &State) -> bool {
        state.zones().count() == self.zones.len()
            && state.zones().all(|zone| self.zones.get(&zone.name) == Some(&zone.records))
    }

    /// Replaces all records. Returns the previous ones.
    pub fn replace(&mut self, state: &State) -> BTreeMap<String, BTreeMap<u64, Record>> {
        let before = std::mem::replace(&mut self.zones, Self::of(state));
        for (zone, records) in &self.zones {
            let label = |(id, record): (&u64, &Record)| {
                ((zone.clone(), *id), (record.name.clone(), record.kind.clone()))
            };
            self.labels.extend(records.iter().map(label));
        }
        before
    }

    /// The present or last name of a record. A missing zone may be back when a call arrives.
    pub fn site_of(&self, zone: &str, id: u64) -> Option<Site> {
        let zone = zone.to_owned();
        let (label, _) = self.labels.get(&(zone.clone(), id))?.clone();
        Some(Site { zone, label })
    }

    /// The present or last type of a record.
    pub fn kind_of(&self, zone: &str, id: u64) -> Option<&str> {
        self.labels.get(&(zone.to_owned(), id)).map(|(_, kind)| kind.as_str())
    }

    /// The zone for a name or identifier.
    pub fn zone<'a>(&'a self, text: &'a str) -> &'a str {
        self.ids.get(text).copied().unwrap_or(text)
    }

    /// The records of a name with addresses of a family.
    pub fn records(&self, site: &Site, kind: &str) -> impl Iterator<Item = &Record> {
        let all = self.zones.get(&site.zone).into_iter().flat_map(BTreeMap::values);
        all.filter(move |record| record.kind == kind && record.name == site.label)
    }
}

impl Source {
    /// The addresses listed for a node, if eligible.
    pub fn of_node(&self, node: &Node) -> BTreeSet<IpAddr> {
        let Self::Nodes { addresses, .. } = self else { return BTreeSet::new() };
        match addresses.as_str() {
            "InternalIP" => node.internal.iter().copied().collect(),
            IPV4_ANNOTATION => node.marked().collect(),
            _ => node.external.iter().copied().collect(),
        }
    }

    /// The addresses of all eligible nodes, each with its node.
    pub fn of_nodes(&self, cluster: &Cluster) -> BTreeSet<(IpAddr, String)> {
        let Self::Nodes { matching, .. } = self else { return BTreeSet::new() };
        let nodes = cluster.eligible(matching).map(|(name, node)| (name, self.of_node(node)));
        nodes.flat_map(|(name, ips)| ips.into_iter().map(|ip| (ip, name.clone()))).collect()
    }
}
