//! Owners of fields: `metadata.managedFields`, decoded.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fields::Fields;

/// Highest number of separate update managers; older managers are merged.
const MOST_UPDATERS: usize = 10;

/// A field manager. The order is the order in messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) applies: bool,
    /// Set for updates only: an applying manager is the same in every version.
    pub(super) version: String,
    pub(super) subresource: String,
}

impl Manager {
    /// The manager as messages show it.
    pub(super) fn in_words(&self) -> String {
        let mut words = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            words = format!("{words} with subresource {:?}", self.subresource);
        }
        if self.applies { words } else { format!("{words} using {}", self.version) }
    }
}

/// The fields of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) version: String,
    pub(super) fields: Fields,
    pub(super) time: Option<String>,
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Managers(pub(super) BTreeMap<Manager, Share>);

impl Managers {
    /// Decodes `managedFields`; empty if any entry is malformed.
    pub(crate) fn decode(entries: &Value) -> Self {
        let mut managers = Self::default();
        for entry in entries.as_array().into_iter().flatten() {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let applies = match entry["operation"].as_str() {
                Some("Apply") => true,
                Some("Update") => false,
                _ => return Self::default(),
            };
            if entry["fieldsType"] != "FieldsV1" || text("apiVersion").is_empty() {
                return Self::default();
            }
            let version = if applies { String::new() } else { text("apiVersion") };
            let (name, subresource) = (text("manager"), text("subresource"));
            let fields = Fields::decode(&entry["fieldsV1"]);
            let time = entry["time"].as_str().map(str::to_owned);
            let share = Share { version: text("apiVersion"), fields, time };
            managers.0.insert(Manager { name, applies, version, subresource }, share);
        }
        managers
    }

    /// Encodes `managedFields`: appliers first, then by time and name.
    pub(crate) fn encode(&self) -> Value {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(manager, share)| {
            (!manager.applies, share.time.clone().unwrap_or_default(), (*manager).clone())
        });
        let entry = |(manager, share): (&Manager, &Share)| {
            let mut entry = json!({
                "operation": if manager.applies { "Apply" } else { "Update" },
                "apiVersion": share.version, "fieldsType": "FieldsV1",
                "fieldsV1": share.fields.encode(),
            });
            let texts = [
                ("manager", Some(manager.name.clone())),
                ("subresource", Some(manager.subresource.clone())),
                ("time", share.time.clone()),
            ];
            for (field, text) in texts {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    entry[field] = json!(text);
                }
            }
            entry
        };
        all.into_iter().map(entry).collect()
    }

    /// Whether the managers differ in more than times.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        let timeless = |managers: &Self| {
            let mut managers = managers.clone();
            managers.0.values_mut().for_each(|share| share.time = None);
            managers
        };
        timeless(self) != timeless(other)
    }

    /// Drops managers without fields.
    pub(super) fn tidy(&mut self) {
        self.0.retain(|_, share| !share.fields.is_empty());
    }

    /// Merges the oldest update managers until at most [`MOST_UPDATERS`] are left.
    pub(super) fn cap(&mut self) {
        let mut updaters: Vec<_> = self.0.iter().filter(|(manager, _)| !manager.applies).collect();
        updaters.sort_by_key(|(manager, share)| {
            (share.time.clone().unwrap_or_default(), (*manager).clone())
        });
        let updaters: Vec<Manager> =
            updaters.into_iter().map(|(manager, _)| manager.clone()).collect();
        let mut left = updaters.len();
        let mut first: BTreeMap<String, Manager> = BTreeMap::new();
        for updater in updaters {
            if left <= MOST_UPDATERS {
                return;
            }
            let Some(share) = self.0.get(&updater).cloned() else { continue };
            let Some(oldest) = first.get(&share.version) else {
                first.insert(share.version.clone(), updater);
                continue;
            };
            let bucket = Manager {
                name: "ancient-changes".to_owned(),
                version: share.version.clone(),
                ..Manager::default()
            };
            if !self.0.contains_key(&bucket)
                && let Some(moved) = self.0.remove(oldest)
            {
                self.0.insert(bucket.clone(), moved);
            }
            if let Some(both) = self.0.get_mut(&bucket) {
                both.fields = both.fields.union(&share.fields);
                both.time = share.time;
            }
            self.0.remove(&updater);
            left -= 1;
        }
    }
}
