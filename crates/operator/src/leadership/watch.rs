//! An endless watch on Leases of a given name, with a back-off on the clock of [`Env`].

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::time::sleep;

use crate::env::Env;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

pub(super) struct LeaseWatch {
    env: Env,
    events: BoxStream<'static, watcher::Result<Event<Lease>>>,
    /// Whether the list under way has shown the Lease.
    listed: bool,
    failures: u32,
    resume_at: Duration,
}

impl LeaseWatch {
    pub fn new(leases: Api<Lease>, name: &str, env: Env) -> Self {
        let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let events = watcher(leases, only).boxed();
        Self { env, events, listed: false, failures: 0, resume_at: Duration::ZERO }
    }

    /// The Lease, or its absence. After an error the watch starts again with a pause. Cancel-safe.
    pub async fn next(&mut self) -> watcher::Result<Option<Lease>> {
        loop {
            let event = self.event().await?;
            if let Some(found) = self.understand(event) {
                return Ok(found);
            }
        }
    }

    /// The next raw event. Cancel-safe.
    pub async fn event(&mut self) -> watcher::Result<Event<Lease>> {
        let pause = self.resume_at.saturating_sub(self.env.elapsed());
        if !pause.is_zero() {
            sleep(pause).await;
        }
        match self.events.next().await {
            Some(Ok(event)) => {
                // The start of a list is no success yet.
                if matches!(event, Event::InitDone | Event::Apply(_)) {
                    self.failures = 0;
                }
                Ok(event)
            }
            Some(Err(error)) => {
                self.back_off();
                Err(error)
            }
            // kube's watcher never ends; if it did, the election would go on by reading.
            None => std::future::pending().await,
        }
    }

    fn understand(&mut self, event: Event<Lease>) -> Option<Option<Lease>> {
        match event {
            Event::Init => {
                self.listed = false;
                None
            }
            Event::InitApply(lease) => {
                self.listed = true;
                Some(Some(lease))
            }
            Event::InitDone => (!self.listed).then_some(None),
            Event::Apply(lease) => Some(Some(lease)),
            Event::Delete(_) => Some(None),
        }
    }

    fn back_off(&mut self) {
        let longest = FIRST_PAUSE.saturating_mul(1 << self.failures.min(10)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        let pause = longest.mul_f64(0.5 + self.env.random() / 2.0);
        self.resume_at = self.env.elapsed() + pause;
    }
}
