//! Names that differ between the two servers.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Maps the real server's words to fakekube's, learned from answers to the same request.
///
/// A word has a single meaning: if fakekube answers with a UID or an object's version that is
/// already mapped to another word, the pair is not learned and shows as a difference. So a write
/// that changes nothing must keep its version on both servers.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// UIDs, generated names and continue tokens, replaced anywhere in texts.
    words: BTreeMap<String, String>,
    /// Resource versions, replaced only in version fields, because they are small numbers.
    versions: BTreeMap<String, String>,
    /// fakekube's creation time of an object, by the real server's UID.
    created: BTreeMap<String, Value>,
}

/// Which writers give the objects of a kind their versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Versions {
    /// Replayed requests only: versions correspond one to one.
    Writers,
    /// The real server too, a moment after each write: several of its versions correspond to a
    /// single version of fakekube.
    ServerToo,
}

impl Names {
    pub(super) fn learn(&mut self, real: &Value, fake: &Value, versions: Versions) {
        if let (Value::Object(real), Value::Object(fake)) = (&real["metadata"], &fake["metadata"]) {
            self.learn_metadata(real, fake, versions);
        }
        let (Some(real), Some(fake)) = (real["items"].as_array(), fake["items"].as_array()) else {
            return;
        };
        for item in real {
            let name = self.translated(&item["metadata"]["name"]);
            let namespace = &item["metadata"]["namespace"];
            let same = |other: &&Value| {
                let metadata = &other["metadata"];
                metadata["name"] == name && metadata["namespace"] == *namespace
            };
            if let Some(other) = fake.iter().find(same) {
                self.learn(item, other, versions);
            }
        }
    }

    fn learn_metadata(
        &mut self,
        real: &Map<String, Value>,
        fake: &Map<String, Value>,
        versions: Versions,
    ) {
        let both = |field: &str| Some((real.get(field)?.as_str()?, fake.get(field)?.as_str()?));
        if let Some((uid, other)) = both("uid") {
            pair(&mut self.words, uid, other);
            if let Some(created) = fake.get("creationTimestamp") {
                self.created.entry(uid.to_owned()).or_insert_with(|| created.clone());
            }
        }
        // Without a UID, the version of a list, hence of the whole store.
        let version = both("resourceVersion").filter(|_| real.contains_key("uid"));
        match (version, versions) {
            (Some((version, other)), Versions::Writers) => pair(&mut self.versions, version, other),
            (Some((version, other)), Versions::ServerToo) => {
                self.versions.insert(version.to_owned(), other.to_owned());
            }
            (None, _) => {}
        }
        if let Some((token, other)) = both("continue") {
            pair(&mut self.words, token, other);
        }
        if let (Some((name, other)), Some(_)) = (both("name"), both("generateName")) {
            pair(&mut self.words, name, other);
        }
    }

    /// Replaces the real server's words in a text.
    pub(super) fn text(&self, text: &str) -> String {
        let known = self.words.iter().filter(|(word, _)| text.contains(word.as_str()));
        known.fold(text.to_owned(), |text, (word, other)| text.replace(word, other))
    }

    /// Replaces the real server's words, versions and creation times in a value.
    pub(super) fn translated(&self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => self.translated_fields(fields).into(),
            Value::Array(items) => items.iter().map(|item| self.translated(item)).collect(),
            Value::String(text) => self.text(text).into(),
            plain => plain.clone(),
        }
    }

    fn translated_fields(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        let created = fields.get("uid").and_then(|uid| self.created.get(uid.as_str()?));
        let translate = |(name, value): (&String, &Value)| {
            let translated = match (name.as_str(), value) {
                ("resourceVersion", Value::String(version)) => self.version(version).into(),
                ("creationTimestamp", time) => created.unwrap_or(time).clone(),
                (_, value) => self.translated(value),
            };
            (name.clone(), translated)
        };
        fields.iter().map(translate).collect()
    }

    fn version(&self, version: &str) -> String {
        self.versions.get(version).map_or(version, String::as_str).to_owned()
    }
}

fn pair(words: &mut BTreeMap<String, String>, word: &str, other: &str) {
    if !words.contains_key(word) && words.values().all(|known| known != other) {
        words.insert(word.to_owned(), other.to_owned());
    }
}
