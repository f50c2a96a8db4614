//! Verdicts in words, each with the way out.

use std::fmt;

use super::{Missing, Skip, VipConflict, VipReason, VipVerdict};
use crate::vips::model::{ObjectName, PoolId, VipNames};

impl VipReason {
    /// The words of reasons that last until something outside changes.
    pub const LASTING: [&str; 9] = [
        "Allocated",
        "ClusterVipVariableMissing",
        "NotConfigured",
        "Disabled",
        "Manual",
        "PoolNotFound",
        "PoolExhausted",
        "ClassNotFound",
        "Conflict",
    ];
}

impl fmt::Display for VipVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(withheld) = &self.withheld {
            write!(f, "{}; ", withheld.by)?;
            if !withheld.would.is_empty() {
                return withheld.fmt(f);
            }
        }
        if matches!(self.reason, VipReason::Allocated) {
            return self.allocated(f);
        }
        if let Some(job) = self.job {
            write!(f, "{job}: ")?;
        }
        explain(f, &self.reason, self.names)
    }
}

impl VipVerdict {
    /// Lists the VIPs that the Cluster has.
    fn allocated(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (job, part) in &self.parts {
            let (Some(ip), Some(pool)) = (part.ip, &part.pool) else { continue };
            write!(f, "{separator}{job}: {ip} from {pool}")?;
            separator = "; ";
        }
        if separator.is_empty() {
            f.write_str("every VIP is in place")?;
        }
        Ok(())
    }
}

fn manual(f: &mut fmt::Formatter<'_>, value: &str, claim: Option<&ObjectName>) -> fmt::Result {
    match claim {
        None => write!(f, "{value} was chosen by the user; nothing is claimed"),
        Some(claim) => {
            write!(
                f,
                "{value} is set, while the claim {claim} has no address; both stay as they are"
            )
        }
    }
}

fn explain(f: &mut fmt::Formatter<'_>, reason: &VipReason, names: &VipNames) -> fmt::Result {
    match reason {
        VipReason::Allocated => f.write_str("in place"),
        VipReason::VariableMissing(class) => write!(
            f,
            "the endpoint is set, but the class {class} does not define the variable {0}, so that \
             no template can use the VIP; add {0} to the variables of the class, of type string \
             with the default \"\"",
            names.variable
        ),
        VipReason::NotConfigured => f.write_str("no VIP pool is set up for this VIP"),
        VipReason::Disabled => f.write_str("switched off"),
        VipReason::Manual(value, claim) => manual(f, value, claim.as_ref()),
        VipReason::Claiming => f.write_str("the claim is being written"),
        VipReason::AwaitingAddress(Some(pool)) => write!(f, "waiting for an address of {pool}"),
        VipReason::AwaitingAddress(None) => f.write_str("waiting for the claim to be bound"),
        VipReason::PoolPaused(pool) => {
            write!(f, "waiting for an address of {pool}, which is paused; resume the VIP pool")
        }
        VipReason::AddressUnread(claim) => write!(
            f,
            "the claim {claim} is bound, but its address is missing or unreadable; see the log of \
             the IPAM provider"
        ),
        VipReason::Writing(ip) => write!(f, "{ip} is being written on the Cluster"),
        VipReason::AwaitingOldClaim(claim) => write!(
            f,
            "the claim {claim} is left from before and has to go first; if it stays, delete it once \
             nothing uses its address"
        ),
        VipReason::FellBack { from, to } => {
            write!(f, "{from} has no free address; {to} is tried")
        }
        VipReason::PoolNotFound(missing) => missing_pool(f, missing, names),
        VipReason::PoolExhausted(pools) => {
            let pools: Vec<_> = pools.iter().map(PoolId::to_string).collect();
            write!(
                f,
                "no free address in {}; the claim waits: add addresses, or delete what is not used",
                pools.join(", ")
            )
        }
        VipReason::ClassMissing(class) => {
            write!(f, "the class {class} does not exist; create it, or correct its name")
        }
        VipReason::Conflict(conflict) => explain_conflict(f, conflict, names),
        VipReason::Rejected(message, next) => {
            write!(f, "the API server refuses the write: {message}; next attempt at {next}")
        }
        VipReason::Refused(message, next) => {
            write!(f, "a right is missing: {message}; next attempt at {next}")
        }
        VipReason::Failed(message, next) => write!(f, "{message}; next attempt at {next}"),
        VipReason::Paused => f.write_str("the Cluster is paused; nothing is done"),
        VipReason::MovedAway => f.write_str("the Cluster was moved away; nothing is done"),
        VipReason::Deleting => f.write_str(
            "the Cluster is being deleted; its addresses stay until its machines are gone",
        ),
        VipReason::Released => f.write_str("the Cluster is being deleted; its addresses are free"),
    }
}

fn missing_pool(f: &mut fmt::Formatter<'_>, missing: &Missing, names: &VipNames) -> fmt::Result {
    let Missing { class, role, family, wished, skipped } = missing;
    if let Some(wished) = wished {
        return write!(
            f,
            "there is no VIP pool {wished}, which the Cluster names; create it, or correct the name"
        );
    }
    if !skipped.is_empty() {
        f.write_str("no VIP pool can be used:")?;
        for (index, (pool, why)) in skipped.iter().enumerate() {
            write!(f, "{} {pool} {why}", if index == 0 { "" } else { "," })?;
        }
        return match family {
            Some(family) => write!(f, "; {family} is wanted"),
            None => Ok(()),
        };
    }
    let class = class.as_ref().map_or("", |class| &*class.name);
    write!(
        f,
        "no VIP pool serves the class {class}; give one the labels {}={class} and {}={}",
        names.classes,
        names.roles,
        role.word()
    )
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paused => "is paused",
            Self::Deleting => "is being deleted",
            Self::OtherFamily => "is of another family",
        })
    }
}

fn explain_conflict(
    f: &mut fmt::Formatter<'_>,
    conflict: &VipConflict,
    names: &VipNames,
) -> fmt::Result {
    match conflict {
        VipConflict::Differs { shown, claim, ip } => write!(
            f,
            "the Cluster shows {shown}, its claim {claim} has {ip}; {shown} is left as it is: delete \
             the claim if nothing uses {ip}"
        ),
        VipConflict::Leaving { shown, claim } => write!(
            f,
            "{shown} is in use, but its claim {claim} is being deleted; keep {shown} out of the VIP \
             pool, or others may get it"
        ),
        VipConflict::Variable { role, value, ip } => write!(
            f,
            "the VIP is {ip}, but the variable {} is {value}; remove the variable to have it set to \
             {ip}",
            names.variable(*role)
        ),
        VipConflict::Taken(claim, by) => {
            write!(f, "the claim {claim} belongs to {by}; rename one of the two")
        }
        VipConflict::Unseen(claim) => write!(
            f,
            "the claim {claim} exists without the label {}; add the label, or delete the claim",
            names.roles
        ),
    }
}
