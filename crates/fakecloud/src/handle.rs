//! The handle: how a test, a sandbox or a bench turns the knobs of a cloud and asks what happened. Seeding is in `seed.rs`.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::clock::DEFAULT_BASE;
use crate::cloud::Shared;
use crate::faults::{Rule, RuleId};
use crate::knobs::Knobs;
use crate::observer::{Happening, Observer};
use crate::record::{Exchange, Mark, Recording};
use crate::serve::Server;
use crate::service::CloudService;
use crate::store::State;

/// A cloud. Clones are handles to the same one.
///
/// Two clouds that are made, seeded and called in the same way under a paused clock answer byte for byte the same.
#[derive(Clone, Debug)]
pub struct FakeCloud {
    pub(crate) shared: Arc<Shared>,
}

impl Default for FakeCloud {
    fn default() -> Self {
        Self::new()
    }
}

/// Making one, and ways in.
impl FakeCloud {
    /// An empty cloud whose wall clock starts at [`DEFAULT_BASE`]. Make it inside the runtime that will use it.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(DEFAULT_BASE)
    }

    /// An empty cloud whose wall clock reads this now.
    #[must_use]
    pub fn starting_at(base: Timestamp) -> Self {
        Self { shared: Shared::new(base) }
    }

    /// Seeds what is drawn by chance: jitter, and rules with a percentage.
    pub fn seed(&self, seed: u64) -> &Self {
        self.shared.act(|world, _| world.dice = fastrand::Rng::with_seed(seed));
        self
    }

    /// The way in without sockets.
    #[must_use]
    pub fn service(&self) -> CloudService {
        CloudService::new(Arc::clone(&self.shared))
    }

    /// The way in over TCP, on a loopback address; port 0 picks a free one.
    ///
    /// # Errors
    /// Where the address cannot be bound or is not loopback.
    pub async fn serve(&self, addr: SocketAddr) -> io::Result<Server> {
        Server::start(self.service(), addr).await
    }

    /// The wall time of the cloud now.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        let clock = self.shared.clock();
        clock.wall(clock.now())
    }
}

/// Knobs and faults.
impl FakeCloud {
    /// The settings now.
    #[must_use]
    pub fn knobs(&self) -> Knobs {
        self.shared.look(|world| world.knobs.clone())
    }

    /// Changes settings; requests that have arrived keep the latencies they met.
    pub fn set(&self, change: impl FnOnce(&mut Knobs)) -> &Self {
        self.shared.act(|world, _| {
            change(&mut world.knobs);
            world.store.set_lag(world.knobs.read_lag);
        });
        self
    }

    /// Accepts this token only.
    pub fn token(&self, token: &str) -> &Self {
        self.set(|knobs| knobs.token = Some(token.to_owned()))
    }

    /// Adds a rule; it applies to requests that arrive from now on.
    pub fn inject(&self, rule: Rule) -> RuleId {
        self.shared.act(|world, _| world.rules.add(rule))
    }

    /// Ends a rule.
    pub fn clear(&self, rule: RuleId) {
        self.shared.act(|world, _| world.rules.clear(rule));
    }

    /// Ends and forgets all rules, and the throttling.
    pub fn clear_faults(&self) {
        self.shared.act(|world, _| {
            world.rules.clear_all();
            world.throttled_until = None;
        });
    }

    /// How many requests a rule has struck.
    #[must_use]
    pub fn hits(&self, rule: RuleId) -> u64 {
        self.shared.look(|world| world.rules.hits(rule))
    }

    /// Answers everything with 429 for a while, with `retry-after` and headers that say how long.
    pub fn throttle_for(&self, time: Duration) {
        self.shared.act(|world, now| world.throttled_until = Some(now + time));
    }
}

/// The record.
impl FakeCloud {
    /// Everything that is kept, in the order of arrival.
    #[must_use]
    pub fn log(&self) -> Vec<Exchange> {
        self.shared.look(|world| world.log.exchanges().cloned().collect())
    }

    /// Those that meant to change something, in the order of arrival.
    #[must_use]
    pub fn mutations(&self) -> Vec<Exchange> {
        self.mutations_since(Mark(0))
    }

    /// The place in the record now.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.shared.look(|world| Mark(world.log.next_sequence()))
    }

    /// What arrived since a mark.
    #[must_use]
    pub fn log_since(&self, mark: Mark) -> Vec<Exchange> {
        self.shared.look(|world| {
            let since = world.log.exchanges().filter(|e| e.sequence >= mark.0);
            since.cloned().collect()
        })
    }

    /// What arrived since a mark and meant to change something.
    #[must_use]
    pub fn mutations_since(&self, mark: Mark) -> Vec<Exchange> {
        let mut since = self.log_since(mark);
        since.retain(|e| e.mutates);
        since
    }

    /// How many requests arrived, and how many of them meant to change something; counted whatever is kept.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        self.shared.look(|world| (world.log.next_sequence(), world.log.mutation_count()))
    }

    /// How much is kept from now on.
    pub fn recording(&self, recording: Recording) -> &Self {
        self.shared.act(|world, _| world.log.set(recording));
        self
    }

    /// Forgets what is kept.
    pub fn forget_log(&self) {
        self.shared.act(|world, _| world.log.clear());
    }

    /// When the last handle, service and request are gone, writes what is kept to a new file in this folder (as the
    /// variable `PONTOON_EXCHANGES`, an absolute path, does for every cloud); none: does not.
    pub fn dump_on_drop(&self, folder: Option<&Path>) {
        self.shared.act(|world, _| world.dump_to = folder.map(Path::to_owned));
    }

    /// Writes what is kept to a new file in a folder, one JSON object a line, and returns its path.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn dump(&self, folder: &Path) -> io::Result<PathBuf> {
        self.shared.look(|world| world.log.dump(folder))
    }
}

/// Looking and waiting.
impl FakeCloud {
    /// Looks at what is true now, with everything that is due already done.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.shared.look(|world| look(world.store.present()))
    }

    /// Waits until something is true. Looks at once and then after every change; put a timeout around it where it
    /// might never come true.
    pub async fn wait_for(&self, mut condition: impl FnMut(&State) -> bool) {
        self.wait(|world| condition(world.store.present()).then_some(())).await;
    }

    /// Waits for the first kept exchange that fits, arrived already or not, and returns it as it is then: a condition
    /// on its answer makes it wait for the answer.
    pub async fn wait_for_call(&self, mut fits: impl FnMut(&Exchange) -> bool) -> Exchange {
        self.wait(|world| world.log.exchanges().find(|e| fits(e)).cloned()).await
    }

    /// Waits until this many requests arrived.
    pub async fn wait_for_arrivals(&self, count: u64) {
        self.wait(|world| (world.log.next_sequence() >= count).then_some(())).await;
    }

    async fn wait<T>(&self, mut ready: impl FnMut(&crate::cloud::World) -> Option<T>) -> T {
        let mut changes = self.shared.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(result) = self.shared.look(&mut ready) {
                return result;
            }
            // The sender lives in `self.shared`, so this cannot fail while we hold it.
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Tells somebody of everything that happens from now on, in order and as it happens. Told under the cloud's lock:
    /// the observer must not use the cloud.
    pub fn observe(&self, told: impl FnMut(Happening<'_>, &State) + Send + 'static) -> &Self {
        self.shared.act(|world, _| world.observer = Observer::new(told));
        self
    }

    /// The moment on tokio's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.shared.clock().now()
    }
}
