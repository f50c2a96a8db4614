//! Removes withheld actions from a plan and reports them in the verdicts instead.
//!
//! A withheld action does not begin and leaves no trace in the world, so the next plan contains the
//! action again and nothing waits for an outcome. Reads are never withheld.

use std::collections::BTreeMap;

use pontoon_core::Time;
use pontoon_core::action::{Action, Effect};
use pontoon_core::model::{Kind, ObjectKey};
use pontoon_core::plan::Plan;
use pontoon_core::verdict::{Restraint, Withheld};
use pontoon_core::world::World;

use crate::report::Would;
use crate::report::names::names;

/// Why no action is carried out for the objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Withholding {
    /// Whether we may act is known by this time. Until then nothing is reported.
    Waits(Time),
    /// A restraint, which is reported.
    Restrained(Restraint),
}

/// The kinds for whose objects no action is carried out, and why. All other kinds are acted for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restraints(pub BTreeMap<&'static Kind, Withholding>);

impl Restraints {
    /// Whether nothing is reported for a kind yet.
    pub fn waits(&self, kind: &Kind) -> bool {
        matches!(self.0.get(kind), Some(Withholding::Waits(_)))
    }

    /// The earliest end of a wait.
    pub fn wake(&self) -> Option<Time> {
        let waiting = |one: &Withholding| match one {
            Withholding::Waits(until) => Some(*until),
            Withholding::Restrained(_) => None,
        };
        self.0.values().filter_map(waiting).min()
    }

    /// The restraint on an object. A competing controller comes first, then a pause of the object,
    /// then observe mode.
    fn on(&self, world: &World, key: &ObjectKey) -> Option<Restraint> {
        let of_kind = match self.0.get(key.kind) {
            Some(Withholding::Restrained(restraint)) => Some(restraint),
            Some(Withholding::Waits(_)) | None => None,
        };
        if let Some(another) = of_kind.filter(|one| one.is_for_another()) {
            return Some(another.clone());
        }
        let pool = world.pool(key).and_then(|entry| entry.pool.paused.clone());
        let records = || world.record_set(key).and_then(|entry| entry.set.paused.clone());
        pool.or_else(records).map(Restraint::Paused).or_else(|| of_kind.cloned())
    }
}

/// Removes withheld actions from a plan and adds them to the verdicts. Of kinds that wait, actions
/// and verdicts are removed: their objects are planned again after the wait.
pub fn restrain(plan: &mut Plan, world: &World, restraints: &Restraints) -> Vec<Would> {
    let mut withheld = Vec::new();
    for action in std::mem::take(&mut plan.actions) {
        match action.owner() {
            _ if action.effect() == Effect::Reads => plan.actions.push(action),
            Some(key) if restraints.waits(key.kind) => {}
            Some(key) if restraints.on(world, key).is_some() => withheld.push(Would {
                key: key.clone(),
                event: names(&action).withheld,
                words: action.to_string().into(),
                of_records: matches!(action, Action::Record(_)),
            }),
            // A mark without a pool is withheld with any kind.
            None if !restraints.0.is_empty() => {}
            _ => plan.actions.push(action),
        }
    }
    plan.verdicts.retain(|key, _| !restraints.waits(key.kind));
    plan.records.retain(|key, _| !restraints.waits(key.kind));
    plan.vips.retain(|key, _| !restraints.waits(key.kind));
    tell(plan, world, restraints, &withheld);
    withheld
}

fn tell(plan: &mut Plan, world: &World, restraints: &Restraints, withheld: &[Would]) {
    let say = |key: &ObjectKey, of_records: bool| {
        let by = restraints.on(world, key)?;
        let about = |one: &&Would| one.key == *key && one.of_records == of_records;
        Some(Withheld {
            by,
            would: withheld.iter().filter(about).map(|one| one.words.clone()).collect(),
        })
    };
    for (key, verdict) in &mut plan.verdicts {
        verdict.withheld = say(key, false);
    }
    for (key, verdict) in &mut plan.records {
        verdict.withheld = say(key, true);
    }
    for (key, verdict) in &mut plan.vips {
        verdict.withheld = say(key, false);
    }
}
