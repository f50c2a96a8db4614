//! Writes to Kubernetes take turns: a burst of writes that hang would hold every stream of the
//! connection, and watches could not start again.

use std::sync::Arc;
use std::time::Duration;

use pontoon_core::action::{Action, Failure, FailureKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::connect::MOST_ACTIONS;

/// How long an eviction waits for its turn. A node may serve again meanwhile, and the API server, which
/// refuses a write of an outdated ledger, knows nothing of that: a later plan decides anew.
const EVICTION_WAITS: Duration = Duration::from_secs(1);

/// The turns of writes to Kubernetes. Clones share the turns.
#[derive(Clone, Debug)]
pub(super) struct Turns(Arc<Semaphore>);

/// The turn of an action, which ends when dropped; `None` for an action that needs no turn.
pub(super) type Turn = Option<OwnedSemaphorePermit>;

impl Turns {
    /// As many turns as writes may be under way.
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_ACTIONS)))
    }

    /// Waits for the turn of an action, in the order of the calls. Calls to providers have connections
    /// of their own, and do not wait.
    ///
    /// # Errors
    /// If the turn of an eviction does not come within a second.
    pub async fn wait(self, action: &Action) -> Result<Turn, Failure> {
        if !action.changes_cluster() {
            return Ok(None);
        }
        // No code closes the semaphore, so `acquire_owned` cannot fail.
        let turn = async { self.0.acquire_owned().await.ok() };
        if !matches!(action, Action::Evict(_)) {
            return Ok(turn.await);
        }
        timeout(EVICTION_WAITS, turn).await.map_err(|_| {
            Failure::plain(FailureKind::NotSent, "other writes to Kubernetes take too long")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;
    use std::time::{Duration, SystemTime};

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use pontoon_core::action::{AddressAction, Eviction, Finished, MarkWrite};
    use pontoon_core::model::{NodeName, ObjectKey, PodId};
    use pontoon_providers::layers::Gate;
    use pontoon_providers::{Clock, https};
    use serde_json::json;
    use tower::service_fn;

    use super::super::{ClusterId, Executor, Term};
    use super::*;
    use crate::clouds::{Clouds, Means};
    use crate::env::Env;
    use crate::fronts::{EGRESS, FRONTS};
    use crate::leadership::{Leadership, always};
    use crate::report::metrics::Metrics;

    /// An API server that answers a request for each permit.
    struct Stage {
        executor: Executor,
        leadership: Leadership,
        /// Nodes whose writes were sent, in order.
        sent: Arc<Mutex<Vec<String>>>,
        answers: Arc<Semaphore>,
    }

    fn stage() -> Stage {
        let (sent, answers) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(Semaphore::new(0)));
        let (seen, may_answer) = (Arc::clone(&sent), Arc::clone(&answers));
        let server = service_fn(move |request: Request<Body>| {
            let node = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
            seen.lock().unwrap().push(node.clone());
            answer(node, Arc::clone(&may_answer))
        });
        let (env, term) = (Env::real(), Term::default());
        let leadership = always(env.clone(), Duration::ZERO);
        term.set(1);
        let executor = Executor::new(
            clouds(),
            Client::new(server, "default"),
            leadership.clone(),
            env,
            Metrics::new().unwrap(),
            ClusterId::default(),
            term,
        );
        Stage { executor, leadership, sent, answers }
    }

    async fn answer(node: String, may: Arc<Semaphore>) -> Result<Response<Body>, Infallible> {
        may.acquire().await.unwrap().forget();
        let object = json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
            "metadata": {"name": node, "resourceVersion": "7"},
        });
        Ok(Response::new(Body::from(object.to_string().into_bytes())))
    }

    /// No account has a credential, so that calls to providers end without being sent.
    fn clouds() -> Clouds {
        Clouds::open(Means {
            variable: Box::new(|_| None),
            timeout: Duration::from_secs(5),
            clock: Clock::new(SystemTime::now),
            transport: https(&Gate::new(|_| Ok(()))),
        })
    }

    impl Stage {
        /// Starts a write on each node.
        fn write(&mut self, nodes: impl IntoIterator<Item = usize>) {
            for node in nodes {
                self.executor.start(Action::Mark(MarkWrite {
                    owner: None,
                    node: name(node).as_str().into(),
                    uid: "uid".into(),
                    version: None,
                    mark: &EGRESS,
                    value: None,
                }));
            }
        }

        async fn until_sent(&self, count: usize) {
            while self.sent().len() < count {
                tokio::task::yield_now().await;
            }
        }

        fn sent(&self) -> Vec<String> {
            self.sent.lock().unwrap().clone()
        }

        /// The next outcome of an answered write.
        async fn answered(&mut self) -> Finished {
            self.answers.add_permits(1);
            self.executor.next().await
        }
    }

    fn name(node: usize) -> String {
        format!("node-{node}")
    }

    fn names(nodes: impl IntoIterator<Item = usize>) -> Vec<String> {
        nodes.into_iter().map(name).collect()
    }

    #[tokio::test]
    async fn writes_beyond_the_most_wait_for_their_turn_in_order() {
        let mut stage = stage();
        let all = MOST_ACTIONS + 8;
        stage.write(0..all);
        for sent in MOST_ACTIONS..=all {
            stage.until_sent(sent).await;
            assert_eq!(stage.sent(), names(0..sent));
            assert!(stage.answered().await.outcome.result.is_ok());
        }
    }

    #[tokio::test]
    async fn a_call_to_a_provider_does_not_wait_for_writes() {
        let mut stage = stage();
        stage.write(0..=MOST_ACTIONS);
        stage.until_sent(MOST_ACTIONS).await;
        let (account, scope) = ("digitalocean".into(), Default::default());
        let list = AddressAction::List { account, families: vec![], confirms: false, scope };
        stage.executor.start(Action::Address(list));
        let finished = stage.executor.next().await;
        assert_eq!(finished.outcome.action.account(), Some(&"digitalocean".into()));
    }

    /// The node may serve again by then.
    #[tokio::test]
    async fn an_eviction_whose_turn_does_not_come_soon_is_decided_anew() {
        let mut stage = stage();
        stage.write(0..MOST_ACTIONS);
        stage.until_sent(MOST_ACTIONS).await;
        let (kind, namespace) = (FRONTS[0].kind(), "default".into());
        let owner = ObjectKey { kind, namespace, name: "egress".into() };
        stage.executor.start(Action::Evict(Eviction {
            owner,
            pod: PodId("uid".into()),
            namespace: "default".into(),
            name: "mail".into(),
            node: NodeName("node-0".into()),
        }));
        let finished = stage.executor.next().await;
        assert!(matches!(finished.outcome.action, Action::Evict(_)));
        assert_eq!(finished.outcome.result.unwrap_err().kind, FailureKind::NotSent);
        stage.answers.add_permits(MOST_ACTIONS);
        stage.write([99]);
        stage.until_sent(MOST_ACTIONS + 1).await;
        assert_eq!(stage.sent(), names((0..MOST_ACTIONS).chain([99])));
    }

    #[tokio::test]
    async fn a_write_that_is_abandoned_in_the_queue_is_never_sent() {
        let mut stage = stage();
        stage.write(0..MOST_ACTIONS + 8);
        stage.until_sent(MOST_ACTIONS).await;
        stage.executor.abandon();
        stage.answers.add_permits(100);
        stage.write([99]);
        let finished = stage.executor.next().await;
        assert!(finished.outcome.result.is_ok());
        assert_eq!(stage.sent(), names((0..MOST_ACTIONS).chain([99])));
    }

    #[tokio::test]
    async fn a_write_whose_turn_comes_after_the_end_of_leadership_is_not_sent() {
        let mut stage = stage();
        stage.write(0..=MOST_ACTIONS);
        stage.until_sent(MOST_ACTIONS).await;
        stage.leadership.release(Duration::ZERO).await;
        stage.answers.add_permits(MOST_ACTIONS);
        let mut unsent = 0;
        for _ in 0..=MOST_ACTIONS {
            let result = stage.executor.next().await.outcome.result;
            unsent += usize::from(result.is_err_and(|one| one.kind == FailureKind::NotSent));
        }
        assert_eq!((unsent, stage.sent().len()), (1, MOST_ACTIONS));
    }

    #[tokio::test]
    async fn a_write_decided_in_another_term_is_not_sent() {
        let mut stage = stage();
        stage.executor.term.set(2);
        stage.write([0]);
        let result = stage.executor.next().await.outcome.result;
        assert_eq!(result.unwrap_err().kind, FailureKind::NotSent);
        assert_eq!(stage.sent(), names([]));
    }
}
