//! Tells people what happens to names in DNS.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::action::{Action, Done};
use pontoon_core::model::{Family, PoolKey, Record, RecordChange, RecordSet, Site, Text};
use pontoon_core::plan::Plan;
use pontoon_core::record_verdict::{RecordReason, RecordVerdict};
use pontoon_core::restraint::Restraint;
use pontoon_core::verdict::Outlook;

use super::events::{Weight, about_pool};
use super::metrics::PoolLabels;
use super::narrator::{Narrator, millis};
use super::would;
use crate::api::{CONDITION_DNS, CONDITION_READY};
use crate::execute::Finished;
use crate::observe::pool::ObservedPool;
use crate::observe::record_set::{self, ObservedRecordSet};

/// What was told of an object's records.
#[derive(Debug, Default)]
pub(super) struct ToldRecords {
    pub(super) uid: String,
    provider: String,
    dns: String,
    verdict: Option<RecordVerdict>,
    reason: Option<&'static str>,
    /// As the stored status of a record set has them; a pool's are told with the pool.
    conditions: Vec<Condition>,
    /// Where its records are, or were last.
    site: Option<Site>,
    /// What was done of changes that are not over.
    parts: BTreeMap<Family, Tally>,
}

/// How many records were changed how, and how long that took.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    added: usize,
    changed: usize,
    removed: usize,
    took: Duration,
}

impl Narrator {
    /// A record set was seen.
    pub fn see_record_set(&mut self, observed: &ObservedRecordSet) {
        let said = said(&observed.status.conditions, CONDITION_READY);
        self.see_records(&observed.set, (&observed.provider, &observed.dns), said);
        if let Some(told) = self.records.get_mut(&observed.set.key) {
            told.conditions.clone_from(&observed.status.conditions);
            self.metrics.conditions(&observed.set.key, &told.conditions);
        }
    }

    /// A pool was seen, with its record or without.
    pub(super) fn see_records_of_pool(&mut self, observed: &ObservedPool) {
        let Some(set) = &observed.records else {
            // One that cannot be decoded has not let go of anything.
            if observed.decoded
                && let Some(ToldRecords { uid, site: Some(site), .. }) =
                    self.records.remove(&observed.pool.key)
            {
                self.left(&observed.pool.key, &uid, &site);
            }
            return;
        };
        let dns = observed.dns.clone().unwrap_or_default();
        let said = said(&observed.status.conditions, CONDITION_DNS);
        self.see_records(set, (&observed.provider, &dns), said);
    }

    fn see_records(&mut self, set: &RecordSet, labels: (&str, &str), said: Option<&'static str>) {
        let told = self.records.entry(set.key.clone()).or_default();
        if *told.uid != *set.uid {
            let site = set.held.as_ref().map(|held| held.site.clone());
            *told = ToldRecords {
                uid: set.uid.to_string(),
                reason: said,
                site,
                ..ToldRecords::default()
            };
        }
        if (&*told.provider, &*told.dns) != labels {
            // The same verdict, under other labels.
            told.verdict = None;
        }
        (told.provider, told.dns) = (labels.0.to_owned(), labels.1.to_owned());
        self.metrics.see(&set.key, &set.uid);
    }

    /// A record set is gone.
    pub fn forget_record_set(&mut self, key: &PoolKey) {
        self.records.remove(key);
        self.would.remove(key);
        self.metrics.forget(key);
    }

    /// Takes in what a plan has to say of records.
    pub(super) fn take_records(&mut self, plan: &Plan) {
        for (key, verdict) in &plan.records {
            let Some(told) = self.records.get_mut(key) else { continue };
            if told.verdict.as_ref() == Some(verdict) {
                continue;
            }
            told.verdict = Some(verdict.clone());
            if key.kind == record_set::KIND {
                self.metrics.conditions(key, &told.conditions);
            }
            if verdict.reason == RecordReason::Current {
                told.parts.clear();
            }
            // As the predecessor has it: what should be listed, and not what the host was last
            // heard to list.
            if let (record_set::KIND, Some(wanted)) = (key.kind, verdict.wanted) {
                let labels = PoolLabels { key, provider: &told.provider, dns: &told.dns };
                self.metrics.record_set(labels, wanted);
            }
            let now = verdict.held.as_ref().map(|held| held.site.clone());
            let before = now.clone().and_then(|site| told.site.replace(site));
            let left = before.filter(|before| Some(before) != now.as_ref());
            let word = verdict.word();
            let news = told.reason != Some(word) && is_news(verdict);
            let uid = told.uid.clone();
            if news {
                told.reason = Some(word);
                let note = verdict.to_string();
                tracing::info!(object = %key, reason = word, "{note}");
                self.events.tell(about_pool(key, &uid), weight(verdict), word, &note);
            }
            if let Some(site) = left {
                self.left(key, &uid, &site);
            }
        }
    }

    /// A change of records has come back. What failed, the verdict tells.
    pub(super) fn changed_records(&mut self, finished: &Finished) {
        let (Action::ChangeRecords { owner, site, family, change }, Ok(done)) =
            (&finished.outcome.action, &finished.outcome.result)
        else {
            return;
        };
        let Some(told) = self.records.get_mut(owner) else { return };
        let mut tally = told.parts.remove(family).unwrap_or_default();
        tally.took += finished.took;
        if let Done::RecordsChangedInPart { written, deleted, .. } = done {
            // Told as one, once all of it is done.
            tally.add_part(change, written, deleted);
            told.parts.insert(*family, tally);
            return;
        }
        tally.add(change);
        let kind = match family {
            Family::V4 => "A",
            Family::V6 => "AAAA",
        };
        let Tally { added, changed, removed, took } = tally;
        let note = format!(
            "{site} {kind}: {added} added, {changed} changed, {removed} removed in {} ms",
            millis(took)
        );
        tracing::info!(object = %owner, "{note}");
        self.events.tell(about_pool(owner, &told.uid), Weight::Normal, "RecordUpdated", &note);
    }

    /// A name that an object had and does not ask for any more.
    fn left(&mut self, key: &PoolKey, uid: &str, site: &Site) {
        let note = format!(
            "{site} at {} is not kept any more and left as it is; delete it there if nobody needs it",
            site.account
        );
        tracing::info!(object = %key, "{note}");
        self.events.tell(about_pool(key, uid), Weight::Normal, "RecordLeft", &note);
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

impl ToldRecords {
    /// Leadership began or ended.
    pub(super) fn forget_verdict(&mut self) {
        self.verdict = None;
    }
}

/// What a status says already, a new leader does not repeat.
fn said(conditions: &[Condition], type_: &str) -> Option<&'static str> {
    let found = conditions.iter().find(|one| one.type_ == type_)?;
    let mut lasting = Restraint::WORDS.into_iter().chain([RecordReason::Current.word()]);
    lasting.find(|word| found.reason == *word)
}

/// Passing states are not worth an event.
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
        return would::weight(withheld);
    }
    match verdict.reason.outlook() {
        Outlook::Well => Weight::Normal,
        Outlook::Working | Outlook::Waiting | Outlook::Stuck => Weight::Warning,
    }
}
