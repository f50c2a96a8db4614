//! The verdict on the VIPs of a Cluster.
//!
//! Times are absolute, so that an unchanged verdict stays equal and is not written again.

mod words;

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::model::{ClassRef, Job, ObjectName, PoolId, Role, VipNames};
use crate::Time;
use crate::model::{Family, Text};
use crate::verdict::{Outlook, Withheld};

/// The verdict on the VIPs of a Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipVerdict {
    /// The gravest reason; of the control plane, among equals.
    pub reason: VipReason,
    /// The job of the reason; `None` if the reason is about the Cluster as a whole.
    pub job: Option<Job>,
    /// The state of each VIP.
    pub parts: BTreeMap<Job, Part>,
    /// Words for messages.
    pub names: &'static VipNames,
    /// Withheld actions, filled in by the executor.
    pub withheld: Option<Withheld>,
}

/// The state of one VIP of a Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The state of the VIP: in place, or the obstacle.
    pub reason: VipReason,
    /// The VIP pool of the claim.
    pub pool: Option<PoolId>,
    /// The address that the claim is bound to.
    pub ip: Option<IpAddr>,
}

/// The state of a VIP, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VipReason {
    /// The Cluster shows the VIP.
    Allocated,
    /// The Cluster shows the VIP, but its class does not define the variable.
    VariableMissing(ClassRef),
    /// No VIP pool serves the class in a role that is optional.
    NotConfigured,
    /// The user wants no VIP.
    Disabled,
    /// The user chose the VIP: nothing is claimed or written. A claim from before may be left.
    Manual(Text, Option<ObjectName>),
    /// The claim is being created or adopted.
    Claiming,
    /// The provider has not bound the claim yet. `None` for a VIP pool of a kind that we do not know.
    AwaitingAddress(Option<PoolId>),
    /// The VIP pool of the unbound claim is paused.
    PoolPaused(PoolId),
    /// The provider has bound the claim, but its address cannot be read.
    AddressUnread(ObjectName),
    /// The VIP is being written on the Cluster.
    Writing(IpAddr),
    /// A claim of the same name has to go first.
    AwaitingOldClaim(ObjectName),
    /// The first VIP pool cannot serve, so the next one is tried.
    FellBack {
        /// The VIP pool that cannot serve.
        from: PoolId,
        /// The next VIP pool.
        to: PoolId,
    },
    /// No VIP pool can be used.
    PoolNotFound(Box<Missing>),
    /// Every VIP pool is full. The claim waits.
    PoolExhausted(Vec<PoolId>),
    /// The class of the Cluster does not exist.
    ClassMissing(ClassRef),
    /// Two values or owners exclude each other, and a person has to choose.
    Conflict(VipConflict),
    /// The API server refuses a write; the next attempt starts then.
    Rejected(Text, Time),
    /// A right is missing; the next attempt starts then.
    Refused(Text, Time),
    /// A write failed; the next attempt starts then.
    Failed(Text, Time),
    /// The Cluster is paused.
    Paused,
    /// The Cluster lives on in another management cluster.
    MovedAway,
    /// The Cluster is being deleted, and its machines may still use the VIPs.
    Deleting,
    /// The Cluster is being deleted, and nothing holds its VIPs any more.
    Released,
}

/// Why no VIP pool can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Class of the Cluster, if it has one.
    pub class: Option<ClassRef>,
    /// The use that the VIP is for.
    pub role: Role,
    /// The family that is asked for.
    pub family: Option<Family>,
    /// The VIP pool that the user names, and that does not exist.
    pub wished: Option<Text>,
    /// VIP pools that serve the class and cannot be used.
    pub skipped: Vec<(PoolId, Skip)>,
}

/// Why a VIP pool cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The VIP pool is paused.
    Paused,
    /// The VIP pool is being deleted.
    Deleting,
    /// The addresses are of another family, or of none that is known.
    OtherFamily,
}

/// Values or owners that exclude each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VipConflict {
    /// The Cluster shows another value than the address of its claim.
    Differs {
        /// The value that the Cluster shows.
        shown: Text,
        /// The claim of the Cluster.
        claim: ObjectName,
        /// The address of the claim.
        ip: IpAddr,
    },
    /// The claim of the shown VIP is being deleted.
    Leaving {
        /// The value that the Cluster shows.
        shown: Text,
        /// The claim of the Cluster.
        claim: ObjectName,
    },
    /// The variable has another value than the shown VIP.
    Variable {
        /// The role of the VIP.
        role: Role,
        /// The value of the variable.
        value: Text,
        /// The shown VIP.
        ip: IpAddr,
    },
    /// The claim belongs to something else, named here.
    Taken(ObjectName, Text),
    /// The claim exists, but is not shown to us.
    Unseen(ObjectName),
}

/// Changes of VIP pools that may help a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaits {
    /// More or less room helps too, and not only another choice of VIP pools.
    pub room: bool,
}

impl VipReason {
    /// Stable word for conditions, events and pages.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Allocated => "Allocated",
            Self::VariableMissing(_) => "ClusterVipVariableMissing",
            Self::NotConfigured => "NotConfigured",
            Self::Disabled => "Disabled",
            Self::Manual(..) => "Manual",
            Self::Claiming => "WaitingForClaim",
            Self::AwaitingAddress(_) | Self::AddressUnread(_) => "WaitingForAddress",
            Self::PoolPaused(_) => "PoolPaused",
            Self::Writing(_) => "WaitingForCluster",
            Self::AwaitingOldClaim(_) => "WaitingForOldClaim",
            Self::FellBack { .. } => "FellBack",
            Self::PoolNotFound(_) => "PoolNotFound",
            Self::PoolExhausted(_) => "PoolExhausted",
            Self::ClassMissing(_) => "ClassNotFound",
            Self::Conflict(_) => "Conflict",
            Self::Rejected(..) => "WriteRejected",
            Self::Refused(..) => "WriteForbidden",
            Self::Failed(..) => "WriteFailed",
            Self::Paused => "Paused",
            Self::MovedAway => "MovedAway",
            Self::Deleting => "Deleting",
            Self::Released => "Released",
        }
    }

    /// The outlook for the user.
    pub fn outlook(&self) -> Outlook {
        match self {
            Self::Allocated
            | Self::VariableMissing(_)
            | Self::NotConfigured
            | Self::Disabled
            | Self::Manual(..)
            | Self::Released => Outlook::Well,
            Self::Claiming
            | Self::AwaitingAddress(_)
            | Self::Writing(_)
            | Self::AwaitingOldClaim(_)
            | Self::FellBack { .. }
            | Self::Failed(..) => Outlook::Working,
            Self::PoolPaused(_)
            | Self::AddressUnread(_)
            | Self::PoolExhausted(_)
            | Self::Paused
            | Self::MovedAway
            | Self::Deleting => Outlook::Waiting,
            Self::PoolNotFound(_)
            | Self::ClassMissing(_)
            | Self::Conflict(_)
            | Self::Rejected(..)
            | Self::Refused(..) => Outlook::Stuck,
        }
    }

    /// Whether the reason is a warning, although the Cluster may be in order.
    pub fn warns(&self) -> bool {
        self.outlook() == Outlook::Stuck
            || matches!(self, Self::VariableMissing(_) | Self::PoolExhausted(_))
    }

    /// Whether nothing is written on the Cluster to tell the reason: a paused Cluster, or one that
    /// is about to go, is left alone.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Paused | Self::MovedAway | Self::Deleting | Self::Released)
    }

    /// The graver, the smaller.
    fn gravity(&self) -> u8 {
        match self.outlook() {
            Outlook::Stuck => 0,
            Outlook::Waiting => 1,
            Outlook::Working => 2,
            Outlook::Well if self.warns() => 3,
            Outlook::Well if matches!(self, Self::Allocated | Self::Manual(..)) => 4,
            Outlook::Well => 5,
        }
    }

    /// The changes of VIP pools that may help.
    fn awaits(&self) -> Option<Awaits> {
        match self {
            Self::NotConfigured | Self::PoolNotFound(_) => Some(Awaits { room: false }),
            Self::Claiming
            | Self::AwaitingAddress(_)
            | Self::PoolPaused(_)
            | Self::FellBack { .. }
            | Self::PoolExhausted(_)
            | Self::AwaitingOldClaim(_)
            | Self::Rejected(..)
            | Self::Refused(..)
            | Self::Failed(..) => Some(Awaits { room: true }),
            _ => None,
        }
    }
}

impl VipVerdict {
    /// A verdict about the Cluster as a whole.
    pub(crate) fn whole(reason: VipReason, names: &'static VipNames) -> Self {
        Self { reason, job: None, parts: BTreeMap::new(), names, withheld: None }
    }

    /// The gravest of all parts.
    pub(crate) fn of(parts: BTreeMap<Job, Part>, names: &'static VipNames) -> Self {
        let gravest = parts.iter().min_by_key(|(job, part)| (part.reason.gravity(), **job));
        let gravest = gravest.map(|(job, part)| (*job, part.reason.clone()));
        let (job, reason) = gravest.unzip();
        let reason = reason.unwrap_or(VipReason::NotConfigured);
        Self { reason, job, parts, names, withheld: None }
    }

    /// Whether the Cluster has every VIP that can be given, or needs none.
    pub fn is_ready(&self) -> bool {
        self.outlook() == Outlook::Well
    }

    /// The changes of VIP pools that may help the Cluster.
    pub(crate) fn awaits(&self) -> Option<Awaits> {
        let all = self.parts.values().filter_map(|part| part.reason.awaits());
        all.reduce(|one, other| Awaits { room: one.room || other.room })
    }
}

impl Part {
    /// A part without a claim.
    pub(crate) fn plain(reason: VipReason) -> Self {
        Self { reason, pool: None, ip: None }
    }
}
