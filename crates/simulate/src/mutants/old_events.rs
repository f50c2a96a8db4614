//! Each event about a pool shows the previous object under the newest version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::distorting::Distortion;
use crate::wire::{ApiAction, Kind};

/// The previous object of each pool, by name.
#[derive(Clone, Default)]
pub(super) struct OldEvents {
    before: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl Distortion for OldEvents {
    fn concerns(&self, action: ApiAction) -> bool {
        action == ApiAction::Watch(Kind::Pools)
    }

    fn distort(&self, _: ApiAction, event: &mut Value) {
        if event["type"] != "MODIFIED" {
            return;
        }
        let object = event["object"].clone();
        let name = object["metadata"]["name"].to_string();
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut old) = before.insert(name, object.clone()) {
            old["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
            event["object"] = old;
        }
    }
}
