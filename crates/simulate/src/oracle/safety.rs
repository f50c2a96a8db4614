//! Safety: each call and each write is allowed at the instant of its send.

use std::net::IpAddr;

use bytes::Bytes;
use pontoon::api::{ADDRESSES_ANNOTATION, RELEASE_FINALIZER, RESOLVE_CREATE_ANNOTATION};
use pontoon::fronts::EGRESS;
use pontoon::fronts::flipop::{IPV4_ANNOTATION, IPV6_ANNOTATION};
use pontoon::fronts::net_ip_allocation::{EVICT_ANNOTATION, READY_LABEL};
use serde_json::Value;

use super::cloud::{Address, Origin, SHOWN, Sent};
use super::cluster::Machine;
use super::formers::Former;
use super::pool::{Intent, Pool};
use super::{API_LAG, Oracle};
use crate::schedule::Millis;
use crate::stage::TOKEN;
use crate::wire::{ApiAction, CloudAction};

impl Oracle {
    /// Checks a mutating call to the provider before the send.
    pub(super) fn check_call(&mut self, sent: &Sent) {
        self.check_writer(sent);
        self.check_one_at_a_time(sent);
        self.check_restraint(sent);
        self.check_cool_off(sent);
        self.check_drift(sent);
        self.check_noted(sent);
        match sent.action {
            CloudAction::Assign | CloudAction::Unassign => self.check_move(sent),
            _ if sent.action.creates() => self.check_intent(sent),
            CloudAction::Release => self.check_release(sent),
            CloudAction::DropOwn | CloudAction::RestoreOwn => self.check_own(sent),
            action if action.is_of_names() => self.check_name_call(sent),
            _ => {
                self.violated("S8", format!("{} {}: nobody asked for that", sent.agent, sent.path))
            }
        }
    }

    /// S10: only the leader writes, and only after all calls of other processes are over.
    fn check_writer(&mut self, sent: &Sent) {
        let other = self.cloud.flights().find(|flight| flight.process != sent.process);
        if let Some(other) = other {
            let text = format!("{} writes while {} is under way", sent.agent, other.agent);
            self.violated("S10", text);
        }
        let leader = self.cluster.leader.split('_').next().unwrap_or_default();
        if leader != sent.process {
            let text = format!("{} writes, and the Lease names \"{leader}\"", sent.agent);
            self.violated("S10", text);
        }
    }

    /// S3: at most one call at a time per address, and per machine and family. Where a machine carries
    /// many addresses, calls about different ones do not exclude each other.
    fn check_one_at_a_time(&mut self, sent: &Sent) {
        let carries_one = self.vendor.profile().per_machine == 1;
        let same = |flight: &&Sent| {
            let about = |this: Option<Machine>, that| this.is_some() && this == that;
            // A machine that has an address refuses another one of its own.
            let harmless = [sent, flight].iter().any(|one| one.action == CloudAction::RestoreOwn);
            (sent.ip.is_some() && sent.ip == flight.ip)
                || (carries_one
                    && sent.is_six() == flight.is_six()
                    && !harmless
                    && about(sent.machine, flight.machine))
        };
        let other = self.cloud.flights().find(same);
        if let Some(other) = other {
            let text = format!("{} is about what {} is about", sent.agent, other.agent);
            self.violated("S3", text);
        }
    }

    /// S4, S5, S6: a moved address is ours, is not on an eligible node, and goes to an eligible
    /// node.
    fn check_move(&mut self, sent: &Sent) {
        let Some(ip) = sent.ip else { return };
        let api = self.decided_floor(sent);
        if self.cluster.claimants(ip).next().is_none() {
            return self.check_unclaimed(sent, ip, api);
        }
        let target = sent.machine;
        let lately = self.cluster.formers.of(ip).any(|former| former.at >= api);
        let may = |machine| self.cluster.claimants(ip).any(|pool| pool.might_receive(machine, api));
        if let Some(machine) = target
            && !lately
            && !may(machine)
        {
            let text = format!("{}: {machine} may not have {ip}", sent.agent);
            return self.violated("S4", text);
        }
        let Some(holder) = self.cloud.holder(ip).filter(|holder| Some(*holder) != target) else {
            return;
        };
        let hides = self.vendor.hides_operations(ip.is_ipv6());
        let unseen =
            hides && self.cloud.is_unknown_arrival(ip, &sent.process, self.decided_at(sent));
        if self.is_well_by_any_view(sent, ip, holder, api) {
            let text = format!("{}: {ip} is well on {holder}, and was before", sent.agent);
            return self.violated("S4", text);
        }
        if unseen || self.is_touched_unseen(ip) {
            return;
        }
        // A surplus address is unassigned, never moved.
        let takes_off = target.is_none();
        let keepers: Vec<&Pool> = self.keepers(ip).collect();
        let surplus = keepers.iter().any(|pool| !pool.surely_wants(ip, api));
        let goes = keepers.iter().any(|pool| pool.might_give_back(ip, api))
            || (takes_off && self.was_releasable(ip, api));
        let well = keepers.iter().all(|pool| pool.surely_uses(holder, api));
        if well && !goes && !(takes_off && surplus) {
            let text = format!("{}: {ip} is well on {holder}", sent.agent);
            return self.violated("S4", text);
        }
        if !surplus && !goes {
            self.check_grace(sent, ip, holder);
        }
    }

    /// Whether an address is well wherever a replica may believe it to be: a person moved it from a
    /// machine that all its pools surely use to another such machine.
    fn is_well_by_any_view(&self, sent: &Sent, ip: IpAddr, holder: Machine, api: Millis) -> bool {
        let from = self.cloud.addresses.get(&ip).and_then(|one| one.moved_from);
        // A replica that has not seen the address on the first machine may know of an older place.
        let floor = self.cloud_floor();
        let Some((from, _)) = from.filter(|(_, arrived)| *arrived < floor) else { return false };
        let well = |pool: &Pool| {
            pool.surely_uses(from, api)
                && pool.surely_uses(holder, api)
                && pool.surely_wants(ip, api)
                && !pool.might_give_back(ip, api)
        };
        self.cloud_is_calm() && self.is_meant(sent) && self.cluster.claimants(ip).all(well)
    }

    /// The pools deciding on the place of an address: the certain owner, or else all claimants.
    fn keepers(&self, ip: IpAddr) -> impl Iterator<Item = &Pool> {
        let has = self.cloud.addresses.get(&ip).and_then(|one| one.kept_by.clone());
        let has = has.filter(|uid| self.cluster.claimants(ip).any(|pool| pool.uid == *uid));
        let decides = move |pool: &&Pool| has.as_ref().is_none_or(|uid| pool.uid == *uid);
        self.cluster.claimants(ip).filter(decides)
    }

    /// Whether an address was changed by hand, possibly unseen. A new claimant reads the address
    /// first, so changes from before the claim are known; except of a new address, which may change
    /// while the answer to its reservation is on its way.
    fn is_touched_unseen(&self, ip: IpAddr) -> bool {
        let slack = if self.cloud_is_calm() { 0 } else { SHOWN };
        let reserved = self.cloud.reserved_at(ip).unwrap_or(Millis::MAX);
        let claimed = self.cloud.claimed_since(ip).saturating_sub(slack).min(reserved);
        self.cloud.touched_since(ip, self.cloud_floor().max(claimed))
    }

    /// S6, S9: an unclaimed address may be unassigned by a pool that delisted the address, from
    /// where the pool had it, unless somebody moved it since. A deleted pool leaves its addresses
    /// in place. A replica with an old view may still move a recently claimed address.
    fn check_unclaimed(&mut self, sent: &Sent, ip: IpAddr, api: Millis) {
        // A person may move the address just before the call. A call that names a machine may meet an
        // address that a person put there just now.
        let crossed = self.cloud.touched_since(ip, self.now().saturating_sub(SHOWN));
        if self.vendor.displaces_own() && crossed {
            return;
        }
        let lately = self.cloud.last_claimed(ip).is_some_and(|time| time >= api);
        let holder = self.cloud.holder(ip);
        let takes_off = |former: &Former| {
            let brought = self.cloud.is_brought(ip, former.at + API_LAG);
            // A repeated unassignment of an address that came off a moment ago changes nothing.
            let there = brought || crossed || self.cloud.came_off(ip, self.now());
            let lets_go = former.lets_go_of(holder, there) && self.cluster.has(&former.uid);
            // A person may have moved the address to where our call was bringing it.
            let moved = self.is_seen_touched(ip, former.at) && !brought;
            (lets_go && !moved) || former.might_take_off(holder, api)
        };
        let allowed = if sent.action == CloudAction::Unassign {
            self.cluster.formers.latest(ip, api).any(takes_off)
        } else {
            lately
        };
        if !allowed {
            self.violated("S6", format!("{}: no object lists {ip}", sent.agent));
        }
    }

    /// Whether an address was changed by hand since `time`, and every replica knows.
    fn is_seen_touched(&self, ip: IpAddr, time: Millis) -> bool {
        let unseen = self.cloud.touched_since(ip, self.cloud_floor());
        self.cloud.touched_since(ip, time) && !unseen
    }

    /// S10: an intent was written before the reservation is sent.
    fn check_intent(&mut self, sent: &Sent) {
        let target = sent.machine;
        let is = |intent: &Intent| intent.target == target && intent.six == sent.is_six();
        let fits = |pool: &Pool| pool.ever_meant().any(is);
        // The deletion of the intent's pool may still be unknown.
        let floor = self.api_floor();
        let lost = |one: &(Intent, Millis)| is(&one.0) && one.1 >= floor;
        let lost = self.cluster.lost_intents.iter().any(lost);
        if !lost && !self.cluster.pools.values().any(fits) {
            return self
                .violated("S10", format!("{}: no object says that it is reserved", sent.agent));
        }
        if !lost {
            self.check_lack(sent, floor);
        }
    }

    /// S1: some pool with a matching intent lacks an address, counting reserved addresses not yet
    /// in the ledger, and reservations under way.
    fn check_lack(&mut self, sent: &Sent, floor: Millis) {
        let target = sent.machine;
        let is = |intent: &Intent| intent.target == target && intent.six == sent.is_six();
        let has = |pool: &Pool| {
            let its = Origin::Ours(Some(pool.uid.clone()));
            let counts = |(ip, one): &(&IpAddr, &Address)| {
                one.origin == its && !one.words_lost && !pool.listed.contains(ip)
            };
            self.cloud.addresses.iter().filter(counts).count()
        };
        let meant = || self.cluster.pools.values().filter(|pool| pool.ever_meant().any(is));
        let lacking = meant().map(|pool| pool.most_lacked(floor).saturating_sub(has(pool)));
        // A call under way uses up one lack. Without an open intent, a person said that it made
        // nothing.
        let open = meant().flat_map(|pool| pool.intents.values()).filter(|one| is(one)).count();
        let alike = |flight: &&Sent| {
            flight.action.creates() && flight.machine == target && flight.is_six() == sent.is_six()
        };
        let under_way = self.cloud.flights().filter(alike).count().min(open.saturating_sub(1));
        if lacking.sum::<usize>() <= under_way {
            self.violated("S1", format!("{}: nobody lacks an address", sent.agent));
        }
    }

    /// S13, and secrets: the requests allowed to a replica at the API server.
    pub(super) fn check_request(
        &mut self,
        process: &str,
        action: ApiAction,
        path: &str,
        body: &Bytes,
    ) {
        if String::from_utf8_lossy(body).contains(TOKEN) || path.contains(TOKEN) {
            self.violated("secret", format!("{process} {path}: the token is in it"));
        }
        let ours = match action {
            ApiAction::Other => false,
            ApiAction::WriteLedger => {
                only(body, "annotations", &[ADDRESSES_ANNOTATION, RESOLVE_CREATE_ANNOTATION])
                    && only_our_finalizer(body)
            }
            ApiAction::Mark => only(body, "annotations", &[IPV4_ANNOTATION, IPV6_ANNOTATION]),
            ApiAction::Label => only(body, "labels", &[READY_LABEL]),
            ApiAction::NoteEgress => only(body, "annotations", &[EGRESS.key]),
            ApiAction::NoteEviction => only(body, "annotations", &[EVICT_ANNOTATION]),
            _ if ApiAction::VIP_WRITES.contains(&action) => {
                self.check_vip_request(process, action, path, body)
            }
            _ => true,
        };
        self.check_restrained_write(process, action, path, body);
        match action {
            ApiAction::Label => self.check_label(process, path, body),
            ApiAction::Evict => self.check_eviction(process, path, body),
            _ => {}
        }
        if !ours {
            let text = String::from_utf8_lossy(body);
            self.violated("S13", format!("{process} {path} {text}: not ours to write"));
        }
    }
}

/// The metadata fields allowed in our patches.
const META: [&str; 3] = ["uid", "resourceVersion", "finalizers"];

/// Whether a patch sets no finalizer but ours. Nobody else sets finalizers here.
fn only_our_finalizer(body: &Bytes) -> bool {
    let patch: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut all = patch["metadata"]["finalizers"].as_array().into_iter().flatten();
    all.all(|one| *one == RELEASE_FINALIZER)
}

/// Whether a patch changes only these annotations or labels.
fn only(body: &Bytes, place: &str, names: &[&str]) -> bool {
    let patch: Value = serde_json::from_slice(body).unwrap_or_default();
    let keys = |value: &Value| {
        value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let metadata = &patch["metadata"];
    keys(&patch) == ["metadata"]
        && keys(metadata).iter().all(|key| META.contains(&key.as_str()) || key == place)
        && keys(&metadata[place]).iter().all(|key| names.contains(&key.as_str()))
}
