//! What every DNS host can do with address records, in words that no vendor owns.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use async_trait::async_trait;

use crate::error::{Error, ErrorKind, Result};
use crate::layers::Hold;

/// One account's DNS records.
///
/// The unit that is owned and changed is a *set*: all records of one kind at one name. No
/// method looks at or touches anything else in the zone. A change is made from a listing:
///
/// | | means |
/// |---|---|
/// | `list` is `Ok`, also empty | the set is exactly this |
/// | `list` is an error | nothing is known of the set |
/// | `change` is `Ok` | the set is what it was, less what was deleted, with what was written |
/// | `change` is `Ok` with a [`rest`](Changed::rest) | the same, and a part of it was not made |
/// | `change` is an error | nothing is known of the set: list it before the next change |
///
/// Where a change takes several calls ([`RecordCapabilities::changes_per_call`]), an error
/// speaks of the call that failed: those before it have had their effect, those after it
/// were not made. Where it is our own rate budget that holds a call back, what was made and
/// what was not is known for certain: that is no error. Records are updated first and deleted last, so that a change that stops
/// half-way never leaves fewer good records than there were.
#[async_trait]
pub trait RecordProvider: Send + Sync + fmt::Debug {
    /// What this host can and cannot do.
    fn capabilities(&self) -> RecordCapabilities;

    /// The one true name of what a user calls `name` in `zone`: two ways to write one name
    /// give equal results. `zone` is a name, or where [`RecordCapabilities::zones_by_id`] an
    /// identifier; `name` is relative to the zone or full, with or without a dot at its end,
    /// and empty or `@` for the zone itself.
    ///
    /// Costs one request for each zone, which is kept until the host does not know the zone
    /// any more, and none where zones have no identifiers. A zone that the account does not
    /// have is an error of the kind [`NotFound`](ErrorKind::NotFound), here or in
    /// [`list`](Self::list); what cannot be a name is [`Rejected`](ErrorKind::Rejected).
    async fn locate(&self, zone: &str, name: &str) -> Result<RecordName>;

    /// The whole set, all pages, ordered by value.
    async fn list(&self, name: &RecordName, kind: RecordKind) -> Result<Vec<Record>>;

    /// Changes the set. What is deleted already counts as deleted.
    ///
    /// An error of the kind [`Busy`](ErrorKind::Busy) says that the set is not what the
    /// change supposed: somebody else changes it too. Sending one change twice is not safe
    /// everywhere (hosts that allow equal records make a second one): after a lost answer,
    /// list.
    async fn change(
        &self,
        name: &RecordName,
        kind: RecordKind,
        change: &RecordChange,
    ) -> Result<Changed>;
}

/// What a change did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The records that were created and updated, as they are now.
    pub written: Vec<Record>,
    /// The records that are gone.
    pub deleted: Vec<RecordId>,
    /// The rest was held back, and can be made without looking again.
    pub rest: Option<Hold>,
}

impl Changed {
    /// What there is to say when the next call failed: a change that was held back after it
    /// had begun has come so far.
    pub(crate) fn stopped_by(self, error: Error) -> Result<Self> {
        let begun = !self.written.is_empty() || !self.deleted.is_empty();
        match error.kind {
            ErrorKind::HeldBack(hold) if begun => Ok(Self { rest: Some(hold), ..self }),
            _ => Err(error),
        }
    }
}

/// Where records are, as the host itself names it; made by [`RecordProvider::locate`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordName {
    /// The zone: its identifier where the host has such, else its name.
    pub zone: String,
    /// The full name, in lower case, without a dot at the end.
    pub name: String,
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Which kind of address record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
}

impl RecordKind {
    /// The kind of record that holds `ip`.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Self::A } else { Self::Aaaa }
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
        })
    }
}

/// A record as the host names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub String);

/// One record of a set, as the host shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The host's own identifier.
    pub id: RecordId,
    /// The address that it points at. Two records of a set may have the same.
    pub value: IpAddr,
    /// Time to live in seconds, or [`RecordCapabilities::automatic_ttl`].
    pub ttl: u32,
    /// The note on it, ours or not.
    pub mark: Option<String>,
    /// The host answers with addresses of its own instead of the value.
    pub proxied: bool,
}

/// What a record should be. A proxy before it is always turned off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedRecord {
    /// The address to point at.
    pub value: IpAddr,
    /// Time to live in seconds.
    pub ttl: u32,
    /// The note to put on it; hosts that have no notes leave it out. `None` leaves the one
    /// that is there.
    pub mark: Option<String>,
}

/// How a set differs from what it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChange {
    /// Records to add.
    pub create: Vec<WantedRecord>,
    /// Records that stay, with another value or time to live.
    pub update: Vec<(RecordId, WantedRecord)>,
    /// Records to remove.
    pub delete: Vec<RecordId>,
}

impl RecordChange {
    /// How many records it touches.
    pub fn len(&self) -> usize {
        let Self { create, update, delete } = self;
        create.len() + update.len() + delete.len()
    }

    /// It touches none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every record that will be in the set because of it.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &WantedRecord> {
        self.update.iter().map(|(_, wanted)| wanted).chain(&self.create)
    }

    /// Refuses what no record of the kind at this host can be.
    pub(crate) fn check(&self, kind: RecordKind, host: &RecordCapabilities) -> Result<()> {
        for WantedRecord { value, ttl, mark } in self.wanted() {
            let words = if RecordKind::of(*value) != kind {
                format!("{value} cannot be in a record of the type {kind}")
            } else if !host.ttls.contains(ttl) && host.automatic_ttl != Some(*ttl) {
                let (shortest, longest) = (host.ttls.start(), host.ttls.end());
                format!("a TTL of {ttl} s is not between {shortest} and {longest}")
            } else if mark.as_ref().is_some_and(|mark| host.is_beyond(mark)) {
                "the mark is longer than a record can carry".to_owned()
            } else {
                continue;
            };
            return Err(Error::new(ErrorKind::Rejected, words));
        }
        Ok(())
    }
}

/// What a DNS host can do; the planner reads this, so that nothing is "not implemented" at
/// run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordCapabilities {
    /// One call changes up to so many records, all of them or none.
    pub changes_per_call: usize,
    /// The longest note that a record can carry, in characters; `None` where it can carry
    /// none, and ownership cannot be read from the host.
    pub longest_mark: Option<usize>,
    /// A zone can be named by its identifier too.
    pub zones_by_id: bool,
    /// The times to live that the host takes, in seconds. The plan of a zone may allow less.
    pub ttls: RangeInclusive<u32>,
    /// The time to live that says: as the host likes.
    pub automatic_ttl: Option<u32>,
}

impl RecordCapabilities {
    fn is_beyond(&self, mark: &str) -> bool {
        self.longest_mark.is_some_and(|longest| mark.chars().count() > longest)
    }
}
