//! The state of a server, behind a single lock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::call::Call;
use crate::clock::Clock;
use crate::faults::RuleId;
use crate::ids::Ids;
use crate::record::Record;
use crate::registry::Registry;
use crate::rules::{Rules, Weather};
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
    pub(crate) dice: Ids,
    pub(crate) rules: Rules,
    pub(crate) record: Record,
    pub(crate) clock: Clock,
    pub(crate) watches: BTreeMap<u64, OpenWatch>,
    /// Whether field managers are tracked from an object's creation on.
    pub(crate) tracks: bool,
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
            dice: Ids::seeded(seed ^ 0x6661_756c_7473),
            rules: Rules::default(),
            record: Record::default(),
            clock: Clock::starting_at(base),
            watches: BTreeMap::new(),
            tracks: false,
            warnings: Vec::new(),
        }
    }

    /// The last revision that a request can see.
    pub(crate) fn visible(&self, stale: Option<RuleId>, consistent: bool) -> u64 {
        let now = self.store.revision();
        stale.and_then(|id| self.rules.sees(id, consistent)).map_or(now, |at| at.min(now))
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

    /// Records a request and returns its number and its faults.
    pub(crate) fn arrive(&self, call: &Call) -> (u64, Weather) {
        let mut state = self.lock();
        let State { clock, record, rules, dice, .. } = &mut *state;
        let sequence = record.arrive(call, clock.now());
        let mut weather = rules.weather(call, dice);
        call.faults.iter().for_each(|fault| weather.carry(fault));
        (sequence, weather)
    }
}
