//! Removes withheld actions from a plan and reports them in the verdicts instead.
//!
//! A withheld action does not begin and leaves no trace in the world, so the next plan contains the
//! action again and nothing waits for an outcome. Reads are never withheld.
//!
//! | action | belongs to |
//! |---|---|
//! | on an address, a ledger or a name | the object in the action |
//! | a node's mark | the pool whose address the mark gains, else loses |

use std::collections::BTreeSet;
use std::net::IpAddr;

use pontoon_core::action::Action;
use pontoon_core::model::{Family, Intent, Ledger, ObjectKey, RecordChange, Site, Text};
use pontoon_core::plan::Plan;
use pontoon_core::verdict::{Restraint, Withheld};
use pontoon_core::world::World;

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
        let key = subject(world, &action).filter(|key| restraint(world, key, all).is_some());
        match key {
            Some(key) => withheld.extend(describe(world, key, &action)),
            // A mark without a pool is withheld only if everything is.
            None if all.is_some() && is_change(&action) => {}
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

fn is_change(action: &Action) -> bool {
    action.changes_cloud() || action.changes_cluster()
}

/// The object that a change belongs to.
fn subject(world: &World, action: &Action) -> Option<ObjectKey> {
    match action {
        Action::Assign { pool, .. }
        | Action::Unassign { pool, .. }
        | Action::Release { pool, .. }
        | Action::Create { pool, .. }
        | Action::WriteLedger { pool, .. } => Some(pool.clone()),
        Action::ChangeRecords { owner, .. } => Some(owner.clone()),
        Action::Mark { node, mark, value, .. } => {
            let before = world.node(node).and_then(|node| node.marks.get(mark));
            let named = |value: Option<&Text>| -> BTreeSet<IpAddr> {
                value.into_iter().flat_map(|value| mark.named(value)).collect()
            };
            let (before, after) = (named(before), named(value.as_ref()));
            let mut differing = after.difference(&before).chain(before.difference(&after));
            let of_address = differing.find_map(|ip| world.claimants(*ip).next().cloned());
            of_address.or_else(|| world.users(mark).next().cloned())
        }
        Action::List { .. }
        | Action::ReadAddress { .. }
        | Action::ReadOperation { .. }
        | Action::ReadRecords { .. } => None,
    }
}

fn describe(world: &World, key: ObjectKey, action: &Action) -> Option<Would> {
    let (event, words) = match action {
        Action::Assign { ip, node, .. } => (Some("WouldAssign"), format!("assign {ip} to {node}")),
        Action::Unassign { ip, .. } => (Some("WouldUnassign"), format!("unassign {ip}")),
        Action::Release { ip, .. } => {
            (Some("WouldRelease"), format!("give {ip} back to the cloud"))
        }
        Action::Create { intent, .. } => (Some("WouldCreate"), reservations(&[intent])),
        Action::WriteLedger { ledger, .. } => written(world, &key, ledger),
        Action::Mark { node, mark, value: Some(value), .. } => {
            (None, format!("set the {mark} of {node} to {value}"))
        }
        Action::Mark { node, mark, value: None, .. } => {
            (None, format!("remove the {mark} of {node}"))
        }
        Action::ChangeRecords { site, family, change, .. } => {
            (Some("WouldUpdateRecord"), records(site, *family, change))
        }
        Action::List { .. }
        | Action::ReadAddress { .. }
        | Action::ReadOperation { .. }
        | Action::ReadRecords { .. } => return None,
    };
    let of_records = matches!(action, Action::ChangeRecords { .. });
    Some(Would { key, event, words: words.into(), of_records })
}

/// Describes a write of the ledger. A new intent is announced as the reservation that follows the
/// write.
fn written(world: &World, key: &ObjectKey, ledger: &Ledger) -> (Option<&'static str>, String) {
    let before = world.pool(key).map(|entry| &entry.pool.ledger);
    let is_new = |intent: &&Intent| {
        !before.is_some_and(|before| before.intents.iter().any(|one| one.id == intent.id))
    };
    let new: Vec<_> = ledger.intents.iter().filter(is_new).collect();
    match new.is_empty() {
        true => (None, "write down which addresses are the pool's".to_owned()),
        false => (Some("WouldCreate"), reservations(&new)),
    }
}

fn reservations(intents: &[&Intent]) -> String {
    let region = intents.first().map(|intent| intent.region.to_string()).unwrap_or_default();
    match intents.len() {
        1 => format!("reserve an address in {region}"),
        more => format!("reserve {more} addresses in {region}"),
    }
}

fn records(site: &Site, family: Family, change: &RecordChange) -> String {
    let kind = match family {
        Family::V4 => "A",
        Family::V6 => "AAAA",
    };
    let mut parts = Vec::new();
    let written: Vec<_> = change.create.iter().map(ToString::to_string).collect();
    if !written.is_empty() {
        parts.push(format!("add {}", written.join(" ")));
    }
    let updated: Vec<_> = change.update.iter().map(|(_, value)| value.to_string()).collect();
    if !updated.is_empty() {
        parts.push(format!("set {}", updated.join(" ")));
    }
    if !change.delete.is_empty() {
        parts.push(format!("remove {}", change.delete.len()));
    }
    format!("update {site} {kind}: {}", parts.join("; "))
}
