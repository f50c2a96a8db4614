//! Mutants with a wrong view of pools: an unreadable spec lists nothing, a field has another value, and a recreated pool is taken for its namesake.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::distorting::Distortion;
use crate::wire::{ApiAction, Kind};

/// Calls `each` with every object of a list or event.
pub(super) fn pools(value: &mut Value, mut each: impl FnMut(&mut Value)) {
    if let Some(items) = value.get_mut("items").and_then(Value::as_array_mut) {
        items.iter_mut().for_each(each);
    } else if let Some(object) = value.get_mut("object").filter(|one| one["metadata"].is_object()) {
        each(object);
    }
}

fn is_of_pools(action: ApiAction) -> bool {
    [ApiAction::List(Kind::Pools), ApiAction::Watch(Kind::Pools)].contains(&action)
}

/// Each pool is shown otherwise than it is.
#[derive(Clone)]
pub(super) struct Shown(pub fn(&mut Value));

impl Distortion for Shown {
    fn concerns(&self, action: ApiAction) -> bool {
        is_of_pools(action)
    }

    fn distort(&self, _: ApiAction, value: &mut Value) {
        pools(value, self.0);
    }
}

/// An unreadable spec lists no addresses.
pub(super) fn without_unreadable_list(pool: &mut Value) {
    let is_open = |field: &str| {
        let selector = pool["spec"]["match"][field].as_str().unwrap_or_default();
        selector.contains('(') && !selector.contains(')')
    };
    if (is_open("nodeLabel") || is_open("podLabel"))
        && let Some(spec) = pool["spec"].as_object_mut()
    {
        spec.remove("ips");
    }
}

/// No pool has a cool-off.
pub(super) fn without_cool_off(pool: &mut Value) {
    pool["spec"]["assignmentCoolOffSeconds"] = json!(0);
}

/// No pool has a grace period.
pub(super) fn without_grace(pool: &mut Value) {
    pool["spec"]["gracePeriodSeconds"] = json!(0);
}

/// Each pool that says how many addresses it wants says one more.
pub(super) fn with_one_more(pool: &mut Value) {
    if let Some(wanted) = pool["spec"]["desiredIPs"].as_u64() {
        pool["spec"]["desiredIPs"] = json!(wanted + 1);
    }
}

/// A recreated pool is taken for the former pool with the same name.
#[derive(Clone, Default)]
pub(super) struct ByName {
    known: Arc<Mutex<BTreeMap<String, (Value, Value)>>>,
}

impl Distortion for ByName {
    fn concerns(&self, action: ApiAction) -> bool {
        is_of_pools(action)
    }

    fn distort(&self, _: ApiAction, value: &mut Value) {
        pools(value, |pool| {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let name = pool["metadata"]["name"].to_string();
            let uid = pool["metadata"]["uid"].clone();
            let told = pool["status"]["ips"].is_object();
            match known.get(&name) {
                Some((before, status)) if *before != uid && !told => {
                    // Reserved addresses are in the ledger, which is not copied.
                    pool["status"]["ips"] = status["ips"].clone();
                    pool["status"]["assigned"] = status["assigned"].clone();
                }
                _ => drop(known.insert(name, (uid, pool["status"].clone()))),
            }
        });
    }
}
