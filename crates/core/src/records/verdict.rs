//! The verdict on an object's records.
//!
//! Times are absolute, so that an unchanged verdict stays equal and is not written again.

use std::fmt;

use crate::Time;
use crate::addresses::verdict::{Precedence, REPLACE_CREDENTIALS};
use crate::model::{Finding, Held, ObjectKey, RecordNames, Site, Text};
use crate::verdict::{Outlook, Withheld};

/// The verdict on an object's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordVerdict {
    /// The gravest reason.
    pub reason: RecordReason,
    /// The site of the records, once the DNS host has named the site.
    pub site: Option<Site>,
    /// Number of records at the name; `None` while unknown.
    pub listed: Option<usize>,
    /// Number of addresses that the name should list; `None` while unknown.
    pub wanted: Option<usize>,
    /// The records that the object has.
    pub held: Option<Held>,
    /// Withheld actions, filled in by the executor.
    pub withheld: Option<Withheld>,
    /// Words for messages.
    pub names: &'static RecordNames,
}

/// The state of an object's records, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordReason {
    /// The name lists the wanted addresses.
    Current,
    /// A change is under way.
    Updating,
    /// The records of the name, or the places of the addresses, have not been read yet.
    Reading,
    /// No address is to be listed, and the name is left as is.
    NothingToList,
    /// No address is to be listed, and the name is empty.
    Removed,
    /// The pool cannot be planned, so that its addresses are unknown.
    PoolUnplanned,
    /// The spec has a defect.
    Invalid(Finding),
    /// The account cannot be used.
    NoAccount(Finding),
    /// Another object owns the name, by the given precedence.
    Conflict(Site, ObjectKey, Precedence),
    /// The account does not host the zone; the next attempt starts then.
    ZoneNotFound(Text, Time),
    /// The host refuses the records; the next attempt starts then.
    Rejected(Text, Time),
    /// The zone has no room for another record; the next attempt starts then.
    ZoneFull(Text, Time),
    /// The host refuses the credentials; the next attempt starts then.
    CredentialsRefused(Text, Time),
    /// The rate limit is used up until then.
    Throttled(Time),
    /// We pace ourselves to stay within the rate limit, and go on then.
    Pacing(Time),
    /// A call failed; the next attempt starts then.
    Failed(Text, Time),
    /// Drift: the number of changes by others, and when the records are restored.
    Drift(u32, Time),
}

impl RecordReason {
    /// Stable word for conditions, events and pages.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Current => "RecordCurrent",
            Self::Updating => "UpdatingRecord",
            Self::Reading => "ReadingRecord",
            Self::NothingToList => "NothingToList",
            Self::Removed => "RecordRemoved",
            Self::PoolUnplanned => "PoolNotPlanned",
            Self::Invalid(finding) | Self::NoAccount(finding) => finding.reason,
            Self::Conflict(..) => "Conflict",
            Self::ZoneNotFound(..) => "ZoneNotFound",
            Self::Rejected(..) => "RecordRejected",
            Self::ZoneFull(..) => "ZoneFull",
            Self::CredentialsRefused(..) => "CredentialsRefused",
            Self::Throttled(_) => "DNSThrottled",
            Self::Pacing(_) => "DNSPaced",
            Self::Failed(..) => "RecordFailed",
            Self::Drift(..) => "DNSDrift",
        }
    }

    /// The outlook for the user.
    pub fn outlook(&self) -> Outlook {
        match self {
            Self::Current | Self::Removed => Outlook::Well,
            Self::Updating
            | Self::Reading
            | Self::Throttled(_)
            | Self::Pacing(_)
            | Self::Failed(..)
            | Self::Drift(..) => Outlook::Working,
            Self::NothingToList | Self::PoolUnplanned => Outlook::Waiting,
            Self::Invalid(_)
            | Self::NoAccount(_)
            | Self::Conflict(..)
            | Self::ZoneNotFound(..)
            | Self::Rejected(..)
            | Self::ZoneFull(..)
            | Self::CredentialsRefused(..) => Outlook::Stuck,
        }
    }
}

impl fmt::Display for RecordVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.site.as_ref().map_or("the name", |site| &*site.name);
        if let Some(withheld) = &self.withheld {
            write!(f, "{}; ", withheld.by)?;
            if !withheld.would.is_empty() {
                return withheld.fmt(f);
            }
        }
        match &self.reason {
            RecordReason::Current => {
                let listed = self.listed.unwrap_or(0);
                let addresses = if listed == 1 { "address" } else { "addresses" };
                write!(f, "{name} lists {listed} {addresses}")
            }
            RecordReason::Updating => write!(f, "{name} is being updated"),
            RecordReason::Reading => write!(f, "{name} has not been read yet"),
            RecordReason::NothingToList => {
                write!(f, "there is no address to list; {name} is left as it is")
            }
            RecordReason::Removed => {
                let remove = self.names.remove;
                write!(f, "there is no address to list; {name} lists none ({remove})")
            }
            RecordReason::PoolUnplanned => {
                write!(f, "the pool's addresses are not known; {name} is left as it is")
            }
            RecordReason::Invalid(finding) | RecordReason::NoAccount(finding) => {
                f.write_str(&finding.message)
            }
            RecordReason::Conflict(site, owner, why) => {
                write!(f, "{site} belongs to {owner}, {why}")
            }
            RecordReason::ZoneNotFound(message, next) => {
                write!(f, "{message}; next attempt at {next}")
            }
            RecordReason::Rejected(message, next) => {
                write!(f, "the DNS host refuses {name}: {message}; next attempt at {next}")
            }
            RecordReason::ZoneFull(message, next) => {
                write!(f, "the zone takes no more records: {message}; next attempt at {next}")
            }
            RecordReason::CredentialsRefused(message, next) => write!(
                f,
                "the DNS host refuses the credentials: {message}; {REPLACE_CREDENTIALS}; \
                 next attempt at {next}"
            ),
            RecordReason::Throttled(until) => {
                write!(f, "the DNS host's rate limit is used up until {until}")
            }
            RecordReason::Pacing(until) => write!(
                f,
                "calls are paced to stay within the DNS host's rate limit; {name} is next at \
                 {until}"
            ),
            RecordReason::Failed(message, next) => {
                write!(f, "{name}: {message}; next attempt at {next}")
            }
            RecordReason::Drift(times, until) => explain_drift(f, name, *times, *until),
        }
    }
}

fn explain_drift(f: &mut fmt::Formatter<'_>, name: &str, times: u32, until: Time) -> fmt::Result {
    write!(f, "somebody else changed {name}")?;
    if times > 1 {
        write!(f, " ({times} times in a row)")?;
    }
    write!(f, "; the name is put back at {until}; let one writer keep the name")
}
