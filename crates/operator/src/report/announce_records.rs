//! Reports changes of DNS records.

use std::collections::BTreeMap;
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{Action, Done, Finished, RecordAction};
use pontoon_core::model::{Family, ObjectKey, Record, RecordChange, RecordSet, Site, Text};
use pontoon_core::plan::Plan;
use pontoon_core::records::verdict::{RecordReason, RecordVerdict};
use pontoon_core::verdict::Outlook;

use super::announce::{Announcer, millis};
use super::announce_withheld;
use super::events::{Weight, about};
use super::move_metrics::Drifted;
use super::objects::Objects;

/// The last report about an object's records.
#[derive(Debug, Default)]
pub(super) struct ToldRecords {
    /// Whether the next verdict is reported even if it is the same again.
    pub again: bool,
    reason: Option<&'static str>,
    /// The last drift that was counted: its number, and when it is undone.
    drift: Option<(u32, Time)>,
    /// The current or last site of the records.
    pub site: Option<Site>,
    /// The finished parts of unfinished changes.
    parts: BTreeMap<Family, Tally>,
}

impl ToldRecords {
    /// The report in a stored status.
    pub fn new(said: Option<&'static str>, set: Option<&RecordSet>) -> Self {
        let held = set.and_then(|set| set.held.as_ref());
        let site = held.map(|held| held.site.clone());
        Self { again: true, reason: said, drift: None, site, parts: BTreeMap::new() }
    }
}

/// Number of changed records, and the total duration.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    added: usize,
    changed: usize,
    removed: usize,
    took: Duration,
}

impl Announcer {
    /// Reports the record verdicts of a plan.
    pub(super) fn take_records(&mut self, objects: &mut Objects, plan: &Plan) {
        for (key, verdict) in &plan.records {
            let Some(object) = objects.get_mut(key) else { continue };
            let again = std::mem::take(&mut object.told_records.again);
            if object.records.as_deref() == Some(verdict) && !again {
                continue;
            }
            self.metrics.conditions(key, object.face.conditions());
            self.metrics.records(object.series(key), verdict);
            let (uid, told) = (object.uid.clone(), &mut object.told_records);
            if verdict.reason == RecordReason::Current {
                told.parts.clear();
            }
            if let RecordReason::Drift(times, until) = verdict.reason
                && told.drift.replace((times, until)) != Some((times, until))
            {
                self.metrics.drifted(key, Drifted::Record);
            }
            let now = verdict.held.as_ref().map(|held| held.site.clone());
            let before = now.clone().and_then(|site| told.site.replace(site));
            let left = before.filter(|before| Some(before) != now.as_ref());
            let word = verdict.word();
            if told.reason != Some(word) && is_news(verdict) {
                told.reason = Some(word);
                let note = verdict.to_string();
                tracing::info!(object = %key, reason = word, "{note}");
                self.events.tell(about(key, &uid), weight(verdict), word, &note);
            }
            if let Some(site) = left {
                self.left(key, &uid, &site);
            }
        }
    }

    /// Reports a finished change of records. Failures are reported by the verdict.
    pub(super) fn changed_records(&mut self, objects: &mut Objects, finished: &Finished) {
        let (Action::Record(RecordAction::Change { owner, site, family, change }), Ok(done)) =
            (&finished.outcome.action, &finished.outcome.result)
        else {
            return;
        };
        let Some(object) = objects.get_mut(owner) else { return };
        let told = &mut object.told_records;
        let mut tally = told.parts.remove(family).unwrap_or_default();
        tally.took += finished.took;
        if let Done::RecordsChangedInPart { written, deleted, .. } = done {
            // Reported as a whole, after the last part.
            tally.add_part(change, written, deleted);
            told.parts.insert(*family, tally);
            return;
        }
        tally.add(change);
        let kind = family.record_type();
        let Tally { added, changed, removed, took } = tally;
        let note = format!(
            "{site} {kind}: {added} added, {changed} changed, {removed} removed in {} ms",
            millis(took)
        );
        tracing::info!(object = %owner, "{note}");
        self.events.tell(about(owner, &object.uid), Weight::Normal, "RecordUpdated", &note);
    }

    /// Reports a name that an object had and no longer asks for.
    pub(super) fn left(&mut self, key: &ObjectKey, uid: &str, site: &Site) {
        let note = format!(
            "{site} at {} is not kept any more and left as it is; delete it there if nobody needs it",
            site.account
        );
        tracing::info!(object = %key, "{note}");
        self.events.tell(about(key, uid), Weight::Normal, "RecordLeft", &note);
    }
}

impl Tally {
    fn add(&mut self, change: &RecordChange) {
        self.added += change.create.len();
        self.changed += change.update.len();
        self.removed += change.delete.len();
    }

    fn add_part(&mut self, change: &RecordChange, written: &[Record], deleted: &[Text]) {
        let updates = |record: &&Record| change.update.iter().any(|(id, _)| *id == record.id);
        let changed = written.iter().filter(updates).count();
        self.added += written.len() - changed;
        self.changed += changed;
        self.removed += deleted.len();
    }
}

/// Whether a verdict deserves an event. Passing states do not.
fn is_news(verdict: &RecordVerdict) -> bool {
    if verdict.withheld.is_some() {
        return verdict.reason != RecordReason::Reading;
    }
    !matches!(
        verdict.reason,
        RecordReason::Reading
            | RecordReason::Updating
            | RecordReason::Pacing(_)
            | RecordReason::PoolUnplanned
    )
}

fn weight(verdict: &RecordVerdict) -> Weight {
    if let Some(withheld) = &verdict.withheld {
        return announce_withheld::weight(withheld);
    }
    match verdict.reason.outlook() {
        Outlook::Well => Weight::Normal,
        Outlook::Working | Outlook::Waiting | Outlook::Stuck => Weight::Warning,
    }
}
