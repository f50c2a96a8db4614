//! Cloudflare's HTTP API. The only file with URLs and answer formats.

use bytes::Bytes;
use http::{Method, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::{Refusal, VENDOR, refusal, unreadable};
use crate::access::Access;
use crate::effect::Effect;
use crate::error::Result;
use crate::layers::Priority;
use crate::record::{Record, RecordChange, RecordId, RecordKind, RecordName, WantedRecord};
use crate::rest::{self, Body, JSON, Rest};
use crate::transport::Transport;

/// Larger than any set in practice, so one page is the whole listing.
const PER_PAGE: usize = 1_000;

/// Typed calls, one request each.
#[derive(Debug)]
pub(super) struct Client {
    rest: Rest,
}

/// A zone as Cloudflare shows it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Zone {
    pub id: String,
    pub name: String,
    pub status: Option<String>,
}

/// A page of a record listing, keyed by identifier. `None` stands for a record outside the set,
/// returned in spite of the filter.
pub(super) struct Page {
    pub records: Vec<(String, Option<Record>)>,
    /// The number of records on all pages.
    pub total: usize,
    pub more: bool,
}

impl Client {
    pub fn new(access: Access, transport: Transport) -> Self {
        Self { rest: Rest::new(access, JSON, transport) }
    }

    /// All zones with this name: several accounts may each have one.
    pub async fn zones_called(&self, name: &str) -> Result<Vec<Zone>, Refusal> {
        let path = format!("/zones?name={name}");
        let answer = self.get(&path, Priority::Following).await?;
        let mut zones: Vec<Zone> = parse::<Vec<Zone>>(&answer)?.result;
        zones.retain(|zone| zone.name.eq_ignore_ascii_case(name));
        Ok(zones)
    }

    pub async fn zone(&self, id: &str) -> Result<Zone, Refusal> {
        let path = format!("/zones/{id}");
        let answer = self.get(&path, Priority::Following).await?;
        let zone: Zone = parse(&answer)?.result;
        if zone.id != id {
            return Err(unreadable("it is about another zone").into());
        }
        Ok(zone)
    }

    /// A page of the records of `kind` at `name`.
    pub async fn page(
        &self,
        name: &RecordName,
        kind: RecordKind,
        page: usize,
        priority: Priority,
    ) -> Result<Page, Refusal> {
        let full = &name.name;
        let query = format!("name.exact={full}&type={kind}&page={page}&per_page={PER_PAGE}");
        let path = format!("{}?{query}", records(name));
        let answer = self.get(&path, priority).await?;
        let Envelope { result, result_info } = parse::<Vec<Object>>(&answer)?;
        let info = result_info.unwrap_or_default();
        let more = info.total_pages.map_or(result.len() >= PER_PAGE, |pages| (page as f64) < pages);
        let records: Result<Vec<_>> =
            result.into_iter().map(|object| object.of_set(name, kind)).collect();
        Ok(Page { records: records?, total: info.total_count.unwrap_or_default() as usize, more })
    }

    /// Applies all changes or none, and returns the updated and created records.
    pub async fn batch(
        &self,
        name: &RecordName,
        kind: RecordKind,
        change: &RecordChange,
    ) -> Result<Vec<Record>, Refusal> {
        let deletes = change.delete.iter().map(|id| json!({ "id": id.0 }));
        let patches = change.update.iter().map(|(id, to)| body(name, kind, to, Some(id)));
        let posts = change.create.iter().map(|to| body(name, kind, to, None));
        let mut batch = serde_json::Map::new();
        for (step, items) in [
            ("deletes", deletes.collect::<Vec<Value>>()),
            ("patches", patches.collect()),
            ("posts", posts.collect()),
        ] {
            if !items.is_empty() {
                batch.insert(step.into(), items.into());
            }
        }
        let path = format!("{}/batch", records(name));
        // Failover is the highest priority: listings give way to record changes.
        let body = Some(Body::json(&batch.into()));
        let sent = self.rest.send(Method::POST, &path, body, Effect::Change, Priority::Failover);
        let answer = self.succeeded(sent.await?)?;
        let done: Batch = parse(&answer)?.result;
        let objects = [done.patches, done.posts].into_iter().flatten().flatten();
        let done: Result<Vec<Option<Record>>> =
            objects.map(|object| Ok(object.of_set(name, kind)?.1)).collect();
        let done: Option<Vec<Record>> = done?.into_iter().collect();
        Ok(done.filter(|done| holds(done, change)).ok_or_else(|| unreadable("not all is in it"))?)
    }

    /// Reads. An answer without success is a refusal.
    async fn get(&self, path: &str, priority: Priority) -> Result<Response<Bytes>, Refusal> {
        let sent = self.rest.send(Method::GET, path, None, Effect::Read, priority);
        self.succeeded(sent.await?)
    }

    fn succeeded(&self, answer: Response<Bytes>) -> Result<Response<Bytes>, Refusal> {
        if answer.status().is_success() && succeeded(&answer)? {
            Ok(answer)
        } else {
            Err(refusal(&answer, self.rest.credential()))
        }
    }
}

fn records(name: &RecordName) -> String {
    format!("/zones/{}/dns_records", name.zone)
}

/// The JSON of a wanted record. A patch leaves unnamed fields unchanged.
fn body(name: &RecordName, kind: RecordKind, to: &WantedRecord, id: Option<&RecordId>) -> Value {
    let WantedRecord { value, ttl, mark } = to;
    let mut body = json!({
        "name": name.name, "type": kind.to_string(), "content": value, "ttl": ttl,
        "proxied": false,
    });
    if let Some(id) = id {
        body["id"] = json!(id.0);
    }
    if let Some(mark) = mark {
        body["comment"] = json!(mark);
    }
    body
}

/// Whether the answer to a change contains every wanted value.
fn holds(done: &[Record], change: &RecordChange) -> bool {
    let mut given: Vec<_> = done.iter().map(|record| record.value).collect();
    let mut wanted: Vec<_> = change.wanted().map(|wanted| wanted.value).collect();
    given.sort_unstable();
    wanted.sort_unstable();
    given == wanted
}

#[derive(Deserialize)]
struct Success {
    success: bool,
}

/// The `success` flag, part of every Cloudflare answer.
fn succeeded(answer: &Response<Bytes>) -> Result<bool> {
    Ok(rest::parse::<Success>(VENDOR, answer)?.success)
}

#[derive(Deserialize)]
struct Envelope<T> {
    /// Required: an answer without `result` is unreadable, never an empty listing.
    result: T,
    result_info: Option<ResultInfo>,
}

#[derive(Default, Deserialize)]
struct ResultInfo {
    // Each a `number`, not an integer, in Cloudflare's specification.
    total_count: Option<f64>,
    total_pages: Option<f64>,
}

fn parse<T: DeserializeOwned>(answer: &Response<Bytes>) -> Result<Envelope<T>> {
    rest::parse(VENDOR, answer)
}

#[derive(Deserialize)]
struct Batch {
    patches: Option<Vec<Object>>,
    posts: Option<Vec<Object>>,
}

/// A record of any type.
#[derive(Deserialize)]
struct Object {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    name: String,
    content: Option<String>,
    /// A `number`, not an integer, in Cloudflare's specification.
    ttl: Option<f64>,
    proxied: Option<bool>,
    comment: Option<String>,
}

impl Object {
    /// The record's identifier, and the record if part of the set.
    fn of_set(self, name: &RecordName, kind: RecordKind) -> Result<(String, Option<Record>)> {
        let Self { id, kind: given, name: called, content, ttl, proxied, comment } = self;
        let here = called.trim_end_matches('.').eq_ignore_ascii_case(&name.name);
        if given != kind.to_string() || !here {
            return Ok((id, None));
        }
        let value = content.and_then(|content| content.parse().ok());
        let value = value
            .filter(|ip| RecordKind::of(*ip) == kind)
            .ok_or_else(|| unreadable("an address record without an address"))?;
        let ttl = ttl.filter(|ttl| (0.0..=f64::from(u32::MAX)).contains(ttl));
        let record = Record {
            id: RecordId(id.clone()),
            value,
            ttl: ttl.ok_or_else(|| unreadable("a record without a time to live"))? as u32,
            mark: comment.filter(|words| !words.is_empty()),
            proxied: proxied.unwrap_or(false),
        };
        Ok((id, Some(record)))
    }
}
