//! The objects of a kind as an endless stream of events: the whole list, page by page, then the
//! changes from there.
//!
//! Each request has a deadline, and a silent watch is restarted, so that a server that does not
//! answer costs seconds (decision 19 has the figures). kube's own watcher has no deadline for a list
//! or for the start of a watch, and hides bookmarks.

use std::fmt::Debug;
use std::time::Duration;

use futures::stream::{BoxStream, unfold};
use futures::{StreamExt, TryStreamExt};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

/// Objects in one page of a list.
const PAGE: u32 = 500;

/// Deadline for a page of a list.
const LIST_DEADLINE: Duration = Duration::from_secs(20);

/// Deadline for the start of a watch.
const START_DEADLINE: Duration = Duration::from_secs(10);

/// Silence after which a watch is restarted. A server sends a bookmark about once a minute.
pub(super) const SILENCE: Duration = Duration::from_secs(80);

/// Longest pause between two attempts to watch. After an outage, a leader may act on the old view
/// for this long.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Selects objects of a kind at the server. The default selects all objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A label selector.
    pub labels: Option<String>,
    /// A field selector.
    pub fields: Option<String>,
}

/// A kind that can be followed.
pub trait Followed: Resource + Clone + Debug + DeserializeOwned + Send + 'static {}

impl<K: Resource + Clone + Debug + DeserializeOwned + Send + 'static> Followed for K {}

/// What happens to the objects of a kind.
#[derive(Debug)]
pub(crate) enum Event<K> {
    /// A list begins. Objects that it does not show are gone.
    Listing,
    /// The server answered a request.
    Answered,
    /// Nothing else has happened up to now.
    Bookmark,
    /// An object is listed, or changed.
    Seen(K),
    /// An object is gone.
    Gone(K),
    /// The list is complete.
    Listed,
}

impl<K> Event<K> {
    /// The same event about another form of the object.
    pub fn map<T>(self, form: impl FnOnce(K) -> T) -> Event<T> {
        match self {
            Self::Listing => Event::Listing,
            Self::Answered => Event::Answered,
            Self::Bookmark => Event::Bookmark,
            Self::Seen(object) => Event::Seen(form(object)),
            Self::Gone(object) => Event::Gone(form(object)),
            Self::Listed => Event::Listed,
        }
    }
}

/// Why the objects could not be followed for a moment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Break {
    #[error("no answer within {} s", .0.as_secs())]
    Unanswered(Duration),
    #[error("{0}")]
    Failed(kube::Error),
    #[error("the server ended the watch")]
    Ended,
    #[error("an answer without a resourceVersion")]
    Unversioned,
    #[error("an answer that cannot be decoded: {0}")]
    Undecodable(String),
}

impl Break {
    /// Whether the server is healthy, and no longer has the changes since our version.
    pub fn is_expired(&self) -> bool {
        const GONE: u16 = 410;
        matches!(self, Self::Failed(kube::Error::Api(status)) if status.code == GONE)
    }

    /// Whether the right to follow the objects is missing.
    pub fn is_forbidden(&self) -> bool {
        const FORBIDDEN: u16 = 403;
        matches!(self, Self::Failed(kube::Error::Api(status)) if status.code == FORBIDDEN)
    }

    /// Whether a watch cannot go on from its version: the list is read anew. A watch that was refused
    /// says nothing more by itself, and a list shows that the right is back. A watch with an event that
    /// cannot be decoded would begin with the same event again.
    fn loses_version(&self) -> bool {
        let lost = matches!(self, Self::Unversioned | Self::Undecodable(_));
        lost || self.is_expired() || self.is_forbidden()
    }
}

impl From<kube::Error> for Break {
    /// An event that cannot be decoded comes from kube as an empty status: kube tries to read the event
    /// as a status next, and every field of a status may be missing.
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::SerdeError(error) => Self::Undecodable(error.to_string()),
            kube::Error::Api(status) if status.code == 0 && status.message.is_empty() => {
                Self::Undecodable("an event of a watch".to_owned())
            }
            error => Self::Failed(error),
        }
    }
}

/// The events of a kind. The stream never ends: after a [`Break`], the next poll tries again, at
/// once. To take the next item is cancel-safe.
pub(crate) fn follow<K: Followed>(
    api: Api<K>,
    selection: Selection,
) -> BoxStream<'static, Result<Event<K>, Break>> {
    let following = Following { api, selection, stage: Stage::Start };
    unfold(following, async |mut following| Some((following.next().await, following))).boxed()
}

/// The pause after a [`Break`]: longer each time, until events come again.
#[derive(Debug, Default)]
pub(crate) struct BackOff {
    failures: u32,
    listing: bool,
    /// Whether the last watch failed for a reason that a list does not mend. The list between two such
    /// watches is no success.
    futile: bool,
}

impl BackOff {
    pub fn heed<K>(&mut self, event: &Event<K>) {
        match event {
            Event::Listing => self.listing = true,
            Event::Listed if self.futile => self.listing = false,
            Event::Listed => *self = Self::default(),
            Event::Bookmark | Event::Seen(_) | Event::Gone(_) if !self.listing => {
                *self = Self::default();
            }
            // A part of a list, or the start of a watch, is no success yet.
            Event::Answered | Event::Bookmark | Event::Seen(_) | Event::Gone(_) => {}
        }
    }

    /// Doubles from a quarter of a second, with jitter. The first pause is short, because a server
    /// that merely closed the connection is available at once.
    pub fn pause(&mut self, error: &Break, random: f64) -> Duration {
        let refused = error.is_forbidden() || matches!(error, Break::Undecodable(_));
        self.futile |= refused && !self.listing;
        let failures = if error.is_expired() { 0 } else { self.failures };
        self.failures = failures.saturating_add(1);
        let step = Duration::from_millis(250).saturating_mul(1 << failures.min(10));
        step.min(LONGEST_PAUSE).mul_f64(0.5 + random / 2.0)
    }
}

struct Following<K> {
    api: Api<K>,
    selection: Selection,
    stage: Stage<K>,
}

/// What comes next.
enum Stage<K> {
    /// The start of a list.
    Start,
    /// The page with this continue token.
    Page(Option<String>),
    /// The rest of a page, and what follows the page.
    Items(std::vec::IntoIter<K>, Box<Stage<K>>),
    /// The end of a list of this version.
    End(String),
    /// The start of a watch from this version.
    Watch(String),
    /// The next event of a watch.
    Watching(Watching<K>),
}

/// A watch under way.
struct Watching<K> {
    events: BoxStream<'static, kube::Result<WatchEvent<K>>>,
    /// The version to go on from, if this watch ends.
    version: String,
    /// Whether an event has come. A watch that ends before the first one has failed.
    heard: bool,
}

impl<K: Followed> Following<K> {
    async fn next(&mut self) -> Result<Event<K>, Break> {
        loop {
            // After an error, the list is read again, unless there is a version to go on from.
            let event = match std::mem::replace(&mut self.stage, Stage::Start) {
                Stage::Start => {
                    self.stage = Stage::Page(None);
                    Event::Listing
                }
                Stage::Page(token) => self.page(token).await?,
                Stage::Items(mut items, then) => match items.next() {
                    Some(object) => {
                        self.stage = Stage::Items(items, then);
                        Event::Seen(object)
                    }
                    None => {
                        self.stage = *then;
                        continue;
                    }
                },
                Stage::End(version) => {
                    self.stage = Stage::Watch(version);
                    Event::Listed
                }
                Stage::Watch(version) => self.start(version).await?,
                Stage::Watching(watching) => match self.heed(watching).await? {
                    Some(event) => event,
                    None => continue,
                },
            };
            return Ok(event);
        }
    }

    async fn page(&mut self, token: Option<String>) -> Result<Event<K>, Break> {
        let Selection { labels, fields } = self.selection.clone();
        let params = ListParams {
            label_selector: labels,
            field_selector: fields,
            continue_token: token,
            ..ListParams::default()
        };
        let page = answer(LIST_DEADLINE, self.api.list(&params.limit(PAGE))).await?;
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let then = match (some(page.metadata.continue_), some(page.metadata.resource_version)) {
            (Some(token), _) => Stage::Page(Some(token)),
            (None, Some(version)) => Stage::End(version),
            (None, None) => return Err(Break::Unversioned),
        };
        self.stage = Stage::Items(page.items.into_iter(), Box::new(then));
        Ok(Event::Answered)
    }

    async fn start(&mut self, version: String) -> Result<Event<K>, Break> {
        let Selection { labels, fields } = self.selection.clone();
        let params = WatchParams {
            label_selector: labels,
            field_selector: fields,
            ..WatchParams::default()
        };
        let events = answer(START_DEADLINE, self.api.watch(&params, &version)).await;
        let events = self.or_go_on_from(&version, events)?.boxed();
        self.stage = Stage::Watching(Watching { events, version, heard: false });
        Ok(Event::Answered)
    }

    /// The next event of a watch; `None` if the watch is over and the next one may start.
    async fn heed(&mut self, mut watching: Watching<K>) -> Result<Option<Event<K>>, Break> {
        let Ok(next) = timeout(SILENCE, watching.events.try_next()).await else {
            tracing::debug!(path = self.api.resource_url(), "nothing heard: watching anew");
            self.stage = Stage::Watch(watching.version);
            return Ok(None);
        };
        let event = match next {
            Ok(Some(event)) => understand(event),
            Ok(None) if watching.heard => {
                self.stage = Stage::Watch(watching.version);
                return Ok(None);
            }
            Ok(None) => Err(Break::Ended),
            Err(error) => Err(Break::from(error)),
        };
        watching.heard = true;
        let (version, event) = self.or_go_on_from(&watching.version, event)?;
        self.stage = Stage::Watching(Watching { version, ..watching });
        Ok(Some(event))
    }

    /// After an error, the next watch goes on from the version, if that can be.
    fn or_go_on_from<T>(&mut self, version: &str, result: Result<T, Break>) -> Result<T, Break> {
        if result.as_ref().is_err_and(|error| !error.loses_version()) {
            self.stage = Stage::Watch(version.to_owned());
        }
        result
    }
}

/// The version of a watch event, and what it says. A watch cannot go on without a version.
fn understand<K: Followed>(event: WatchEvent<K>) -> Result<(String, Event<K>), Break> {
    let version = |object: &K| object.meta().resource_version.clone();
    let (version, event) = match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
            (version(&object), Event::Seen(object))
        }
        WatchEvent::Deleted(object) => (version(&object), Event::Gone(object)),
        WatchEvent::Bookmark(bookmark) => {
            (Some(bookmark.metadata.resource_version), Event::Bookmark)
        }
        WatchEvent::Error(status) => return Err(kube::Error::Api(status).into()),
    };
    let version = version.filter(|version| !version.is_empty()).ok_or(Break::Unversioned)?;
    Ok((version, event))
}

/// The server's answer, or an error after the deadline.
async fn answer<T>(
    deadline: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Break> {
    match timeout(deadline, request).await {
        Ok(answer) => answer.map_err(Break::from),
        Err(_) => Err(Break::Unanswered(deadline)),
    }
}

/// The error message with the messages of all causes. The last cause says most.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}
