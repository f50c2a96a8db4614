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

use super::cloud::{Address, Origin, Sent};
use super::cluster::{Machine, Pool};
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
        let (api, cloud) = (self.api_floor(), self.cloud_floor());
        // Taken out of a list, and off its node for that.
        if sent.action == CloudAction::Unassign && self.cluster.is_leaving(ip) {
            return;
        }
        if self.cloud.last_claimed(ip).is_none_or(|time| time < api) && !self.is_claimed(ip) {
            return self.violated("S6", format!("{}: no object lists {ip}", sent.agent));
        }
        let claimants: Vec<&Pool> = self.cluster.claimants(ip).collect();
        if claimants.is_empty() || claimants.iter().any(|pool| pool.changed >= api) {
            return;
        }
        let target = sent.machine();
        if let Some(machine) = target
            && !claimants.iter().any(|pool| pool.might_use(machine, api))
        {
            let text = format!("{}: {machine} may not have {ip}", sent.agent);
            return self.violated("S4", text);
        }
        let Some(holder) = self.cloud.holder(ip).filter(|holder| Some(*holder) != target) else {
            return;
        };
        let surplus = claimants.iter().any(|pool| !pool.uses(ip) || pool.ways.is_giving_back());
        let well = claimants.iter().all(|pool| pool.surely_uses(holder, api));
        let unseen = self.cloud.is_anothers_arrival(ip, &sent.process, self.now());
        if well && !surplus && !unseen && !self.cloud.touched_since(ip, cloud) {
            let text = format!("{}: {ip} is well on {holder}", sent.agent);
            return self.violated("S4", text);
        }
        if !surplus && !self.cloud.touched_since(ip, cloud) {
            self.check_grace(sent, ip, holder);
        }
    }

    fn is_claimed(&self, ip: IpAddr) -> bool {
        self.cluster.claimants(ip).next().is_some()
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
            self.violated("S10", format!("{}: no object says that it is reserved", sent.agent));
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
        let stripped = one.map_or_else(|| !pools().any(|pool| open(&pool)), |pool| !open(&pool));
        if let Some(address) = self.cloud.addresses.get_mut(&ip) {
            address.origin = Origin::Ours(uid);
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
        for (ip, address) in &mut self.cloud.addresses {
            // Of equal addresses that several pools reserved, each may have any.
            let ours = address.origin != Origin::Others && address.target.is_none();
            if ours && claims.contains(ip) {
                address.origin = Origin::Ours(uid.clone());
            }
            let unclear = address.origin == Origin::Ours(None) && stripped;
            if unclear || address.origin == Origin::Ours(uid.clone()) {
                let known = claims.contains(ip);
                address.words_lost = !known && (address.words_lost || stripped);
            }
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

    /// S1 and S2: never more addresses than wanted; none is forgotten.
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
        let (mut all, mut most) = (0, 0);
        for pool in self.cluster.pools.values() {
            let its = Origin::Ours(Some(pool.uid.clone()));
            let its = self.cloud.addresses.values().filter(|one| ours(one) && one.origin == its);
            let (its, lacking) = (its.count(), pool.most_lacking);
            if its > lacking {
                found = Some(("S1", format!("{its} addresses reserved for {lacking} lacking")));
            }
            (all, most) = (all + its, most + lacking);
        }
        let unclear = Origin::Ours(None);
        all +=
            self.cloud.addresses.values().filter(|one| ours(one) && one.origin == unclear).count();
        // What was reserved for a pool that is gone counts for nobody.
        if all > most && !self.cluster.lost_a_pool {
            found = Some(("S1", format!("{all} addresses reserved for {most} lacking in all")));
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
