//! The VIPs that a Cluster may have, and the names of their claims.

use std::fmt;

use crate::model::Family;

/// The use of a VIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The endpoint of the control plane.
    ControlPlane,
    /// Ingress of the workloads.
    Ingress,
}

impl Role {
    /// Both roles, in order.
    pub const ALL: [Self; 2] = [Self::ControlPlane, Self::Ingress];

    /// The word on VIP pools, on claims and in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::ControlPlane => "control-plane",
            Self::Ingress => "ingress",
        }
    }

    /// The role of a word, which must match exactly.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::ControlPlane => "vip-cp-",
            Self::Ingress => "vip-ingress-",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControlPlane => "control plane",
            Self::Ingress => "ingress",
        })
    }
}

/// Which of the VIPs of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// The VIP that the Cluster shows.
    First,
    /// The VIP of the other family, for a Cluster with two.
    Second(Family),
}

/// The job of providing one VIP of a Cluster. Jobs are independent of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// The use of the VIP.
    pub role: Role,
    /// Which of the VIPs of the role.
    pub slot: Slot,
}

impl Job {
    /// The job of the VIP that a Cluster shows.
    pub const fn first(role: Role) -> Self {
        Self { role, slot: Slot::First }
    }

    /// The job of the VIP of another family.
    pub const fn second(role: Role, family: Family) -> Self {
        Self { role, slot: Slot::Second(family) }
    }

    /// Every job that a Cluster may have.
    pub fn all() -> impl Iterator<Item = Self> {
        let slots = [Slot::First, Slot::Second(Family::V4), Slot::Second(Family::V6)];
        Role::ALL.into_iter().flat_map(move |role| slots.map(|slot| Self { role, slot }))
    }

    /// The name of the claim.
    pub fn claim(self, cluster: &str) -> String {
        format!("{}{cluster}{}", self.role.prefix(), self.slot.suffix())
    }

    /// The Clusters, by name, that a claim of this name may belong to, each with the job. A name
    /// may be read in two ways: as the second claim of `a`, or as the first claim of `a-v6`.
    pub fn of_claim(name: &str) -> impl Iterator<Item = (Self, &str)> {
        Self::all().filter_map(move |job| {
            let rest = name.strip_prefix(job.role.prefix())?;
            let cluster = rest.strip_suffix(job.slot.suffix())?;
            (!cluster.is_empty()).then_some((job, cluster))
        })
    }
}

impl Slot {
    fn suffix(self) -> &'static str {
        match self {
            Self::First => "",
            Self::Second(Family::V4) => "-v4",
            Self::Second(Family::V6) => "-v6",
        }
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot {
            Slot::First => self.role.fmt(f),
            Slot::Second(family) => write!(f, "{} ({family})", self.role),
        }
    }
}
