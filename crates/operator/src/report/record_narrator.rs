//! Reports changes of DNS records.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::action::{Action, Done};
use pontoon_core::model::{Family, ObjectKey, Record, RecordChange, RecordSet, Site, Text};
use pontoon_core::plan::Plan;
use pontoon_core::records::verdict::{RecordReason, RecordVerdict};
use pontoon_core::verdict::{Outlook, Restraint};

use super::events::{Weight, about};
use super::metrics::PoolLabels;
use super::narrator::{Narrator, millis};
use super::would;
use crate::api::{CONDITION_DNS, CONDITION_READY, NODE_DNS_RECORD_SET};
use crate::execute::Finished;
use crate::fronts::floating_ip_pool::ObservedPool;
use crate::fronts::node_dns_record_set::ObservedRecordSet;

/// The last report about an object's records.
#[derive(Debug, Default)]
pub(super) struct ToldRecords {
    pub(super) uid: String,
    provider: String,
    dns: String,
    verdict: Option<RecordVerdict>,
    reason: Option<&'static str>,
    /// The conditions in a record set's stored status. Empty for a pool, whose conditions are
    /// reported with the pool.
    conditions: Vec<Condition>,
    /// The current or last site of the records.
    site: Option<Site>,
    /// The finished parts of unfinished changes.
    parts: BTreeMap<Family, Tally>,
}

/// Number of changed records, and the total duration.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    added: usize,
    changed: usize,
    removed: usize,
    took: Duration,
}

impl Narrator {
    /// Handles a record set that appeared or changed.
    pub fn see_record_set(&mut self, observed: &ObservedRecordSet) {
        let said = said(&observed.status.conditions, CONDITION_READY);
        self.see_records(&observed.set, (&observed.provider, &observed.dns), said);
        if let Some(told) = self.records.get_mut(&observed.set.key) {
            told.conditions.clone_from(&observed.status.conditions);
            self.metrics.conditions(&observed.set.key, &told.conditions);
        }
    }

    /// Handles a pool that appeared or changed, with or without a record.
    pub(super) fn see_records_of_pool(&mut self, observed: &ObservedPool) {
        let Some(set) = &observed.records else {
            // An undecodable pool still has its record.
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
            // Report the same verdict again, under the new labels.
            told.verdict = None;
        }
        (told.provider, told.dns) = (labels.0.to_owned(), labels.1.to_owned());
        self.metrics.see(&set.key, &set.uid);
    }

    /// Reports the record verdicts of a plan.
    pub(super) fn take_records(&mut self, plan: &Plan) {
        for (key, verdict) in &plan.records {
            let Some(told) = self.records.get_mut(key) else { continue };
            if told.verdict.as_ref() == Some(verdict) {
                continue;
            }
            told.verdict = Some(verdict.clone());
            if *key.kind == NODE_DNS_RECORD_SET {
                self.metrics.conditions(key, &told.conditions);
            }
            if verdict.reason == RecordReason::Current {
                told.parts.clear();
            }
            // Like the predecessor, show the number of wanted addresses, not of listed ones.
            if let Some(wanted) = verdict.wanted.filter(|_| *key.kind == NODE_DNS_RECORD_SET) {
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
                self.events.tell(about(key, &uid), weight(verdict), word, &note);
            }
            if let Some(site) = left {
                self.left(key, &uid, &site);
            }
        }
    }

    /// Reports a finished change of records. Failures are reported by the verdict.
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
            // Reported as a whole, after the last part.
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
        self.events.tell(about(owner, &told.uid), Weight::Normal, "RecordUpdated", &note);
    }

    /// Reports a name that an object had and no longer asks for.
    fn left(&mut self, key: &ObjectKey, uid: &str, site: &Site) {
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

impl ToldRecords {
    /// Forgets the last verdict when leadership begins or ends.
    pub(super) fn forget_verdict(&mut self) {
        self.verdict = None;
    }
}

/// The reason in the stored status, which a new leader does not report again.
fn said(conditions: &[Condition], type_: &str) -> Option<&'static str> {
    let found = conditions.iter().find(|one| one.type_ == type_)?;
    let mut lasting = Restraint::WORDS.into_iter().chain([RecordReason::Current.word()]);
    lasting.find(|word| found.reason == *word)
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
        return would::weight(withheld);
    }
    match verdict.reason.outlook() {
        Outlook::Well => Weight::Normal,
        Outlook::Working | Outlook::Waiting | Outlook::Stuck => Weight::Warning,
    }
}
