//! The objects and their history. One revision counts all writes, as etcd does.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::news::{Listener, Teller};
use crate::observer::{Observer, Write};
use serde_json::{Value, json};

/// Where a kind's objects are: group and plural.
pub(crate) type Place = (String, String);

/// The objects of one place by `namespace/name`, or `name` where there are no namespaces: etcd's order.
pub(crate) type Objects = BTreeMap<String, Arc<Value>>;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Added,
    Modified,
    Deleted,
}

/// One write.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) what: What,
    pub(crate) key: String,
    /// The object after it; for a deletion the last one, with the deletion's revision.
    pub(crate) object: Arc<Value>,
    /// The object before it.
    pub(crate) before: Option<Arc<Value>>,
}

/// The history before this revision is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted(pub(crate) u64);

#[derive(Debug, Default)]
struct Shelf {
    objects: Objects,
    log: VecDeque<Change>,
    /// Changes up to and including this revision are not in the log.
    oldest: u64,
}

impl Shelf {
    fn note(&mut self, change: Change, keep: usize) {
        self.log.push_back(change);
        while self.log.len() > keep {
            if let Some(gone) = self.log.pop_front() {
                self.oldest = gone.revision;
            }
        }
    }
}

/// All objects of all kinds.
#[derive(Debug)]
pub(crate) struct Store {
    revision: u64,
    shelves: BTreeMap<Place, Shelf>,
    /// How many changes are remembered for each kind.
    keep: usize,
    /// For those who wait for the next revision; told also when they should look again.
    news: Teller,
    observer: Observer,
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
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn news(&self) -> Listener {
        self.news.listener()
    }

    /// Tells this one of every write from now on.
    pub(crate) fn observe(&mut self, observer: Observer) {
        self.observer = observer;
    }

    /// Makes all who wait look again.
    pub(crate) fn stir(&self) {
        self.news.tell();
    }

    /// Remembers this many changes of each kind from now on.
    pub(crate) fn keep(&mut self, changes: usize) {
        self.keep = changes;
    }

    /// Forgets the history, as compaction does: whoever asks for what was before gets 410.
    pub(crate) fn compact(&mut self) {
        for shelf in self.shelves.values_mut() {
            shelf.log.clear();
            shelf.oldest = self.revision;
        }
        self.stir();
    }

    /// Makes a place, whose history begins now.
    pub(crate) fn open(&mut self, place: &Place) {
        let oldest = self.revision;
        self.shelves.entry(place.clone()).or_insert_with(|| Shelf { oldest, ..Shelf::default() });
    }

    /// Forgets a place.
    pub(crate) fn close(&mut self, place: &Place) {
        self.shelves.remove(place);
        self.stir();
    }

    pub(crate) fn get(&self, place: &Place, key: &str) -> Option<&Arc<Value>> {
        self.shelves.get(place)?.objects.get(key)
    }

    /// The objects as they are now.
    pub(crate) fn objects(&self, place: &Place) -> Cow<'_, Objects> {
        match self.shelves.get(place) {
            Some(shelf) => Cow::Borrowed(&shelf.objects),
            None => Cow::Owned(Objects::new()),
        }
    }

    /// The objects as they were at a revision.
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

    /// What happened after one revision, up to and including another; none when the place is gone.
    pub(crate) fn changes(
        &self,
        place: &Place,
        after: u64,
        up_to: u64,
    ) -> Option<Result<Vec<Change>, Compacted>> {
        let shelf = self.shelves.get(place)?;
        if after < shelf.oldest {
            return Some(Err(Compacted(shelf.oldest)));
        }
        let first = shelf.log.partition_point(|change| change.revision <= after);
        let wanted = shelf.log.range(first..).take_while(|change| change.revision <= up_to);
        Some(Ok(wanted.cloned().collect()))
    }

    /// Writes an object and gives it the new revision.
    pub(crate) fn put(&mut self, place: &Place, key: &str, mut object: Value) -> Arc<Value> {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let object = Arc::new(object);
        let shelf = self.shelves.entry(place.clone()).or_default();
        self.observer.tell(Write {
            group: &place.0,
            plural: &place.1,
            key,
            before: shelf.objects.get(key).map(Arc::as_ref),
            after: Some(&object),
        });
        let before = shelf.objects.insert(key.to_owned(), Arc::clone(&object));
        let what = if before.is_some() { What::Modified } else { What::Added };
        let (revision, key) = (self.revision, key.to_owned());
        let change = Change { revision, what, key, object: Arc::clone(&object), before };
        shelf.note(change, self.keep);
        self.stir();
        object
    }

    /// Removes an object; answers its last state with the deletion's revision.
    pub(crate) fn delete(&mut self, place: &Place, key: &str) -> Option<Arc<Value>> {
        let shelf = self.shelves.get_mut(place)?;
        let before = shelf.objects.remove(key)?;
        let (group, plural) = (place.0.as_str(), place.1.as_str());
        self.observer.tell(Write { group, plural, key, before: Some(&before), after: None });
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
        self.stir();
        Some(object)
    }
}

/// The same object with another revision.
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
        assert_eq!(store.changes(&place, 9, 13).unwrap().err(), Some(Compacted(10)));
        store.compact();
        assert_eq!(store.objects_at(&place, 12).err(), Some(Compacted(13)));
        assert_eq!(names(&store, &place, 13), ["b"]);
    }
}
