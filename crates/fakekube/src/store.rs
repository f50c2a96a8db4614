//! The objects and their history. A single revision counts all writes, as in etcd.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::garbage::Kinship;
use crate::news::{Listener, Teller};
use crate::observer::{Observer, Write};
use serde_json::{Value, json};

/// Storage place of a kind's objects: group and plural.
pub(crate) type Place = (String, String);

/// The objects of a place by `namespace/name`, or `name` for cluster-scoped kinds, in etcd's order.
pub(crate) type Objects = BTreeMap<String, Arc<Value>>;

/// Type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Added,
    Modified,
    Deleted,
}

/// A write to an object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) what: What,
    pub(crate) key: String,
    /// The object after the write. For a deletion, the last state with the deletion's revision.
    pub(crate) object: Arc<Value>,
    /// The object before the write.
    pub(crate) before: Option<Arc<Value>>,
}

/// Error: the history before this revision is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted(pub(crate) u64);

#[derive(Debug, Default)]
struct Shelf {
    objects: Objects,
    log: VecDeque<Change>,
    /// Requests cannot name an earlier revision.
    oldest: u64,
    /// The revision of the last change that is no longer in the log.
    lost: u64,
    /// Wakes the watches of this kind after a write.
    news: Teller,
}

impl Shelf {
    fn note(&mut self, change: Change, keep: usize) {
        self.log.push_back(change);
        while self.log.len() > keep {
            if let Some(gone) = self.log.pop_front() {
                (self.oldest, self.lost) = (gone.revision, gone.revision);
            }
        }
    }

    fn forget_log(&mut self, now: u64) {
        if let Some(last) = self.log.back() {
            self.lost = last.revision;
        }
        self.log.clear();
        self.oldest = now;
    }
}

/// All objects of all kinds.
#[derive(Debug)]
pub(crate) struct Store {
    revision: u64,
    shelves: BTreeMap<Place, Shelf>,
    /// Length of each kind's history.
    keep: usize,
    /// Wakes requests that wait for a revision.
    news: Teller,
    observer: Observer,
    /// Owners and dependents, for the garbage collector alone.
    kinship: Option<Kinship>,
}

impl Store {
    /// An empty store at a revision.
    pub(crate) fn at(revision: u64) -> Self {
        Self {
            revision,
            shelves: BTreeMap::new(),
            keep: 10_000,
            news: Teller::default(),
            observer: Observer::default(),
            kinship: None,
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Tells of all writes.
    pub(crate) fn news(&self) -> Listener {
        self.news.listener()
    }

    /// Tells of the writes of a place, of its end, and of other reasons to look again.
    pub(crate) fn news_of(&self, place: &Place) -> Listener {
        self.shelves.get(place).map_or(&self.news, |shelf| &shelf.news).listener()
    }

    /// Installs the callback for all later writes.
    pub(crate) fn observe(&mut self, told: impl FnMut(Write<'_>) + Send + 'static) {
        self.observer.set(Box::new(told));
    }

    /// Keeps track of owners and dependents from now on.
    pub(crate) fn track_kinship(&mut self) {
        let mut kinship = Kinship::default();
        for (place, shelf) in &self.shelves {
            for (key, object) in &shelf.objects {
                kinship.note(place, key, None, Some(object));
            }
        }
        self.kinship = Some(kinship);
    }

    /// Owners and dependents, if tracked.
    pub(crate) fn kinship(&self) -> Option<&Kinship> {
        self.kinship.as_ref()
    }

    /// As [`Store::kinship`].
    pub(crate) fn kinship_mut(&mut self) -> Option<&mut Kinship> {
        self.kinship.as_mut()
    }

    /// Wakes all watches.
    pub(crate) fn stir(&self) {
        self.news.tell();
        self.shelves.values().for_each(|shelf| shelf.news.tell());
    }

    /// Sets the length of each kind's history.
    pub(crate) fn keep(&mut self, changes: usize) {
        self.keep = changes;
    }

    /// Discards the history, as compaction does: requests at earlier revisions get 410.
    pub(crate) fn compact(&mut self) {
        for shelf in self.shelves.values_mut() {
            shelf.forget_log(self.revision);
        }
        self.stir();
    }

    /// Creates a place. Its history begins at the current revision.
    pub(crate) fn open(&mut self, place: &Place) {
        let oldest = self.revision;
        self.shelves.entry(place.clone()).or_insert_with(|| Shelf { oldest, ..Shelf::default() });
    }

    /// Removes a place with its objects and history.
    pub(crate) fn close(&mut self, place: &Place) {
        self.stir();
        self.shelves.remove(place);
    }

    pub(crate) fn get(&self, place: &Place, key: &str) -> Option<&Arc<Value>> {
        self.shelves.get(place)?.objects.get(key)
    }

    /// The current objects of a place.
    pub(crate) fn objects(&self, place: &Place) -> Cow<'_, Objects> {
        match self.shelves.get(place) {
            Some(shelf) => Cow::Borrowed(&shelf.objects),
            None => Cow::Owned(Objects::new()),
        }
    }

    /// The objects of a place at a revision.
    pub(crate) fn objects_at(&self, place: &Place, at: u64) -> Result<Cow<'_, Objects>, Compacted> {
        let Some(shelf) = self.shelves.get(place) else {
            return Ok(Cow::Owned(Objects::new()));
        };
        if shelf.log.back().is_none_or(|last| last.revision <= at) && at >= shelf.oldest {
            return Ok(Cow::Borrowed(&shelf.objects));
        }
        if at < shelf.oldest {
            return Err(Compacted(shelf.oldest));
        }
        let mut objects = shelf.objects.clone();
        for change in shelf.log.iter().rev().take_while(|change| change.revision > at) {
            match &change.before {
                Some(before) => objects.insert(change.key.clone(), Arc::clone(before)),
                None => objects.remove(&change.key),
            };
        }
        Ok(Cow::Owned(objects))
    }

    /// Whether a request can name a revision; `None` if the place is gone.
    pub(crate) fn reaches(&self, place: &Place, revision: u64) -> Option<Result<(), Compacted>> {
        let oldest = self.shelves.get(place)?.oldest;
        Some(if revision < oldest { Err(Compacted(oldest)) } else { Ok(()) })
    }

    /// Changes in the revisions `after < revision <= up_to`, unless some of them are lost; `None` if the
    /// place is gone.
    pub(crate) fn changes(
        &self,
        place: &Place,
        after: u64,
        up_to: u64,
    ) -> Option<Result<Vec<Change>, Compacted>> {
        let shelf = self.shelves.get(place)?;
        if after < shelf.lost {
            return Some(Err(Compacted(shelf.oldest)));
        }
        let first = shelf.log.partition_point(|change| change.revision <= after);
        let wanted = shelf.log.range(first..).take_while(|change| change.revision <= up_to);
        Some(Ok(wanted.cloned().collect()))
    }

    /// Writes an object with the next revision.
    pub(crate) fn put(&mut self, place: &Place, key: &str, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let object = Arc::new(object);
        let shelf = self.shelves.entry(place.clone()).or_default();
        if let Some(told) = self.observer.told() {
            let (group, plural) = (place.0.as_str(), place.1.as_str());
            let before = shelf.objects.get(key).map(Arc::as_ref);
            told(Write { group, plural, key, before, after: Some(&object) });
        }
        let before = shelf.objects.insert(key.to_owned(), Arc::clone(&object));
        if let Some(kinship) = &mut self.kinship {
            kinship.note(place, key, before.as_deref(), Some(&object));
        }
        let what = if before.is_some() { What::Modified } else { What::Added };
        let (revision, key) = (self.revision, key.to_owned());
        let change = Change { revision, what, key, object: Arc::clone(&object), before };
        shelf.note(change, self.keep);
        shelf.news.tell();
        self.news.tell();
        object
    }

    /// Deletes an object; returns its last state with the deletion's revision.
    pub(crate) fn delete(&mut self, place: &Place, key: &str) -> Option<Arc<Value>> {
        let shelf = self.shelves.get_mut(place)?;
        let before = shelf.objects.remove(key)?;
        if let Some(told) = self.observer.told() {
            let (group, plural) = (place.0.as_str(), place.1.as_str());
            told(Write { group, plural, key, before: Some(&before), after: None });
        }
        if let Some(kinship) = &mut self.kinship {
            kinship.note(place, key, Some(&before), None);
        }
        self.revision += 1;
        let object = with_revision(&before, self.revision);
        let (revision, key) = (self.revision, key.to_owned());
        let change = Change {
            revision,
            what: What::Deleted,
            key,
            object: Arc::clone(&object),
            before: Some(before),
        };
        shelf.note(change, self.keep);
        shelf.news.tell();
        self.news.tell();
        Some(object)
    }
}

/// A copy of the object with another revision.
pub(crate) fn with_revision(object: &Value, revision: u64) -> Arc<Value> {
    let mut object = object.clone();
    object["metadata"]["resourceVersion"] = json!(revision.to_string());
    Arc::new(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(store: &Store, place: &Place, at: u64) -> Vec<String> {
        store.objects_at(place, at).unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_past_can_be_read_until_it_is_compacted() {
        let place = (String::new(), "things".to_owned());
        let mut store = Store::at(10);
        store.open(&place);
        for name in ["a", "b"] {
            store.put(&place, name, json!({"metadata": {}}));
        }
        store.delete(&place, "a");
        assert_eq!(names(&store, &place, 10), [""; 0]);
        assert_eq!(names(&store, &place, 12), ["a", "b"]);
        assert_eq!(names(&store, &place, 13), ["b"]);
        let changes = store.changes(&place, 11, 13).unwrap().unwrap();
        let seen: Vec<_> = changes.iter().map(|change| (change.revision, change.what)).collect();
        assert_eq!(seen, [(12, What::Added), (13, What::Deleted)]);
        assert_eq!(store.reaches(&place, 9), Some(Err(Compacted(10))));
        store.compact();
        assert_eq!(store.objects_at(&place, 12).err(), Some(Compacted(13)));
        assert_eq!(names(&store, &place, 13), ["b"]);
    }

    #[test]
    fn a_watch_goes_on_after_a_compaction_unless_it_has_missed_a_change() {
        let place = (String::new(), "things".to_owned());
        let other = (String::new(), "others".to_owned());
        let mut store = Store::at(10);
        store.open(&place);
        store.put(&place, "a", json!({"metadata": {}}));
        store.put(&other, "b", json!({"metadata": {}}));
        store.compact();
        assert_eq!(store.changes(&place, 10, 12).unwrap().err(), Some(Compacted(12)));
        assert!(store.changes(&place, 11, 12).unwrap().is_ok_and(|changes| changes.is_empty()));
        assert_eq!(store.reaches(&place, 11), Some(Err(Compacted(12))));
    }
}
