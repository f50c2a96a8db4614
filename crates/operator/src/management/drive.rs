//! Follows an API server, and carries out the steps of the controllers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::stream::{BoxStream, select_all};
use futures::{FutureExt, StreamExt};
use jiff::Timestamp;
use kube::Client;
use kube::api::DynamicObject;
use pontoon_core::model::Kind;
use serde_json::Value;

use super::{Change, KINDS, Key, Object, Stored, step};
use crate::api::objects_within;
use crate::observe::Selection;
use crate::observe::follow::{Event, follow};

/// Pause after a failed request.
const PAUSE: Duration = Duration::from_millis(100);

/// Plays the controllers until dropped. `now` tells the time of the API server.
pub async fn play(client: Client, now: impl Fn() -> Timestamp, machines_take: Duration) {
    let mut news = select_all(KINDS.map(|kind| followed(&client, kind)));
    let mut seen = Seen::default();
    let mut wait = None;
    loop {
        tokio::select! {
            one = news.next() => match one {
                Some((kind, event)) => seen.take(kind, event),
                None => return,
            },
            () = pause(wait) => {}
        }
        while let Some(Some((kind, event))) = news.next().now_or_never() {
            seen.take(kind, event);
        }
        wait = if seen.is_whole() {
            work(&client, &mut seen, &now, machines_take).await
        } else {
            None
        };
    }
}

/// Takes steps until none is left. Returns the time until the next look. A failed step means mostly
/// that another writer was faster.
async fn work(
    client: &Client,
    seen: &mut Seen,
    now: &impl Fn() -> Timestamp,
    machines_take: Duration,
) -> Option<Duration> {
    loop {
        let steps = step(&seen.stored, now(), machines_take);
        if steps.writes.is_empty() {
            let until = |wake: Timestamp| wake.duration_since(now()).try_into();
            return steps.wake.map(|wake| until(wake).unwrap_or(Duration::ZERO));
        }
        for write in steps.writes {
            match write.send(client).await {
                Ok(Change::Set(kind, object)) => seen.stored.set(kind, object),
                Ok(Change::Gone(kind, key)) => seen.stored.remove(kind, &key),
                Err(_) => return Some(PAUSE),
            }
        }
    }
}

async fn pause(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// The objects that were seen.
#[derive(Default)]
struct Seen {
    stored: Stored,
    /// The kinds that were listed whole.
    listed: BTreeSet<&'static Kind>,
    /// The objects in the lists under way.
    listing: BTreeMap<&'static Kind, BTreeSet<Key>>,
}

impl Seen {
    /// Whether every kind was listed. An address that was not seen could be given twice.
    fn is_whole(&self) -> bool {
        self.listed.len() == KINDS.len()
    }

    fn take(&mut self, kind: &'static Kind, event: Event<Value>) {
        match event {
            Event::Listing => drop(self.listing.insert(kind, BTreeSet::new())),
            Event::Seen(object) => {
                if let Some(keys) = self.listing.get_mut(kind) {
                    keys.insert(Object(&object).key());
                }
                self.stored.set(kind, object);
            }
            Event::Gone(object) => self.stored.remove(kind, &Object(&object).key()),
            Event::Listed => {
                if let Some(keys) = self.listing.remove(kind) {
                    self.stored.retain(kind, &keys);
                }
                self.listed.insert(kind);
            }
            Event::Answered | Event::Bookmark => {}
        }
    }
}

/// The objects of a kind, with the kind.
fn followed(
    client: &Client,
    kind: &'static Kind,
) -> BoxStream<'static, (&'static Kind, Event<Value>)> {
    let api = objects_within::<DynamicObject>(client.clone(), kind, kind.version, None);
    let news = follow(api, Selection::default()).filter_map(move |event| async move {
        let value = |object: DynamicObject| serde_json::to_value(object).unwrap_or_default();
        Some((
            kind,
            match event {
                Ok(Event::Seen(object)) => Event::Seen(value(object)),
                Ok(Event::Gone(object)) => Event::Gone(value(object)),
                Ok(Event::Listing) => Event::Listing,
                Ok(Event::Listed) => Event::Listed,
                Ok(Event::Answered | Event::Bookmark) => return None,
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    return None;
                }
            },
        ))
    });
    news.boxed()
}
