//! Withheld actions, and the restraint that withholds them.

use std::fmt;

use crate::addresses::verdict::Verdict;
use crate::model::Text;
use crate::records::verdict::RecordVerdict;
use crate::verdict::Outlook;
use crate::vips::verdict::VipVerdict;

/// Why no action is carried out for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restraint {
    /// Another controller is running: its Lease is being renewed.
    Competing {
        /// The Lease, as `namespace/name`.
        lease: Text,
        /// The holder of the Lease.
        holder: Text,
    },
    /// Unknown whether another controller is running; the text says why.
    Unsure(Text),
    /// The object is paused; the text says why.
    Paused(Text),
    /// Observe mode.
    Observing,
}

impl Restraint {
    /// The words of all restraints.
    pub const WORDS: [&str; 4] =
        ["CompetingController", "CompetitionUnknown", "Paused", "Observing"];

    /// Stable word for conditions, events and pages.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Competing { .. } => Self::WORDS[0],
            Self::Unsure(_) => Self::WORDS[1],
            Self::Paused(_) => Self::WORDS[2],
            Self::Observing => Self::WORDS[3],
        }
    }

    /// Whether another controller may be acting for the object.
    pub fn is_for_another(&self) -> bool {
        matches!(self, Self::Competing { .. } | Self::Unsure(_))
    }
}

impl fmt::Display for Restraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Competing { lease, holder } => {
                write!(f, "observing only: {holder} renews the Lease {lease}")
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

/// Planned actions that are not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// The restraint that withholds the actions.
    pub by: Restraint,
    /// The withheld actions, in words.
    pub would: Vec<Text>,
}

impl Withheld {
    /// Whether another controller may be running unnoticed. An object in good order is then not
    /// reported as ready.
    pub fn is_unsure(&self) -> bool {
        matches!(self.by, Restraint::Unsure(_))
    }
}

/// Most actions listed in a message.
const MOST_LISTED: usize = 10;

impl Withheld {
    /// Outlook under restraint: no work is in progress.
    fn outlook(&self, alone: Outlook) -> Outlook {
        match alone {
            Outlook::Working => Outlook::Waiting,
            Outlook::Well | Outlook::Waiting | Outlook::Stuck => alone,
        }
    }
}

impl fmt::Display for Withheld {
    /// Lists the withheld actions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, one) in self.would.iter().take(MOST_LISTED).enumerate() {
            write!(f, "{}{one}", if index == 0 { "would " } else { ", " })?;
        }
        match self.would.len().saturating_sub(MOST_LISTED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Verdict {
    /// Stable word for conditions and events: of the restraint, else of the reason.
    pub fn word(&self) -> &'static str {
        self.withheld.as_ref().map_or_else(|| self.reason.word(), |withheld| withheld.by.word())
    }

    /// The outlook of the reason, adjusted for a restraint.
    pub fn outlook(&self) -> Outlook {
        let alone = self.reason.outlook();
        self.withheld.as_ref().map_or(alone, |withheld| withheld.outlook(alone))
    }

    /// Whether the pool is in order; `None` while unknown, because the provider has not answered or
    /// another controller may be running.
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
    /// Stable word for conditions and events: of the restraint, else of the reason.
    pub fn word(&self) -> &'static str {
        self.withheld.as_ref().map_or_else(|| self.reason.word(), |withheld| withheld.by.word())
    }

    /// The outlook of the reason, adjusted for a restraint.
    pub fn outlook(&self) -> Outlook {
        let alone = self.reason.outlook();
        self.withheld.as_ref().map_or(alone, |withheld| withheld.outlook(alone))
    }
}

impl VipVerdict {
    /// Stable word for conditions and events: of the restraint, else of the reason.
    pub fn word(&self) -> &'static str {
        self.withheld.as_ref().map_or_else(|| self.reason.word(), |withheld| withheld.by.word())
    }

    /// The outlook of the reason, adjusted for a restraint.
    pub fn outlook(&self) -> Outlook {
        let alone = self.reason.outlook();
        self.withheld.as_ref().map_or(alone, |withheld| withheld.outlook(alone))
    }
}
