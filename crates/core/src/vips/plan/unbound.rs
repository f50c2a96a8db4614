//! A claim that is not bound: wait, or try the next VIP pool.

use std::time::Duration;

use super::{Case, version_of_claim};
use crate::Time;
use crate::plan::Draft;
use crate::vips::action::{Deletion, VipAction};
use crate::vips::model::{Cluster, Job, PoolId, VipClaim, VipPool};
use crate::vips::verdict::VipReason;

/// Time that a provider may take to bind a claim. A VIP pool may be shown as full before the claim
/// that took the last address is shown as bound.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// Time that a provider may take to try a refused claim again, once its VIP pool has room.
const RETRIES_WITHIN: Duration = Duration::from_secs(60);

impl<'w> Case<'w> {
    /// Plans for an unbound claim. A claim that an address names is about to be bound.
    pub(super) fn unbound(
        &self,
        cluster: &Cluster,
        job: Job,
        claim: &VipClaim,
        draft: &mut Draft,
    ) -> VipReason {
        let Some(id) = &claim.pool else {
            return VipReason::AwaitingAddress(None);
        };
        let waiting = || VipReason::AwaitingAddress(Some(id.clone()));
        if self.vips.is_being_bound(&claim.name) {
            return waiting();
        }
        let pool = self.vips.pools.get(id).filter(|pool| !pool.deleting);
        let is_full = pool.is_some_and(|pool| pool.has_room() == Some(false));
        match pool {
            Some(pool) if !claim.exhausted && !is_full => match pool.paused {
                true => VipReason::PoolPaused(id.clone()),
                false => waiting(),
            },
            _ => self.unserved(cluster, job, (claim, id, pool), draft),
        }
    }

    /// Plans for a claim whose VIP pool is full or gone.
    fn unserved(
        &self,
        cluster: &Cluster,
        job: Job,
        (claim, id, pool): (&VipClaim, &PoolId, Option<&'w VipPool>),
        draft: &mut Draft,
    ) -> VipReason {
        let choice = self.choose(cluster, job);
        let usable = choice.map(|choice| choice.usable).unwrap_or_default();
        let others = || usable.iter().filter(|other| other.id != *id);
        let open = others().find(|other| other.has_room() == Some(true));
        // Nothing can come of a VIP pool that is gone.
        let next = open.or_else(|| others().next().filter(|_| pool.is_none()));
        if let Some(next) = next {
            let (from, to) = (id.clone(), next.id.clone());
            let answered = claim.exhausted || pool.is_none();
            let created = claim.created_at.min(draft.now);
            let from_then = if answered { draft.now } else { created + ANSWERS_WITHIN };
            if !self.may_give_up(job, from_then, draft) {
                return VipReason::AwaitingAddress(Some(from));
            }
            let why = Deletion::FellBack { from: from.clone(), to: to.clone() };
            let failure = self.give_up(job, claim, why, draft);
            return failure.unwrap_or(VipReason::FellBack { from, to });
        }
        let has_room = pool.is_some_and(|pool| pool.has_room() == Some(true));
        if has_room {
            let waiting = VipReason::AwaitingAddress(Some(id.clone()));
            let created = claim.created_at.min(draft.now);
            if !self.may_give_up(job, created + RETRIES_WITHIN, draft) {
                return waiting;
            }
            let why = Deletion::Unanswered(id.clone());
            return self.give_up(job, claim, why, draft).unwrap_or(waiting);
        }
        let full = std::iter::once(id.clone()).chain(others().map(|other| other.id.clone()));
        VipReason::PoolExhausted(full.collect())
    }

    /// Whether an unbound claim may be deleted: from the given time on, and not too often.
    fn may_give_up(&self, job: Job, from_then: Time, draft: &mut Draft) -> bool {
        let due = self.vips.falls(self.key, job).not_before.max(from_then);
        if due > draft.now {
            draft.wake_for(self.key, due);
        }
        due <= draft.now
    }

    /// Deletes an unbound claim. Returns the last failure.
    fn give_up(
        &self,
        job: Job,
        claim: &VipClaim,
        why: Deletion,
        draft: &mut Draft,
    ) -> Option<VipReason> {
        let (cluster, claim) = (self.key.clone(), version_of_claim(claim));
        self.attempt(VipAction::DeleteClaim { cluster, job, claim, why }, draft)
    }
}
