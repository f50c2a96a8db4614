//! Folds the start and the outcome of DNS calls into the world.

use std::time::Duration;

use super::KnownSet;
use super::drift::differ;
use super::world::RecordWrite;
use crate::Time;
use crate::action::{Done, Failure, FailureKind, Outcome};
use crate::model::{AccountId, Family, ObjectKey, Record, RecordChange, RecordRequest, Site, Text};
use crate::world::{Settings, Work, World};

impl World {
    pub(crate) fn record_read_begins(&mut self, key: &ObjectKey, family: Family) {
        self.records.reads += 1;
        if let Some(entry) = self.records.entries.get_mut(key) {
            entry.sets.entry(family).or_default().reading = true;
        }
    }

    pub(crate) fn record_change_begins(&mut self, site: &Site, family: Family) {
        let write = RecordWrite { in_flight: true, until: Time::default() };
        self.records.writes.insert((site.clone(), family), write);
    }

    /// Folds in a read. The result counts unless a change of ours is younger.
    pub(crate) fn records_read(
        &mut self,
        key: &ObjectKey,
        request: &RecordRequest,
        family: Family,
        outcome: Outcome,
        now: Time,
    ) {
        let (sent_at, settings) = (outcome.sent_at, self.settings);
        self.records.reads = self.records.reads.saturating_sub(1);
        // Reads of a failing set do not count as routine reads, so that a failing name does not
        // delay the routine reads of other names.
        if !self.is_in_trouble(key, family) {
            self.records.last_read = self.records.last_read.max(sent_at);
        }
        let Some(entry) = self.records.entries.get_mut(key) else { return };
        if !entry.asks_like(request) {
            return;
        }
        let set = entry.sets.entry(family).or_default();
        set.reading = false;
        // An unchanged set is not planned again.
        if let Ok(Done::RecordsListed { site, records }) = &outcome.result
            && entry.site.as_ref() == Some(site)
            && set.is_affirmed_by(records, sent_at)
        {
            return;
        }
        self.dirty.insert(key.clone());
        let (site, records) = match outcome.result {
            Ok(Done::RecordsListed { site, records }) => (site, records),
            Ok(_) => return,
            Err(failure) => {
                set.read_work.stumbled(&failure, now, outcome.jitter, &settings);
                self.touch_unheld(&request.account);
                return self.heed(&request.account, &failure, now);
            }
        };
        set.read_work = Work::default();
        if entry.site.as_ref() != Some(&site) {
            entry.forget();
            entry.site = Some(site.clone());
            self.reclaim_records(key);
            self.touch_unheld(&request.account);
        }
        let place = (site.clone(), family);
        let write = self.records.writes.get(&place);
        let settled = write.is_none_or(|write| !write.in_flight && sent_at >= write.until);
        let owned = self.record_owner(&site) == Some(key);
        // Changes to a name that we leave alone are no drift.
        let kept = !self.hands_off.contains(key.kind)
            && self.record_set(key).is_some_and(|entry| entry.set.paused.is_none());
        if settled && owned {
            self.records.writes.remove(&place);
            self.with_records(key, family, |set| set.learn(records, sent_at, now, kept));
        }
    }

    /// Folds in a change. The answer makes the set known, even if only a part was made. A failure
    /// makes the set unknown, unless the change was held back.
    pub(crate) fn records_changed(
        &mut self,
        key: &ObjectKey,
        (site, family): (&Site, Family),
        change: &RecordChange,
        outcome: Outcome,
        now: Time,
    ) {
        let settings = self.settings;
        let place = (site.clone(), family);
        self.records.writes.remove(&place);
        self.touch_site(site);
        self.dirty.insert(key.clone());
        if outcome.result.as_ref().is_err_and(|failure| may_have_written(change, failure.kind)) {
            let write = RecordWrite { in_flight: false, until: now + settings.settle };
            self.records.writes.insert(place, write);
        }
        if self.record_owner(site) != Some(key) {
            // The name has a new owner, who may have read the records before this change.
            if let Some(owner) = self.record_owner(site).cloned() {
                self.with_records(&owner, family, |set| set.records = None);
            }
            return;
        }
        match outcome.result {
            Ok(Done::RecordsChanged(written)) => {
                self.with_records(key, family, |set| {
                    set.change_work = Work::default();
                    set.heed_settings(change, &written, now, &settings);
                    set.wrote(change, written, now, &settings);
                });
                if change.writes() {
                    self.hold_records(key, site, family);
                }
            }
            Ok(Done::RecordsChangedInPart { written, deleted, wait, pacing }) => {
                let wrote = !written.is_empty();
                let done = part(change, &written, deleted);
                self.with_records(key, family, |set| {
                    set.change_work = Work::default();
                    set.heed_settings(change, &written, now, &settings);
                    set.wrote(&done, written, now, &settings);
                });
                if wrote {
                    self.hold_records(key, site, family);
                }
                self.close_records(&site.account, (wait, pacing), now);
            }
            Ok(_) => self.with_records(key, family, |set| set.records = None),
            Err(failure) => {
                // A change that was held back was never sent: the records are unchanged.
                let untouched = matches!(failure.kind, FailureKind::HeldBack { .. });
                self.with_records(key, family, |set| {
                    set.records = set.records.take().filter(|_| untouched);
                    set.change_work.stumbled(&failure, now, outcome.jitter, &settings);
                });
                self.heed(&site.account, &failure, now);
            }
        }
    }

    /// Whether a set is unknown because a call failed.
    fn is_in_trouble(&self, key: &ObjectKey, family: Family) -> bool {
        let set = self.records.entries.get(key).and_then(|entry| entry.sets.get(&family));
        set.is_some_and(|set| {
            let failed = set.change_work.failure.is_some() || set.read_work.failure.is_some();
            failed && set.records.is_none()
        })
    }

    /// Applies a rate limit reported by a failure to the account.
    fn heed(&mut self, account: &AccountId, failure: &Failure, now: Time) {
        match failure.kind {
            FailureKind::Throttled { wait } => self.close_records(account, (wait, false), now),
            FailureKind::HeldBack { wait, pacing } => {
                self.close_records(account, (wait, pacing), now);
            }
            _ => {}
        }
    }

    /// Closes the account to all calls, since a rate limit covers every name of the account.
    fn close_records(&mut self, account: &AccountId, hold: (Duration, bool), now: Time) {
        let (wait, pacing) = hold;
        if let Some(account) = self.records.accounts.get_mut(account)
            && account.closed_until <= now + wait
        {
            (account.closed_until, account.pacing) = (now + wait, pacing);
        }
    }

    fn with_records(
        &mut self,
        key: &ObjectKey,
        family: Family,
        change: impl FnOnce(&mut KnownSet),
    ) {
        if let Some(entry) = self.records.entries.get_mut(key) {
            change(entry.sets.entry(family).or_default());
        }
    }
}

/// Whether a failed change may have written some records, by the failed call or one before it. Reads
/// show them only after the settling time.
fn may_have_written(change: &RecordChange, kind: FailureKind) -> bool {
    let several = change.create.len() + change.update.len() + change.delete.len() > 1;
    match kind {
        FailureKind::NoAnswer
        | FailureKind::Unavailable
        | FailureKind::Busy
        | FailureKind::Conflict
        | FailureKind::Rejected
        | FailureKind::Quota => true,
        FailureKind::NotSent
        | FailureKind::Throttled { .. }
        | FailureKind::Refused
        | FailureKind::NotFound => several,
        FailureKind::HeldBack { .. } => false,
    }
}

/// The part of a change that was made.
fn part(change: &RecordChange, written: &[Record], deleted: Vec<Text>) -> RecordChange {
    let is_written = |id: &Text| written.iter().any(|record| record.id == *id);
    let update = change.update.iter().filter(|(id, _)| is_written(id)).cloned().collect();
    RecordChange { update, delete: deleted, create: Vec::new(), ..change.clone() }
}

impl KnownSet {
    /// Whether a read confirms the known records, with no failed read before, and no change waits for
    /// the read. Refreshes their time.
    fn is_affirmed_by(&mut self, records: &[Record], sent_at: Time) -> bool {
        let same = self.records.as_deref() == Some(records) && self.read_work == Work::default();
        if same {
            self.at = self.at.max(sent_at);
            self.is_calm(sent_at);
        }
        same && self.drift.as_ref().is_none_or(|drift| drift.ours.is_none())
    }

    /// Takes in the records of a read, unless a change of ours is younger. `kept` is false for a
    /// name that we leave alone: a difference is then no drift.
    fn learn(&mut self, records: Vec<Record>, sent_at: Time, now: Time, kept: bool) {
        if sent_at < self.at || sent_at < self.firm_until {
            return;
        }
        if let Some(before) = self.records.take().filter(|before| differ(before, &records)) {
            match kept {
                true => self.drifts(before, now),
                false => self.clear_drift(),
            }
        }
        // The other writer has put the records back.
        let ours = self.drift.as_ref().and_then(|drift| drift.ours.as_ref());
        if ours.is_some_and(|ours| !differ(ours, &records)) {
            self.clear_drift();
        }
        self.records = Some(records);
        self.at = sent_at;
    }

    /// Updates the known records after a change of ours.
    fn wrote(
        &mut self,
        change: &RecordChange,
        written: Vec<Record>,
        now: Time,
        settings: &Settings,
    ) {
        let Some(records) = &mut self.records else { return };
        let replaced = |record: &Record| {
            change.delete.contains(&record.id)
                || written.iter().any(|new| new.id == record.id)
                || change.update.iter().any(|(id, _)| *id == record.id)
        };
        records.retain(|record| !replaced(record));
        records.extend(written);
        records.sort_by(|a, b| (a.value, &a.id).cmp(&(b.value, &b.id)));
        self.at = now;
        self.firm_until = now + settings.settle;
        self.clear_drift();
    }
}

impl Work {
    /// Notes a failure. Rate limits count as no failure.
    fn stumbled(&mut self, failure: &Failure, now: Time, jitter: u16, settings: &Settings) {
        match failure.kind {
            FailureKind::Throttled { .. } | FailureKind::HeldBack { .. } => {}
            FailureKind::NotFound
            | FailureKind::Rejected
            | FailureKind::Quota
            | FailureKind::Refused
            | FailureKind::NotSent
            | FailureKind::NoAnswer
            | FailureKind::Unavailable
            | FailureKind::Busy
            | FailureKind::Conflict => self.failed_slowly(failure.clone(), now, jitter, settings),
        }
    }
}
