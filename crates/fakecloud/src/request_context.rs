//! The context of a request: all data for a vendor module, with exclusive access to the store.

use std::time::Duration;

use fakehttp::Clock;
use tokio::time::Instant;

use crate::faults::Weather;
use crate::knobs::Knobs;
use crate::operation::{Fate, OperationKind};
use crate::store::{State, Store};

/// The context of a request.
pub(crate) struct Turn<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) knobs: &'a Knobs,
    pub(crate) weather: &'a Weather,
    pub(crate) clock: Clock,
    pub(crate) now: Instant,
    pub(crate) request_id: String,
}

impl Turn<'_> {
    /// The state that reads show, delayed by the read lag.
    pub(crate) fn seen(&self) -> &State {
        self.store.seen(self.now)
    }

    /// The actual state, by which changes are validated.
    pub(crate) fn truth(&self) -> &State {
        self.store.present()
    }

    /// The actual state, for changes.
    pub(crate) fn change(&mut self) -> &mut State {
        self.store.change(self.now)
    }

    /// Starts an operation with the duration and end of the knobs and rules.
    pub(crate) fn start(&mut self, kind: OperationKind, region: &str) -> u64 {
        let takes = self.weather.own.action_time.unwrap_or(self.knobs.action_time);
        let hidden = self.weather.own.action_hidden.unwrap_or(self.knobs.action_hidden);
        let fate = self.weather.own.action_fate.unwrap_or(Fate::Succeeds);
        self.start_with(kind, region, takes, fate, hidden)
    }

    /// Registers an operation that is already over.
    pub(crate) fn note(&mut self, kind: OperationKind, region: &str) -> u64 {
        self.start_with(kind, region, Duration::ZERO, Fate::Succeeds, Duration::ZERO)
    }

    fn start_with(
        &mut self,
        kind: OperationKind,
        region: &str,
        takes: Duration,
        fate: Fate,
        hidden: Duration,
    ) -> u64 {
        let now = self.now;
        let state = self.change();
        let id = state.start(kind, region, now, takes, fate);
        state.hide_operation(id, now + hidden);
        id
    }
}
