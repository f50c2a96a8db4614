//! What is known about each object beside the world: its identity, its status, the latest verdicts,
//! what was reported about it, and how its status is being written.

use std::collections::{BTreeMap, BTreeSet};

use pontoon_core::addresses::verdict::Verdict;
use pontoon_core::model::{Kind, ObjectKey, Site, Subject, Text};
use pontoon_core::records::verdict::RecordVerdict;
use pontoon_core::vips::verdict::VipVerdict;

use super::announce::Told;
use super::announce_records::ToldRecords;
use super::announce_vips::ToldVips;
use super::object_series::SeriesLabels;
use super::writer::Writing;
use crate::fronts::{Face, Labels, Observed, Verdicts};

/// Every object.
#[derive(Debug, Default)]
pub struct Objects {
    all: BTreeMap<ObjectKey, Object>,
}

/// An object.
#[derive(Debug)]
pub struct Object {
    pub(super) uid: Text,
    /// The resource version: the latest that was observed, or that a write of ours returned.
    pub(super) version: u64,
    /// Whether the object could be decoded.
    pub(super) decoded: bool,
    pub(super) labels: Labels,
    pub(super) face: Box<dyn Face>,
    /// The latest verdicts of this term.
    pub(super) verdict: Option<Box<Verdict>>,
    pub(super) records: Option<Box<RecordVerdict>>,
    pub(super) vips: Option<Box<VipVerdict>>,
    pub(super) told: Told,
    pub(super) told_records: ToldRecords,
    pub(super) told_vips: ToldVips,
    /// Withheld actions that were already reported.
    pub(super) would: BTreeSet<Text>,
    pub(super) writing: Writing,
}

impl Objects {
    /// Takes an object that appeared or changed. Returns the name that the object had and no longer
    /// asks for, if any.
    pub(super) fn see(&mut self, observed: Observed) -> Option<Site> {
        let Some(object) = self.all.get_mut(&observed.key) else {
            self.all.insert(observed.key.clone(), Object::new(observed));
            return None;
        };
        if object.uid != observed.uid {
            let writing = std::mem::take(&mut object.writing);
            *object = Object { writing: writing.of_another(), ..Object::new(observed) };
            return None;
        }
        object.update(observed)
    }

    /// Removes an object.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.all.remove(key);
    }

    /// Starts a new term: verdicts of the old term do not count.
    pub fn restart(&mut self) {
        for object in self.all.values_mut() {
            (object.verdict, object.records, object.vips) = (None, None, None);
            object.writing.restart();
        }
    }

    /// Whether a status write is under way, so that the object's version is about to change.
    pub fn is_being_written(&self, key: &ObjectKey) -> bool {
        self.get(key).is_some_and(|object| object.writing.in_flight)
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.all.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &ObjectKey) -> Option<&mut Object> {
        self.all.get_mut(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.all.keys()
    }

    pub(super) fn of_kind(
        &mut self,
        kind: &Kind,
    ) -> impl Iterator<Item = (&ObjectKey, &mut Object)> {
        self.all.iter_mut().filter(move |(key, _)| key.kind == kind)
    }
}

impl Object {
    fn new(observed: Observed) -> Self {
        let Observed { uid, version, decoded, labels, face, homes, addresses, records, .. } =
            observed;
        let remembered = addresses.map(|pool| pool.remembered).unwrap_or_default();
        Self {
            told: Told::new(face.said(Subject::Addresses), homes, &remembered),
            told_records: ToldRecords::new(face.said(Subject::Records), records.as_ref()),
            told_vips: ToldVips::new(face.said(Subject::Vips)),
            uid,
            version,
            decoded,
            labels,
            face,
            verdict: None,
            records: None,
            vips: None,
            would: BTreeSet::new(),
            writing: Writing::default(),
        }
    }

    /// Takes a version of the same object, unless the version is older than the known one.
    fn update(&mut self, observed: Observed) -> Option<Site> {
        if self.version > observed.version {
            return None;
        }
        let Observed { version, decoded, labels, mut face, addresses, records, .. } = observed;
        if !decoded {
            // The stored status is unreadable; our last write is all we know.
            face.store(self.face.stored());
        }
        self.writing.unprune(&mut *face);
        if let Some(pool) = addresses {
            self.told.see(&pool.remembered);
        }
        if self.labels != labels {
            // Report the same verdicts again, under the new labels.
            (self.told.again, self.told_records.again) = (true, true);
        }
        (self.version, self.decoded, self.labels, self.face) = (version, decoded, labels, face);
        self.writing.retry();
        // An undecodable object still has its record.
        match records.is_none() && decoded {
            true => std::mem::take(&mut self.told_records).site,
            false => None,
        }
    }

    pub(super) fn series<'a>(&'a self, key: &'a ObjectKey) -> SeriesLabels<'a> {
        SeriesLabels { key, provider: &self.labels.provider, dns: &self.labels.dns }
    }

    pub(super) fn verdicts(&self) -> Verdicts<'_> {
        Verdicts {
            addresses: self.verdict.as_deref(),
            records: self.records.as_deref(),
            vips: self.vips.as_deref(),
        }
    }
}
