//! Watches the Leases of other controllers, and holds the predecessor's once it is quiet, so
//! that one that comes back stays passive.

use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::rivalry::{Claim, PREDECESSORS_LEASE, Place, Rivalry, Rivals, place};
use super::trouble::{Complaints, Trouble};
use super::watch::LeaseWatch;
use super::{LEASE, Leadership, Role, Timing, record};
use crate::env::Env;

/// What a sentry needs to know of us.
#[derive(Clone, Debug)]
pub struct Post {
    /// The Lease that we stand for: namespace and name.
    pub own: Option<(String, String)>,
    /// What names us.
    pub identity: String,
    /// The periods of our own election.
    pub timing: Timing,
    /// Hold the predecessor's Lease while we lead.
    pub holds: bool,
}

/// A handle on the watch over others.
#[derive(Clone, Debug)]
pub struct Sentry {
    rivalry: watch::Receiver<Rivalry>,
    relieve: watch::Sender<bool>,
    ended: watch::Receiver<()>,
    patience: Duration,
}

impl Sentry {
    /// A sentry, and the loop that makes it one: nothing happens unless the future is polled.
    pub fn start(
        client: Client,
        env: Env,
        leadership: &Leadership,
        post: Post,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (to, rivalry) = watch::channel(Rivalry::Unknown);
        let (ending, ended) = watch::channel(());
        let relieve = watch::Sender::new(false);
        let patience = post.timing.request();
        let watch = |name| {
            let leases = Api::all(client.clone());
            Watched { name, events: LeaseWatch::new(leases, name, env.clone()), shown: None }
        };
        let round = Round {
            rivals: Rivals::new(post.own.clone(), &post.identity),
            of_us: watch(LEASE),
            of_predecessor: watch(PREDECESSORS_LEASE),
            role: leadership.role(),
            relieved: relieve.subscribe(),
            complaints: Complaints::default(),
            client,
            env,
            post,
            to,
            _ended: ending,
        };
        (Self { rivalry, relieve, ended, patience }, round.run())
    }

    /// Whether somebody else is at work, now and as it changes.
    pub fn rivalry(&self) -> watch::Receiver<Rivalry> {
        self.rivalry.clone()
    }

    /// Lets go of what is held for others' sake. A Lease that cannot be released in time
    /// expires by itself.
    pub async fn release(&self) {
        self.relieve.send_replace(true);
        let mut ended = self.ended.clone();
        if timeout(self.patience, ended.wait_for(|()| false)).await.is_err() {
            tracing::warn!("the predecessor's Lease could not be released; it expires by itself");
        }
    }
}

/// The watch over Leases of one name.
struct Watched {
    name: &'static str,
    events: LeaseWatch,
    /// What the list under way has shown.
    shown: Option<BTreeSet<Place>>,
}

struct Round {
    rivals: Rivals,
    of_us: Watched,
    of_predecessor: Watched,
    role: watch::Receiver<Role>,
    relieved: watch::Receiver<bool>,
    complaints: Complaints,
    client: Client,
    env: Env,
    post: Post,
    to: watch::Sender<Rivalry>,
    /// Closed when the loop ends, however it ends.
    _ended: watch::Sender<()>,
}

impl Round {
    async fn run(mut self) {
        while !*self.relieved.borrow() {
            let now = self.env.elapsed();
            let (rivalry, wake) = self.rivals.judge(now);
            let holds = self.post.holds && rivalry == Rivalry::None && self.leads();
            if holds && let Some(lease) = self.rivals.due(now).cloned() {
                self.claim(lease).await;
                continue;
            }
            // Whoever acts has put the predecessor's mind at rest first.
            let rivalry = if holds && !self.rivals.all_held() { Rivalry::Unknown } else { rivalry };
            self.publish(rivalry);
            let wake = wake.into_iter().chain(self.rivals.next_due().filter(|_| holds)).min();
            self.wait(wake).await;
        }
        for lease in self.rivals.held() {
            self.give_up(lease).await;
        }
    }

    fn leads(&self) -> bool {
        matches!(*self.role.borrow(), Role::Leader(_))
    }

    fn publish(&self, rivalry: Rivalry) {
        self.to.send_if_modified(|current| {
            let changed = *current != rivalry;
            if changed {
                *current = rivalry;
            }
            changed
        });
    }

    async fn wait(&mut self, wake: Option<Duration>) {
        let pause = wake.map(|at| at.saturating_sub(self.env.elapsed()));
        let (watched, event) = tokio::select! {
            biased;
            _ = self.relieved.changed() => return,
            changed = self.role.changed() => {
                if changed.is_err() {
                    // Nobody leads any more who could act.
                    std::future::pending().await
                }
                return;
            }
            event = self.of_us.events.event() => (&mut self.of_us, event),
            event = self.of_predecessor.events.event() => (&mut self.of_predecessor, event),
            () = sleep(pause.unwrap_or(Duration::MAX)), if pause.is_some() => return,
        };
        let now = self.env.elapsed();
        let name = watched.name;
        match event {
            Ok(event) => watched.take(event, &mut self.rivals, now),
            Err(error) => {
                let trouble = Trouble::from(error);
                if trouble.is_forbidden() {
                    // An older role: what cannot be seen must not stop everything.
                    self.rivals.listed(name);
                }
                self.complaints.tell_of_others(&trouble, "watch", name, now);
            }
        }
    }

    async fn claim(&mut self, lease: Lease) {
        let (at, us) = (place(&lease), self.rivals.us().to_owned());
        let ours = record::holder(&lease) == Some(&us);
        let wanted = record::claimed(&lease, &us, self.post.timing.lease, self.env.now());
        let answer = self.put(&at, &wanted).await;
        let now = self.env.elapsed();
        let (answer, pause) = match answer {
            Ok(lease) => {
                if !ours {
                    tracing::info!(lease = %format_args!("{}/{}", at.0, at.1), "holding the predecessor's Lease");
                }
                (Claim::Held(Box::new(lease)), self.post.timing.lease / 3)
            }
            Err(trouble) if trouble.is_conflict("replace") => {
                (Claim::Lost, self.post.timing.retry_period)
            }
            Err(trouble) => {
                self.complaints.tell_of_others(&trouble, "update", &at.1, now);
                // Nothing but an older role is a reason to act without it.
                let answer =
                    if trouble.is_forbidden() { Claim::Refused } else { Claim::Unanswered };
                (answer, self.post.timing.retry_period)
            }
        };
        self.rivals.claimed(&at, answer, now + pause, now);
    }

    async fn give_up(&mut self, lease: Lease) {
        let at = place(&lease);
        let free = record::released(&lease, None, self.env.now());
        match self.put(&at, &free).await {
            Ok(_) => tracing::info!("the predecessor's Lease was released"),
            Err(error) => tracing::debug!(%error, "the predecessor's Lease is not ours to release"),
        }
    }

    fn put(
        &self,
        (namespace, name): &Place,
        lease: &Lease,
    ) -> impl Future<Output = Result<Lease, Trouble>> + Send + use<> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), namespace);
        let (name, lease, longest) = (name.clone(), lease.clone(), self.post.timing.request());
        async move {
            match timeout(longest, leases.replace(&name, &PostParams::default(), &lease)).await {
                Ok(answer) => answer.map_err(Trouble::from),
                Err(_) => Err(Trouble::Timeout(longest)),
            }
        }
    }
}

impl Watched {
    fn take(&mut self, event: Event<Lease>, rivals: &mut Rivals, now: Duration) {
        match event {
            Event::Init => self.shown = Some(BTreeSet::new()),
            Event::InitApply(lease) => {
                if let Some(shown) = &mut self.shown {
                    shown.insert(place(&lease));
                }
                rivals.seen(lease, now);
            }
            Event::InitDone => {
                rivals.retain(self.name, &self.shown.take().unwrap_or_default());
                rivals.listed(self.name);
            }
            Event::Apply(lease) => rivals.seen(lease, now),
            Event::Delete(lease) => rivals.gone(&place(&lease)),
        }
    }
}
