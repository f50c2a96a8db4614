//! Runs the election against the API server.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::election::{Election, Leave, Next};
use super::lease_errors::{Complaints, Trouble};
use super::lease_view::LeaseView;
use super::watch::LeaseWatch;
use super::{Config, Shared, lease_object};
use crate::env::Env;

pub(super) struct Candidate {
    env: Env,
    config: Config,
    leases: Api<LeaseView>,
    watch: LeaseWatch,
    election: Election,
    complaints: Complaints,
    shared: Arc<Shared>,
    resigned: watch::Receiver<Option<Duration>>,
    /// Closes when the loop ends for any reason.
    _ended: watch::Sender<()>,
}

impl Candidate {
    pub fn new(
        client: kube::Client,
        env: Env,
        config: Config,
        shared: Arc<Shared>,
        ended: watch::Sender<()>,
    ) -> Self {
        let leases: Api<LeaseView> = Api::namespaced(client, &config.namespace);
        Self {
            watch: LeaseWatch::new(leases.clone(), &config.name, env.clone()),
            election: Election::new(
                config.identity.clone(),
                config.timing,
                config.provider_timeout,
                env.elapsed(),
            ),
            complaints: Complaints::default(),
            resigned: shared.resign.subscribe(),
            _ended: ended,
            env,
            config,
            leases,
            shared,
        }
    }

    pub async fn run(mut self) {
        while self.resigned.borrow().is_none() {
            match self.election.next(self.env.elapsed()) {
                Next::Read => self.read().await,
                Next::Create => self.create().await,
                Next::Replace => self.replace().await,
                Next::StepDown => {
                    tracing::warn!(
                        deadline = ?self.config.timing.renew_deadline,
                        "the Lease was not renewed in time; going on as a follower"
                    );
                    self.election.step_down();
                }
                Next::WaitUntil(at) => self.wait_until(at).await,
            }
            self.shared.publish(self.election.standing());
        }
        let longest = self.config.timing.renew_deadline;
        if timeout(longest, self.give_up()).await.is_err() {
            tracing::warn!(?longest, "the Lease could not be released; it expires by itself");
        }
    }

    async fn wait_until(&mut self, at: Duration) {
        let pause = at.saturating_sub(self.env.elapsed());
        let glimpse = tokio::select! {
            biased;
            _ = self.resigned.changed() => None,
            glimpse = self.watch.next() => Some(glimpse),
            () = sleep(pause) => None,
        };
        match glimpse {
            Some(Ok(found)) => self.election.glimpsed(found, self.env.elapsed()),
            Some(Err(trouble)) => self.complain(&trouble, "watch"),
            None => {}
        }
    }

    async fn read(&mut self) {
        let sent = self.env.elapsed();
        let answer = within(self.longest(), self.leases.get_opt(&self.config.name)).await;
        match answer {
            Ok(found) => self.election.read(found.map(Lease::from), self.env.elapsed()),
            Err(trouble) => {
                self.complain(&trouble, "get");
                self.election.unread(self.retry_at(sent));
            }
        }
    }

    async fn create(&mut self) {
        let Config { name, identity, timing, .. } = &self.config;
        let lease = lease_object::fresh(name, identity.as_str(), timing.lease, self.env.now());
        let sent = self.env.elapsed();
        let answer =
            within(self.longest(), self.leases.create(&PostParams::default(), &LeaseView(lease)))
                .await;
        self.claimed(answer.map(Lease::from), "create", sent);
    }

    async fn replace(&mut self) {
        let Some(seen) = self.election.seen() else { return };
        let Config { identity, timing, .. } = &self.config;
        let lease = lease_object::claimed(seen, identity.as_str(), timing.lease, self.env.now());
        let sent = self.env.elapsed();
        let answer = self.put(lease).await;
        self.claimed(answer, "replace", sent);
    }

    fn claimed(&mut self, answer: Result<Lease, Trouble>, verb: &'static str, sent: Duration) {
        match answer {
            Ok(lease) => self.election.held(lease, sent, self.env.elapsed()),
            Err(trouble) => self.refused(&trouble, verb, sent),
        }
    }

    fn refused(&mut self, trouble: &Trouble, verb: &'static str, sent: Duration) {
        if trouble.is_conflict(verb) {
            tracing::debug!(verb, "the Lease has changed in the meantime");
            self.election.conflict(self.retry_at(sent));
        } else {
            self.complain(trouble, verb);
            self.election.unanswered(self.retry_at(sent));
        }
    }

    /// Time of the next attempt: a retry period plus up to 10 %, so that replicas do not act in
    /// lockstep.
    fn retry_at(&self, sent: Duration) -> Duration {
        sent + self.config.timing.retry_period.mul_f64(1.0 + self.env.random() / 10.0)
    }

    async fn give_up(&mut self) {
        self.election.resign();
        loop {
            match self.election.leave(self.env.elapsed()) {
                Leave::Read => self.read().await,
                Leave::Release => {
                    let Some(seen) = self.election.seen() else { return };
                    let lease = lease_object::released(seen, self.owed(), self.env.now());
                    let sent = self.env.elapsed();
                    match self.put(lease).await {
                        Ok(_) => return tracing::info!("the Lease was released"),
                        Err(trouble) => self.refused(&trouble, "replace", sent),
                    }
                }
                Leave::WaitUntil(at) => sleep(at.saturating_sub(self.env.elapsed())).await,
                Leave::Done => return,
            }
        }
    }

    /// Time that a successor must wait for calls that are not settled: at least the time until reads show
    /// a call's effect.
    fn owed(&self) -> Option<Duration> {
        let owed = self.resigned.borrow().filter(|owed| !owed.is_zero());
        owed.map(|owed| owed.max(self.config.timing.settle))
    }

    fn put(&self, lease: Lease) -> impl Future<Output = Result<Lease, Trouble>> + use<'_> {
        let longest = self.longest();
        let (leases, name, lease) = (&self.leases, &self.config.name, LeaseView(lease));
        async move {
            let params = PostParams::default();
            within(longest, leases.replace(name, &params, &lease)).await.map(Lease::from)
        }
    }

    /// Deadline of a request: half of the renew deadline, and not beyond the loss of the Lease.
    fn longest(&self) -> Duration {
        let left = self.election.lost_at().map(|at| at.saturating_sub(self.env.elapsed()));
        left.unwrap_or(Duration::MAX).min(self.config.timing.request())
    }

    fn complain(&mut self, trouble: &Trouble, verb: &'static str) {
        self.complaints.tell(trouble, verb, &self.config, self.env.elapsed());
    }
}

async fn within<T>(
    longest: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Trouble> {
    match timeout(longest, request).await {
        Ok(answer) => answer.map_err(Trouble::from),
        Err(_) => Err(Trouble::Timeout(longest)),
    }
}
