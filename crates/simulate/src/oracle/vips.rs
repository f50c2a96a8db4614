//! S12: a set endpoint never changes, and a VIP in use has a live claim that belongs to the very
//! Cluster. The state of a management cluster, as the API server stores it.

use std::collections::{BTreeMap, BTreeSet};

use fakekube::Write;
use pontoon::management::names;
use serde_json::Value;

use super::Oracle;
use super::pool::text;
use crate::cluster::clusters::{BY_HAND, claims};
use crate::schedule::Millis;

/// The annotation of a holder with the UID of its Cluster.
pub(super) const HELD_FOR: &str = "pontoon.dev/held-for-uid";

/// The state of a management cluster.
#[derive(Debug, Default)]
pub(super) struct Vips {
    pub clusters: BTreeMap<String, Seen>,
    pub claims: BTreeMap<String, Value>,
    pub addresses: BTreeMap<String, Value>,
    pub holders: BTreeMap<String, Value>,
    /// VIP pools by kind and name.
    pub pools: BTreeMap<(String, String), Value>,
    pub classes: BTreeMap<String, Value>,
    /// `--hold-vips`.
    pub holds: bool,
    /// When Clusters were gone, by UID.
    pub gone: BTreeMap<String, Millis>,
    /// UIDs of Clusters that are being moved away.
    pub moving: BTreeSet<String>,
}

/// A Cluster.
#[derive(Debug)]
pub(super) struct Seen {
    pub object: Value,
    pub since: Millis,
    pub paused: Option<Millis>,
    pub deleting: Option<Millis>,
    /// Since when the user has a value of their own for each role.
    pub own: [Option<Millis>; 2],
    /// Whether the address of each role outlasts the deletion until the machines are gone.
    pub protected: [bool; 2],
}

/// A value that a Cluster shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Host,
    Variable,
    IngressAnnotation,
    IngressLabel,
    IngressVariable,
}

impl Shown {
    pub const ALL: [Self; 5] = [
        Self::Host,
        Self::Variable,
        Self::IngressAnnotation,
        Self::IngressLabel,
        Self::IngressVariable,
    ];

    /// The index of the role.
    pub fn role(self) -> usize {
        usize::from(!matches!(self, Self::Host | Self::Variable))
    }

    /// The value, if any.
    pub fn of(self, cluster: &Value) -> Option<&str> {
        let variable = |name: &str| {
            let mut all = cluster["spec"]["topology"]["variables"].as_array()?.iter();
            all.find(|one| one["name"] == name)?["value"].as_str()
        };
        let metadata = &cluster["metadata"];
        let value = match self {
            Self::Host => cluster["spec"]["controlPlaneEndpoint"]["host"].as_str(),
            Self::Variable => variable(names::VARIABLE),
            Self::IngressAnnotation => metadata["annotations"][names::INGRESS_VIP].as_str(),
            Self::IngressLabel => metadata["labels"][names::INGRESS_VIP].as_str(),
            Self::IngressVariable => variable(names::INGRESS_VARIABLE),
        };
        value.filter(|value| !value.is_empty())
    }

    /// Whether users may remove the value. Users never remove hosts here.
    fn is_removable(self) -> bool {
        matches!(self, Self::Variable | Self::IngressVariable)
    }
}

/// Whether a user wrote a value.
pub(super) fn is_by_hand(value: &str) -> bool {
    value.starts_with(BY_HAND)
}

pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub(super) fn is_moved(object: &Value) -> bool {
    object["metadata"]["annotations"][names::MOVED_AWAY].is_string()
}

pub(super) fn is_paused(object: &Value) -> bool {
    object["spec"]["paused"] == true || object["metadata"]["annotations"][names::PAUSED].is_string()
}

pub(super) fn has_finalizer(object: &Value, name: &str) -> bool {
    let all = object["metadata"]["finalizers"].as_array();
    all.into_iter().flatten().any(|one| one == name)
}

/// The UIDs of an object's owners of a kind.
pub(super) fn owners<'v>(object: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v str> {
    let all = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    all.filter(move |one| one["kind"] == kind).filter_map(|one| one["uid"].as_str())
}

impl Seen {
    pub fn uid(&self) -> &str {
        text(&self.object["metadata"]["uid"])
    }

    pub fn name(&self) -> &str {
        text(&self.object["metadata"]["name"])
    }

    /// The Cluster has machines, or may have.
    pub fn is_guarded(&self) -> bool {
        has_finalizer(&self.object, names::GUARD)
    }

    /// The VIP of a role that the Cluster shows, unless a user wrote it.
    pub fn vip(&self, role: usize) -> Option<&str> {
        let shown = [Shown::Host, Shown::IngressAnnotation][role];
        shown.of(&self.object).filter(|value| !is_by_hand(value))
    }

    /// Whether the VIP of a role is in use, and can be expected to have a claim.
    fn uses(&self, role: usize) -> bool {
        self.deleting.is_none() || self.is_guarded() && self.protected[role]
    }

    fn follow(&mut self, before: &Self) {
        let same = |now: &mut Option<Millis>, then: Option<Millis>| {
            *now = now.and(then).or(*now);
        };
        self.since = before.since;
        same(&mut self.paused, before.paused);
        same(&mut self.deleting, before.deleting);
        for (now, then) in self.own.iter_mut().zip(before.own) {
            same(now, then);
        }
    }
}

fn seen(object: &Value, now: Millis) -> Seen {
    let own = |role: usize| {
        let values = Shown::ALL.into_iter().filter(|shown| shown.role() == role);
        let mut values = values.filter_map(|shown| shown.of(object));
        // The variable counts only if the Cluster shows nothing else.
        values.next().is_some_and(is_by_hand).then_some(now)
    };
    Seen {
        since: now,
        paused: is_paused(object).then_some(now),
        deleting: is_deleting(object).then_some(now),
        own: [own(0), own(1)],
        protected: [true; 2],
        object: object.clone(),
    }
}

impl Vips {
    /// The claim of a Cluster's role.
    pub fn claim(&self, cluster: &Seen, role: usize) -> Option<&Value> {
        let namespace = text(&cluster.object["metadata"]["namespace"]);
        self.claims.get(&format!("{namespace}/{}", claims(cluster.name())[role]))
    }

    /// The address that a claim is bound to.
    pub fn address(&self, claim: &Value) -> Option<&Value> {
        let namespace = text(&claim["metadata"]["namespace"]);
        let name = claim["status"]["addressRef"]["name"].as_str()?;
        self.addresses.get(&format!("{namespace}/{name}"))
    }

    /// Whether a claim and its holder refer to each other, for this Cluster.
    pub fn is_held(&self, claim: &Value, uid: &str) -> bool {
        let metadata = &claim["metadata"];
        let key = format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
        self.holders.get(&key).is_some_and(|holder| {
            let own = text(&holder["metadata"]["uid"]);
            holder["metadata"]["annotations"][HELD_FOR] == uid
                && !is_deleting(holder)
                && owners(claim, "ConfigMap").any(|one| one == own)
        })
    }

    /// A defect of the claim behind a VIP.
    fn defect(&self, cluster: &Seen, role: usize, ip: &str) -> Option<String> {
        let Some(claim) = self.claim(cluster, role) else {
            return Some("there is no claim".to_owned());
        };
        let uid = cluster.uid();
        let owned = owners(claim, "Cluster").any(|one| one == uid);
        // A Cluster that is being deleted may own its claim through the holder alone.
        if !(owned || cluster.deleting.is_some() && self.is_held(claim, uid)) {
            return Some(format!("the claim is not of {uid}: {}", claim["metadata"]));
        }
        if is_deleting(claim) {
            return Some("the claim is being deleted".to_owned());
        }
        let address = self.address(claim).filter(|one| one["spec"]["address"] == ip);
        address.is_none_or(is_deleting).then(|| "the claim has another address".to_owned())
    }
}

impl Oracle {
    /// Sets whether each claim gets a holder.
    pub fn set_holds(&mut self, holds: bool) {
        self.vips.holds = holds;
    }

    /// Applies a write of an object of a management cluster.
    pub(super) fn vips_changed(&mut self, write: &Write<'_>, now: Millis) {
        let key = write.key.to_owned();
        let set = |all: &mut BTreeMap<String, Value>| match write.after {
            Some(object) => drop(all.insert(key.clone(), object.clone())),
            None => drop(all.remove(&key)),
        };
        match write.plural {
            "clusters" => self.cluster_changed(write, now),
            "ipaddressclaims" => {
                self.note_moving(write);
                set(&mut self.vips.claims);
            }
            "ipaddresses" => {
                self.note_moving(write);
                set(&mut self.vips.addresses);
            }
            "configmaps" => {
                self.check_dropped(write);
                set(&mut self.vips.holders);
            }
            "clusterclasses" => set(&mut self.vips.classes),
            "globalinclusterippools" | "inclusterippools" => {
                let id = (write.plural.to_owned(), key);
                match write.after {
                    Some(object) => drop(self.vips.pools.insert(id, object.clone())),
                    None => drop(self.vips.pools.remove(&id)),
                }
                return;
            }
            _ => return,
        }
        self.check_vips_in_use();
    }

    /// Notes Clusters whose claims and addresses move away.
    fn note_moving(&mut self, write: &Write<'_>) {
        let Some(object) = write.after.filter(|object| is_moved(object)) else { return };
        let name = text(&object["metadata"]["name"]);
        let of = |seen: &&Seen| claims(seen.name()).iter().any(|one| one == name);
        let uids = self.vips.clusters.values().filter(of).map(|seen| seen.uid().to_owned());
        let uids: Vec<_> = uids.collect();
        self.vips.moving.extend(uids);
    }

    fn cluster_changed(&mut self, write: &Write<'_>, now: Millis) {
        let before = self.vips.clusters.remove(write.key);
        let uid = before.as_ref().map(|before| before.uid().to_owned());
        let Some(object) = write.after else {
            self.vips.gone.extend(uid.map(|uid| (uid, now)));
            return;
        };
        let mut cluster = seen(object, now);
        if let Some(before) = before.filter(|before| before.uid() == cluster.uid()) {
            self.check_shown(&before, object);
            cluster.follow(&before);
            cluster.protected = before.protected;
            if cluster.deleting.is_some() && before.deleting.is_none() {
                cluster.protected = [0, 1].map(|role| self.is_protected(&cluster, role));
            }
        }
        if is_moved(object) {
            self.vips.moving.insert(cluster.uid().to_owned());
        }
        self.vips.clusters.insert(write.key.to_owned(), cluster);
    }

    /// Whether the address of a Cluster that is being deleted stays until its machines are gone.
    /// Deleted in the foreground, only a holder keeps the address.
    fn is_protected(&self, cluster: &Seen, role: usize) -> bool {
        let claim = self.vips.claim(cluster, role);
        !has_finalizer(&cluster.object, "foregroundDeletion")
            || claim.is_some_and(|claim| self.vips.is_held(claim, cluster.uid()))
    }

    /// S12: values that a Cluster shows are neither replaced nor removed, and only live claims of
    /// this very Cluster give new ones, unless the Cluster is paused or about to go.
    fn check_shown(&mut self, before: &Seen, after: &Value) {
        let name = before.name();
        if is_moved(after) || self.vips.moving.contains(before.uid()) {
            return;
        }
        let mut wrong = Vec::new();
        for shown in Shown::ALL {
            let (was, is) = (shown.of(&before.object), shown.of(after));
            match (was, is) {
                _ if was == is => {}
                (_, Some(value)) if is_by_hand(value) => {}
                (Some(was), is) if is.is_some() || !shown.is_removable() => {
                    wrong.push(format!("{shown:?} of {name} was {was} and is {is:?}"));
                }
                (_, None) => {}
                (_, Some(ip)) => {
                    let idle = [
                        (is_paused(&before.object), "paused"),
                        (before.deleting.is_some(), "being deleted"),
                        (is_moved(&before.object), "moved away"),
                    ];
                    let idle = idle.iter().find(|(is, _)| *is).map(|(_, word)| *word);
                    wrong.extend(idle.map(|word| format!("{name} is {word}, and gets {ip}")));
                    let defect = self.vips.defect(before, shown.role(), ip);
                    wrong.extend(defect.map(|text| format!("{name} gets {ip}: {text}")));
                }
            }
        }
        if let Some(text) = wrong.into_iter().next() {
            self.violated("S12", text);
        }
    }

    /// S12: each VIP in use has its live claim, and no VIP is in use twice.
    fn check_vips_in_use(&mut self) {
        let mut users: BTreeMap<&str, &str> = BTreeMap::new();
        let mut wrong = None;
        for cluster in self.vips.clusters.values() {
            for role in [0, 1] {
                let Some(ip) = cluster.vip(role) else { continue };
                if !cluster.uses(role) || self.vips.moving.contains(cluster.uid()) {
                    continue;
                }
                let name = cluster.name();
                if let Some(other) = users.insert(ip, name) {
                    wrong.get_or_insert(format!("{name} and {other} both show {ip}"));
                }
                if let Some(text) = self.vips.defect(cluster, role, ip) {
                    wrong.get_or_insert(format!("{name} shows {ip}: {text}"));
                }
            }
        }
        if let Some(text) = wrong {
            self.violated("S12", text);
        }
    }

    /// S12: a holder stays while its Cluster may have machines, as far as can be known.
    fn check_dropped(&mut self, write: &Write<'_>) {
        let goes = write.after.is_none_or(is_deleting);
        let Some(holder) = write.before.filter(|one| goes && !is_deleting(one)) else { return };
        let uid = text(&holder["metadata"]["annotations"][HELD_FOR]);
        let floor = self.api_floor();
        let mut clusters = self.vips.clusters.values();
        let cluster = clusters.find(|one| one.uid() == uid && one.since < floor);
        let stays = cluster.is_some_and(|cluster| cluster.is_guarded() && self.vips.holds);
        if stays && !is_moved(holder) && !self.vips.moving.contains(uid) {
            let text = format!("{} is dropped, and its Cluster may have machines", write.key);
            self.violated("S12", text);
        }
    }
}
