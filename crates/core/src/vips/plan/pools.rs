//! Which VIP pools may serve a job, and in which order.
//!
//! A VIP pool that the user names comes first, then those in the Cluster's namespace, then those for
//! all Clusters; among equals by priority, then by name.

use std::cmp::Reverse;

use super::Case;
use crate::model::Family;
use crate::plan::Draft;
use crate::vips::action::VipAction;
use crate::vips::model::{Cluster, Job, PoolId, Role, Slot, VipPool};
use crate::vips::verdict::{Missing, Part, Skip, VipConflict, VipReason};

/// The VIP pools of a job.
pub(super) struct Choice<'w> {
    /// VIP pools that may serve, in order.
    pub usable: Vec<&'w VipPool>,
    /// VIP pools that cannot serve.
    skipped: Vec<(PoolId, Skip)>,
}

impl<'w> Case<'w> {
    /// The VIP pools of a job; `None` if the user names one that does not exist.
    pub(super) fn choose(&self, cluster: &Cluster, job: Job) -> Option<Choice<'w>> {
        let pools = self.vips.pools.values().filter(|pool| pool.id.is_for(&self.key.namespace));
        let wished = cluster.pools.get(&job.role);
        let mut pools: Vec<_> = pools
            .filter_map(|pool| {
                let is_wished = wished == Some(&pool.id.name);
                let serves =
                    || cluster.class.as_ref().is_some_and(|one| pool.serves(one, job.role));
                (is_wished || serves()).then_some((!is_wished, pool))
            })
            .collect();
        if wished.is_some() && pools.iter().all(|(is_other, _)| *is_other) {
            return None;
        }
        pools.sort_by_key(|(is_other, pool)| {
            let is_global = pool.id == PoolId::global(pool.id.name.clone());
            (*is_other, is_global, Reverse(pool.priority), &pool.id)
        });
        let mut choice = Choice { usable: Vec::new(), skipped: Vec::new() };
        for (_, pool) in pools {
            match skip(pool, family(cluster, job)) {
                None => choice.usable.push(pool),
                // A second VIP is optional, and VIP pools of the first family are none of its own.
                Some(Skip::OtherFamily) if job.slot != Slot::First => {}
                Some(why) => choice.skipped.push((pool.id.clone(), why)),
            }
        }
        Some(choice)
    }

    /// Claims an address of the first VIP pool that may have one; of the first of all, if all are
    /// full: the claim then waits there.
    pub(super) fn claim_anew(&self, cluster: &Cluster, job: Job, draft: &mut Draft) -> Part {
        if let Err(reason) = self.class(cluster) {
            return Part::plain(reason);
        }
        let choice = self.choose(cluster, job);
        let usable = choice.iter().flat_map(|choice| &choice.usable);
        let open = usable.clone().find(|pool| pool.has_room() != Some(false));
        let Some(pool) = open.or_else(|| usable.clone().next()) else {
            return Part::plain(missing(cluster, job, choice));
        };
        let pool = pool.id.clone();
        let (cluster, uid) = (self.key.clone(), cluster.uid.clone());
        let create = VipAction::CreateClaim { cluster, uid, job, pool: pool.clone() };
        let task = create.task();
        let failure = self.attempt(create, draft);
        let tried = self.vips.work(self.key, task).map_or(0, |work| work.failures);
        let reason = failure.unwrap_or_else(|| match tried {
            // The claim is there, as the API server says, and no watch shows it.
            super::PATIENCE.. => VipReason::Conflict(VipConflict::Unseen(self.name(job))),
            _ => VipReason::Claiming,
        });
        Part { reason, pool: Some(pool), ip: None }
    }
}

/// The family that a job asks for; `None` takes any.
fn family(cluster: &Cluster, job: Job) -> Option<Family> {
    match job.slot {
        Slot::First => cluster.family,
        Slot::Second(family) => Some(family),
    }
}

fn skip(pool: &VipPool, wanted: Option<Family>) -> Option<Skip> {
    match pool {
        VipPool { deleting: true, .. } => Some(Skip::Deleting),
        _ if wanted.is_some() && pool.family != wanted => Some(Skip::OtherFamily),
        VipPool { paused: true, .. } => Some(Skip::Paused),
        _ => None,
    }
}

/// The reason for a job without a VIP pool. Ingress and second VIPs are optional.
fn missing(cluster: &Cluster, job: Job, choice: Option<Choice<'_>>) -> VipReason {
    let wished = cluster.pools.get(&job.role).filter(|_| choice.is_none()).cloned();
    let skipped = choice.map(|choice| choice.skipped).unwrap_or_default();
    let optional = job.role == Role::Ingress || job.slot != Slot::First;
    if optional && wished.is_none() && skipped.is_empty() {
        return VipReason::NotConfigured;
    }
    let (class, family) = (cluster.class.clone(), family(cluster, job));
    VipReason::PoolNotFound(Box::new(Missing { class, role: job.role, family, wished, skipped }))
}
