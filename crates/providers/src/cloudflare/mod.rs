//! Cloudflare: DNS.
//!
//! Permissions of the token: DNS Write. Zone Read is also needed unless the zone is given by ID and
//! the record by its full name, as FLIPOP requires.
//!
//! Listing a set takes one call, and changing a set takes one more: an atomic batch. Cloudflare
//! allows no equal records, so a batch is refused as a whole if it adds an existing record or
//! deletes a missing one. The set is then read again: a set already in the wanted state is success,
//! and any other state is reported as changed by somebody else.

mod client;
mod config;
mod error;
mod limits;
#[cfg(test)]
mod tests;
mod zones;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{Error, ErrorKind, Result};
use crate::layers::{Budget, Priority, within};
use crate::names;
use crate::record::{
    Changed, Record, RecordCapabilities, RecordChange, RecordKind, RecordName, RecordProvider,
    Refusals, WantedRecord,
};
use crate::transport::Transport;
use crate::vendor::{Account, CredentialFrom, Opened, Settings, Vendor};

use client::Client;
use error::{Refusal, unreadable};
use zones::{Found, Zones};

/// Cloudflare's entry in the registry.
pub static VENDOR: Vendor = Vendor {
    name: "cloudflare",
    credential: CredentialFrom::Token(config::TOKEN),
    api_url: config::API_URL,
    open,
    addresses: None,
    dns: true,
};

/// The largest batch on Cloudflare's smallest plan.
const LARGEST_BATCH: usize = 200;

/// The longest comment on Cloudflare's smallest plan, in characters.
const LONGEST_COMMENT: usize = 100;

/// A listing with more pages is treated as endless and fails.
const MOST_PAGES: usize = 50;

fn open(settings: &Settings<'_>, transport: Transport) -> Opened {
    let access = config::read(settings)?;
    let transport = Budget::new(limits::RULES).around(within(transport, settings.timeout));
    let credential = access.credential.clone();
    let client = Client::new(access, transport);
    let records = Arc::new(Cloudflare { client, zones: Zones::default() });
    Ok(Account { credential, addresses: None, records: Some(records) })
}

/// A Cloudflare account.
#[derive(Debug)]
struct Cloudflare {
    client: Client,
    zones: Zones,
}

#[async_trait]
impl RecordProvider for Cloudflare {
    fn capabilities(&self) -> RecordCapabilities {
        RecordCapabilities {
            changes_per_call: LARGEST_BATCH,
            longest_mark: Some(LONGEST_COMMENT),
            zones_by_id: true,
            // Cloudflare accepts less than a minute only for Enterprise zones.
            ttls: 30..=86_400,
            automatic_ttl: Some(1),
        }
    }

    async fn locate(&self, zone: &str, name: &str) -> Result<RecordName> {
        let Found { id, name: zone } = self.zones.find(&self.client, zone).await?;
        let name = match zone {
            Some(zone) => names::full_name(&zone, name)?,
            // Zone Read may be granted later, so the next call asks again.
            None => names::full_name_somewhere(name).inspect_err(|_| self.zones.forget(&id))?,
        };
        Ok(RecordName { zone: id, name })
    }

    async fn list(&self, name: &RecordName, kind: RecordKind) -> Result<Vec<Record>> {
        let name = located(name)?;
        let listed = self.read(name, kind, Priority::Following).await;
        listed.map_err(|refusal| self.told(name, refusal))
    }

    async fn change(
        &self,
        name: &RecordName,
        kind: RecordKind,
        change: &RecordChange,
    ) -> Result<Changed> {
        let name = located(name)?;
        change.check(kind, &self.capabilities())?;
        let (mut done, mut refusals) = (Changed::default(), Refusals::default());
        let mut batches = VecDeque::from(batches(change));
        while let Some(batch) = batches.pop_front() {
            match self.client.batch(name, kind, &batch).await {
                Ok(records) => {
                    done.written.extend(records);
                    done.deleted.extend(batch.delete);
                }
                Err(refusal) if refusal.is_outdated() => {
                    let written = self.settle(name, kind, change, refusal).await?;
                    let deleted = change.delete.clone();
                    return Ok(Changed { written, deleted, rest: None });
                }
                Err(refusal) => {
                    if let Err(error) = refusals.heed(self.told(name, refusal)) {
                        return done.stopped_by(error);
                    }
                    // A batch is written whole or not at all.
                    let halves = batch.halves().into_iter().flatten();
                    halves.rev().for_each(|half| batches.push_front(half));
                }
            }
        }
        refusals.conclude().map(|()| done)
    }
}

impl Cloudflare {
    /// The whole set. A listing shorter than its own count is an error.
    async fn read(
        &self,
        name: &RecordName,
        kind: RecordKind,
        mut priority: Priority,
    ) -> Result<Vec<Record>, Refusal> {
        let mut found = BTreeMap::new();
        let mut total = 0;
        for number in 1..=MOST_PAGES {
            let page = self.client.page(name, kind, number, priority).await?;
            // Once begun, a listing is finished: half a listing is useless.
            priority = Priority::Begun;
            let before = found.len();
            found.extend(page.records);
            total = total.max(page.total);
            if page.more && found.len() > before {
                continue;
            }
            if page.more || found.len() < total {
                return Err(unreadable("a listing that is not whole").into());
            }
            let mut set: Vec<Record> = found.into_values().flatten().collect();
            set.sort_by(|a, b| (a.value, &a.id).cmp(&(b.value, &b.id)));
            return Ok(set);
        }
        Err(unreadable("a listing that does not end").into())
    }

    /// Reads the set after a refusal for an outdated listing, and decides whether the change is
    /// already in effect.
    async fn settle(
        &self,
        name: &RecordName,
        kind: RecordKind,
        change: &RecordChange,
        refusal: Refusal,
    ) -> Result<Vec<Record>> {
        let busy = |words: String| Err(Error::new(ErrorKind::Busy, words));
        let words = refusal.error.message;
        match self
            .read(name, kind, Priority::Begun)
            .await
            .map_err(|e| Error::from(e).after_others())
        {
            Ok(set) => match reached(change, &set) {
                Some(done) => Ok(done),
                None => busy(format!("the records of {name} are not as they were: {words}")),
            },
            Err(unread) => match unread.kind {
                ErrorKind::Unauthorized | ErrorKind::Forbidden | ErrorKind::RateLimited { .. } => {
                    Err(unread)
                }
                _ => busy(format!("{words}; reading it back: {}", unread.message)),
            },
        }
    }

    /// Converts a refusal. After `NotFound` the cached zone is dropped and looked up again.
    fn told(&self, name: &RecordName, refusal: Refusal) -> Error {
        let error = Error::from(refusal);
        if error.kind != ErrorKind::NotFound {
            return error;
        }
        self.zones.forget(&name.zone);
        zones::unknown(&name.zone)
    }
}

/// Rejects names not produced by [`RecordProvider::locate`].
fn located(name: &RecordName) -> Result<&RecordName> {
    if zones::is_id(&name.zone) && names::is_name(&name.name) {
        return Ok(name);
    }
    Err(Error::new(ErrorKind::Rejected, format!("{name} was never located")))
}

/// The change as batches of at most [`LARGEST_BATCH`]. A change of several batches deletes last.
fn batches(change: &RecordChange) -> Vec<RecordChange> {
    if change.is_empty() {
        return Vec::new();
    }
    if change.len() <= LARGEST_BATCH {
        return vec![change.clone()];
    }
    let mut parts = Vec::new();
    for update in change.update.chunks(LARGEST_BATCH) {
        parts.push(RecordChange { update: update.to_vec(), ..RecordChange::default() });
    }
    for create in change.create.chunks(LARGEST_BATCH) {
        parts.push(RecordChange { create: create.to_vec(), ..RecordChange::default() });
    }
    for delete in change.delete.chunks(LARGEST_BATCH) {
        parts.push(RecordChange { delete: delete.to_vec(), ..RecordChange::default() });
    }
    parts
}

/// The written records, if the set already looks as if the change had been applied.
fn reached(change: &RecordChange, set: &[Record]) -> Option<Vec<Record>> {
    let is = |record: &Record, wanted: &WantedRecord| {
        (record.value, record.ttl, record.proxied) == (wanted.value, wanted.ttl, false)
    };
    if set.iter().any(|record| change.delete.contains(&record.id)) {
        return None;
    }
    let updated = change.update.iter().map(|(id, wanted)| {
        set.iter().find(|record| record.id == *id && is(record, wanted)).cloned()
    });
    let created =
        change.create.iter().map(|wanted| set.iter().find(|record| is(record, wanted)).cloned());
    updated.chain(created).collect()
}
