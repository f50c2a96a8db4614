//! The difference between current and wanted records of a name, in as few changes as possible.
//!
//! | address of a record | among equals | the record |
//! |---|---|---|
//! | wanted, or in doubt | best | stays; its time to live and proxy are corrected |
//! | wanted, or in doubt | not best | is spare |
//! | not wanted | | is spare |
//!
//! A spare record is pointed at a missing address, else deleted. DNS hosts with one call for each
//! record need one call less, and the name never lists fewer addresses in between.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::model::{Record, RecordChange, Text};

/// Time to live of written records if the request has none, in seconds.
pub(super) const DEFAULT_TTL: u32 = 60;

/// The wanted addresses of one family.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Addresses to list.
    pub sure: BTreeSet<IpAddr>,
    /// Addresses in doubt: kept if listed, not added.
    pub doubtful: BTreeSet<IpAddr>,
}

/// Whether `current` lists the wanted addresses, regardless of time to live and proxy.
pub(crate) fn lists(current: &[Record], wanted: &Wanted) -> bool {
    let plain = |record: &Record| Record { proxied: false, ..record.clone() };
    let plain: Vec<_> = current.iter().map(plain).collect();
    difference(&plain, wanted, None, None).is_empty()
}

/// The change that makes `current` list the wanted addresses.
pub(crate) fn difference(
    current: &[Record],
    wanted: &Wanted,
    ttl: Option<u32>,
    mark: Option<&Text>,
) -> RecordChange {
    let is_off = |record: &Record| ttl.is_some_and(|ttl| record.ttl != ttl) || record.proxied;
    let stays = |record: &Record| {
        [&wanted.sure, &wanted.doubtful].iter().any(|s| s.contains(&record.value))
    };
    let mut kept: BTreeMap<IpAddr, &Record> = BTreeMap::new();
    for record in current.iter().filter(|record| stays(record)) {
        let best = kept.entry(record.value).or_insert(record);
        if (is_off(record), &record.id) < (is_off(best), &best.id) {
            *best = record;
        }
    }
    let off = kept.values().filter(|record| is_off(record));
    let mut update: Vec<(Text, IpAddr)> = off.map(|one| (one.id.clone(), one.value)).collect();
    let is_kept = |record: &Record| kept.get(&record.value).is_some_and(|one| one.id == record.id);
    let mut spare: Vec<&Text> =
        current.iter().filter(|record| !is_kept(record)).map(|record| &record.id).collect();
    spare.sort_unstable();
    spare.dedup();
    let missing = wanted.sure.iter().filter(|ip| !kept.contains_key(ip)).copied();
    let mut spare = spare.into_iter().cloned();
    let mut create = Vec::new();
    for ip in missing {
        match spare.next() {
            Some(id) => update.push((id, ip)),
            None => create.push(ip),
        }
    }
    let ttl = ttl.unwrap_or(DEFAULT_TTL);
    let change = RecordChange { ttl, mark: None, create, update, delete: spare.collect() };
    let mark = mark.filter(|_| !change.is_empty()).cloned();
    RecordChange { mark, ..change }
}
