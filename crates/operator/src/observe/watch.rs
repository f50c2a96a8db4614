//! An endless watch: events in, observations out.

use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use tokio::sync::mpsc::Sender;

use super::Observation;
use super::follow::{BackOff, Break, Event, Followed, Selection, causes, follow};
use super::hearing::Hearing;
use crate::env::Env;

/// Pause before an optional watch that lacks its right is tried again.
pub(crate) const UNGRANTED: Duration = Duration::from_secs(60);

/// Turns the events of a kind into observations.
pub trait Watch: Send + 'static {
    /// The decoded type.
    type Object: Followed;

    /// Name of the watch, for the log, readiness and metrics.
    fn name(&self) -> &str;

    /// Whether we may do without the watch: a right to watch that was never there is no trouble then. A
    /// right that is lost is.
    fn is_optional(&self) -> bool {
        false
    }

    /// Starts a new list.
    fn restart(&mut self);

    /// Handles an object that appeared or changed.
    fn seen(&mut self, object: Self::Object) -> Option<Observation>;

    /// Handles an object that is gone.
    fn gone(&mut self, object: Self::Object) -> Option<Observation>;

    /// Handles the end of the list.
    fn listed(&mut self) -> Option<Observation>;
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

/// Watches until the receiver is gone.
pub async fn watch<W: Watch>(
    api: Api<W::Object>,
    selection: Selection,
    watch: W,
    station: Station,
) {
    station.hearing.begins(watch.name(), station.env.now());
    let back_off = BackOff::default();
    let mut session = Session { watch, station, back_off, listed: false, does_without: false };
    let mut events = follow(api, selection);
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                if session.take(event).await.is_err() {
                    return;
                }
            }
            Err(error) => session.broken(&error).await,
        }
    }
}

/// The receiver of observations is gone.
struct NobodyListens;

struct Session<W: Watch> {
    watch: W,
    station: Station,
    back_off: BackOff,
    /// Whether the whole list has been read once.
    listed: bool,
    /// An optional watch lacks its right.
    does_without: bool,
}

impl<W: Watch> Session<W> {
    async fn take(&mut self, event: Event<W::Object>) -> Result<(), NobodyListens> {
        self.back_off.heed(&event);
        self.heed(&event);
        match event {
            Event::Listing => self.watch.restart(),
            Event::Answered | Event::Bookmark => {}
            Event::Seen(object) => {
                let seen = self.watch.seen(object);
                tell(&self.station.to, seen).await?;
            }
            Event::Gone(object) => {
                let gone = self.watch.gone(object);
                tell(&self.station.to, gone).await?;
            }
            Event::Listed => {
                let listed = self.watch.listed();
                tell(&self.station.to, listed).await?;
            }
        }
        Ok(())
    }

    fn heed(&mut self, event: &Event<W::Object>) {
        let (watch, Station { env, hearing, .. }) = (self.watch.name(), &self.station);
        let now = env.now();
        if matches!(event, Event::Listed) {
            self.listed = true;
            if std::mem::take(&mut self.does_without) {
                hearing.begins(watch, now);
            }
        }
        hearing.heeds(watch, event, now);
    }

    async fn broken(&mut self, error: &Break) {
        let (kind, words) = (self.watch.name(), causes(error));
        let Station { env, hearing, .. } = &self.station;
        if error.is_forbidden() && self.watch.is_optional() && !self.listed {
            if !std::mem::replace(&mut self.does_without, true) {
                hearing.ends(kind);
                tracing::warn!(
                    kind,
                    error = words,
                    "no right to watch this kind; tried again every minute"
                );
            }
            return tokio::time::sleep(UNGRANTED).await;
        }
        hearing.breaks(kind, env.now());
        let pause = self.back_off.pause(error, env.random());
        tracing::warn!(kind, error = words, ?pause, "watch broken");
        tokio::time::sleep(pause).await;
    }
}

async fn tell(
    to: &Sender<Observation>,
    observation: Option<Observation>,
) -> Result<(), NobodyListens> {
    let Some(observation) = observation else { return Ok(()) };
    to.send(observation).await.map_err(|_| NobodyListens)
}
