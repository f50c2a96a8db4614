//! A copy of a zone for changes, which replaces the zone when all changes succeed.

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::envelope::Refusal;
use super::{ids, record_input};
use crate::request_context::Turn;
use crate::zone::{Record, Zone, ZonePlan};

/// A copy of a zone with pending changes.
pub(super) struct Draft {
    pub(super) zone: Zone,
    plan: ZonePlan,
    now: Instant,
    next_id: u64,
    made: usize,
}

type Body = Map<String, Value>;

impl Draft {
    /// A copy of the zone's actual state, without read lag.
    pub(super) fn of(turn: &Turn<'_>, zone: &str) -> Result<Self, Refusal> {
        let zone = turn.truth().zone(zone).cloned().ok_or_else(Refusal::no_record)?;
        Ok(Self {
            zone,
            plan: turn.knobs.zone_plan,
            now: turn.now,
            next_id: turn.truth().upcoming_record_id(),
            made: 0,
        })
    }

    pub(super) fn create(&mut self, body: &Body) -> Result<Record, Refusal> {
        let made = Some(self.now);
        let mut record =
            Record { ttl: record_input::AUTOMATIC, created: made, ..Record::default() };
        record_input::lay_over(&self.zone, &mut record, body)?;
        if self.zone.records.len() >= self.plan.records() {
            return Err(Refusal::bad(81_045, "The record quota has been exceeded."));
        }
        record.id = self.next_id;
        let record = self.put(record)?;
        self.next_id += 1;
        self.made += 1;
        Ok(record)
    }

    /// Changes the fields in the body; other fields stay.
    pub(super) fn edit(&mut self, id: &str, body: &Body) -> Result<Record, Refusal> {
        let mut record = self.existing(id)?;
        record_input::lay_over(&self.zone, &mut record, body)?;
        self.put(record)
    }

    /// Replaces the record by the body. The identifier stays.
    pub(super) fn overwrite(&mut self, id: &str, body: &Body) -> Result<Record, Refusal> {
        let Record { id, created, .. } = self.existing(id)?;
        let mut record = Record { id, ttl: record_input::AUTOMATIC, created, ..Record::default() };
        record_input::lay_over(&self.zone, &mut record, body)?;
        self.put(record)
    }

    pub(super) fn delete(&mut self, id: &str) -> Result<Record, Refusal> {
        let record = self.existing(id)?;
        self.zone.records.remove(&record.id);
        Ok(record)
    }

    /// Replaces the zone by the copy.
    pub(super) fn commit(self, turn: &mut Turn<'_>) {
        let state = turn.change();
        for _ in 0..self.made {
            state.next_record_id();
        }
        state.put_zone(self.zone);
    }

    fn existing(&self, id: &str) -> Result<Record, Refusal> {
        let record = ids::record_number(id).and_then(|number| self.zone.records.get(&number));
        record.cloned().ok_or_else(Refusal::no_record)
    }

    fn put(&mut self, mut record: Record) -> Result<Record, Refusal> {
        record_input::check(self.plan, &record)?;
        record_input::clash(&self.zone, &record)?;
        record.modified = Some(self.now);
        self.zone.records.insert(record.id, record.clone());
        Ok(record)
    }
}
