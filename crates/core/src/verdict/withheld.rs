//! What keeps a plan from being carried out, and what it would have done.

use std::fmt;

use crate::addresses::verdict::Verdict;
use crate::model::Text;
use crate::records::verdict::RecordVerdict;
use crate::verdict::Outlook;

/// What keeps us from acting for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restraint {
    /// Another controller is at work: it renews this lease.
    Competing {
        /// The lease, as `namespace/name`.
        lease: Text,
        /// Whoever holds it.
        holder: Text,
    },
    /// Whether another controller is at work is not known, for this reason.
    Unsure(Text),
    /// Somebody paused this object, and says why.
    Paused(Text),
    /// We were started to observe.
    Observing,
}

impl Restraint {
    /// Every word that one has.
    pub const WORDS: [&str; 4] =
        ["CompetingController", "CompetitionUnknown", "Paused", "Observing"];

    /// Stable word for conditions, events and documents.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Competing { .. } => Self::WORDS[0],
            Self::Unsure(_) => Self::WORDS[1],
            Self::Paused(_) => Self::WORDS[2],
            Self::Observing => Self::WORDS[3],
        }
    }

    /// Whether the object may be another controller's now.
    pub fn is_for_another(&self) -> bool {
        matches!(self, Self::Competing { .. } | Self::Unsure(_))
    }
}

impl fmt::Display for Restraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Competing { lease, holder } => {
                write!(f, "observing only: {holder} renews the lease {lease}")
            }
            Self::Unsure(why) => write!(
                f,
                "observing only: whether another controller is at work is not known: {why}"
            ),
            Self::Paused(why) if why.is_empty() => f.write_str("paused"),
            Self::Paused(why) => write!(f, "paused: {why}"),
            Self::Observing => f.write_str("observing only"),
        }
    }
}

/// What a plan has for an object, and is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// Why not.
    pub by: Restraint,
    /// What would be done, in words.
    pub would: Vec<Text>,
}

impl Withheld {
    /// Whether it is not known who looks after the object: then all may be in place, and
    /// nobody can say that it is well.
    pub fn is_unsure(&self) -> bool {
        matches!(self.by, Restraint::Unsure(_))
    }
}

/// How much of it a message lists.
const LISTED: usize = 10;

impl Withheld {
    /// What a reason means under restraint: nobody is working on it.
    fn outlook(&self, alone: Outlook) -> Outlook {
        match alone {
            Outlook::Working => Outlook::Waiting,
            Outlook::Well | Outlook::Waiting | Outlook::Stuck => alone,
        }
    }
}

impl fmt::Display for Withheld {
    /// What would be done.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.would.iter().take(LISTED).enumerate() {
            write!(f, "{}{one}", if index == 0 { "would " } else { ", " })?;
        }
        match self.would.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Verdict {
    /// Stable word for conditions and events: the restraint's, if there is one.
    pub fn word(&self) -> &'static str {
        self.withheld.as_ref().map_or_else(|| self.reason.word(), |withheld| withheld.by.word())
    }

    /// What it means for the one who waits.
    pub fn outlook(&self) -> Outlook {
        let alone = self.reason.outlook();
        self.withheld.as_ref().map_or(alone, |withheld| withheld.outlook(alone))
    }

    /// Whether all is as it should be; none while the cloud has not been heard on that.
    pub fn is_ready(&self) -> Option<bool> {
        match self.outlook() {
            Outlook::Well if self.withheld.as_ref().is_some_and(Withheld::is_unsure) => None,
            Outlook::Well => Some(true),
            _ if self.is_unheard() => None,
            Outlook::Working if !self.is_heard() => None,
            Outlook::Working | Outlook::Waiting | Outlook::Stuck => Some(false),
        }
    }
}

impl RecordVerdict {
    /// Stable word for conditions and events: the restraint's, if there is one.
    pub fn word(&self) -> &'static str {
        self.withheld.as_ref().map_or_else(|| self.reason.word(), |withheld| withheld.by.word())
    }

    /// What it means for the one who waits.
    pub fn outlook(&self) -> Outlook {
        let alone = self.reason.outlook();
        self.withheld.as_ref().map_or(alone, |withheld| withheld.outlook(alone))
    }
}
