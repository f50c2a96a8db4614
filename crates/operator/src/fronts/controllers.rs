//! The controllers that a replica runs: a front each, named by the plural of its kind.

use std::collections::BTreeSet;
use std::fmt;

use pontoon_core::model::{Kind, Subject};

use super::{FRONTS, Front};
use crate::leadership::Predecessor;

/// The chosen fronts. Of every other kind nothing is watched, written or counted, and no right is
/// needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controllers(BTreeSet<&'static Kind>);

impl Default for Controllers {
    /// Every front.
    fn default() -> Self {
        FRONTS.iter().map(|front| front.kind()).collect()
    }
}

impl FromIterator<&'static Kind> for Controllers {
    fn from_iter<T: IntoIterator<Item = &'static Kind>>(kinds: T) -> Self {
        Self(kinds.into_iter().collect())
    }
}

impl Controllers {
    /// The names of all controllers, in the order of the fronts.
    pub fn names() -> String {
        FRONTS.iter().map(|front| front.kind().plural).collect::<Vec<_>>().join(", ")
    }

    /// The kind of a controller.
    ///
    /// # Errors
    /// The message lists the names.
    pub fn named(name: &str) -> Result<&'static Kind, String> {
        let mut kinds = FRONTS.iter().map(|front| front.kind());
        let found = kinds.find(|kind| kind.plural == name.trim());
        found.ok_or_else(|| format!("write one or more of {}, separated by commas", Self::names()))
    }

    /// The same without the kinds whose objects ask for a subject.
    #[must_use]
    pub fn without(mut self, subject: Subject) -> Self {
        self.0.retain(|kind| !kind.may_ask_for(subject));
        self
    }

    /// Whether no front is chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether objects of a chosen kind may ask for a subject.
    pub fn serve(&self, subject: Subject) -> bool {
        self.0.iter().any(|kind| kind.may_ask_for(subject))
    }

    /// The chosen fronts, in the order of all fronts.
    pub fn fronts(&self) -> impl Iterator<Item = &'static dyn Front> {
        FRONTS.iter().copied().filter(|front| self.0.contains(front.kind()))
    }

    /// The chosen kinds, in the order of the fronts.
    pub fn kinds(&self) -> impl Iterator<Item = &'static Kind> {
        self.fronts().map(|front| front.kind())
    }

    /// The predecessors that may still serve objects of the chosen kinds, each once.
    pub fn predecessors(&self) -> impl Iterator<Item = &'static Predecessor> {
        self.fronts().map(|front| front.predecessor()).collect::<BTreeSet<_>>().into_iter()
    }
}

impl fmt::Display for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.kinds().map(|kind| kind.plural).collect();
        f.write_str(&names.join(","))
    }
}
