//! The public handle of a server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fakehttp::{DEFAULT_BASE, On, Recording, RuleId, Server};
use jiff::Timestamp;
use serde_json::Value;

use crate::faults::{Fault, KubeFault, Rule};
use crate::observer::Write;
use crate::record::Exchange;
use crate::service::KubeService;
use crate::state::{Shared, State};
use crate::{garbage, lifecycle};

/// An in-memory Kubernetes API server.
///
/// A new server holds only the namespaces `default`, `kube-system`, `kube-public` and
/// `kube-node-lease`. Clones are handles of the same server. The same seed and sequence of requests
/// give the same answers, byte for byte.
#[derive(Clone, Debug)]
pub struct FakeKube {
    shared: Arc<Shared>,
}

impl Default for FakeKube {
    fn default() -> Self {
        Self::new(0)
    }
}

impl FakeKube {
    /// A server whose UIDs and generated names come from a seed. Its wall clock starts at
    /// [`DEFAULT_BASE`] with the first request.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::starting_at(seed, DEFAULT_BASE)
    }

    /// As [`FakeKube::new`], with another start of the wall clock.
    #[must_use]
    pub fn starting_at(seed: u64, base: Timestamp) -> Self {
        let mut state = State::new(seed, base);
        lifecycle::begin(&mut state, base);
        Self { shared: Shared::new(state) }
    }

    /// Tracks field managers from the creation of each object on, as a real server does. By default
    /// tracking begins with the first server-side apply, which saves time in tests without apply.
    pub fn track_managers(&self) -> &Self {
        self.shared.lock().tracks = true;
        self
    }

    /// Collects garbage from now on, as kube-controller-manager does in a real cluster. A round of the
    /// collector follows `lag` after a write that concerns owners or dependents, or after the next
    /// request for objects that exist already. Consequences of a round follow in the next round,
    /// another `lag` later.
    pub fn collect_garbage(&self, lag: Duration) -> &Self {
        garbage::begin(&mut self.shared.lock(), lag);
        self
    }

    /// The server as a tower service, for `kube::Client::new(kube.service(), "default")`.
    #[must_use]
    pub fn service(&self) -> KubeService {
        KubeService::new(Arc::clone(&self.shared))
    }

    /// Serves HTTP/1.1 on a loopback address; port 0 picks a free port.
    ///
    /// # Errors
    ///
    /// If the address is not a loopback address, or cannot be bound.
    pub async fn serve(&self, addr: SocketAddr) -> io::Result<Server> {
        Server::start(self.service(), addr).await
    }

    /// The resource version of the last write.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.shared.lock().store.revision()
    }

    /// All stored objects of a resource, without `apiVersion` and `kind`, sorted by namespace and
    /// name. Events are in the core form.
    #[must_use]
    pub fn objects(&self, group: &str, plural: &str) -> Vec<Arc<Value>> {
        let place = (group.to_owned(), plural.to_owned());
        self.shared.lock().store.objects(&place).values().cloned().collect()
    }

    /// Discards the history, as etcd's compaction does: watches and lists at earlier revisions get
    /// 410.
    pub fn compact(&self) {
        self.shared.lock().store.compact();
    }

    /// Sets the length of each kind's history, for watches that start in the past; 10,000 by
    /// default.
    pub fn keep_history(&self, changes: usize) {
        self.shared.lock().store.keep(changes);
    }

    /// Adds a fault rule.
    #[must_use = "the rule holds until it is cleared by this"]
    pub fn inject(&self, rule: Rule) -> RuleId {
        self.shared.lock().rules.add(rule)
    }

    /// Freezes the watch cache of matching requests at the current state until the rule is cleared,
    /// as [`KubeFault::StaleCache`].
    #[must_use = "the rule holds until it is cleared by this"]
    pub fn freeze(&self, on: On) -> RuleId {
        let mut state = self.shared.lock();
        let at = state.store.revision();
        state.rules.add(Rule::new(on, Fault::Own(KubeFault::StaleCache(at))))
    }

    /// Ends a rule. Its hits stay readable, and watches receive the writes that a freeze held back.
    pub fn clear(&self, id: RuleId) {
        let mut state = self.shared.lock();
        state.rules.clear(id);
        state.store.stir();
    }

    /// Ends all rules and forgets their hits.
    pub fn clear_all(&self) {
        let mut state = self.shared.lock();
        state.rules.clear_all();
        state.store.stir();
    }

    /// Number of requests to which a rule applied.
    #[must_use]
    pub fn hits(&self, id: RuleId) -> u64 {
        self.shared.lock().rules.hits(id)
    }

    /// Breaks the connections of all open watches that match; returns their number.
    #[expect(clippy::must_use_candidate, reason = "the effect is the point")]
    pub fn drop_watches(&self, on: &On) -> usize {
        let state = self.shared.lock();
        let fitting = state.watches.values().filter(|watch| on.fits(&watch.call.arriving()));
        fitting.map(|watch| watch.cut.notify_one()).count()
    }

    /// Number of open watches.
    #[must_use]
    pub fn open_watches(&self) -> usize {
        self.shared.lock().watches.len()
    }

    /// Calls `told` for every write from now on, in order. The callback runs under the server's
    /// lock and must not use the server.
    pub fn observe(&self, told: impl FnMut(Write<'_>) + Send + 'static) {
        self.shared.lock().store.observe(told);
    }

    /// Sets how many exchanges the record keeps; none at first.
    pub fn recording(&self, recording: Recording) {
        self.shared.lock().record.set(recording);
    }

    /// The recorded exchanges, in the order of arrival.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.lock().record.exchanges().cloned().collect()
    }

    /// Requests that got 501 because fakekube does not support them, as `METHOD path: what`. Always
    /// recorded.
    #[must_use]
    pub fn unknown_requests(&self) -> Vec<String> {
        self.shared.lock().unknown.clone()
    }
}
