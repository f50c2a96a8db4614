//! A server as a test or a sandbox holds it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::clock::DEFAULT_BASE;
use crate::faults::{Fault, On, Rule, RuleId};
use crate::lifecycle;
use crate::observer::{Observer, Write};
use crate::record::Exchange;
use crate::serve::Server;
use crate::service::KubeService;
use crate::state::{Shared, State};

/// An in-memory Kubernetes API server.
///
/// It begins with the namespaces `default`, `kube-system`, `kube-public` and `kube-node-lease` and nothing else.
/// Clones are handles of the same server. One seed and one sequence of requests give the same answers, byte for byte.
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
    /// A server whose UIDs and generated names come from a seed, and whose wall clock starts at [`DEFAULT_BASE`] with
    /// the first request.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::starting_at(seed, DEFAULT_BASE)
    }

    /// The same with another wall time to start at.
    #[must_use]
    pub fn starting_at(seed: u64, base: Timestamp) -> Self {
        let mut state = State::new(seed, base);
        lifecycle::begin(&mut state, base);
        Self { shared: Shared::new(state) }
    }

    /// Keeps the managers of fields from the creation of each object on, as a real server does. Without this they are
    /// kept from the first server-side apply on, which costs nothing where nobody applies.
    pub fn track_managers(&self) -> &Self {
        self.shared.lock().tracks = true;
        self
    }

    /// The server as a tower service, for `kube::Client::new(kube.service(), "default")`.
    #[must_use]
    pub fn service(&self) -> KubeService {
        KubeService::new(Arc::clone(&self.shared))
    }

    /// Serves on a loopback address over HTTP/1.1; port 0 picks a free one.
    ///
    /// # Errors
    ///
    /// When the address is not a loopback one, or cannot be bound.
    pub async fn serve(&self, addr: SocketAddr) -> io::Result<Server> {
        Server::start(self.service(), addr).await
    }

    /// The resource version of the last write.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.shared.lock().store.revision()
    }

    /// All objects of a resource as they are stored now, without `apiVersion` and `kind`, in the order of namespace
    /// and name. Events are in the core form.
    #[must_use]
    pub fn objects(&self, group: &str, plural: &str) -> Vec<Arc<Value>> {
        let place = (group.to_owned(), plural.to_owned());
        self.shared.lock().store.objects(&place).values().cloned().collect()
    }

    /// Forgets the history, as etcd's compaction does: watches and lists from before now are answered with 410.
    pub fn compact(&self) {
        self.shared.lock().store.compact();
    }

    /// How many changes of each kind are remembered for watches that start in the past; 10,000 at first.
    pub fn keep_history(&self, changes: usize) {
        self.shared.lock().store.keep(changes);
    }

    /// Makes a fault rule.
    #[must_use = "the rule holds until it is cleared by this"]
    pub fn inject(&self, rule: Rule) -> RuleId {
        self.shared.lock().rules.add(rule)
    }

    /// Makes the fitting requests see the present state until the rule is cleared, as a replica whose watch cache
    /// does not get on: [`Fault::StaleCache`].
    #[must_use = "the rule holds until it is cleared by this"]
    pub fn freeze(&self, on: On) -> RuleId {
        let mut state = self.shared.lock();
        let at = state.store.revision();
        state.rules.add(Rule::new(on, Fault::StaleCache(at)))
    }

    /// Ends a rule; how often it hit stays readable. What a freeze held back is then seen.
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

    /// How many requests a rule applied to.
    #[must_use]
    pub fn hits(&self, id: RuleId) -> u64 {
        self.shared.lock().rules.hits(id)
    }

    /// Breaks the connections of all open watches that fit, now; answers how many.
    #[expect(clippy::must_use_candidate, reason = "the effect is the point")]
    pub fn drop_watches(&self, on: &On) -> usize {
        let state = self.shared.lock();
        let fitting = state.watches.values().filter(|watch| on.fits(&watch.call));
        fitting.map(|watch| watch.cut.notify_one()).count()
    }

    /// How many watches are open.
    #[must_use]
    pub fn open_watches(&self) -> usize {
        self.shared.lock().watches.len()
    }

    /// Tells somebody of every write from now on, in order and as it happens. Told under the server's lock: the
    /// observer must not use the server.
    pub fn observe(&self, told: impl FnMut(Write<'_>) + Send + 'static) {
        self.shared.lock().store.observe(Observer::new(told));
    }

    /// Starts or stops recording exchanges; off at first.
    pub fn record(&self, on: bool) {
        self.shared.lock().record.switch(on);
    }

    /// What was asked and answered since recording began, in the order of arrival.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.lock().record.exchanges().to_vec()
    }

    /// Forgets the exchanges so far.
    pub fn clear_exchanges(&self) {
        self.shared.lock().record.clear();
    }

    /// The requests that were answered with 501 because fakekube does not know what they want, as `METHOD path: what`.
    /// Always recorded.
    #[must_use]
    pub fn unknown_requests(&self) -> Vec<String> {
        self.shared.lock().record.unknown().to_vec()
    }
}
