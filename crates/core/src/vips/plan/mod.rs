//! Plans the VIPs of each Cluster.
//!
//! | the Cluster shows | its claim | |
//! |---|---|---|
//! | nothing | none | claim an address of the first VIP pool that may have one |
//! | nothing | unbound | wait, or give the claim up for the next VIP pool if its own is full |
//! | nothing | bound | write the address on the Cluster |
//! | the address | bound | complete what is missing beside the address |
//! | another value | any | leave everything as it is |
//!
//! Jobs are independent: a VIP that cannot be had never delays another one.

mod found;
mod holders;
mod pools;
mod show;
mod unbound;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::Vips;
use super::action::{Task, Version, VipAction};
use super::model::{Cluster, ClusterClass, Job, ObjectName, Role, Slot, VipClaim};
use super::verdict::{Part, VipConflict, VipReason, VipVerdict};
use crate::action::{Action, Failure, FailureKind};
use crate::model::ObjectKey;
use crate::plan::Draft;
use crate::world::World;
use found::Found;

/// Number of failed attempts to create a claim, from which an existing claim counts as unseen.
const PATIENCE: u32 = 3;

/// Plans the VIPs of every Cluster in scope, and what is left of Clusters that are gone.
pub(crate) fn plan(world: &World, scope: &BTreeSet<ObjectKey>, draft: &mut Draft) {
    let vips = &world.vips;
    let Some(kind) = vips.kind.filter(|_| world.knows_vips()) else { return };
    for key in scope.iter().filter(|key| key.kind == kind) {
        let case = Case { world, vips, key, begun: RefCell::new(vips.begun(key)) };
        let cluster = vips.clusters.get(key);
        if cluster.is_none_or(|cluster| !cluster.paused && !cluster.moved_away) {
            case.release(draft);
        }
        if let Some(cluster) = cluster.filter(|cluster| cluster.asks()) {
            let verdict = case.plan(cluster, draft);
            draft.say_of_vips(key, verdict);
        }
    }
}

/// A Cluster, or the key of a Cluster that is gone.
pub(super) struct Case<'w> {
    world: &'w World,
    vips: &'w Vips,
    key: &'w ObjectKey,
    /// Writes that are under way or planned. Two of one object would exclude each other.
    begun: RefCell<BTreeSet<Task>>,
}

impl<'w> Case<'w> {
    fn plan(&self, cluster: &'w Cluster, draft: &mut Draft) -> VipVerdict {
        let names = cluster.names;
        if let Some(reason) = at_rest(cluster) {
            return VipVerdict::whole(reason, names);
        }
        let mut parts = BTreeMap::new();
        for role in Role::ALL {
            let job = Job::first(role);
            let part = match role {
                Role::Ingress if !cluster.topology => continue,
                Role::Ingress if !cluster.ingress.enabled => Part::plain(VipReason::Disabled),
                Role::ControlPlane | Role::Ingress => self.first(cluster, job, draft),
            };
            let second = cluster.second.filter(|_| cluster.topology && has_vip(&part));
            if let Some(family) = second {
                let job = Job::second(role, family);
                let mut other = self.with_found(cluster, job, self.found(cluster, job), draft);
                if let (Some(first), Some(second)) = (part.ip, other.ip) {
                    self.list(cluster, role, &[first, second], &mut other, draft);
                }
                parts.insert(job, other);
            }
            parts.insert(job, part);
        }
        VipVerdict::of(parts, names)
    }

    /// The VIP that the Cluster shows.
    fn first(&self, cluster: &'w Cluster, job: Job, draft: &mut Draft) -> Part {
        let found = self.found(cluster, job);
        match self.users_own(cluster, job.role, &found) {
            Some(reason) => Part::plain(reason),
            None => self.with_found(cluster, job, found, draft),
        }
    }

    /// The reason to leave a role alone, because the Cluster has a value that is not ours.
    fn users_own(&self, cluster: &Cluster, role: Role, found: &Found<'_>) -> Option<VipReason> {
        let shown = match role {
            Role::ControlPlane => [cluster.host.as_ref(), None],
            Role::Ingress => [cluster.ingress.annotation.as_ref(), cluster.ingress.label.as_ref()],
        };
        let claim = found.claim();
        let ours = claim.and_then(|claim| self.vips.address(claim));
        let is_ours = |value: &str| ours.is_some_and(|ip| show::is(value, ip));
        let mut values = shown.into_iter().flatten().chain(
            // The variable counts as the user's choice only if the Cluster shows nothing else.
            cluster.variable(role).filter(|_| cluster.shown(role).is_none()),
        );
        if let Found::Leaving(claim) = found
            && let Some(value) = values.clone().find(|value| is_ours(value))
        {
            let (shown, claim) = (value.clone(), claim.name.clone());
            return Some(VipReason::Conflict(VipConflict::Leaving { shown, claim }));
        }
        let value = values.find(|value| !is_ours(value))?.clone();
        Some(match (found, ours) {
            (Found::Ours(claim), Some(ip)) => {
                let claim = claim.name.clone();
                VipReason::Conflict(VipConflict::Differs { shown: value, claim, ip })
            }
            (Found::Ours(claim), None) if claim.is_bound() => {
                VipReason::AddressUnread(claim.name.clone())
            }
            (Found::Ours(claim), None) => VipReason::Manual(value, Some(claim.name.clone())),
            _ => VipReason::Manual(value, None),
        })
    }

    fn with_found(
        &self,
        cluster: &'w Cluster,
        job: Job,
        found: Found<'w>,
        draft: &mut Draft,
    ) -> Part {
        match found {
            Found::Nothing => self.claim_anew(cluster, job, draft),
            Found::Leaving(claim) | Found::Old(claim) => {
                Part::plain(VipReason::AwaitingOldClaim(claim.name.clone()))
            }
            Found::Taken(claim, by) => {
                Part::plain(VipReason::Conflict(VipConflict::Taken(claim.name.clone(), by)))
            }
            Found::Ours(claim) => self.with_claim(cluster, job, claim, draft),
        }
    }

    fn with_claim(
        &self,
        cluster: &'w Cluster,
        job: Job,
        claim: &'w VipClaim,
        draft: &mut Draft,
    ) -> Part {
        let ip = self.vips.address(claim);
        let part = |reason| Part { reason, pool: claim.pool.clone(), ip };
        let tie = self.tie(cluster, job, claim, draft);
        if claim.owner.is_none() {
            return part(tie.unwrap_or(VipReason::Claiming));
        }
        let reason = match (ip, &claim.bound, job.slot) {
            (Some(ip), _, Slot::First) => self.show(cluster, job.role, claim, ip, draft),
            (Some(_), _, Slot::Second(_)) => VipReason::Allocated,
            (None, Some(_), _) => VipReason::AddressUnread(claim.name.clone()),
            (None, None, _) => self.unbound(cluster, job, claim, draft),
        };
        // A failure beside a VIP in order is told; no other reason gives way.
        let in_order = matches!(reason, VipReason::Allocated);
        part(tie.filter(|_| in_order).unwrap_or(reason))
    }

    /// Plans a write, unless one is under way or has to wait. Returns the last failure.
    fn attempt(&self, action: VipAction, draft: &mut Draft) -> Option<VipReason> {
        let task = action.task();
        let work = self.vips.work(self.key, task);
        let next = work.map(|work| work.not_before).unwrap_or_default();
        let mut begun = self.begun.borrow_mut();
        let blocks =
            |other: &Task| *other == task || other.writes_cluster() && task.writes_cluster();
        if next > draft.now {
            draft.wake_for(self.key, next);
        } else if !begun.iter().any(blocks) {
            begun.insert(task);
            draft.act(Action::Vip(action));
        }
        let failure = work.and_then(|work| work.failure.as_ref())?;
        let Failure { kind, message, .. } = failure;
        Some(match kind {
            // A newer version is on its way.
            FailureKind::Conflict => return None,
            FailureKind::Rejected => VipReason::Rejected(message.clone(), next),
            FailureKind::Refused => VipReason::Refused(message.clone(), next),
            _ => VipReason::Failed(message.clone(), next),
        })
    }

    /// The class of a Cluster with a topology; an error if the class does not exist. `None` for a
    /// Cluster without a topology.
    fn class(&self, cluster: &Cluster) -> Result<Option<&'w ClusterClass>, VipReason> {
        let Some(name) = cluster.class.as_ref().filter(|_| cluster.topology) else {
            return Ok(None);
        };
        let class = self.vips.classes.get(name);
        class.map(Some).ok_or_else(|| VipReason::ClassMissing(name.clone()))
    }

    /// The name of a job's claim, and of its holder.
    fn name(&self, job: Job) -> ObjectName {
        ObjectName::new(self.key.namespace.clone(), job.claim(&self.key.name))
    }
}

/// The reason to do nothing for a Cluster.
fn at_rest(cluster: &Cluster) -> Option<VipReason> {
    match cluster {
        Cluster { moved_away: true, .. } => Some(VipReason::MovedAway),
        Cluster { paused: true, .. } => Some(VipReason::Paused),
        Cluster { deleting: true, guarded: true, .. } => Some(VipReason::Deleting),
        Cluster { deleting: true, .. } => Some(VipReason::Released),
        _ => None,
    }
}

/// Whether a VIP is in place, so that another family may follow.
fn has_vip(part: &Part) -> bool {
    matches!(part.reason, VipReason::Allocated | VipReason::VariableMissing(_))
}

/// A Cluster as read.
fn version_of(cluster: &Cluster) -> Version {
    Version {
        name: ObjectName::new(cluster.key.namespace.clone(), cluster.key.name.clone()),
        uid: cluster.uid.clone(),
        version: cluster.version,
    }
}

/// A claim as read.
fn version_of_claim(claim: &VipClaim) -> Version {
    Version { name: claim.name.clone(), uid: claim.uid.clone(), version: claim.version }
}
