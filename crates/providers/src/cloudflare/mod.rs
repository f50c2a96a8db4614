//! Cloudflare: DNS.
//!
//! Permissions that the token needs: DNS Write, and Zone Read for zones and names that are
//! not written as FLIPOP wants them (the zone's ID and the record's full name).
//!
//! A set is read by one call and changed by one more: a batch, of which everything happens or
//! nothing. The vendor keeps no equal records, so that a batch that adds one which is there
//! or deletes one which is gone is refused as a whole. Then the set is read once more: what is
//! so already is success, and all else is told as changed by somebody else.

mod client;
mod config;
mod error;
mod limits;
#[cfg(test)]
mod tests;
mod zones;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{Error, ErrorKind, Result};
use crate::layers::{Budget, Priority, within};
use crate::names;
use crate::record::{
    Changed, Record, RecordCapabilities, RecordChange, RecordKind, RecordName, RecordProvider,
    WantedRecord,
};
use crate::transport::Transport;
use crate::vendor::{DnsVendor, OpenedDns, Settings};

use client::Client;
use error::{Refusal, unreadable};
use zones::{Found, Zones};

/// Cloudflare's entry in the registry.
pub static VENDOR: DnsVendor =
    DnsVendor { name: "cloudflare", open, token: config::TOKEN, api_url: config::API_URL };

/// What a zone on the vendor's smallest plan takes in one batch.
const LARGEST_BATCH: usize = 200;

/// What a comment may have on the vendor's smallest plan, in characters.
const LONGEST_COMMENT: usize = 100;

/// More pages than this are a listing that does not end.
const MOST_PAGES: usize = 50;

fn open(settings: &Settings<'_>, transport: Transport) -> OpenedDns {
    let access = config::read(settings)?;
    let transport = Budget::new(limits::RULES).around(within(transport, settings.timeout));
    let client = Client::new(access, transport);
    Ok(Arc::new(Cloudflare { client, zones: Zones::default() }))
}

/// One account.
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
            // Below a minute on Enterprise zones alone.
            ttls: 30..=86_400,
            automatic_ttl: Some(1),
        }
    }

    async fn locate(&self, zone: &str, name: &str) -> Result<RecordName> {
        let Found { id, name: zone } = self.zones.find(&self.client, zone).await?;
        let name = match zone {
            Some(zone) => names::full_name(&zone, name)?,
            // Leave to read the zone may be granted until somebody asks again.
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
        let mut done = Changed::default();
        for batch in batches(change) {
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
                Err(refusal) => return done.stopped_by(self.told(name, refusal)),
            }
        }
        Ok(done)
    }
}

impl Cloudflare {
    /// The whole set. A listing that is shorter than it says is no listing.
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
            // A listing that has begun is finished: half of one is of no use.
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

    /// Decides a change that was refused because the set is not as it was listed.
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

    /// What a refusal is to the one who asked; a zone that is gone is asked for again.
    fn told(&self, name: &RecordName, refusal: Refusal) -> Error {
        let error = Error::from(refusal);
        if error.kind != ErrorKind::NotFound {
            return error;
        }
        self.zones.forget(&name.zone);
        zones::unknown(&name.zone)
    }
}

/// Refuses a name that no `locate` of ours can have made.
fn located(name: &RecordName) -> Result<&RecordName> {
    if zones::is_id(&name.zone) && names::is_name(&name.name) {
        return Ok(name);
    }
    Err(Error::new(ErrorKind::Rejected, format!("{name} was never located")))
}

/// The change in parts that the vendor takes: one, unless it is very large. Then what is
/// deleted goes last.
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

/// The records that the change wanted, if the set is what the change would have made of it.
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
