//! The reserved addresses: which pool each was reserved for, and which pools may claim it. Each stays
//! written down somewhere, so that none is lost.

use std::collections::BTreeSet;
use std::net::IpAddr;

use fakecloud::State;
use fakekube::Write;
use pontoon::api::ADDRESSES_ANNOTATION;
use serde_json::Value;

use super::Oracle;
use super::cloud::{Address, Origin, Sent};
use super::cluster::Machine;
use super::formers::Former;
use super::pool::{Intent, Pool};
use crate::schedule::Millis;
use crate::stage::PROJECT;

impl Oracle {
    /// Attributes a new address to its reservation.
    pub(super) fn reserved(&mut self, sent: &Sent, ip: IpAddr) {
        let target = sent.machine;
        // Each intent has one result. A result not yet in the ledger has used up its intent.
        let open = |pool: &&Pool| {
            let claims = pool.claims();
            let fits =
                |intent: &&Intent| intent.may_be(target, ip) && !intent.strangers.contains(&ip);
            let ours = Origin::Ours(Some(pool.uid.clone()));
            let unwritten = self.cloud.addresses.iter().filter(|(made, address)| {
                let alike = made.is_ipv6() == ip.is_ipv6() && address.target == target;
                address.origin == ours && !claims.contains(made) && alike
            });
            pool.intents.values().filter(fits).count() > unwritten.count()
        };
        let ever = |pool: &&Pool| pool.ever_meant().any(|intent| intent.may_be(target, ip));
        let pools = || self.cluster.pools.values();
        // Without an open intent, the pool of the reservation is gone.
        let Some(pool) = pools().find(open).or_else(|| pools().find(ever)) else { return };
        // The pool of a reservation by region, or on a machine that open intents of several pools
        // name, is not visible from outside: the pool recording the address is its owner.
        let alone = pools().filter(open).count() <= 1;
        let one = Some(pool).filter(|_| target.is_some() && alone);
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

    /// Attributes a new address to the pool in its name. The call tells the machine, if the address
    /// was there with the call's effect.
    pub(super) fn reserved_as(&mut self, name: &str, ip: IpAddr, target: Option<Machine>) {
        let named = self.cluster.pools.values().find(|pool| name.contains(&pool.uid));
        let uid = named.map(|pool| pool.uid.clone());
        let recognised = named.is_some_and(|pool| {
            let mut intents = pool.intents.iter();
            intents.any(|(id, one)| name.ends_with(id.as_str()) && one.may_be(target, ip))
        });
        if let Some(address) = self.cloud.addresses.get_mut(&ip) {
            address.makers = uid.iter().cloned().collect();
            address.origin = Origin::Ours(uid);
            address.target = target;
            address.words_lost = !recognised;
        }
    }

    /// Notes the loss of the annotation when a person replaces an object. An address named nowhere
    /// else is known only to the reserving process (decision 2), and is exempt until recorded
    /// again.
    pub(super) fn note_lost_words(&mut self, write: &Write<'_>) {
        let words = |object: Option<&Value>| {
            object
                .is_some_and(|one| one["metadata"]["annotations"][ADDRESSES_ANNOTATION].is_string())
        };
        let stripped = words(write.before) && !words(write.after);
        let Some(pool) = self.cluster.pools.get(write.key) else {
            // A deleted pool takes its ledger along, so unattributed addresses are exempt.
            let unclear = |one: &&mut Address| one.origin == Origin::Ours(None);
            self.cloud.addresses.values_mut().filter(unclear).for_each(|one| one.words_lost = true);
            return;
        };
        let (uid, claims) = (Some(pool.uid.clone()), pool.claims());
        let recorded = pool.recorded.clone();
        for (ip, address) in &mut self.cloud.addresses {
            // Equal reservations of several pools are interchangeable.
            let shared = address.origin == Origin::Ours(None) && address.makers.contains(&pool.uid);
            let ours = address.origin != Origin::Others && (address.target.is_none() || shared);
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

    /// A reserved address given up by its pool while another pool lists the address belongs to the
    /// other pool, no longer as a reservation.
    pub(super) fn note_handed_over(&mut self) {
        let now = self.now();
        for (ip, address) in &mut self.cloud.addresses {
            let Origin::Ours(Some(uid)) = &address.origin else { continue };
            let claims = |pool: &&Pool| pool.uid == *uid && pool.claims().contains(ip);
            let lists = |pool: &Pool| pool.uid != *uid && pool.listed.contains(ip);
            let kept = self.cluster.pools.values().any(|pool| claims(&pool));
            if !kept && self.cluster.pools.values().any(lists) {
                address.origin = Origin::Others;
                address.handed_over = Some(now);
            }
        }
    }

    /// S6: an address in a pool's ledger was reserved by us, for this pool, or kept after the pool had
    /// it. Decision 2 names the exceptions: a foreign address that appeared while a reservation of this
    /// pool was open, and is therefore not among the intent's strangers; and an address that was reserved
    /// for this pool, and is kept because a person removed the annotation, or deleted the address,
    /// before the address was recorded.
    pub(super) fn check_ledger(&mut self, write: &Write<'_>) {
        let Some(pool) = self.cluster.pools.get(write.key) else { return };
        let wrong = |ip: &&IpAddr| {
            let Some(one) = self.cloud.addresses.get(ip) else { return false };
            match &one.origin {
                Origin::Others => !pool.may_mistake(**ip, one.appeared),
                Origin::Ours(uid) => {
                    let its = uid.as_ref().is_none_or(|uid| *uid == pool.uid);
                    !its && !one.makers.contains(&pool.uid)
                }
            }
        };
        // The status is a copy of the ledger, and may be older.
        let said = pool.said_created().into_iter().filter(|ip| !pool.ways.recorded.contains(ip));
        let said: Vec<IpAddr> = said.collect();
        let wrong = pool.ways.created.iter().chain(&said).find(wrong).copied();
        let had = |ip: &IpAddr| {
            let mut formers = self.cluster.formers.of(*ip);
            let its = Origin::Ours(Some(pool.uid.clone()));
            let one = self.cloud.addresses.get(ip).filter(|one| one.origin == its);
            let unrecorded =
                one.zip(pool.ways.stripped).is_some_and(|(one, at)| one.appeared <= at);
            let unrecorded = unrecorded || self.cloud.had(*ip, &its);
            unrecorded || pool.listed.contains(ip) || formers.any(|former| former.uid == pool.uid)
        };
        let foreign = pool.ways.kept.iter().find(|ip| !had(ip)).copied();
        let others = |ip: &IpAddr| self.cloud.addresses.get(ip).map(|one| &one.origin);
        let mistaken = pool.ways.created.iter().filter(|ip| others(ip) == Some(&Origin::Others));
        for ip in mistaken.copied().collect::<Vec<_>>() {
            self.cloud.addresses.entry(ip).and_modify(|one| one.mistaken = true);
        }
        if let Some(ip) = wrong {
            let text = format!("{} says that {ip} was reserved for it", write.key);
            self.violated("S6", text);
        }
        if let Some(ip) = foreign {
            let text = format!("{} says that it keeps {ip}, and never had it", write.key);
            self.violated("S6", text);
        }
    }

    /// A person moving a new address before it is recorded removes the means of recognition, unless
    /// the address has a name of ours or is in our project (decision 2).
    pub(super) fn note_moved_by_hand(&mut self, state: &State, now: Millis) {
        let claimed: BTreeSet<IpAddr> = self.cluster.claims().collect();
        let mut strayed = Vec::new();
        for (ip, address) in &mut self.cloud.addresses {
            let moved = address.touched == Some(now) && !claimed.contains(ip);
            let project = state.address(*ip).and_then(|one| one.project.as_deref());
            let named = state.address(*ip).is_some_and(|one| one.name.is_some());
            let known = named || (address.target.is_none() && project == Some(PROJECT));
            if moved && !known {
                address.words_lost = true;
                strayed.push((*ip, address.holder));
            }
        }
        for (ip, holder) in strayed.into_iter().filter(|(_, holder)| holder.is_some()) {
            self.exchange_targets(ip, holder, &claimed);
        }
    }

    /// A new address of ours on the machine of another reservation passes for the result of that
    /// reservation, whose own address is then found by the intent of the first. Of two pools, each may
    /// record either.
    fn exchange_targets(
        &mut self,
        ip: IpAddr,
        holder: Option<Machine>,
        claimed: &BTreeSet<IpAddr>,
    ) {
        let Some(one) = self.cloud.addresses.get(&ip).filter(|one| one.origin != Origin::Others)
        else {
            return;
        };
        let (target, origin, makers) = (one.target, one.origin.clone(), one.makers.clone());
        if !self.cluster.may_be_found(ip, holder) {
            return;
        }
        let other = self.cloud.addresses.iter_mut().find(|(other, address)| {
            let alike = **other != ip && other.is_ipv6() == ip.is_ipv6();
            let waits = address.holder.is_none() && !claimed.contains(other);
            let ours = address.origin != Origin::Others;
            ours && alike && waits && address.target == holder
        });
        let Some((_, other)) = other else { return };
        (other.answered, other.target) = (holder, target);
        other.makers.extend(makers);
        if other.origin != origin {
            other.origin = Origin::Ours(None);
        }
        let (origin, makers) = (other.origin.clone(), other.makers.clone());
        self.cloud.addresses.entry(ip).and_modify(|one| {
            (one.target, one.origin, one.makers) = (holder, origin, makers);
        });
    }

    /// A pool forgets an address of its own that another pool lists. If that pool delists the
    /// address at the same moment, the user alone knows of it.
    fn note_delisted(&mut self) {
        let floor = self.api_floor();
        let (cluster, addresses) = (&self.cluster, &mut self.cloud.addresses);
        for (ip, address) in
            addresses.iter_mut().filter(|(ip, _)| cluster.claimants(**ip).next().is_none())
        {
            let Origin::Ours(Some(uid)) = &address.origin else { continue };
            let delisted = |former: &Former| former.at >= floor && former.uid != *uid;
            address.words_lost |= cluster.formers.of(*ip).any(delisted);
        }
    }

    /// S2: every reserved address is claimed or recognisable.
    pub(super) fn check_addresses(&mut self) {
        self.note_delisted();
        let ours = |one: &Address| one.origin != Origin::Others && !one.words_lost;
        let (mut found, mut unclaimed) = (None, 0);
        for (ip, address) in self.cloud.addresses.iter().filter(|(_, one)| ours(one)) {
            let alive = match &address.origin {
                Origin::Ours(Some(uid)) => self.cluster.has(uid),
                Origin::Ours(None) | Origin::Others => true,
            };
            let targets = [address.target].into_iter().chain(address.answered.map(Some));
            let mut found_by = targets.map(|target| self.cluster.may_be_found(*ip, target));
            if alive && !found_by.any(|may| may) {
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
}
