//! Runs actions in parallel and returns their outcomes.
//!
//! Actions of a plan are independent of each other, and the planner never asks for two concurrent
//! actions on an address, a ledger or a node's mark: so everything runs in parallel, and the calls
//! for each address still run in order. Writes to Kubernetes wait for their turn (`turns`).
//!
//! Leadership, observe mode and pause are enforced here and nowhere else. Withheld actions are
//! removed from the plan before anything begins (`withhold`). A call that changes a provider is
//! checked last thing before the wire (the transport's gate), a write to Kubernetes when its turn
//! has come.

mod cloud;
mod cluster;
mod cluster_id;
mod dns;
mod turns;
pub mod withhold;

pub use cluster_id::ClusterId;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pontoon_core::action::{Action, AddressAction, Done, Failure, FailureKind, Finished, Outcome};
use pontoon_core::model::Kind;
use pontoon_providers::layers::on_behalf_of;
use pontoon_providers::{AddressProvider, MachineNames, RecordProvider};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::clouds::Clouds;
use crate::env::Env;
use crate::fronts;
use crate::leadership::Leadership;
use crate::observe::schema::{Schema, Schemas};
use crate::report::metrics::Metrics;
use turns::Turns;

/// The term of the current decisions, shared with the gate on the wire.
#[derive(Clone, Debug, Default)]
pub struct Term(Arc<AtomicU64>);

impl Term {
    /// Starts a new term.
    pub fn set(&self, term: u64) {
        self.0.store(term, Ordering::SeqCst);
    }

    /// The current term.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Runs actions and counts the running calls that change a provider.
pub struct Executor {
    clouds: Clouds,
    client: kube::Client,
    leadership: Leadership,
    env: Env,
    metrics: Metrics,
    cluster: ClusterId,
    /// The term of the decisions.
    term: Term,
    /// The definitions, whose versions writes use.
    schemas: Schemas,
    turns: Turns,
    running: JoinSet<Finished>,
    /// Running calls that change a provider.
    changing: usize,
}

impl Executor {
    /// An executor without running actions.
    pub fn new(
        clouds: Clouds,
        client: kube::Client,
        leadership: Leadership,
        env: Env,
        metrics: Metrics,
        cluster: ClusterId,
        term: Term,
    ) -> Self {
        Self {
            clouds,
            client,
            leadership,
            env,
            metrics,
            cluster,
            term,
            schemas: Schemas::default(),
            turns: Turns::new(),
            running: JoinSet::new(),
            changing: 0,
        }
    }

    /// Takes the state of a kind's definition.
    pub fn defines(&mut self, kind: &'static Kind, schema: Schema) {
        self.schemas.set(kind, schema);
    }

    /// Tells the machines of nodes without a provider ID.
    pub fn machine_names(&self) -> Arc<MachineNames> {
        self.clouds.machine_names()
    }

    /// The accounts.
    pub fn clouds(&mut self) -> &mut Clouds {
        &mut self.clouds
    }

    /// Starts an action. A write to Kubernetes is sent when its turn has come, if we lead then, and in
    /// the same term.
    pub fn start(&mut self, action: Action) {
        if action.changes_provider() {
            self.changing += 1;
        }
        let (env, leadership, term) = (self.env.clone(), self.leadership.clone(), self.term.get());
        let (metrics, means) = (self.metrics.clone(), self.means(&action));
        let turns = self.turns.clone();
        self.env.spawn(&mut self.running, async move {
            let turn = turns.wait(&action).await;
            let sent_at = env.now();
            let result = match turn {
                Err(failure) => Err(failure),
                Ok(_) if action.changes_cluster() && !leadership.leads_in(term) => {
                    Err(Failure::plain(FailureKind::NotSent, "this replica does not lead"))
                }
                // The turn ends with the call.
                Ok(_turn) => {
                    let predecessor = predecessor_of(&action);
                    on_behalf_of(predecessor, carry_out(&action, means)).await
                }
            };
            count(&metrics, &action, &result, env.now().since(sent_at));
            let jitter = (env.random() * 1000.0) as u16;
            let took = env.now().since(sent_at);
            Finished { outcome: Outcome { action, sent_at, result, jitter }, took }
        });
    }

    fn means(&self, action: &Action) -> Means {
        let account = action.account();
        Means {
            provider: account.and_then(|id| self.clouds.client(id).cloned()),
            host: account.and_then(|id| self.clouds.host(id).cloned()),
            client: self.client.clone(),
            cluster: self.cluster.clone(),
            schemas: self.schemas.clone(),
        }
    }

    /// The next finished action. Pending for ever while nothing runs.
    pub async fn next(&mut self) -> Finished {
        loop {
            match self.running.join_next().await {
                Some(Ok(finished)) => {
                    if finished.outcome.action.changes_provider() {
                        self.changing -= 1;
                    }
                    return finished;
                }
                // Aborted, or panicked. A panic in an action must not stop the operator.
                Some(Err(error)) => {
                    tracing::error!(%error, "the task of an action ended without a result")
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Drops every action that runs or waits for its turn, because the term of their decision is over.
    pub fn abandon(&mut self) {
        self.running = JoinSet::new();
        self.changing = 0;
    }

    /// Waits until every call that changes a provider has finished, at most `limit`. Returns
    /// whether every call is settled.
    pub async fn drain(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut settled = true;
        while self.changing > 0 {
            let Ok(finished) = timeout_at(deadline, self.next()).await else { return false };
            settled &= !is_unsettled(&finished.outcome);
        }
        settled
    }
}

/// The Lease of the predecessor that may still serve the action's object.
fn predecessor_of(action: &Action) -> Option<&'static str> {
    let front = action.owner().and_then(|key| fronts::front(key.kind));
    front.map(|front| front.predecessor().lease)
}

/// The clients for an action.
struct Means {
    provider: Option<Arc<dyn AddressProvider>>,
    host: Option<Arc<dyn RecordProvider>>,
    client: kube::Client,
    cluster: ClusterId,
    schemas: Schemas,
}

/// Each branch is boxed: a task is as large as its largest branch, and is moved several times
/// before it runs.
async fn carry_out(action: &Action, means: Means) -> Result<Done, Failure> {
    let Means { provider, host, client, cluster, schemas } = means;
    let missing = || Failure::plain(FailureKind::NotSent, "the account has no client");
    match action {
        Action::Address(call) => Box::pin(cloud::call(&*provider.ok_or_else(missing)?, call)).await,
        Action::Record(call) => {
            Box::pin(dns::call(&*host.ok_or_else(missing)?, call, cluster.get())).await
        }
        Action::Ledger(write) => {
            Box::pin(cluster::in_time(cluster::write_ledger(&client, write))).await
        }
        Action::Mark(write) => {
            Box::pin(cluster::in_time(cluster::write_mark(&client, write))).await
        }
        Action::Evict(eviction) => {
            Box::pin(cluster::in_time(cluster::evict(&client, eviction))).await
        }
        Action::Vip(write) => {
            let unserved = || Failure::plain(FailureKind::NotSent, "the kind has no VIPs");
            let front = fronts::front(write.cluster().kind).and_then(|front| front.vips());
            let front = front.ok_or_else(unserved)?;
            Box::pin(cluster::in_time(front.write(client, write.clone(), schemas))).await
        }
    }
}

/// Counts a call to a provider; a request that was never sent counts as an attempt alone.
fn count(metrics: &Metrics, action: &Action, result: &Result<Done, Failure>, took: Duration) {
    let failure = result.as_ref().err().map(|failure| failure.kind);
    metrics.attempted(action, failure);
    if !failure.is_some_and(never_left) {
        metrics.called(action, failure, took);
    }
}

fn never_left(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::NotSent | FailureKind::HeldBack { .. })
}

/// Whether a call that changes a provider may still take effect, or has assigned an address that reads
/// may still show at its former place: a new leader would take that place for the current one.
pub fn is_unsettled(outcome: &Outcome) -> bool {
    let assigns = match &outcome.action {
        Action::Address(AddressAction::Assign { .. }) => true,
        Action::Address(AddressAction::Create { intent, .. }) => intent.target.is_some(),
        _ => false,
    };
    match &outcome.result {
        Ok(_) => assigns,
        Err(failure) => match failure.kind {
            FailureKind::NoAnswer => outcome.action.changes_provider(),
            // An error after the effect, or a second copy that found the first under way.
            FailureKind::Unavailable | FailureKind::Busy => assigns,
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use pontoon_core::Time;
    use pontoon_core::action::{AddressAction, RecordAction};
    use pontoon_core::model::{Family, Intent, ObjectKey, RecordChange, Site};

    use super::*;

    #[test]
    fn only_calls_that_left_are_counted() {
        let metrics = Metrics::new().unwrap();
        metrics.leads(true);
        let action = Action::Address(AddressAction::List {
            account: "digitalocean".into(),
            families: Vec::new(),
            confirms: false,
            scope: Default::default(),
        });
        let wait = Duration::from_secs(1);
        for kind in [
            FailureKind::NotSent,
            FailureKind::HeldBack { wait, pacing: true },
            FailureKind::Throttled { wait },
            FailureKind::NoAnswer,
        ] {
            count(&metrics, &action, &Err(Failure::plain(kind, "no")), wait);
        }
        let page = metrics.page();
        let counted = page.lines().find(|line| line.contains("outcome=\"error\""));
        assert!(counted.is_some_and(|line| line.ends_with(" 2")), "{page}");
    }

    #[test]
    fn a_reservation_on_a_machine_is_unsettled_like_an_assignment() {
        let pool = ObjectKey {
            kind: &crate::fronts::floating_ip_pool::FLOATING_IP_POOL,
            namespace: "default".into(),
            name: "p".into(),
        };
        let made = |target: Option<&str>| {
            let intent = Intent {
                id: "1".into(),
                family: Family::V4,
                region: "nyc3".into(),
                target: target.map(Into::into),
                strangers: Vec::new(),
                unsettled: Vec::new(),
            };
            let account = "digitalocean".into();
            let action = AddressAction::Create { account, pool: pool.clone(), mark: None, intent };
            let failure = Failure::plain(FailureKind::Unavailable, "no");
            let action = Action::Address(action);
            Outcome { action, sent_at: Time::default(), result: Err(failure), jitter: 0 }
        };
        assert!(is_unsettled(&made(Some("1001"))));
        assert!(!is_unsettled(&made(None)), "the ledger tells");
    }

    #[test]
    fn a_change_that_was_held_back_in_the_middle_is_no_error() {
        let metrics = Metrics::new().unwrap();
        metrics.leads(true);
        let owner = ObjectKey {
            kind: &crate::fronts::node_dns_record_set::NODE_DNS_RECORD_SET,
            namespace: "default".into(),
            name: "s".into(),
        };
        metrics.see(&owner, "uid");
        let site =
            Site { account: "digitalocean".into(), zone: "z.com".into(), name: "s.z.com".into() };
        let change = RecordChange::default();
        let action =
            Action::Record(RecordAction::Change { owner, site, family: Family::V4, change });
        let wait = Duration::from_secs(2);
        let done = Done::RecordsChangedInPart {
            written: Vec::new(),
            deleted: vec!["7".into()],
            wait,
            pacing: true,
        };
        count(&metrics, &action, &Ok(done), wait);
        let held = FailureKind::HeldBack { wait, pacing: true };
        count(&metrics, &action, &Err(Failure::plain(held, "held back")), wait);
        let page = metrics.page();
        assert!(!page.contains("outcome=\"error\""), "{page}");
        let counted = page.lines().find(|line| line.contains("outcome=\"success\""));
        assert!(counted.is_some_and(|line| line.ends_with(" 1")), "{page}");
    }
}
