//! Reports withheld actions, and why they are withheld.

use std::collections::{BTreeMap, BTreeSet};

use pontoon_core::model::{ObjectKey, Text};
use pontoon_core::plan::Plan;
use pontoon_core::verdict::{Restraint, Withheld};

use super::Announcer;
use super::events::{Weight, about, about_lease};
use super::objects::Objects;

/// A withheld action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Would {
    /// The object that the action is for.
    pub key: ObjectKey,
    /// The reason of the event, for actions that are announced with an event.
    pub event: Option<&'static str>,
    /// The action in words, to follow "would".
    pub words: Text,
    /// Whether the action changes DNS records.
    pub of_records: bool,
}

impl Announcer {
    /// Reports the withheld actions of a plan. Each action is reported once, and again only after a
    /// different action was withheld in between.
    pub fn take_would(&mut self, objects: &mut Objects, plan: &Plan, would: &[Would]) {
        for key in plan.verdicts.keys().chain(plan.records.keys()).chain(plan.vips.keys()) {
            let verdict = plan.verdicts.get(key).is_some_and(|one| one.withheld.is_some());
            let records = plan.records.get(key).is_some_and(|one| one.withheld.is_some());
            let vips = plan.vips.get(key).is_some_and(|one| one.withheld.is_some());
            if let Some(object) = objects.get_mut(key).filter(|_| !verdict && !records && !vips) {
                object.would.clear();
            }
        }
        let mut by_object: BTreeMap<&ObjectKey, Vec<&Would>> = BTreeMap::new();
        for one in would {
            by_object.entry(&one.key).or_default().push(one);
        }
        for (key, all) in by_object {
            let words: BTreeSet<Text> = all.iter().map(|one| one.words.clone()).collect();
            let Some(object) = objects.get_mut(key) else { continue };
            let told = std::mem::replace(&mut object.would, words);
            for one in all.into_iter().filter(|one| !told.contains(&one.words)) {
                tracing::info!(object = %key, "would {}", one.words);
                if let Some(reason) = one.event {
                    let note = format!("would {}", one.words);
                    self.events.tell(about(key, &object.uid), Weight::Normal, reason, &note);
                }
            }
        }
    }

    /// Reports on the election's Lease that this replica leads and acts for no object.
    pub fn stands_aside(&mut self, (namespace, lease): &(String, &str), reason: &str, note: &str) {
        tracing::warn!(reason, "{note}");
        let about = about_lease(namespace, lease);
        self.events.tell(about, Weight::Warning, reason, note);
    }
}

/// Weight of a restraint: normal if a person asked for the restraint, otherwise a warning.
pub(super) fn weight(withheld: &Withheld) -> Weight {
    match withheld.by {
        Restraint::Paused(_) | Restraint::Observing => Weight::Normal,
        Restraint::Competing { .. } | Restraint::Unsure(_) => Weight::Warning,
    }
}
