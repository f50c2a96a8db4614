//! VIP pools, and the Clusters that they serve.

use std::collections::BTreeSet;
use std::fmt;

use super::cluster::ClassRef;
use super::job::Role;
use crate::model::{Family, Text};

/// The value of a label that refers to the annotation of the same key.
const SEE_ANNOTATION: &str = "true";

/// Where a VIP pool lives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolScope {
    /// In a namespace, for the Clusters there.
    Namespace(Text),
    /// For all Clusters.
    Global,
}

/// The name of a VIP pool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolId {
    /// Where the VIP pool lives.
    pub scope: PoolScope,
    /// The name.
    pub name: Text,
}

impl PoolId {
    /// A VIP pool for all Clusters.
    pub fn global(name: impl Into<Text>) -> Self {
        Self { scope: PoolScope::Global, name: name.into() }
    }

    /// A VIP pool in a namespace.
    pub fn local(namespace: impl Into<Text>, name: impl Into<Text>) -> Self {
        Self { scope: PoolScope::Namespace(namespace.into()), name: name.into() }
    }

    /// Whether Clusters in a namespace may use the VIP pool.
    pub(crate) fn is_for(&self, namespace: &Text) -> bool {
        match &self.scope {
            PoolScope::Namespace(own) => own == namespace,
            PoolScope::Global => true,
        }
    }
}

impl fmt::Display for PoolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            PoolScope::Namespace(namespace) => write!(f, "{namespace}/{}", self.name),
            PoolScope::Global => f.write_str(&self.name),
        }
    }
}

/// A VIP pool: addresses that claims are bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipPool {
    /// The name.
    pub id: PoolId,
    /// The object's resource version, counted.
    pub version: u64,
    /// The classes that the VIP pool serves.
    pub classes: Entries,
    /// The roles that the VIP pool serves.
    pub roles: BTreeSet<Role>,
    /// The family of the addresses; `None` if unknown.
    pub family: Option<Family>,
    /// The room; `None` until the provider has counted.
    pub room: Option<Room>,
    /// The VIP pool is paused: no claim is bound.
    pub paused: bool,
    /// The VIP pool is being deleted.
    pub deleting: bool,
    /// VIP pools of a higher priority come first.
    pub priority: i32,
}

/// The room of a VIP pool, as its provider counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Number of addresses.
    pub total: i64,
    /// Number of free addresses. Negative if addresses outside the VIP pool are in use.
    pub free: i64,
    /// Number of addresses in use.
    pub used: i64,
}

impl VipPool {
    /// Whether the VIP pool has a free address; `None` if unknown.
    pub fn has_room(&self) -> Option<bool> {
        self.room.map(|room| room.free > 0)
    }

    /// Whether the VIP pool serves a class in a role.
    pub fn serves(&self, class: &ClassRef, role: Role) -> bool {
        self.roles.contains(&role) && self.classes.name(class)
    }

    /// Whether planning sees no difference.
    pub(crate) fn plans_like(&self, other: &Self) -> bool {
        self.has_room() == other.has_room() && self.selects_like(other)
    }

    /// Whether the same Clusters may choose the VIP pool, apart from its room.
    pub(crate) fn selects_like(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.family, one.paused, one.deleting, one.priority);
        of(self) == of(other) && self.classes == other.classes && self.roles == other.roles
    }
}

/// The entries of a list on a VIP pool. Upper and lower case differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(BTreeSet<Text>);

impl Entries {
    /// The entries of a label, separated by commas. The value `true` refers to the annotation of the
    /// same key, where values may be written that a label cannot have. Without a label there are
    /// no entries.
    pub fn parse(label: Option<&str>, annotation: Option<&str>) -> Self {
        let list = match label {
            Some(SEE_ANNOTATION) => annotation,
            other => other,
        };
        let entries = list.unwrap_or_default().split(',').map(str::trim);
        Self(entries.filter(|entry| !entry.is_empty()).map(Text::from).collect())
    }

    /// The entries as roles. Other words are left out.
    pub fn roles(&self) -> BTreeSet<Role> {
        self.0.iter().filter_map(|entry| Role::parse(entry)).collect()
    }

    /// Whether an entry names a class: by its name alone, or as `namespace/name`.
    pub fn name(&self, class: &ClassRef) -> bool {
        self.0.contains(&class.name)
            || self.0.iter().any(|entry| {
                entry.split_once('/').is_some_and(|(namespace, name)| {
                    *namespace == *class.namespace && *name == *class.name
                })
            })
    }
}
