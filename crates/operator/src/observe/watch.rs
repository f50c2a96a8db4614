//! An endless watch: events in, observations out.
//!
//! A watch reads the whole list, page by page, and follows the changes from there. Each request has
//! a deadline, and a silent watch is restarted, so that a server that does not answer costs seconds
//! (decision 19 has the figures). kube's own watcher has no deadline for a list or for the start of
//! a watch, and hides bookmarks.

use std::fmt::Debug;
use std::time::Duration;

use futures::TryStreamExt;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::Observation;
use super::hearing::Hearing;
use crate::env::Env;

/// Turns the events of a kind into observations.
pub trait Watch: Send + 'static {
    /// The decoded type.
    type Object: Resource + Clone + Debug + DeserializeOwned + Send + 'static;

    /// Name of the watch, for the log, readiness and metrics.
    fn name(&self) -> &'static str;

    /// Starts a new list.
    fn restart(&mut self);

    /// Handles an object that appeared or changed.
    fn seen(&mut self, object: Self::Object) -> Option<Observation>;

    /// Handles an object that is gone.
    fn gone(&mut self, object: Self::Object) -> Option<Observation>;

    /// Handles the end of the list.
    fn listed(&mut self) -> Option<Observation>;
}

/// Selects objects of a kind at the server. The default selects all objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A label selector.
    pub labels: Option<String>,
    /// A field selector.
    pub fields: Option<String>,
}

/// The surroundings of a watch.
#[derive(Clone, Debug)]
pub struct Station {
    /// Clock and randomness.
    pub env: Env,
    /// Records when the watch was last heard.
    pub hearing: Hearing,
    /// Receives the observations.
    pub to: Sender<Observation>,
}

/// Longest pause between two attempts to watch. After an outage, a leader may act on the old view
/// for this long.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Objects in one page of a list.
const PAGE: u32 = 500;

/// Deadline for a page of a list.
const LIST_DEADLINE: Duration = Duration::from_secs(20);

/// Deadline for the start of a watch.
const START_DEADLINE: Duration = Duration::from_secs(10);

/// Silence after which a watch is restarted. A server sends a bookmark about once a minute; a
/// server without bookmarks only gets more requests.
pub(super) const SILENCE: Duration = Duration::from_secs(80);

/// Watches until the receiver is gone.
pub async fn watch<W: Watch>(
    api: Api<W::Object>,
    selection: Selection,
    watch: W,
    station: Station,
) {
    station.hearing.begins(watch.name(), station.env.now());
    let mut session = Session { api, selection, watch, station, version: None, failures: 0 };
    loop {
        match session.step().await {
            Ok(()) => {}
            Err(Ended::NobodyListens) => return,
            Err(Ended::Expired(error)) => {
                // The server is healthy but has dropped our version: list again.
                (session.version, session.failures) = (None, 0);
                session.back_off(&error).await;
            }
            Err(Ended::Broken(error)) => session.back_off(&error).await,
        }
    }
}

struct Session<W: Watch> {
    api: Api<W::Object>,
    selection: Selection,
    watch: W,
    station: Station,
    /// The version to follow changes from; `None` before the first list.
    version: Option<String>,
    failures: u32,
}

/// Why a list or a watch stopped.
enum Ended {
    /// The receiver of observations is gone.
    NobodyListens,
    /// The server no longer has the changes since our version.
    Expired(String),
    /// Any other failure.
    Broken(String),
}

impl<W: Watch> Session<W> {
    /// Reads the list, or follows the changes until the server ends the watch.
    async fn step(&mut self) -> Result<(), Ended> {
        match self.version.clone() {
            None => self.list().await,
            Some(version) => self.follow(&version).await,
        }
    }

    async fn list(&mut self) -> Result<(), Ended> {
        self.watch.restart();
        let Selection { labels, fields } = self.selection.clone();
        let mut params =
            ListParams { label_selector: labels, field_selector: fields, ..ListParams::default() }
                .limit(PAGE);
        loop {
            let page = answer(LIST_DEADLINE, self.api.list(&params)).await?;
            self.hears();
            for object in page.items {
                let seen = self.watch.seen(object);
                tell(&self.station.to, seen).await?;
            }
            let some = |text: Option<String>| text.filter(|text| !text.is_empty());
            params.continue_token = some(page.metadata.continue_);
            if params.continue_token.is_none() {
                self.version = some(page.metadata.resource_version);
                break;
            }
        }
        if self.version.is_none() {
            return Err(Ended::Broken("a list without a resourceVersion".to_owned()));
        }
        let listed = self.watch.listed();
        tell(&self.station.to, listed).await?;
        self.failures = 0;
        self.station.hearing.lists(self.watch.name());
        Ok(())
    }

    async fn follow(&mut self, version: &str) -> Result<(), Ended> {
        let Selection { labels, fields } = self.selection.clone();
        let params = WatchParams {
            label_selector: labels,
            field_selector: fields,
            ..WatchParams::default()
        };
        let events = answer(START_DEADLINE, self.api.watch(&params, version)).await?;
        let mut events = Box::pin(events);
        self.hears();
        let mut heard = false;
        loop {
            match timeout(SILENCE, events.try_next()).await {
                Ok(Ok(Some(event))) => self.take(event).await?,
                // A watch that ends before the first event counts as a failure.
                Ok(Ok(None)) if heard => return Ok(()),
                Ok(Ok(None)) => return Err(Ended::Broken("the server ended the watch".to_owned())),
                // Skip the unreadable object; later events may be readable.
                Ok(Err(error @ kube::Error::SerdeError(_))) => {
                    tracing::warn!(
                        kind = self.watch.name(),
                        error = causes(&error),
                        "not understood"
                    );
                }
                Ok(Err(error)) => return Err(ended(&error)),
                Err(_) => {
                    tracing::debug!(kind = self.watch.name(), "nothing heard: watching anew");
                    return Ok(());
                }
            }
            heard = true;
            self.hears();
            self.failures = 0;
        }
    }

    async fn take(&mut self, event: WatchEvent<W::Object>) -> Result<(), Ended> {
        let (version, observation) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                (object.meta().resource_version.clone(), self.watch.seen(object))
            }
            WatchEvent::Deleted(object) => {
                (object.meta().resource_version.clone(), self.watch.gone(object))
            }
            WatchEvent::Bookmark(bookmark) => (Some(bookmark.metadata.resource_version), None),
            WatchEvent::Error(status) => return Err(ended(&kube::Error::Api(status))),
        };
        // A watch cannot continue without a version.
        self.version = version.filter(|version| !version.is_empty());
        tell(&self.station.to, observation).await?;
        match self.version {
            Some(_) => Ok(()),
            None => Err(Ended::Expired("an event without a resourceVersion".to_owned())),
        }
    }

    fn hears(&self) {
        self.station.hearing.hears(self.watch.name(), self.station.env.now());
    }

    async fn back_off(&mut self, error: &str) {
        let Station { env, hearing, .. } = &self.station;
        hearing.breaks(self.watch.name(), env.now());
        let pause = pause(self.failures, env.random());
        self.failures = self.failures.saturating_add(1);
        tracing::warn!(kind = self.watch.name(), error, ?pause, "watch broken");
        tokio::time::sleep(pause).await;
    }
}

async fn tell(to: &Sender<Observation>, observation: Option<Observation>) -> Result<(), Ended> {
    let Some(observation) = observation else { return Ok(()) };
    to.send(observation).await.map_err(|_| Ended::NobodyListens)
}

/// The server's answer, or an error after the deadline.
async fn answer<T>(
    deadline: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Ended> {
    match timeout(deadline, request).await {
        Ok(answer) => answer.map_err(|error| ended(&error)),
        Err(_) => Err(Ended::Broken(format!("no answer within {} s", deadline.as_secs()))),
    }
}

fn ended(error: &kube::Error) -> Ended {
    const GONE: u16 = 410;
    match error {
        kube::Error::Api(status) if status.code == GONE => Ended::Expired(causes(error)),
        _ => Ended::Broken(causes(error)),
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

/// Doubles from a quarter of a second, with jitter. The first pause is short, because a server that
/// merely closed the connection is available at once.
fn pause(failures: u32, random: f64) -> Duration {
    let step = Duration::from_millis(250).saturating_mul(1 << failures.min(10));
    step.min(LONGEST_PAUSE).mul_f64(0.5 + random / 2.0)
}
