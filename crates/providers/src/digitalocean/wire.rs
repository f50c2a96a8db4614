//! The JSON of DigitalOcean's answers.

use std::net::IpAddr;

use bytes::Bytes;
use http::Response;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::error::{VENDOR, unreadable};
use crate::address::{Family, MachineId};
use crate::error::Result;
use crate::record::{Record, RecordId, RecordKind, RecordName};
use crate::rest;

/// The body of an answer.
pub(super) fn parse<T: DeserializeOwned>(answer: &Response<Bytes>) -> Result<T> {
    rest::parse(VENDOR, answer)
}

/// The answer about one address, with or without an envelope: early IPv6 answers had no envelope.
pub(super) fn single(answer: &Response<Bytes>) -> Result<Single> {
    let single: Single = parse(answer)?;
    if single.reserved_ip.is_some() || single.reserved_ipv6.is_some() {
        return Ok(single);
    }
    Ok(Single { reserved_ip: Some(parse(answer)?), ..single })
}

#[derive(Deserialize)]
pub(super) struct Listing {
    pub reserved_ips: Option<Vec<Object>>,
    pub reserved_ipv6s: Option<Vec<Object>>,
    pub links: Option<Links>,
}

#[derive(Deserialize)]
pub(super) struct Single {
    reserved_ip: Option<Object>,
    reserved_ipv6: Option<Object>,
    pub links: Option<Links>,
}

impl Single {
    pub fn into_object(self) -> Result<Object> {
        self.reserved_ip.or(self.reserved_ipv6).ok_or_else(|| unreadable("no address in it"))
    }
}

#[derive(Deserialize)]
pub(super) struct Links {
    pages: Option<Pages>,
    pub actions: Option<Vec<ActionLink>>,
}

#[derive(Deserialize)]
struct Pages {
    next: Option<String>,
}

/// Whether another page follows.
pub(super) fn has_next(links: Option<Links>) -> bool {
    let next = links.and_then(|links| links.pages).and_then(|pages| pages.next);
    next.is_some_and(|next| !next.is_empty())
}

#[derive(Deserialize)]
pub(super) struct ActionLink {
    pub id: u64,
}

#[derive(Deserialize)]
pub(super) struct Acted {
    pub action: Action,
}

/// An action as DigitalOcean reports it.
#[derive(Deserialize)]
pub(super) struct Action {
    pub id: u64,
    pub status: String,
}

/// A reserved address of either family.
#[derive(Deserialize)]
pub(super) struct Object {
    pub ip: IpAddr,
    /// `None`: the key is missing. `Some(None)`: the address is free.
    #[serde(default, deserialize_with = "said")]
    pub droplet: Option<Option<Droplet>>,
    pub region: Option<Region>,
    pub region_slug: Option<String>,
    pub locked: Option<bool>,
    pub project_id: Option<String>,
}

impl Object {
    /// The object itself. An address of the other family is an error.
    pub fn of(self, family: Family) -> Result<Self> {
        let fits = self.ip.is_ipv4() == (family == Family::V4);
        if fits { Ok(self) } else { Err(unreadable("an address of another family")) }
    }
}

#[derive(Deserialize)]
pub(super) struct Droplet {
    id: u64,
}

impl Droplet {
    pub fn machine(self) -> MachineId {
        MachineId(self.id.to_string())
    }
}

#[derive(Deserialize)]
pub(super) struct Region {
    pub slug: String,
}

fn said<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<Droplet>>, D::Error> {
    Option::deserialize(value).map(Some)
}

#[derive(Deserialize)]
pub(super) struct RecordListing {
    pub domain_records: Option<Vec<RecordObject>>,
    pub links: Option<Links>,
}

#[derive(Deserialize)]
struct SingleRecord {
    domain_record: RecordObject,
}

/// The record in the answer. A record outside the set is an error.
pub(super) fn single_record(
    answer: &Response<Bytes>,
    name: &RecordName,
    kind: RecordKind,
) -> Result<Record> {
    let (_, record) = parse::<SingleRecord>(answer)?.domain_record.of_set(name, kind)?;
    record.ok_or_else(|| unreadable("it is about another record"))
}

/// A record of any type.
#[derive(Deserialize)]
pub(super) struct RecordObject {
    id: u64,
    #[serde(rename = "type")]
    kind: String,
    name: String,
    data: Option<String>,
    ttl: Option<u32>,
}

impl RecordObject {
    /// The record's number, and the record if part of the set.
    pub fn of_set(self, name: &RecordName, kind: RecordKind) -> Result<(u64, Option<Record>)> {
        let Self { id, kind: given, name: called, data, ttl } = self;
        let called = called.trim_end_matches('.');
        let here =
            called.eq_ignore_ascii_case(relative(name)) || called.eq_ignore_ascii_case(&name.name);
        if given != kind.to_string() || !here {
            return Ok((id, None));
        }
        let value = data.and_then(|data| data.parse().ok());
        let value = value
            .filter(|ip| RecordKind::of(*ip) == kind)
            .ok_or_else(|| unreadable("an address record without an address"))?;
        let ttl = ttl.ok_or_else(|| unreadable("a record without a time to live"))?;
        let id_text = RecordId(id.to_string());
        Ok((id, Some(Record { id: id_text, value, ttl, mark: None, proxied: false })))
    }
}

/// A name in DigitalOcean's form: relative to the domain, `@` for the domain itself.
pub(super) fn relative(name: &RecordName) -> &str {
    let inside = name.name.strip_suffix(&name.zone).unwrap_or(&name.name);
    if inside.is_empty() { "@" } else { inside.strip_suffix('.').unwrap_or(inside) }
}
