//! One watch: events in, observations out, for ever.

use std::fmt::Debug;
use std::time::Duration;

use futures::TryStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;

use super::Observation;
use crate::env::Env;

/// Turns the events of one kind into observations.
pub trait Watch: Send + 'static {
    /// What is watched, for the log.
    const KIND: &'static str;

    /// What is decoded.
    type Object: Resource + Clone + Debug + DeserializeOwned + Send + 'static;

    /// A new list begins.
    fn restart(&mut self);

    /// An object appeared or changed.
    fn seen(&mut self, object: Self::Object) -> Option<Observation>;

    /// An object is gone.
    fn gone(&mut self, object: Self::Object) -> Option<Observation>;

    /// The list is complete.
    fn listed(&mut self) -> Option<Observation>;
}

/// Longest pause between two attempts to watch: for so long after an outage a leader may act on
/// what was before it.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Watches until the receiver is gone.
pub async fn watch<W: Watch>(
    api: Api<W::Object>,
    config: watcher::Config,
    mut watch: W,
    env: Env,
    to: Sender<Observation>,
) {
    let kind = W::KIND;
    let mut events = Box::pin(watcher::watcher(api, config));
    let mut failures = 0;
    loop {
        let event = match events.try_next().await {
            Ok(Some(event)) => event,
            Ok(None) => return,
            Err(error) => {
                // A server that has forgotten where we were is well, and is listed again.
                failures = if is_expired(&error) { 0 } else { failures };
                let pause = pause(failures, env.random());
                failures += 1;
                tracing::warn!(kind, error = causes(&error), ?pause, "watch broken");
                tokio::time::sleep(pause).await;
                continue;
            }
        };
        // A list that begins is no success yet: it may fail half way, again and again.
        if !matches!(event, Event::Init | Event::InitApply(_)) {
            failures = 0;
        }
        let observation = match event {
            Event::Init => {
                watch.restart();
                None
            }
            Event::InitApply(object) | Event::Apply(object) => watch.seen(object),
            Event::Delete(object) => watch.gone(object),
            Event::InitDone => watch.listed(),
        };
        if let Some(observation) = observation
            && to.send(observation).await.is_err()
        {
            return;
        }
    }
}

/// Whether the server answered that a watch cannot go on from where it was.
fn is_expired(error: &watcher::Error) -> bool {
    const GONE: u16 = 410;
    match error {
        watcher::Error::WatchError(status) => status.code == GONE,
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == GONE,
        _ => false,
    }
}

/// An error with everything that caused it: the last part says most.
fn causes(error: &dyn std::error::Error) -> String {
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

/// Doubling from a quarter of a second, with jitter. The first one is short: a server that
/// merely closed the connection is back at once.
fn pause(failures: u32, random: f64) -> Duration {
    let step = Duration::from_millis(250).saturating_mul(1 << failures.min(10));
    step.min(LONGEST_PAUSE).mul_f64(0.5 + random / 2.0)
}
