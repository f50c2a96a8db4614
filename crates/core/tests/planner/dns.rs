//! A DNS host that carries out every call at once, unless a fault is scripted.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::action::{Action, Done, Failure, FailureKind, RecordAction};
use pontoon_core::model::{Family, Record, RecordChange, Site};
use pontoon_core::records::RecordAbilities;

use super::cloud::Fault;

/// The account of the DNS host.
pub const DNS: &str = "dns";

/// The abilities of the DNS host.
pub fn host() -> RecordAbilities {
    RecordAbilities { ttls: 30..=86_400, automatic_ttl: Some(1) }
}

#[derive(Debug, Default)]
pub struct Dns {
    sets: BTreeMap<(String, Family), Vec<Record>>,
    made: usize,
}

impl Dns {
    /// Adds existing records, with the usual TTL.
    pub fn list(&mut self, name: &str, ips: &[IpAddr]) {
        for ip in ips {
            self.add(name, *ip, 60);
        }
    }

    pub fn add(&mut self, name: &str, value: IpAddr, ttl: u32) {
        self.made += 1;
        let id = format!("r{:03}", self.made).as_str().into();
        let set = self.sets.entry((name.to_owned(), Family::of(value))).or_default();
        set.push(Record { id, value, ttl, proxied: false });
    }

    /// Deletes all records of a name, as another controller would.
    pub fn clear(&mut self, name: &str) {
        self.sets.retain(|(of, _), _| of != name);
    }

    /// Deletes the oldest record of an address, as a person would.
    pub fn delete_oldest(&mut self, name: &str, value: IpAddr) {
        let set = self.sets.entry((name.to_owned(), Family::of(value))).or_default();
        let same = set.iter().enumerate().filter(|(_, record)| record.value == value);
        if let Some((oldest, _)) = same.min_by_key(|(_, record)| record.id.clone()) {
            set.remove(oldest);
        }
    }

    /// Overwrites stored records, as a DNS host does that alters requested values.
    pub fn replace(&mut self, name: &str, records: Vec<Record>) {
        for new in records {
            let sets = self.sets.iter_mut().filter(|((of, _), _)| of == name);
            let mut all = sets.flat_map(|(_, set)| set);
            if let Some(record) = all.find(|record| record.id == new.id) {
                *record = new;
            }
        }
    }

    /// Whether a record with the given id exists.
    pub fn has(&self, id: &str) -> bool {
        self.sets.values().flatten().any(|record| *record.id == *id)
    }

    /// The sorted addresses of a name, of both families.
    pub fn listed(&self, name: &str) -> Vec<IpAddr> {
        let sets = Family::ALL.into_iter().filter_map(|one| self.sets.get(&(name.into(), one)));
        let mut listed: Vec<_> = sets.flatten().map(|record| record.value).collect();
        listed.sort_unstable();
        listed
    }

    pub fn carry_out(&mut self, action: &Action, fault: Option<Fault>) -> Result<Done, Failure> {
        match fault {
            None => Ok(self.obey(action)),
            Some(Fault::Answer(kind)) => Err(Failure::plain(kind, "scripted")),
            Some(Fault::Lost) => {
                self.obey(action);
                Err(Failure::plain(FailureKind::NoAnswer, "timed out"))
            }
            Some(Fault::Part(records, wait)) => Ok(self.obey_in_part(action, records, wait)),
            Some(_) => Err(Failure::plain(FailureKind::NoAnswer, "timed out")),
        }
    }

    /// Changes the first `records` records; the rest is held back for pacing.
    fn obey_in_part(&mut self, action: &Action, records: usize, wait: Duration) -> Done {
        let Action::Record(RecordAction::Change { site, family, change, .. }) = action else {
            return self.obey(action);
        };
        let mut part = change.clone();
        part.update.truncate(records);
        part.create.truncate(records - part.update.len());
        part.delete.truncate(records - part.update.len() - part.create.len());
        let written = self.change(&site.name, *family, &part);
        Done::RecordsChangedInPart { written, deleted: part.delete, wait, pacing: true }
    }

    fn obey(&mut self, action: &Action) -> Done {
        match action {
            Action::Record(RecordAction::Read { request, family, .. }) => {
                let (zone, name) = (request.zone.clone(), located(&request.zone, &request.name));
                let records = self.sets.get(&(name.clone(), *family)).cloned().unwrap_or_default();
                let site =
                    Site { account: request.account.clone(), zone, name: name.as_str().into() };
                Done::RecordsListed { site, records }
            }
            Action::Record(RecordAction::Change { site, family, change, .. }) => {
                Done::RecordsChanged(self.change(&site.name, *family, change))
            }
            other => panic!("this is not about DNS: {other:?}"),
        }
    }

    fn change(&mut self, name: &str, family: Family, change: &RecordChange) -> Vec<Record> {
        let set = self.sets.entry((name.to_owned(), family)).or_default();
        let mut written = vec![];
        for (id, value) in &change.update {
            let record = set.iter_mut().find(|record| record.id == *id).expect("it is there");
            *record = Record { id: id.clone(), value: *value, ttl: change.ttl, proxied: false };
            written.push(record.clone());
        }
        for value in &change.create {
            self.made += 1;
            let id = format!("r{:03}", self.made).as_str().into();
            let record = Record { id, value: *value, ttl: change.ttl, proxied: false };
            set.push(record.clone());
            written.push(record);
        }
        set.retain(|record| !change.delete.contains(&record.id));
        written
    }
}

/// The full name of a name that is full or relative to its zone.
fn located(zone: &str, name: &str) -> String {
    if name.ends_with(zone) { name.to_owned() } else { format!("{name}.{zone}") }
}
