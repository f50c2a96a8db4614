//! Removes withheld actions from a plan and reports them in the verdicts instead.
//!
//! A withheld action does not begin and leaves no trace in the world, so the next plan contains the
//! action again and nothing waits for an outcome. Reads are never withheld.

use pontoon_core::action::{Action, Effect};
use pontoon_core::model::{ObjectKey, Text};
use pontoon_core::plan::Plan;
use pontoon_core::verdict::{Restraint, Withheld};
use pontoon_core::world::World;

use crate::report::names::names;

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

/// Removes withheld actions from a plan and adds them to the verdicts. `all` restrains every
/// object.
pub fn restrain(plan: &mut Plan, world: &World, all: Option<&Restraint>) -> Vec<Would> {
    let mut withheld = Vec::new();
    let actions = std::mem::take(&mut plan.actions);
    for action in actions {
        if action.effect() == Effect::Reads {
            plan.actions.push(action);
            continue;
        }
        let key = action.owner().filter(|key| restraint(world, key, all).is_some());
        match key {
            Some(key) => withheld.push(Would {
                key: key.clone(),
                event: names(&action).withheld,
                words: action.to_string().into(),
                of_records: matches!(action, Action::Record(_)),
            }),
            // A mark without a pool is withheld only if everything is.
            None if all.is_some() => {}
            None => plan.actions.push(action),
        }
    }
    tell(plan, world, all, &withheld);
    withheld
}

fn tell(plan: &mut Plan, world: &World, all: Option<&Restraint>, withheld: &[Would]) {
    let say = |key: &ObjectKey, of_records: bool| {
        let by = restraint(world, key, all)?;
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
}

/// The restraint on an object. A competing controller comes first, then a pause of the object, then
/// observe mode.
fn restraint(world: &World, key: &ObjectKey, all: Option<&Restraint>) -> Option<Restraint> {
    if let Some(another) = all.filter(|all| all.is_for_another()) {
        return Some(another.clone());
    }
    let pool = world.pool(key).and_then(|entry| entry.pool.paused.clone());
    let records = || world.record_set(key).and_then(|entry| entry.set.paused.clone());
    pool.or_else(records).map(Restraint::Paused).or_else(|| all.cloned())
}
