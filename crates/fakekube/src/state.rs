//! The state of a server, behind a single lock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fakehttp::{Fault, Log, Recording, RuleId};
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::call::Call;
use crate::clock::LateClock;
use crate::faults::Rules;
use crate::garbage::Collector;
use crate::ids::Ids;
use crate::record::Exchange;
use crate::registry::Registry;
use crate::store::Store;

/// A watch in progress.
#[derive(Debug)]
pub(crate) struct OpenWatch {
    pub(crate) call: Call,
    pub(crate) cut: Arc<Notify>,
}

/// The state of a server.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) ids: Ids,
    pub(crate) dice: fastrand::Rng,
    pub(crate) rules: Rules,
    pub(crate) record: Log<Exchange>,
    /// The requests that are not supported.
    pub(crate) unknown: Vec<String>,
    pub(crate) clock: LateClock,
    pub(crate) watches: BTreeMap<u64, OpenWatch>,
    /// Whether field managers are tracked from an object's creation on.
    pub(crate) tracks: bool,
    /// The garbage collector, if on.
    pub(crate) collector: Option<Collector>,
    /// Warnings for the current request.
    pub(crate) warnings: Vec<String>,
}

impl State {
    /// An empty server: kinds, but no objects.
    pub(crate) fn new(seed: u64, base: Timestamp) -> Self {
        let registry = Registry::new();
        let mut store = Store::at(1);
        for kind in registry.kinds() {
            store.open(&kind.storage);
        }
        Self {
            store,
            registry,
            ids: Ids::seeded(seed),
            // A separate source, so that faults do not change the names of objects.
            dice: fastrand::Rng::with_seed(seed ^ 0x6661_756c_7473),
            rules: Rules::default(),
            record: Log::new(Recording::Off),
            unknown: Vec::new(),
            clock: LateClock::starting_at(base),
            watches: BTreeMap::new(),
            tracks: false,
            collector: None,
            warnings: Vec::new(),
        }
    }

    /// The last revision that a request can see.
    pub(crate) fn visible(&self, stale: Option<RuleId>, consistent: bool) -> u64 {
        let now = self.store.revision();
        let sees = |id| match self.rules.fault(id)? {
            Fault::Own(fault) => fault.sees(consistent),
            _ => None,
        };
        stale.and_then(sees).map_or(now, |at| at.min(now))
    }
}

/// A server, shared by its handle, its services and its requests.
#[derive(Debug)]
pub(crate) struct Shared(Mutex<State>);

impl Shared {
    pub(crate) fn new(state: State) -> Arc<Self> {
        Arc::new(Self(Mutex::new(state)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // Poisoning is harmless: a panic can only come before the first change of the state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
