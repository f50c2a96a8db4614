//! Parameters of a watch, served by [`crate::stream`].

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::accept::Form;
use crate::object::{self, Loaded};
use crate::refusal::Refusal;
use crate::registry::Kind;
use crate::reply::Reply;
use crate::selector::Selector;
use crate::store::{Change, Compacted, What, with_revision};

use super::Turn;

/// Duration of a watch without `timeoutSeconds`. A real server draws 30 to 60 minutes.
const LONGEST: Duration = Duration::from_secs(45 * 60);

/// A watch ready to be served.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) kind: Arc<Kind>,
    /// Prefix of the watched keys.
    prefix: String,
    selector: Selector,
    form: Form,
    include_object: String,
    pub(crate) bookmarks: bool,
    pub(crate) longest: Duration,
    /// The watch reports changes after this revision.
    pub(crate) after: u64,
    /// The initial objects, and whether a bookmark follows them.
    pub(crate) initial: Vec<Arc<Value>>,
    pub(crate) announce: bool,
    /// Sent in place of any event.
    pub(crate) refusal: Option<Refusal>,
}

impl Turn<'_> {
    pub(super) fn watch(mut self) -> Result<Reply, Refusal> {
        self.params.check_list()?;
        let selector = self.selector()?;
        let asked = self.params.resource_version.clone();
        let from: u64 = if asked.is_empty() {
            0
        } else {
            asked.parse().map_err(|_| {
                Refusal::unexpected(format!(
                    "resourceVersion: Invalid value: {asked:?}: strconv.ParseUint: parsing {asked:?}: invalid syntax"
                ))
            })?
        };
        let mut watching = Watching {
            kind: self.kind(),
            prefix: self.target.prefix(),
            selector,
            form: self.form,
            include_object: self.params.include_object.clone(),
            bookmarks: self.params.bookmarks,
            longest: self.params.timeout.map_or(LONGEST, Duration::from_secs),
            after: from,
            initial: Vec::new(),
            announce: false,
            refusal: None,
        };
        if self.params.initial_events == Some(true) {
            self.begin_with_objects(&mut watching);
        }
        Ok(Reply::watch(watching))
    }

    /// Starts the watch with the current objects.
    fn begin_with_objects(&self, watching: &mut Watching) {
        let visible = self.state.visible(self.stale, false);
        match self.state.store.objects_at(&watching.kind.storage, visible) {
            Ok(objects) => {
                let prefix = &watching.prefix;
                let all = objects.range(prefix.clone()..);
                let mine = all.take_while(|(key, _)| key.starts_with(prefix));
                let fitting = mine.filter(|(_, stored)| watching.selector.fits(stored));
                watching.initial = fitting.map(|(_, stored)| Arc::clone(stored)).collect();
                watching.after = visible;
                watching.announce = watching.bookmarks;
            }
            Err(Compacted(oldest)) => watching.refusal = Some(Refusal::too_old(visible, oldest)),
        }
    }
}

impl Watching {
    /// The event for a change; `None` if the change does not concern the watch.
    pub(crate) fn event(&self, change: &Change, now: jiff::Timestamp) -> Option<Vec<u8>> {
        if !change.key.starts_with(&self.prefix) {
            return None;
        }
        let was = change.before.as_ref().filter(|before| self.selector.fits(before));
        let is = change.what != What::Deleted && self.selector.fits(&change.object);
        match (was, is) {
            (None, false) => None,
            (None, true) => Some(self.line("ADDED", &change.object, now)),
            (Some(_), true) => Some(self.line("MODIFIED", &change.object, now)),
            (Some(_), false) if change.what == What::Deleted => {
                Some(self.line("DELETED", &change.object, now))
            }
            // The object left the selector: the old object with the revision of the change.
            (Some(before), false) => {
                Some(self.line("DELETED", &with_revision(before, change.revision), now))
            }
        }
    }

    /// Serializes an event about an object.
    pub(crate) fn line(&self, event: &str, stored: &Value, now: jiff::Timestamp) -> Vec<u8> {
        match self.form {
            Form::Object | Form::Discovery => line(event, &Loaded::of(&self.kind, stored)),
            Form::Partial | Form::PartialList => {
                let object = object::load(&self.kind, stored);
                line(event, &object::partial(&self.kind, &object))
            }
            Form::Table(tables) => {
                let (object, meta) = (object::load(&self.kind, stored), object::table_meta(stored));
                line(event, &tables.render(&self.kind, &[object], meta, &self.include_object, now))
            }
        }
    }

    /// Serializes a bookmark. The bookmark after the initial objects is annotated.
    pub(crate) fn bookmark(&self, revision: u64, last: bool, now: jiff::Timestamp) -> Vec<u8> {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if last {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        self.line("BOOKMARK", &json!({"metadata": metadata}), now)
    }
}

/// Serializes an event as a line.
pub(crate) fn line(event: &str, object: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Event<'a, T> {
        r#type: &'a str,
        object: &'a T,
    }
    let mut line = serde_json::to_vec(&Event { r#type: event, object }).unwrap_or_default();
    line.push(b'\n');
    line
}
