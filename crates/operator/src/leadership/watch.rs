//! An endless watch on Leases of a given name, with a back-off on the clock of [`Env`].

use std::time::Duration;

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use tokio::time::sleep;

use super::lease_errors::Trouble;
use super::lease_view::LeaseView;
use crate::env::Env;
use crate::observe::Selection;
use crate::observe::follow::{BackOff, Break, Event, follow};
use crate::observe::hearing::Hearing;

pub(super) struct LeaseWatch {
    env: Env,
    events: BoxStream<'static, Result<Event<Lease>, Break>>,
    /// Whether a list is under way.
    listing: bool,
    /// Whether the last list has shown the Lease.
    listed: bool,
    /// Whether a right was missing, and no watch has started since. A list alone does not show that the
    /// right is back, because the right to watch may be the one that is missing.
    ungranted: bool,
    /// The Lease, or its absence, as seen while a right was missing.
    held_back: Option<Option<Lease>>,
    back_off: BackOff,
    resume_at: Duration,
    /// Where the state of the watch is reported, and its name there.
    reported: Option<(Hearing, String)>,
}

impl LeaseWatch {
    pub fn new(leases: Api<LeaseView>, name: &str, env: Env) -> Self {
        let fields = Some(format!("metadata.name={name}"));
        let events = follow(leases, Selection { fields, ..Selection::default() });
        let events = events.map_ok(|event| event.map(Lease::from)).boxed();
        let (back_off, resume_at) = (BackOff::default(), Duration::ZERO);
        Self {
            env,
            events,
            listing: false,
            listed: false,
            ungranted: false,
            held_back: None,
            back_off,
            resume_at,
            reported: None,
        }
    }

    /// Reports the state of the watch under this name.
    pub fn reporting(mut self, hearing: Hearing, name: String) -> Self {
        hearing.begins(&name, self.env.now());
        self.reported = Some((hearing, name));
        self
    }

    /// The Lease, or its absence. After an error the watch starts again with a pause; after a missing
    /// right, nothing is seen until list and watch are both granted. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Lease>, Trouble> {
        loop {
            let event = self.event().await?;
            let found = self.understand(event);
            if self.ungranted {
                self.held_back = found.or(self.held_back.take());
            } else if let Some(found) = found.or(self.held_back.take()) {
                return Ok(found);
            }
        }
    }

    /// Makes no request for at least this long.
    pub fn rest(&mut self, pause: Duration) {
        self.resume_at = self.resume_at.max(self.env.elapsed() + pause);
    }

    /// The next raw event. Cancel-safe.
    pub async fn event(&mut self) -> Result<Event<Lease>, Trouble> {
        let pause = self.resume_at.saturating_sub(self.env.elapsed());
        if !pause.is_zero() {
            sleep(pause).await;
        }
        match self.events.next().await {
            Some(Ok(event)) => {
                self.back_off.heed(&event);
                self.heed(&event);
                self.report(&event);
                Ok(event)
            }
            Some(Err(error)) => {
                self.ungranted |= error.is_forbidden();
                self.report_break(&error);
                let pause = self.back_off.pause(&error, self.env.random());
                self.resume_at = self.env.elapsed() + pause;
                Err(Trouble::Watch(error))
            }
            // The stream never ends; if it did, the election would go on by reading.
            None => std::future::pending().await,
        }
    }

    fn heed(&mut self, event: &Event<Lease>) {
        match event {
            Event::Listing => self.listing = true,
            Event::Listed => self.listing = false,
            // A watch has started.
            Event::Answered if self.ungranted && !self.listing => {
                self.ungranted = false;
                self.report(&Event::Listed);
            }
            Event::Answered | Event::Bookmark | Event::Seen(_) | Event::Gone(_) => {}
        }
    }

    fn report(&self, event: &Event<Lease>) {
        let Some((hearing, name)) = self.reported.as_ref().filter(|_| !self.ungranted) else {
            return;
        };
        let now = self.env.now();
        if matches!(event, Event::Listed) {
            // The report may have ended.
            hearing.begins(name, now);
        }
        hearing.heeds(name, event, now);
    }

    /// A missing right is told in another way, with the name of the right: the report ends until the
    /// right is back.
    fn report_break(&self, error: &Break) {
        match &self.reported {
            Some((hearing, name)) if error.is_forbidden() => hearing.ends(name),
            Some((hearing, name)) => hearing.breaks(name, self.env.now()),
            None => {}
        }
    }

    fn understand(&mut self, event: Event<Lease>) -> Option<Option<Lease>> {
        match event {
            Event::Listing => {
                self.listed = false;
                None
            }
            Event::Answered | Event::Bookmark => None,
            Event::Seen(lease) => {
                self.listed = true;
                Some(Some(lease))
            }
            Event::Listed => (!self.listed).then_some(None),
            Event::Gone(_) => Some(None),
        }
    }
}
