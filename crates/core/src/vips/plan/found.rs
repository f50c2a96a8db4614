//! The claim with the name of a job: whether there is one, and whether this Cluster may use the claim.

use super::Case;
use crate::model::Text;
use crate::plan::Draft;
use crate::vips::action::VipAction;
use crate::vips::model::{ClaimOwner, Cluster, Job, Slot, VipClaim};
use crate::vips::verdict::VipReason;

/// The claim with the name of a job.
pub(super) enum Found<'w> {
    /// None.
    Nothing,
    /// The Cluster owns the claim, or may adopt it.
    Ours(&'w VipClaim),
    /// The claim of the Cluster is being deleted.
    Leaving(&'w VipClaim),
    /// The claim belongs to an earlier Cluster of the same name, and goes with it.
    Old(&'w VipClaim),
    /// The claim belongs to something else, named here.
    Taken(&'w VipClaim, Text),
}

impl<'w> Found<'w> {
    /// The claim of this very Cluster.
    pub fn claim(&self) -> Option<&'w VipClaim> {
        match self {
            Self::Ours(claim) | Self::Leaving(claim) => Some(claim),
            Self::Nothing | Self::Old(_) | Self::Taken(..) => None,
        }
    }
}

impl<'w> Case<'w> {
    /// The claim with the name of a job. A claim is used only if this very Cluster owns it, or if
    /// nobody does.
    pub(super) fn found(&self, cluster: &Cluster, job: Job) -> Found<'w> {
        let Some(claim) = self.vips.claims.get(&self.name(job)) else { return Found::Nothing };
        let leaves = claim.deleting || claim.moved_away;
        match &claim.owner {
            Some(owner) if owner.uid == cluster.uid && leaves => Found::Leaving(claim),
            Some(owner) if owner.uid == cluster.uid => Found::Ours(claim),
            Some(owner) => match self.vips.living(&claim.name, &owner.uid) {
                Some(other) => {
                    Found::Taken(claim, format!("the Cluster {}", other.key.name).into())
                }
                None => Found::Old(claim),
            },
            None if claim.foreign => Found::Taken(claim, "another controller".into()),
            None if leaves || self.is_held_for_another(cluster, claim) => Found::Old(claim),
            None => match self.named(cluster, job, claim) {
                Some(other) => Found::Taken(claim, format!("the Cluster {other}").into()),
                None => Found::Ours(claim),
            },
        }
    }

    /// Whether the holder of an unowned claim keeps the address for an earlier Cluster.
    fn is_held_for_another(&self, cluster: &Cluster, claim: &VipClaim) -> bool {
        let holder = self.vips.holders.get(&claim.name).map(|holder| &holder.cluster_uid);
        claim.holder.is_some() && holder != Some(&cluster.uid)
    }

    /// Another Cluster that an unowned claim names. The name of a second claim may be the name of
    /// another Cluster's first claim, so a second claim has to name its Cluster.
    fn named(&self, cluster: &Cluster, job: Job, claim: &VipClaim) -> Option<Text> {
        let named = claim.cluster.as_ref().or(claim.label.as_ref());
        match (named, job.slot) {
            (Some(name), _) if *name == cluster.key.name => None,
            (Some(name), _) => Some(name.clone()),
            (None, Slot::First) => None,
            (None, Slot::Second(_)) => Job::of_claim(&claim.name.name)
                .find(|(other, _)| other.slot == Slot::First)
                .map(|(_, name)| name.into()),
        }
    }

    /// Ties a claim to its Cluster and holder: owners in the current API version, and labels.
    /// Returns the last failure.
    pub(super) fn tie(
        &self,
        cluster: &Cluster,
        job: Job,
        claim: &VipClaim,
        draft: &mut Draft,
    ) -> Option<VipReason> {
        // An object has one controlling owner.
        let controls = |owner: &ClaimOwner| owner.controller || claim.foreign;
        let owner = claim.owner.as_ref();
        let owned = owner.is_some_and(|owner| !owner.outdated && controls(owner));
        let kept = self.keep_holder(cluster, job, claim, draft);
        let holder = self.holder_for(cluster, claim);
        if owned && claim.label.as_ref() == Some(&cluster.key.name) && claim.holder == holder {
            return kept;
        }
        let (owner, claim) = (cluster.uid.clone(), super::version_of_claim(claim));
        let (cluster, gone) = (self.key.clone(), Vec::new());
        let adopt = VipAction::AdoptClaim { cluster, job, claim, owner, holder, gone };
        self.attempt(adopt, draft).or(kept)
    }
}
