//! Kinds of custom resources.

use std::cmp::Ordering;
use std::fmt;

/// A kind of custom resource: its names, and the subjects that objects may ask for.
#[derive(Debug)]
pub struct Kind {
    /// The API group.
    pub group: &'static str,
    /// The version that we read and write.
    pub version: &'static str,
    /// The kind's name, as in a manifest.
    pub name: &'static str,
    /// The plural, as in a URL.
    pub plural: &'static str,
    /// Short names for `kubectl`.
    pub aliases: &'static [&'static str],
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// Subjects that an object of the kind may ask for.
    pub asks_for: &'static [Subject],
}

/// Whether objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each object lives in a namespace.
    Namespaced,
    /// Objects belong to the whole cluster.
    Cluster,
}

/// A subject that objects ask for, with its own part of the world and of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Addresses on nodes.
    Addresses,
    /// Records in DNS.
    Records,
    /// VIPs of Clusters.
    Vips,
}

impl Kind {
    /// `group/version`, as in a manifest.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// The name of the kind's definition.
    pub fn definition(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Whether objects of the kind may ask for a subject.
    pub fn may_ask_for(&self, subject: Subject) -> bool {
        self.asks_for.contains(&subject)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Kind {}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        // Keys are compared often, and nearly always with keys of the same kind.
        if std::ptr::eq(self, other) {
            return Ordering::Equal;
        }
        (self.name, self.group).cmp(&(other.name, other.group))
    }
}
