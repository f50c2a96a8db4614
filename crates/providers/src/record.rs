//! The operations on address records that every DNS host offers, without provider-specific terms.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use async_trait::async_trait;

use crate::error::{Error, ErrorKind, Result};
use crate::layers::HeldBack;

/// The DNS records of an account.
///
/// Ownership and changes apply to a *set*: all records of one kind at one name. No method reads or
/// changes anything else in the zone. A change is planned from a listing:
///
/// | result | meaning |
/// |---|---|
/// | `list` is `Ok`, also empty | exactly the records of the set |
/// | `list` is an error | the set is unknown |
/// | `change` is `Ok` | the set as before, without the deleted and with the written records |
/// | `change` is `Ok` with a [`rest`](Changed::rest) | the same, with a part not made |
/// | `change` is an error | the set is unknown: list before the next change |
///
/// A change may take several calls ([`RecordCapabilities::changes_per_call`]). An error then is
/// about the failed call: earlier calls took effect, and later calls were not made. A call held
/// back by our own rate budget is not an error, because the completed part is certain. Records are
/// updated first and deleted last, so an interrupted change never leaves fewer good records than
/// before.
#[async_trait]
pub trait RecordProvider: Send + Sync + fmt::Debug {
    /// Static properties of this host.
    fn capabilities(&self) -> RecordCapabilities;

    /// The normalised name for the user's `name` in `zone`: different spellings of one name give
    /// equal results. `zone` is a name, or an identifier if [`RecordCapabilities::zones_by_id`] is
    /// set. `name` is relative to the zone or full, with or without a trailing dot; empty or `@` is
    /// the zone itself.
    ///
    /// Hosts with zone identifiers take one request per zone, cached until the host no longer knows
    /// the zone; other hosts take no request. A zone missing in the account is
    /// [`NotFound`](ErrorKind::NotFound), here or in [`list`](Self::list). An invalid name is
    /// [`Rejected`](ErrorKind::Rejected).
    async fn locate(&self, zone: &str, name: &str) -> Result<RecordName>;

    /// The whole set, all pages, ordered by value.
    async fn list(&self, name: &RecordName, kind: RecordKind) -> Result<Vec<Record>>;

    /// Changes the set. Deleting a missing record is success.
    ///
    /// [`Busy`](ErrorKind::Busy) means the set differs from the change's assumption: somebody else
    /// changes the set too. Repeating a change is not safe everywhere, because hosts that allow
    /// equal records create a second one: after a lost answer, list.
    ///
    /// A record that the host refuses ([`Rejected`](ErrorKind::Rejected),
    /// [`QuotaExceeded`](ErrorKind::QuotaExceeded)) keeps no other record of the change from being written;
    /// the first refusal is the error.
    async fn change(
        &self,
        name: &RecordName,
        kind: RecordKind,
        change: &RecordChange,
    ) -> Result<Changed>;
}

/// Refusals after which a change is given up: the host seems to refuse every record.
const MOST_REFUSALS: usize = 16;

/// Refusals of records, while the others are written.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Vec<Error>);

impl Refusals {
    /// Notes the refusal of a record. Any other error ends the change, and so does one refusal too many.
    pub(crate) fn heed(&mut self, error: Error) -> Result<()> {
        let is_refusal = matches!(error.kind, ErrorKind::Rejected | ErrorKind::QuotaExceeded);
        if !is_refusal || self.0.len() == MOST_REFUSALS {
            return Err(error);
        }
        self.0.push(error);
        Ok(())
    }

    /// The first refusal, once the change is over.
    pub(crate) fn conclude(self) -> Result<()> {
        self.0.into_iter().next().map_or(Ok(()), Err)
    }
}

/// The effect of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The created and updated records in their new state.
    pub written: Vec<Record>,
    /// The records now gone.
    pub deleted: Vec<RecordId>,
    /// Set if our budget held the rest back. The rest can be sent later without a new listing.
    pub rest: Option<HeldBack>,
}

impl Changed {
    /// The result when the next call failed with `error`. A change held back after its first call
    /// is a partial success.
    pub(crate) fn stopped_by(self, error: Error) -> Result<Self> {
        let begun = !self.written.is_empty() || !self.deleted.is_empty();
        match error.kind {
            ErrorKind::HeldBack(hold) if begun => Ok(Self { rest: Some(hold), ..self }),
            _ => Err(error),
        }
    }
}

/// The place of records in the host's own terms, made by [`RecordProvider::locate`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordName {
    /// The zone's identifier if the host has identifiers, else the zone's name.
    pub zone: String,
    /// The full name, in lower case, without a trailing dot.
    pub name: String,
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The type of an address record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
}

impl RecordKind {
    /// The kind of record for `ip`.
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

/// The host's identifier of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub String);

/// A record of a set, as the host shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The host's identifier.
    pub id: RecordId,
    /// The address in the record. Several records of a set may have equal values.
    pub value: IpAddr,
    /// Time to live in seconds, or [`RecordCapabilities::automatic_ttl`].
    pub ttl: u32,
    /// The comment on the record, ours or foreign.
    pub mark: Option<String>,
    /// The host answers queries with its own addresses instead of the value.
    pub proxied: bool,
}

/// The wanted state of a record. Writing always turns off proxying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedRecord {
    /// The address in the record.
    pub value: IpAddr,
    /// Time to live in seconds.
    pub ttl: u32,
    /// The comment to write, ignored by hosts without comments. `None` keeps the present comment.
    pub mark: Option<String>,
}

/// The difference between a set and its wanted state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChange {
    /// Records to add.
    pub create: Vec<WantedRecord>,
    /// Records to keep with another value or time to live.
    pub update: Vec<(RecordId, WantedRecord)>,
    /// Records to remove.
    pub delete: Vec<RecordId>,
}

impl RecordChange {
    /// The number of records touched.
    pub fn len(&self) -> usize {
        let Self { create, update, delete } = self;
        create.len() + update.len() + delete.len()
    }

    /// Whether the change touches no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The change in two halves, in order; `None` for a single record.
    pub(crate) fn halves(&self) -> Option<[Self; 2]> {
        let half = self.len() / 2;
        let mut first = Self::default();
        let mut second = self.clone();
        let updates = half.min(second.update.len());
        first.update.extend(second.update.drain(..updates));
        let creates = (half - updates).min(second.create.len());
        first.create.extend(second.create.drain(..creates));
        first.delete.extend(second.delete.drain(..half - updates - creates));
        (half > 0).then_some([first, second])
    }

    /// Every record written by the change.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = &WantedRecord> {
        self.update.iter().map(|(_, wanted)| wanted).chain(&self.create)
    }

    /// Rejects records that are invalid for `kind` or for this host.
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

/// The abilities of a DNS host. A change beyond them is refused before any call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordCapabilities {
    /// The most records in one atomic call.
    pub changes_per_call: usize,
    /// The longest comment of a record, in characters. `None` if records carry no comments, so
    /// ownership cannot be read from the host.
    pub longest_mark: Option<usize>,
    /// Zones can also be named by identifier.
    pub zones_by_id: bool,
    /// The times to live accepted by the host, in seconds. The plan of a zone may allow fewer.
    pub ttls: RangeInclusive<u32>,
    /// The time to live that leaves the choice to the host.
    pub automatic_ttl: Option<u32>,
}

impl RecordCapabilities {
    fn is_beyond(&self, mark: &str) -> bool {
        self.longest_mark.is_some_and(|longest| mark.chars().count() > longest)
    }
}
