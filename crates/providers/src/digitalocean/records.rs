//! DigitalOcean's DNS. Scopes of the token: `domain:read`, `domain:create`, `domain:update`,
//! `domain:delete`.
//!
//! Each record takes one call, in sequence. Equal records are allowed, so repeating a creation
//! makes a second record. Records carry no comments.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use super::client::Client;
use super::error::{self, speaks_of_quota};
use super::further;
use crate::error::{Error, ErrorKind, Result};
use crate::layers::Priority;
use crate::names;
use crate::record::{
    Changed, Record, RecordCapabilities, RecordChange, RecordId, RecordKind, RecordName,
    RecordProvider, Refusals, WantedRecord,
};

/// A listing with more pages (10,000 records under one name) is treated as endless and fails.
const MOST_PAGES: usize = 50;

/// The DNS of one account.
#[derive(Debug)]
pub(super) struct Records {
    pub client: Arc<Client>,
}

#[async_trait]
impl RecordProvider for Records {
    fn capabilities(&self) -> RecordCapabilities {
        RecordCapabilities {
            changes_per_call: 1,
            longest_mark: None,
            zones_by_id: false,
            ttls: 30..=i32::MAX as u32,
            automatic_ttl: None,
        }
    }

    async fn locate(&self, zone: &str, name: &str) -> Result<RecordName> {
        let zone = names::zone_name(zone)?;
        let name = names::full_name(&zone, name)?;
        Ok(RecordName { zone, name })
    }

    async fn list(&self, name: &RecordName, kind: RecordKind) -> Result<Vec<Record>> {
        let name = names::located(name)?;
        let mut found = BTreeMap::new();
        let mut priority = Priority::Following;
        for number in 1..=MOST_PAGES {
            let page = self.client.record_page(name, kind, number, priority).await;
            let page = page.map_err(|error| no_domain(name, further(priority, error)))?;
            // Once begun, a listing is finished: half a listing is useless.
            priority = Priority::Begun;
            let before = found.len();
            found.extend(page.records);
            if !page.more {
                let mut set: Vec<Record> = found.into_values().flatten().collect();
                set.sort_by(|a, b| (a.value, &a.id).cmp(&(b.value, &b.id)));
                return Ok(set);
            }
            if found.len() == before {
                return Err(error::unreadable("a listing that repeats itself"));
            }
        }
        Err(error::unreadable("a listing that does not end"))
    }

    async fn change(
        &self,
        name: &RecordName,
        kind: RecordKind,
        change: &RecordChange,
    ) -> Result<Changed> {
        let mut done = Changed::default();
        match self.write(names::located(name)?, kind, change, &mut done).await {
            Ok(()) => Ok(done),
            Err(error) => done.stopped_by(error),
        }
    }
}

impl Records {
    /// Applies a change record by record. `done` holds the completed part, also after an error.
    async fn write(
        &self,
        name: &RecordName,
        kind: RecordKind,
        change: &RecordChange,
        done: &mut Changed,
    ) -> Result<()> {
        change.check(kind, &self.capabilities())?;
        let updates: Vec<(u64, &WantedRecord)> =
            change.update.iter().map(|(id, to)| Ok((number(id)?, to))).collect::<Result<_>>()?;
        let deletes: Vec<(u64, &RecordId)> =
            change.delete.iter().map(|id| Ok((number(id)?, id))).collect::<Result<_>>()?;
        let mut refusals = Refusals::default();
        for (id, wanted) in updates {
            match self.client.update_record(name, kind, id, wanted).await {
                Ok(record) => done.written.push(record),
                Err(error) => refusals.heed(moved_on(name, error))?,
            }
        }
        for wanted in &change.create {
            match self.client.create_record(name, kind, wanted).await {
                Ok(record) => done.written.push(record),
                Err(error) => refusals.heed(full(no_domain(name, error)))?,
            }
        }
        for (number, id) in deletes {
            match self.client.delete_record(name, number).await {
                Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
                _ => done.deleted.push(id.clone()),
            }
        }
        refusals.conclude()
    }
}

fn number(id: &RecordId) -> Result<u64> {
    let words = || format!("\"{}\" is not the number of a record", id.0);
    id.0.parse().map_err(|_| Error::new(ErrorKind::Rejected, words()))
}

/// `NotFound` on these paths means the domain is unknown.
fn no_domain(name: &RecordName, error: Error) -> Error {
    if error.kind != ErrorKind::NotFound {
        return error;
    }
    let words = format!("the account has no domain {} at {}", name.zone, error::VENDOR);
    Error::new(ErrorKind::NotFound, words)
}

/// A listed record is gone: somebody else changed the set.
fn moved_on(name: &RecordName, error: Error) -> Error {
    if error.kind != ErrorKind::NotFound {
        return error;
    }
    Error::new(ErrorKind::Busy, format!("a record of {name} was deleted by somebody else"))
}

fn full(error: Error) -> Error {
    let about_quota = error.kind == ErrorKind::Rejected && speaks_of_quota(&error.message);
    let kind = if about_quota { ErrorKind::QuotaExceeded } else { error.kind };
    Error { kind, ..error }
}
