//! How what a name lists differs from what it should list, in as few records as possible.
//!
//! | a record whose address | is there | so it |
//! |---|---|---|
//! | should be listed, or may have to be | once | stays; its time to live and proxy are put right |
//! | should be listed, or may have to be | again | makes way |
//! | should not be listed | | makes way |
//!
//! A record that makes way is pointed at an address that is missing, if one is: hosts that
//! take one call for each record need one less, and the name never lists fewer in between.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::model::{Record, RecordChange, Text};

/// How long a new record lives where nothing is said of that, in seconds.
const DEFAULT_TTL: u32 = 60;

/// The addresses of one family, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// These should be listed.
    pub sure: BTreeSet<IpAddr>,
    /// These stay if they are listed: it is not known whether they should be.
    pub doubtful: BTreeSet<IpAddr>,
}

/// Whether `current` lists what is wanted, whatever its times to live and proxies.
pub(crate) fn lists(current: &[Record], wanted: &Wanted) -> bool {
    let plain = |record: &Record| Record { proxied: false, ..record.clone() };
    let plain: Vec<_> = current.iter().map(plain).collect();
    difference(&plain, wanted, None, None).is_empty()
}

/// What makes `current` list what is wanted.
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
