//! Safety of names: invariants at every instant.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use fakecloud::{AskedRecords, OperationStatus, Record, State};

use super::cloud::{Origin, Sent};
use super::cluster::Node;
use super::formers::Former;
use super::names::{Asking, KINDS, Site, Source, kind};
use super::pool::Pool;
use super::{API_LAG_IN_CALM, Oracle};
use crate::schedule::Millis;

/// The longest time for which our own move may go unseen by a successor: a late effect, a long
/// operation, and the longest lag of reads.
const OWN_LAG: Millis = 30_000;

/// The longest gap between two calls of the same change.
const NEXT_CALL: Millis = 1_000;

/// The longest time for which a change of a name by hand may go unseen. Names are read in turn, one
/// every two minutes.
const NAME_LAG: Millis = 6 * 120_000;

/// The time for which the provider's report on an operation counts: until the next listing.
const SAID: Duration = Duration::from_secs(60);

/// All records, by zone and number.
type Zones = BTreeMap<String, BTreeMap<u64, Record>>;

/// The sender's possible knowledge when deciding on a call.
#[derive(Clone, Debug)]
pub(super) struct Decided {
    process: String,
    site: Option<Site>,
    /// The type of the records.
    kind: Option<String>,
    /// The oldest possible time of the sender's view of the API server.
    api: Millis,
    /// The oldest possible time of the sender's view of foreign changes at the provider.
    cloud: Millis,
    /// The addresses of nodes that the name may list, at the time of the send.
    of_nodes: BTreeSet<IpAddr>,
    at: Millis,
}

impl Oracle {
    /// Notes a zone's identifier.
    pub fn zone_called(&mut self, id: String, zone: &'static str) {
        self.names.zone_called(id, zone);
    }

    /// The type of the records in a call.
    fn kind(&self, sent: &Sent) -> Option<String> {
        let AskedRecords { zone, kind, ids, .. } = sent.records.as_ref()?;
        let zone = self.names.zone(zone);
        let known = || ids.iter().find_map(|id| self.names.kind_of(zone, *id));
        kind.as_deref().or_else(known).map(str::to_owned)
    }

    /// The name in a call.
    fn site(&self, sent: &Sent) -> Option<Site> {
        let AskedRecords { zone, name, ids, .. } = sent.records.as_ref()?;
        let zone = self.names.zone(zone);
        let named = name.as_deref().and_then(|name| self.names.site(&zone.into(), &name.into()));
        named.or_else(|| ids.iter().find_map(|id| self.names.site_of(zone, *id)))
    }

    /// The pool owning the name in a call, if certain.
    pub(super) fn named_by(&self, sent: &Sent, floor: Millis) -> impl Iterator<Item = &Pool> {
        let owner = self.site(sent).and_then(|site| self.names.owners.get(&site));
        let key = owner.filter(|owner| owner.since <= floor).and_then(|owner| owner.key.as_ref());
        let pool = key.and_then(|key| match &self.names.asking.get(key)?.source {
            Source::Pool(key) => self.cluster.pools.get(key),
            Source::Nodes { .. } | Source::Nothing => None,
        });
        pool.into_iter()
    }

    /// S3, S6: checks a call about a name before the send.
    pub(super) fn check_name_call(&mut self, sent: &Sent) {
        let (site, kind) = (self.site(sent), self.kind(sent));
        let now = self.now();
        let before = self.decided.values().find(|one| {
            one.process == sent.process && one.site == site && one.at + NEXT_CALL >= now
        });
        let (api, cloud) = before
            .map_or_else(|| (self.api_floor(), self.cloud_floor()), |one| (one.api, one.cloud));
        let process = sent.process.clone();
        let of_nodes = self.addresses_of_nodes(site.as_ref());
        let decided = Decided {
            process,
            site: site.clone(),
            kind: kind.clone(),
            api,
            cloud,
            of_nodes,
            at: now,
        };
        self.decided.insert(sent.agent.clone(), decided);
        let Some(site) = site else { return };
        let same = |flight: &&Sent| {
            let other = self.decided.get(&flight.agent);
            other.is_some_and(|other| other.site.as_ref() == Some(&site) && other.kind == kind)
        };
        let other = self.cloud.flights().find(same);
        if let Some(other) = other {
            let text = format!("{} is about the name that {} is about", sent.agent, other.agent);
            return self.violated("S3", text);
        }
        if !self.names.is_asked_for(&site, api) {
            self.violated("S6", format!("{}: nobody asks for {site:?}", sent.agent));
        }
    }

    /// The addresses of nodes that the owner of a name may list now.
    fn addresses_of_nodes(&self, site: Option<&Site>) -> BTreeSet<IpAddr> {
        let owner = site.and_then(|site| self.names.owners.get(site)?.key.as_ref());
        let Some(asking) = owner.and_then(|key| self.names.asking.get(key)) else {
            return BTreeSet::new();
        };
        self.cluster.nodes.values().flat_map(|node| asking.source.of_node(node)).collect()
    }

    /// Notes an answer. The next call of the same change rests on the same knowledge.
    pub fn answered(&mut self, sent: &Sent, succeeded: bool) {
        let now = self.now();
        let agent = &sent.agent;
        if succeeded {
            self.note_assigned(sent);
            self.cloud.succeeded(sent);
        } else {
            self.cloud.failed(sent, now);
        }
        if let Some(decided) = self.decided.get_mut(agent) {
            decided.at = now;
        }
    }

    /// Compares the zones after a call or a change by hand.
    pub(super) fn zones_changed(&mut self, by: Option<&Sent>, state: &State, now: Millis) {
        if !self.names.is(state) {
            let before = self.names.replace(state);
            let changed = changed(&before, &self.names.zones);
            if let (Some(sent), false) = (by, self.by_hand) {
                self.check_name_effect(sent, (&before, &changed), state);
            } else if self.by_hand {
                self.names.touched.extend(changed.into_iter().map(|(site, _)| (site, now)));
            }
        }
        self.judge_names(now);
    }

    /// S5, S6, S7, S11: checks the effect of our call on a zone.
    fn check_name_effect(
        &mut self,
        sent: &Sent,
        (before, changed): (&Zones, &BTreeSet<(Site, String)>),
        state: &State,
    ) {
        let Some(decided) = self.decided.get(&sent.agent).cloned() else {
            return self.violated("S6", format!("{} {} changes DNS", sent.agent, sent.path));
        };
        for (site, kind) in changed {
            if decided.site.as_ref() != Some(site) || !KINDS.contains(&kind.as_str()) {
                let text = format!("{}: {site:?} {kind} is not ours to change", sent.agent);
                return self.violated("S6", text);
            }
        }
        let Some(site) = &decided.site else { return };
        let Some(owner) = self.names.owners.get(site) else { return };
        // A recent change of the name's claimants may still be unknown.
        let Some(key) = owner.key.as_ref().filter(|_| owner.since <= decided.api) else { return };
        let Some(asking) = self.names.asking.get(key) else { return };
        // A call is about addresses of one family.
        let Some(of) = changed.iter().map(|(_, kind)| kind.as_str()).next() else { return };
        // A replica with an old view may take a pool's address for one in place.
        let claims = |key: &String| self.cluster.pools.get(key).map(Pool::claims);
        let its = match &asking.source {
            Source::Pool(key) => {
                claims(key).is_some_and(|ips| ips.iter().any(|ip| kind(*ip) == of))
            }
            Source::Nodes { .. } | Source::Nothing => false,
        };
        if !its && !asking.may_change(of) {
            let text = format!("{}: {key} has no {of} records at {site:?}", sent.agent);
            return self.violated("S6", text);
        }
        let past = before.get(&site.zone).into_iter().flat_map(BTreeMap::values);
        let past = past.filter(|record| record.kind == of && record.name == site.label);
        let (past, present) = (values(past), values(self.names.records(site, of)));
        let lost = past.difference(&present).find(|ip| self.is_active(asking, **ip, &decided));
        let floor = decided.api.min(match asking.source {
            Source::Pool(_) => decided.cloud,
            _ => decided.api,
        });
        let alien = |ip: &&IpAddr| {
            !asking.might_list(**ip, floor)
                && !self.might_pass(asking, **ip, &decided)
                && !self.might_combine(asking, **ip, &decided)
                && !self.is_said_to_be_there(asking, **ip, (state, decided.api))
        };
        let alien = present.difference(&past).find(alien);
        let touched = self.names.touched.get(site);
        let touched = touched.is_some_and(|time| time + NAME_LAG >= decided.at);
        let emptied = present.is_empty() && !past.is_empty() && !asking.removes && !touched;
        let found = if let Some(ip) = lost {
            Some(("S5", format!("{}: {site:?} loses {ip}, which {key} has", sent.agent)))
        } else if emptied {
            Some(("S11", format!("{}: {site:?} is emptied, and {key} keeps", sent.agent)))
        } else {
            alien.map(|ip| ("S7", format!("{}: {site:?} is {key}'s, not with {ip}", sent.agent)))
        };
        if let Some((invariant, text)) = found {
            self.violated(invariant, text);
        }
    }

    /// Whether, in trouble, some node had the address when the call was sent, or has it: an old view
    /// of the node beside a new view of its pods or marks, or the reverse, may show the node as
    /// eligible with the address though it never was.
    fn might_combine(&self, asking: &Asking, ip: IpAddr, decided: &Decided) -> bool {
        // At the very start `api` is 0, and trouble may already have begun.
        let troubled = decided.api == 0 || decided.api + API_LAG_IN_CALM < decided.at;
        let has = |node: &Node| asking.source.of_node(node).contains(&ip);
        let has_now = || self.cluster.nodes.values().any(has);
        troubled && (decided.of_nodes.contains(&ip) || has_now())
    }

    /// Whether the address is being released with its pool.
    fn is_given_back(&self, asking: &Asking, ip: IpAddr) -> bool {
        let Source::Pool(key) = &asking.source else { return false };
        let pool = self.cluster.pools.get(key);
        pool.is_some_and(|pool| pool.ways.is_giving_back() && pool.ways.created.contains(&ip))
    }

    /// Whether an old view may show the address as in place: the address is on a possibly eligible
    /// node, perhaps not yet in the ledger, or was moved away by hand.
    fn might_pass(&self, asking: &Asking, ip: IpAddr, decided: &Decided) -> bool {
        let Source::Pool(key) = &asking.source else { return false };
        let Some(pool) = self.cluster.pools.get(key) else { return false };
        let address = self.cloud.addresses.get(&ip);
        let ours = |origin: &Origin| match origin {
            Origin::Ours(uid) => uid.as_ref().is_none_or(|uid| *uid == pool.uid),
            Origin::Others => false,
        };
        let its =
            self.might_claim(pool, ip, decided.api) || address.is_some_and(|one| ours(&one.origin));
        let holder = address.and_then(|address| address.holder);
        let there = holder.is_some_and(|machine| pool.might_use(machine, decided.api));
        its && there || self.cloud.touched_since(ip, decided.cloud)
    }

    /// Whether a view from `floor` on may show that the pool claims the address.
    fn might_claim(&self, pool: &Pool, ip: IpAddr, floor: Millis) -> bool {
        let former = |one: &Former| one.uid == pool.uid && one.at >= floor;
        pool.claims().contains(&ip) || self.cluster.formers.of(ip).any(former)
    }

    /// Whether the provider recently reported a completed move to an eligible machine.
    fn is_said_to_be_there(
        &self,
        asking: &Asking,
        ip: IpAddr,
        (state, api): (&State, Millis),
    ) -> bool {
        let Source::Pool(key) = &asking.source else { return false };
        let Some(pool) = self.cluster.pools.get(key) else { return false };
        let last = state.operations().rev().find(|one| one.kind.ip() == Some(ip));
        last.is_some_and(|one| {
            let recent = one.completed.is_some_and(|time| time.elapsed() < SAID);
            let there = |machine| pool.might_use(machine, api) && self.might_claim(pool, ip, api);
            one.status == OperationStatus::Completed
                && recent
                && one.kind.machine().is_some_and(there)
        })
    }

    /// Whether the address had to be listed, regardless of the sender's possible knowledge.
    fn is_active(&self, asking: &Asking, ip: IpAddr, decided: &Decided) -> bool {
        let floor = match asking.source {
            Source::Pool(_) => decided.api.min(decided.at.saturating_sub(OWN_LAG)),
            _ => decided.api,
        };
        let alone = self.names.shared.get(&ip).is_none_or(|time| *time < decided.api);
        asking.surely_lists(ip, floor)
            && alone
            && self.is_surely_served(asking, ip, decided.api)
            && !self.is_given_back(asking, ip)
            && !self.cloud.touched_since(ip, decided.cloud)
    }

    /// Whether every view from `floor` on shows an eligible node on the machine of a pool's address,
    /// or an eligible node with the address. A machine that passed from one node to another is
    /// eligible all the time, but a view of the new nodes beside the old pods shows the latter node
    /// without its pods.
    fn is_surely_served(&self, asking: &Asking, ip: IpAddr, floor: Millis) -> bool {
        let Source::Pool(key) = &asking.source else { return asking.is_surely_carried(ip, floor) };
        let (pool, holder) = (self.cluster.pools.get(key), self.cloud.holder(ip));
        pool.zip(holder).is_some_and(|(pool, holder)| pool.surely_uses(holder, floor))
    }

    /// Updates the addresses to list for every object.
    pub(super) fn judge_names(&mut self, now: Millis) {
        if self.names.zones.is_empty() && self.names.owners.is_empty() {
            return;
        }
        for ip in self.cluster.claims().collect::<Vec<_>>() {
            if self.cluster.claimants(ip).count() > 1 {
                self.names.shared.insert(ip, now);
            }
        }
        for asking in self.names.asking.values_mut() {
            let Source::Pool(key) = &asking.source else {
                asking.judge_nodes(&asking.source.of_nodes(&self.cluster), now);
                continue;
            };
            let Some(pool) = self.cluster.pools.get(key) else { continue };
            let mut claims = pool.claims();
            let placed = |ip| self.cloud.holder(ip).is_some_and(|one| pool.may_use(one));
            claims.retain(|ip| pool.uses(*ip) && placed(*ip));
            claims.extend(pool.keeps().filter(|ip| placed(*ip)));
            asking.judge(&claims, now);
        }
    }
}

fn values<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeSet<IpAddr> {
    records.filter_map(|record| record.data.parse().ok()).collect()
}

/// The names and record types that differ.
fn changed(before: &Zones, after: &Zones) -> BTreeSet<(Site, String)> {
    let mut changed = BTreeSet::new();
    for (one, other) in [(before, after), (after, before)] {
        for (zone, records) in one {
            for (id, record) in records {
                if other.get(zone).and_then(|records| records.get(id)) != Some(record) {
                    let site = Site { zone: zone.clone(), label: record.name.clone() };
                    changed.insert((site, record.kind.clone()));
                }
            }
        }
    }
    changed
}
