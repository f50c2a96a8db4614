//! Holders: the address of a deleted Cluster stays until its machines are gone.
//!
//! A claim whose owners are a Cluster and a holder loses only the former when a Cluster is deleted in
//! the foreground, while its machines still use the address. The claim goes once the holder does.

use super::{Case, version_of_claim};
use crate::model::Text;
use crate::plan::Draft;
use crate::vips::action::{Version, VipAction};
use crate::vips::model::{Cluster, Holder, Job, VipClaim};
use crate::vips::verdict::VipReason;

impl Case<'_> {
    /// Drops holders that hold no address any more, and has the claims of a Cluster that is gone be
    /// deleted with it.
    pub(super) fn release(&self, draft: &mut Draft) {
        for job in Job::all() {
            let name = self.name(job);
            let claim = self.vips.claims.get(&name);
            if let Some(holder) = self.vips.holders.get(&name)
                && let Some(gone) = self.drop_condition(holder, claim)
            {
                let (cluster, holder) = (self.key.clone(), version_of_holder(holder));
                self.attempt(VipAction::DropHolder { cluster, job, holder, gone }, draft);
            }
            if let Some(claim) = claim {
                self.let_go(job, claim, draft);
            }
        }
    }

    /// The Clusters that must be gone for a holder to be deleted, often none; `None` if the holder
    /// stays.
    fn drop_condition(&self, holder: &Holder, claim: Option<&VipClaim>) -> Option<Vec<Text>> {
        if holder.deleting || holder.moved_away || holder.cluster != self.key.name {
            return None;
        }
        let owner = claim.and_then(|claim| claim.owner.as_ref()).map(|owner| &owner.uid);
        let owns = |cluster: &Cluster| owner == Some(&cluster.uid);
        let cluster = self.vips.clusters.get(self.key);
        let done = match cluster.filter(|one| owns(one) || holder.cluster_uid == one.uid) {
            None => return Some(owner.into_iter().chain([&holder.cluster_uid]).cloned().collect()),
            Some(cluster) if cluster.paused || cluster.moved_away => false,
            Some(cluster) if cluster.deleting => !cluster.guarded,
            // The claim goes with the Cluster again, as without a holder.
            Some(cluster) => owns(cluster) && !self.world.settings.vips.holds,
        };
        done.then(Vec::new)
    }

    /// Rewrites the owner of a claim whose Cluster is gone, if its API version is out of date: only
    /// then is the claim deleted after its Cluster.
    fn let_go(&self, job: Job, claim: &VipClaim, draft: &mut Draft) {
        let owner = claim.owner.as_ref().filter(|owner| {
            owner.outdated
                && owner.name == self.key.name
                && self.vips.living(&claim.name, &owner.uid).is_none()
        });
        if let Some(owner) = owner.filter(|_| !claim.deleting && !claim.moved_away) {
            let (cluster, owner) = (self.key.clone(), owner.uid.clone());
            let (holder, gone) = (claim.holder.clone(), vec![owner.clone()]);
            let claim = version_of_claim(claim);
            let adopt = VipAction::AdoptClaim { cluster, job, claim, owner, holder, gone };
            self.attempt(adopt, draft);
        }
    }

    /// Creates the holder of an owned claim, if holders are wanted. Returns the last failure.
    pub(super) fn keep_holder(
        &self,
        cluster: &Cluster,
        job: Job,
        claim: &VipClaim,
        draft: &mut Draft,
    ) -> Option<VipReason> {
        let holder = self.vips.holders.get(&claim.name);
        let keeps =
            holder.is_some_and(|holder| holder.deleting || holder.cluster_uid == cluster.uid);
        if keeps || claim.owner.is_none() || !self.world.settings.vips.holds {
            return None;
        }
        let (uid, holder) = (cluster.uid.clone(), holder.map(version_of_holder));
        let keep = VipAction::KeepHolder { cluster: self.key.clone(), uid, job, holder };
        self.attempt(keep, draft)
    }

    /// UID of the holder that a claim should have: the present one, if holders are wanted. A holder
    /// that the claim has already stays until it is gone.
    pub(super) fn holder_for(&self, cluster: &Cluster, claim: &VipClaim) -> Option<Text> {
        let present = self.vips.holders.get(&claim.name);
        let present =
            present.filter(|holder| !holder.deleting && holder.cluster_uid == cluster.uid);
        let wanted = present.filter(|_| self.world.settings.vips.holds);
        wanted.map(|holder| holder.uid.clone()).or_else(|| claim.holder.clone())
    }
}

fn version_of_holder(holder: &Holder) -> Version {
    Version { name: holder.name.clone(), uid: holder.uid.clone(), version: holder.version }
}
