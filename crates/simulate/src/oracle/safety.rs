//! What must hold at every instant.

use std::collections::BTreeSet;
use std::net::IpAddr;

use bytes::Bytes;
use fakecloud::State;
use fakekube::Write;
use pontoon::api::{
    ADDRESSES_ANNOTATION, IPV4_ANNOTATION, IPV6_ANNOTATION, RELEASE_FINALIZER,
    RESOLVE_CREATE_ANNOTATION,
};
use serde_json::Value;

use super::cloud::{Address, Origin, SHOWN, Sent};
use super::cluster::{Machine, Pool};
use super::formers::Former;
use super::{Oracle, cluster};
use crate::schedule::Millis;
use crate::stage::{PROJECT, TOKEN};
use crate::wire::{ApiAction, CloudAction};

impl Oracle {
    /// A call that means to change the cloud is about to leave.
    pub(super) fn check_call(&mut self, sent: &Sent) {
        self.check_writer(sent);
        self.check_one_at_a_time(sent);
        self.check_restraint(sent);
        self.check_cool_off(sent);
        self.check_drift(sent);
        match sent.action {
            CloudAction::Assign | CloudAction::Unassign => self.check_move(sent),
            _ if sent.action.creates() => self.check_intent(sent),
            CloudAction::Release => self.check_release(sent),
            action if action.is_of_names() => self.check_name_call(sent),
            _ => {
                self.violated("S8", format!("{} {}: nobody asked for that", sent.agent, sent.path))
            }
        }
    }

    /// S10: only who leads writes, and only when everybody else's writes are over.
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

    /// S3: one call at a time about an address, and about a machine and a family.
    fn check_one_at_a_time(&mut self, sent: &Sent) {
        let same = |flight: &&Sent| {
            let about = |this: Option<Machine>, that| this.is_some() && this == that;
            (sent.ip().is_some() && sent.ip() == flight.ip())
                || (sent.is_six() == flight.is_six() && about(sent.machine(), flight.machine()))
        };
        let other = self.cloud.flights().find(same);
        if let Some(other) = other {
            let text = format!("{} is about what {} is about", sent.agent, other.agent);
            self.violated("S3", text);
        }
    }

    /// S4, S5, S6: what is moved is ours, is not well where it is, and goes where it may be.
    fn check_move(&mut self, sent: &Sent) {
        let Some(ip) = sent.ip() else { return };
        let api = self.api_floor();
        if self.cluster.claimants(ip).next().is_none() {
            return self.check_unclaimed(sent, ip, api);
        }
        let target = sent.machine();
        let lately = self.cluster.formers.of(ip).any(|former| former.at >= api);
        let may = |machine| self.cluster.claimants(ip).any(|pool| pool.might_use(machine, api));
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
        let unseen = self.cloud.is_anothers_arrival(ip, &sent.process, self.now());
        if unseen || self.is_touched_unseen(ip) {
            return;
        }
        // What is more than its pool wants is taken off its machine, and never put on another.
        let takes_off = target.is_none();
        let keepers: Vec<&Pool> = self.keepers(ip).collect();
        let surplus = keepers.iter().any(|pool| !pool.surely_wants(ip, api));
        let goes = keepers.iter().any(|pool| pool.ways.is_giving_back());
        let well = keepers.iter().all(|pool| pool.surely_uses(holder, api));
        if well && !goes && !(takes_off && surplus) {
            let text = format!("{}: {ip} is well on {holder}", sent.agent);
            return self.violated("S4", text);
        }
        if !surplus && !goes {
            self.check_grace(sent, ip, holder);
        }
    }

    /// The pools that decide where an address may be: the one that surely has it, or else all
    /// that claim it.
    fn keepers(&self, ip: IpAddr) -> impl Iterator<Item = &Pool> {
        let has = self.cloud.addresses.get(&ip).and_then(|one| one.kept_by.clone());
        let has = has.filter(|uid| self.cluster.claimants(ip).any(|pool| pool.uid == *uid));
        let decides = move |pool: &&Pool| has.as_ref().is_none_or(|uid| pool.uid == *uid);
        self.cluster.claimants(ip).filter(decides)
    }

    /// Whether somebody touched an address by hand, and that may be news. Who begins to claim
    /// an address looks where it is first: what was done before that is known.
    fn is_touched_unseen(&self, ip: IpAddr) -> bool {
        let slack = if self.cloud_is_calm() { 0 } else { SHOWN };
        let claimed = self.cloud.claimed_since(ip).saturating_sub(slack);
        self.cloud.touched_since(ip, self.cloud_floor().max(claimed))
    }

    /// S6, S9: nobody claims an address. Whose list named it takes it off its node; a pool that
    /// is deleted leaves it. What just ceased to be claimed may be moved by an old view.
    fn check_unclaimed(&mut self, sent: &Sent, ip: IpAddr, api: Millis) {
        let lately = self.cloud.last_claimed(ip).is_some_and(|time| time >= api);
        let holder = self.cloud.holder(ip);
        let takes_off = |former: &Former| {
            let lets_go = former.lets_go() && self.cluster.has(&former.uid);
            lets_go || former.might_take_off(holder, api)
        };
        let allowed = if sent.action == CloudAction::Unassign {
            self.cluster.formers.of(ip).any(takes_off)
        } else {
            lately
        };
        if !allowed {
            self.violated("S6", format!("{}: no object lists {ip}", sent.agent));
        }
    }

    /// S10: a reservation was written down before it is sent.
    fn check_intent(&mut self, sent: &Sent) {
        let target = sent.machine();
        let is = |intent: &cluster::Intent| intent.target == target && intent.six == sent.is_six();
        let fits = |pool: &Pool| pool.all_intents.values().any(is);
        // That its pool is gone may not be known yet.
        let floor = self.api_floor();
        let lost = |one: &(cluster::Intent, Millis)| is(&one.0) && one.1 >= floor;
        let lost = self.cluster.lost_intents.iter().any(lost);
        if !lost && !self.cluster.pools.values().any(fits) {
            return self
                .violated("S10", format!("{}: no object says that it is reserved", sent.agent));
        }
        if !lost {
            self.check_lack(sent, floor);
        }
    }

    /// S1: whoever an address is reserved for lacks one, counting those that were reserved and
    /// are not written down yet.
    fn check_lack(&mut self, sent: &Sent, floor: Millis) {
        let target = sent.machine();
        let is = |intent: &cluster::Intent| intent.target == target && intent.six == sent.is_six();
        let has = |pool: &Pool| {
            let its = Origin::Ours(Some(pool.uid.clone()));
            let counts = |(ip, one): &(&IpAddr, &Address)| {
                one.origin == its && !one.words_lost && !pool.listed.contains(ip)
            };
            self.cloud.addresses.iter().filter(counts).count()
        };
        let lacks = |pool: &&Pool| has(pool) < pool.most_lacked(floor);
        let mut meant =
            self.cluster.pools.values().filter(|pool| pool.all_intents.values().any(is));
        if !meant.any(|pool| lacks(&pool)) {
            self.violated("S1", format!("{}: nobody lacks an address", sent.agent));
        }
    }

    /// An address appeared that this call made.
    pub(super) fn reserved(&mut self, sent: &Sent, ip: IpAddr) {
        let target = sent.machine();
        // Each intent makes one address; what it made and is not written down yet has used it.
        let open = |pool: &&Pool| {
            let claims = pool.claims();
            let fits = |intent: &&cluster::Intent| {
                intent.may_be(target, ip) && !intent.strangers.contains(&ip)
            };
            let ours = Origin::Ours(Some(pool.uid.clone()));
            let unwritten = self.cloud.addresses.iter().filter(|(made, address)| {
                let alike = made.is_ipv6() == ip.is_ipv6() && address.target == target;
                address.origin == ours && !claims.contains(made) && alike
            });
            pool.intents.values().filter(fits).count() > unwritten.count()
        };
        let ever = |pool: &&Pool| pool.all_intents.values().any(|intent| intent.may_be(target, ip));
        let pools = || self.cluster.pools.values();
        // Where nobody waits for one, the pool that did is gone.
        let Some(pool) = pools().find(open).or_else(|| pools().find(ever)) else { return };
        // Who reserves in a region cannot be told from outside: the pool that writes the
        // address down is the one.
        let one = Some(pool).filter(|_| target.is_some());
        let uid = one.map(|pool| pool.uid.clone());
        let makers = pools().filter(ever).map(|pool| pool.uid.clone()).collect();
        let stripped = one.map_or_else(|| !pools().any(|pool| open(&pool)), |pool| !open(&pool));
        if let Some(address) = self.cloud.addresses.get_mut(&ip) {
            address.origin = Origin::Ours(uid);
            address.makers = makers;
            address.target = target;
            address.words_lost = stripped;
        }
    }

    /// Somebody who replaces an object takes our words from it. What was nowhere else is
    /// only known to the process that reserved it (decision 2): it does not count below until
    /// it is written down again.
    pub(super) fn note_lost_words(&mut self, write: &Write<'_>) {
        let words = |object: Option<&Value>| {
            object
                .is_some_and(|one| one["metadata"]["annotations"][ADDRESSES_ANNOTATION].is_string())
        };
        let stripped = words(write.before) && !words(write.after);
        let Some(pool) = self.cluster.pools.get(write.key) else {
            // A pool that is gone takes its words with it, and nobody counts for it any more.
            let unclear = |one: &&mut Address| one.origin == Origin::Ours(None);
            self.cloud.addresses.values_mut().filter(unclear).for_each(|one| one.words_lost = true);
            return;
        };
        let (uid, claims) = (Some(pool.uid.clone()), pool.claims());
        let recorded = pool.recorded.clone();
        for (ip, address) in &mut self.cloud.addresses {
            // Of equal addresses that several pools reserved, each may have any.
            let ours = address.origin != Origin::Others && address.target.is_none();
            if ours && recorded.contains(ip) {
                address.origin = Origin::Ours(uid.clone());
            }
            let unclear = address.origin == Origin::Ours(None) && stripped;
            if unclear || address.origin == Origin::Ours(uid.clone()) {
                let known = claims.contains(ip);
                address.words_lost = !known && (address.words_lost || stripped);
            }
        }
    }

    /// What a pool gives up while another lists it is that one's, as if it had always been: it is
    /// nobody's reservation any more.
    pub(super) fn note_handed_over(&mut self) {
        for (ip, address) in &mut self.cloud.addresses {
            let Origin::Ours(Some(uid)) = &address.origin else { continue };
            let claims = |pool: &&Pool| pool.uid == *uid && pool.claims().contains(ip);
            let lists = |pool: &Pool| pool.uid != *uid && pool.listed.contains(ip);
            let kept = self.cluster.pools.values().any(|pool| claims(&pool));
            if !kept && self.cluster.pools.values().any(lists) {
                address.origin = Origin::Others;
            }
        }
    }

    /// S6: what an object says was reserved for it was reserved by us, and for it. Decision 2 names
    /// the one exception: somebody's own address that came while a reservation was open, and so is
    /// none of the strangers that the reservation names.
    pub(super) fn check_ledger(&mut self, write: &Write<'_>) {
        let Some(pool) = self.cluster.pools.get(write.key) else { return };
        let confusable = |ip: &IpAddr| {
            let open =
                |one: &cluster::Intent| one.six == ip.is_ipv6() && !one.strangers.contains(ip);
            pool.all_intents.values().any(open)
        };
        let wrong = |ip: &&IpAddr| {
            let Some(one) = self.cloud.addresses.get(ip) else { return false };
            match &one.origin {
                Origin::Others => !confusable(ip),
                Origin::Ours(uid) => {
                    let its = uid.as_ref().is_none_or(|uid| *uid == pool.uid);
                    !its && !one.makers.contains(&pool.uid)
                }
            }
        };
        if let Some(ip) = pool.ways.created.iter().find(wrong) {
            let text = format!("{} says that {ip} was reserved for it", write.key);
            self.violated("S6", text);
        }
    }

    /// Somebody who moves a new address before it is written down takes from it what it is
    /// known by, unless that is our project (decision 2).
    pub(super) fn note_moved_by_hand(&mut self, state: &State, now: Millis) {
        let claimed: BTreeSet<IpAddr> = self.cluster.claims().collect();
        for (ip, address) in &mut self.cloud.addresses {
            let moved = address.touched == Some(now) && !claimed.contains(ip);
            let project = state.address(*ip).and_then(|one| one.project.as_deref());
            address.words_lost |= moved && (address.target.is_some() || project != Some(PROJECT));
        }
    }

    /// S2: no address is forgotten.
    pub(super) fn check_addresses(&mut self) {
        let ours = |one: &Address| one.origin != Origin::Others && !one.words_lost;
        let (mut found, mut unclaimed) = (None, 0);
        for (ip, address) in self.cloud.addresses.iter().filter(|(_, one)| ours(one)) {
            let alive = match &address.origin {
                Origin::Ours(Some(uid)) => self.cluster.has(uid),
                Origin::Ours(None) | Origin::Others => true,
            };
            if alive && !self.cluster.may_be_found(*ip, address.target) {
                unclaimed += usize::from(address.origin == Origin::Ours(None));
                if address.origin != Origin::Ours(None) || unclaimed > self.cluster.orphaned {
                    found = Some(("S2", format!("{ip} is written down nowhere")));
                }
            }
        }
        if let Some((invariant, text)) = found {
            self.violated(invariant, text);
        }
    }

    /// S13, and secrets: what a replica may ask of the API server.
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
                only_annotations(body, &[ADDRESSES_ANNOTATION, RESOLVE_CREATE_ANNOTATION])
                    && only_our_finalizer(body)
            }
            ApiAction::Mark => only_annotations(body, &[IPV4_ANNOTATION, IPV6_ANNOTATION]),
            _ => true,
        };
        self.check_restrained_write(process, action, path, body);
        if !ours {
            let text = String::from_utf8_lossy(body);
            self.violated("S13", format!("{process} {path} {text}: not ours to write"));
        }
    }
}

/// What of an object's metadata a patch of ours may name.
const META: [&str; 4] = ["annotations", "uid", "resourceVersion", "finalizers"];

/// Whether a patch gives an object no finalizer but ours: nobody else sets any here.
fn only_our_finalizer(body: &Bytes) -> bool {
    let patch: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut all = patch["metadata"]["finalizers"].as_array().into_iter().flatten();
    all.all(|one| *one == RELEASE_FINALIZER)
}

/// Whether a patch changes nothing but these annotations.
fn only_annotations(body: &Bytes, names: &[&str]) -> bool {
    let patch: Value = serde_json::from_slice(body).unwrap_or_default();
    let keys = |value: &Value| {
        value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let metadata = &patch["metadata"];
    keys(&patch) == ["metadata"]
        && keys(metadata).iter().all(|key| META.contains(&key.as_str()))
        && keys(&metadata["annotations"]).iter().all(|key| names.contains(&key.as_str()))
}
