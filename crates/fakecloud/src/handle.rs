//! The public handle of a cloud: knobs, faults, record and waiting. Seeding is in `seed.rs`.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fakehttp::{DEFAULT_BASE, Recording, RuleId, Server};
use http::Request;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::asked::Asked;
use crate::cloud::Shared;
use crate::emulators;
use crate::faults::Rule;
use crate::knobs::Knobs;
use crate::observer::Happening;
use crate::record::{self, Exchange, Mark};
use crate::serve;
use crate::service::CloudService;
use crate::store::State;

/// An emulated cloud. Clones are handles of the same cloud.
///
/// Two clouds with the same seed, contents and calls under a paused clock answer byte for byte the
/// same.
#[derive(Clone, Debug)]
pub struct FakeCloud {
    pub(crate) shared: Arc<Shared>,
}

impl Default for FakeCloud {
    fn default() -> Self {
        Self::new()
    }
}

/// Construction and entry points.
impl FakeCloud {
    /// An empty cloud with a wall clock that starts at [`DEFAULT_BASE`]. Create it inside the
    /// runtime that will use it.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(DEFAULT_BASE)
    }

    /// An empty cloud whose wall clock starts at `base`.
    #[must_use]
    pub fn starting_at(base: Timestamp) -> Self {
        Self { shared: Shared::new(base) }
    }

    /// Seeds all random choices: jitter, and rules with a percentage.
    pub fn seed(&self, seed: u64) -> &Self {
        self.shared.act(|world, _| world.dice = fastrand::Rng::with_seed(seed));
        self
    }

    /// In-process entry point.
    #[must_use]
    pub fn service(&self) -> CloudService {
        CloudService::new(Arc::clone(&self.shared))
    }

    /// Serves on a loopback address; port 0 picks a free port.
    ///
    /// # Errors
    /// If the address cannot be bound or is not loopback.
    pub async fn serve(&self, addr: SocketAddr) -> io::Result<Server> {
        let service = self.service();
        let answer = move |request| serve::answer(service.clone(), request);
        Server::start(tower::service_fn(answer), addr).await
    }

    /// The cloud's current wall time.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        let clock = self.shared.clock();
        clock.wall(clock.now())
    }
}

/// Knobs and faults.
impl FakeCloud {
    /// A copy of the current settings.
    #[must_use]
    pub fn knobs(&self) -> Knobs {
        self.shared.look(|world| world.knobs.clone())
    }

    /// Changes settings. Requests that have already arrived keep their latencies.
    pub fn set(&self, change: impl FnOnce(&mut Knobs)) -> &Self {
        self.shared.act(|world, _| {
            change(&mut world.knobs);
            world.store.set_lag(world.knobs.read_lag);
        });
        self
    }

    /// Accepts only the given token.
    pub fn token(&self, token: &str) -> &Self {
        self.set(|knobs| knobs.token = Some(token.to_owned()))
    }

    /// Adds a rule for requests that arrive from now on.
    pub fn inject(&self, rule: Rule) -> RuleId {
        self.shared.act(|world, _| world.rules.add(rule))
    }

    /// Ends a rule.
    pub fn clear(&self, rule: RuleId) {
        self.shared.act(|world, _| world.rules.clear(rule));
    }

    /// Removes all rules with their hits, and ends the throttling.
    pub fn clear_faults(&self) {
        self.shared.act(|world, _| {
            world.rules.clear_all();
            world.throttled_until = None;
        });
    }

    /// Number of requests to which a rule applied.
    #[must_use]
    pub fn hits(&self, rule: RuleId) -> u64 {
        self.shared.look(|world| world.rules.hits(rule))
    }

    /// Answers every request with 429 for a while, with `retry-after` and matching budget headers.
    pub fn throttle_for(&self, time: Duration) {
        self.shared.act(|world, now| world.throttled_until = Some(now + time));
    }
}

/// The record of exchanges.
impl FakeCloud {
    /// All recorded exchanges, in the order of arrival.
    #[must_use]
    pub fn log(&self) -> Vec<Exchange> {
        self.shared.look(|world| world.log.exchanges().cloned().collect())
    }

    /// The recorded exchanges that may change the state, in the order of arrival.
    #[must_use]
    pub fn mutations(&self) -> Vec<Exchange> {
        self.mutations_since(Mark(0))
    }

    /// The current end of the record.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.shared.look(|world| Mark(world.log.arrivals()))
    }

    /// Exchanges that arrived after a mark.
    #[must_use]
    pub fn log_since(&self, mark: Mark) -> Vec<Exchange> {
        self.shared.look(|world| {
            let since = world.log.exchanges().filter(|e| e.sequence >= mark.0);
            since.cloned().collect()
        })
    }

    /// Exchanges that arrived after a mark and may change the state.
    #[must_use]
    pub fn mutations_since(&self, mark: Mark) -> Vec<Exchange> {
        let mut since = self.log_since(mark);
        since.retain(|e| e.mutates);
        since
    }

    /// Number of arrived requests, and of mutating requests among them, recorded or not.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        self.shared.look(|world| (world.log.arrivals(), world.mutations))
    }

    /// Sets how many exchanges the record keeps.
    pub fn recording(&self, recording: Recording) -> &Self {
        self.shared.act(|world, _| world.log.set(recording));
        self
    }

    /// Clears the record.
    pub fn forget_log(&self) {
        self.shared.act(|world, _| world.log.clear());
    }

    /// Writes the record to a new file in `folder` when the last handle, service and request are
    /// gone; `None` disables the dump. The variable `PONTOON_EXCHANGES` (an absolute path) sets the
    /// folder for every cloud.
    pub fn dump_on_drop(&self, folder: Option<&Path>) {
        self.shared.act(|world, _| world.dump_to = folder.map(Path::to_owned));
    }

    /// Writes the record to a new file in a folder, as JSON lines, and returns its path.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn dump(&self, folder: &Path) -> io::Result<PathBuf> {
        self.shared.look(|world| record::dump(&world.log, folder))
    }
}

/// Reading the state, and waiting for changes.
impl FakeCloud {
    /// Reads the actual state, after all due operations have taken effect.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.shared.look(|world| look(world.store.present()))
    }

    /// Waits until a condition holds. Checks at once and after every change. Wrap the call in a
    /// timeout if the condition may never hold.
    pub async fn wait_for(&self, mut condition: impl FnMut(&State) -> bool) {
        self.wait(|world| condition(world.store.present()).then_some(())).await;
    }

    /// Waits for the first recorded exchange that matches, past or future, and returns its state at
    /// that time. A condition on the answer waits for the answer.
    pub async fn wait_for_call(&self, mut fits: impl FnMut(&Exchange) -> bool) -> Exchange {
        self.wait(|world| world.log.exchanges().find(|e| fits(e)).cloned()).await
    }

    /// Waits until `count` requests have arrived.
    pub async fn wait_for_arrivals(&self, count: u64) {
        self.wait(|world| (world.log.arrivals() >= count).then_some(())).await;
    }

    async fn wait<T>(&self, mut ready: impl FnMut(&crate::cloud::World) -> Option<T>) -> T {
        let mut changes = self.shared.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(result) = self.shared.look(&mut ready) {
                return result;
            }
            // The sender lives in `self.shared`, so an error is impossible here.
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Calls `told` for everything that happens from now on, in order. The callback runs under the
    /// cloud's lock and must not use the cloud.
    pub fn observe(&self, told: impl FnMut(Happening<'_>, &State) + Send + 'static) -> &Self {
        self.shared.act(|world, _| world.observer.set(Box::new(told)));
        self
    }

    /// The purpose and subject of a request, with what the state tells: some vendors' calls alone
    /// tell less.
    #[must_use]
    pub fn asked(&self, request: &Request<Bytes>) -> Asked {
        self.look(|state| emulators::asked_in(request, state))
    }

    /// The current instant of tokio's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.shared.clock().now()
    }
}
