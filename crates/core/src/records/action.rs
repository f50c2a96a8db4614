//! Actions on DNS records.

use std::fmt;

use crate::action::Effect;
use crate::model::{AccountId, Family, ObjectKey, RecordChange, RecordRequest, Site};

/// A call about DNS records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordAction {
    /// Find a name at the DNS host, and read its records of one family.
    Read {
        /// The object that asks for the name.
        owner: ObjectKey,
        /// The request, with zone and name as the user writes them.
        request: RecordRequest,
        /// The family of the addresses in the records.
        family: Family,
    },
    /// Change the records of a name.
    Change {
        /// The owner of the name.
        owner: ObjectKey,
        /// The name at the DNS host.
        site: Site,
        /// The family of the addresses in the records.
        family: Family,
        /// The records to create, update and delete.
        change: RecordChange,
    },
}

impl RecordAction {
    /// Whether the call reads, or changes the DNS host.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Read { .. } => Effect::Reads,
            Self::Change { .. } => Effect::ChangesProvider,
        }
    }

    /// The account of the call.
    pub fn account(&self) -> &AccountId {
        match self {
            Self::Read { request, .. } => &request.account,
            Self::Change { site, .. } => &site.account,
        }
    }

    /// The object that the call is for.
    pub fn owner(&self) -> &ObjectKey {
        match self {
            Self::Read { owner, .. } | Self::Change { owner, .. } => owner,
        }
    }
}

impl fmt::Display for RecordAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { request, family, .. } => {
                let RecordRequest { zone, name, .. } = request;
                write!(f, "read the {} records of {name} in {zone}", family.record_type())
            }
            Self::Change { site, family, change, .. } => {
                write!(f, "update {site} {}: ", family.record_type())?;
                describe(f, change)
            }
        }
    }
}

fn describe(f: &mut fmt::Formatter<'_>, change: &RecordChange) -> fmt::Result {
    let mut parts = Vec::new();
    let created: Vec<_> = change.create.iter().map(ToString::to_string).collect();
    if !created.is_empty() {
        parts.push(format!("add {}", created.join(" ")));
    }
    let updated: Vec<_> = change.update.iter().map(|(_, value)| value.to_string()).collect();
    if !updated.is_empty() {
        parts.push(format!("set {}", updated.join(" ")));
    }
    if !change.delete.is_empty() {
        parts.push(format!("remove {}", change.delete.len()));
    }
    f.write_str(&parts.join("; "))
}
