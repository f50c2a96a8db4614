//! Watches the Leases of other controllers, and holds a predecessor's Lease once quiet, so that a
//! predecessor that comes back stays passive.
//!
//! | Lease | watched | meaning |
//! |---|---|---|
//! | a predecessor's, in a namespace that counts | there | at work, or may be |
//! | `pontoon`, for an acting replica with an election | everywhere else | a warning |
//! | `pontoon`, for an observer | in the namespaces that count | the other acts and reports |
//! | `pontoon` in our namespace, without an election | there | we are not the only replica |
//! | any of them in another namespace | everywhere | a warning |
//!
//! Watching a Lease that counts needs a right in its namespace, and without the right we do not
//! act. The watch over all other namespaces needs a cluster-wide right and is optional.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use futures::FutureExt;
use futures::future::select_all;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::competition::{Claim, Place, Predecessor, Presence, Rivalry, Rivals, place};
use super::elsewhere::Elsewhere;
use super::lease_errors::{Complaints, Trouble};
use super::lease_view::LeaseView;
use super::watch::LeaseWatch;
use super::{LEASE, Leadership, Role, Timing, lease_object};
use crate::env::Env;
use crate::observe::UNGRANTED;
use crate::observe::follow::Event;
use crate::observe::hearing::Hearing;
use crate::observe::pod::name_of;
use crate::report::metrics::Metrics;

/// The predecessors, each with where its Lease may be.
pub type Predecessors = Vec<Sought>;

/// A predecessor, and where its Lease may be.
#[derive(Clone, Debug)]
pub struct Sought {
    /// The predecessor.
    pub predecessor: &'static Predecessor,
    /// The name of its Lease in this cluster.
    pub lease: String,
    /// The namespaces in which it may be installed, beside our own.
    pub namespaces: BTreeSet<String>,
}

impl Sought {
    /// A predecessor whose Lease has its usual name.
    pub fn usual(predecessor: &'static Predecessor, namespaces: BTreeSet<String>) -> Self {
        Self { predecessor, lease: predecessor.lease.to_owned(), namespaces }
    }
}

/// Which Leases of other controllers count, and whether we may hold those of predecessors.
#[derive(Clone, Debug)]
pub struct OtherLeasesSettings {
    /// Our own namespace.
    pub namespace: String,
    /// The predecessors.
    pub predecessors: Predecessors,
    /// Our name.
    pub identity: String,
    /// The periods of our own election.
    pub timing: Timing,
    /// Whether we take part in an election.
    pub elects: bool,
    /// Whether we act, and hold the predecessors' Leases while we lead.
    pub acts: bool,
}

impl OtherLeasesSettings {
    /// The places where a Lease counts.
    fn counted(&self) -> BTreeSet<Place> {
        let mut counted = BTreeSet::new();
        for Sought { lease, namespaces, .. } in &self.predecessors {
            for namespace in namespaces.iter().chain([&self.namespace]) {
                counted.insert((namespace.clone(), lease.clone()));
                // An acting replica with an election is the only one that acts.
                if !self.acts || (!self.elects && *namespace == self.namespace) {
                    counted.insert((namespace.clone(), LEASE.to_owned()));
                }
            }
        }
        counted
    }

    /// The Leases of the predecessors: their usual names, and those in this cluster.
    fn leases(&self) -> BTreeMap<&'static str, String> {
        let named = |one: &Sought| (one.predecessor.lease, one.lease.clone());
        self.predecessors.iter().map(named).collect()
    }

    /// The names of the Leases that other controllers may have.
    fn names(&self) -> Vec<String> {
        [LEASE.to_owned()].into_iter().chain(self.leases().into_values()).collect()
    }

    /// Whether the Lease at a place is neither ours nor counts.
    fn is_elsewhere(&self, place: &Place, counted: &BTreeSet<Place>) -> bool {
        let ours = place.0 == self.namespace && place.1 == LEASE;
        !ours && !counted.contains(place)
    }
}

/// A handle on the watch over other controllers.
#[derive(Clone, Debug)]
pub struct OtherLeases {
    rivalry: watch::Receiver<Rivalry>,
    stop: watch::Sender<bool>,
    ended: watch::Receiver<()>,
    patience: Duration,
}

impl OtherLeases {
    /// The handle and its loop: nothing happens unless the future is polled. The watches over Leases that
    /// count are reported to `hearing`.
    pub fn start(
        client: Client,
        env: Env,
        leadership: &Leadership,
        settings: OtherLeasesSettings,
        (metrics, hearing): (Metrics, Hearing),
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let counted = settings.counted();
        let rivals =
            Rivals::new(&counted, settings.leases(), &settings.identity, settings.timing.lease);
        let (to, rivalry) = watch::channel(rivals.judge(env.elapsed()).0);
        let (ending, ended) = watch::channel(());
        let stop = watch::Sender::new(false);
        let patience = settings.timing.request();
        let near = |place: &Place| {
            let leases = Api::namespaced(client.clone(), &place.0);
            let watch = LeaseWatch::new(leases, &place.1, env.clone());
            let name = name_of(&format!("Lease {}", place.1), Some(&place.0));
            Near { place: place.clone(), watch: watch.reporting(hearing.clone(), name) }
        };
        let far = |name: String| {
            let watch = LeaseWatch::new(Api::all(client.clone()), &name, env.clone());
            Far { name, watch, shown: None, forbidden: false }
        };
        let round = Round {
            near: counted.iter().map(near).collect(),
            far: settings.names().into_iter().map(far).collect(),
            elsewhere: Elsewhere::default(),
            role: leadership.role(),
            stopped: stop.subscribe(),
            complaints: Complaints::default(),
            rivals,
            counted,
            metrics,
            client,
            env,
            settings,
            to,
            _ended: ending,
        };
        (Self { rivalry, stop, ended, patience }, round.run())
    }

    /// The rivalry and its changes.
    pub fn rivalry(&self) -> watch::Receiver<Rivalry> {
        self.rivalry.clone()
    }

    /// Releases the predecessors' Leases. A Lease that cannot be released in time expires by
    /// itself.
    pub async fn release(&self) {
        self.stop.send_replace(true);
        let mut ended = self.ended.clone();
        if timeout(self.patience, ended.wait_for(|()| false)).await.is_err() {
            tracing::warn!("a predecessor's Lease could not be released; it expires by itself");
        }
    }
}

/// The watch over a Lease that counts.
struct Near {
    place: Place,
    watch: LeaseWatch,
}

/// The watch over Leases of one name in all namespaces.
struct Far {
    name: String,
    watch: LeaseWatch,
    /// Places shown by the list under way.
    shown: Option<BTreeSet<Place>>,
    /// Whether the right is missing, and this has been told.
    forbidden: bool,
}

/// The news of a watch, with the watch's index.
enum News {
    Near(usize, Result<Option<Lease>, Trouble>),
    Far(usize, Result<Event<Lease>, Trouble>),
}

/// The news of the first watch to report. Cancel-safe.
async fn news(near: &mut [Near], far: &mut [Far]) -> News {
    let near = near.iter_mut().enumerate();
    let near = near.map(|(at, one)| one.watch.next().map(move |told| News::Near(at, told)).boxed());
    let far = far.iter_mut().enumerate();
    let far = far.map(|(at, one)| one.watch.event().map(move |told| News::Far(at, told)).boxed());
    // Never empty: our own namespace is always watched.
    select_all(near.chain(far)).await.0
}

struct Round {
    rivals: Rivals,
    near: Vec<Near>,
    far: Vec<Far>,
    counted: BTreeSet<Place>,
    elsewhere: Elsewhere,
    role: watch::Receiver<Role>,
    stopped: watch::Receiver<bool>,
    complaints: Complaints,
    metrics: Metrics,
    client: Client,
    env: Env,
    settings: OtherLeasesSettings,
    to: watch::Sender<Rivalry>,
    /// Closes when the loop ends for any reason.
    _ended: watch::Sender<()>,
}

impl Round {
    async fn run(mut self) {
        while !*self.stopped.borrow() {
            let now = self.env.elapsed();
            self.warn(now);
            let (rivalry, wake) = self.rivals.judge(now);
            let acts = self.settings.acts && rivalry.pontoon == Presence::Absent;
            let holds = acts && self.leads();
            if holds && let Some(lease) = self.rivals.due(&rivalry, now).cloned() {
                self.claim(lease).await;
                continue;
            }
            let claim = self.rivals.next_due(&rivalry).filter(|_| holds);
            // Acting waits until the predecessor's Lease is taken. A follower waits too: the first
            // plan of its term comes before the answer to its claim.
            self.publish(if acts { self.rivals.with_untaken(rivalry) } else { rivalry });
            let wakes = [wake, claim, self.elsewhere.wake(now)];
            self.wait(wakes.into_iter().flatten().min()).await;
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

    /// Warns of Leases that do not count.
    fn warn(&mut self, now: Duration) {
        for name in self.settings.names() {
            self.metrics.rivals().elsewhere(&name, self.elsewhere.count(&name, now));
        }
        if let Some(leases) = self.elsewhere.news(now) {
            tracing::warn!(
                leases,
                advice = "if the Lease is a predecessor's, add its namespace to --predecessor-namespaces; \
                          if the Lease is another Pontoon's, remove one of the two",
                "another controller renews a Lease in a namespace that does not count; acting all the same"
            );
        }
    }

    async fn wait(&mut self, wake: Option<Duration>) {
        let pause = wake.map(|at| at.saturating_sub(self.env.elapsed()));
        let news = tokio::select! {
            biased;
            _ = self.stopped.changed() => return,
            changed = self.role.changed() => {
                if changed.is_err() {
                    // The election has ended, so this replica will not act again.
                    std::future::pending().await
                }
                return;
            }
            news = news(&mut self.near, &mut self.far) => news,
            () = sleep(pause.unwrap_or(Duration::MAX)), if pause.is_some() => return,
        };
        let now = self.env.elapsed();
        match news {
            News::Near(index, Ok(lease)) => {
                self.rivals.seen(&self.near[index].place, lease, now);
            }
            News::Near(index, Err(trouble)) => self.near_broke(index, &trouble, now),
            News::Far(index, Ok(event)) => self.look_far(index, event, now),
            News::Far(index, Err(trouble)) => self.far_broke(index, &trouble, now),
        }
    }

    /// Handles a broken watch. Without the right to watch, the Lease counts as unseen; other errors
    /// pass, and the last sighting stands.
    fn near_broke(&mut self, index: usize, trouble: &Trouble, now: Duration) {
        let place = &self.near[index].place;
        if trouble.is_forbidden() {
            self.rivals.forbidden(place);
        }
        let lease = format!("{}/{}", place.0, place.1);
        self.complaints.tell_of_others(trouble, "watch", &lease, now);
    }

    fn look_far(&mut self, index: usize, event: Event<Lease>, now: Duration) {
        let far = &mut self.far[index];
        match event {
            Event::Listing => far.shown = Some(BTreeSet::new()),
            Event::Answered | Event::Bookmark => {}
            Event::Seen(lease) => {
                let place = place(&lease);
                if self.settings.is_elsewhere(&place, &self.counted) {
                    self.elsewhere.seen(&lease, now);
                }
                far.shown.iter_mut().for_each(|shown| shown.extend([place.clone()]));
            }
            Event::Listed => {
                far.forbidden = false;
                self.elsewhere.retain(&far.name, &far.shown.take().unwrap_or_default());
            }
            Event::Gone(lease) => self.elsewhere.gone(&place(&lease)),
        }
    }

    /// A missing right is told once, and tried again later: warnings are optional.
    fn far_broke(&mut self, index: usize, trouble: &Trouble, now: Duration) {
        let far = &mut self.far[index];
        if !trouble.is_forbidden() {
            return self.complaints.tell_of_others(trouble, "watch", &far.name, now);
        }
        far.watch.rest(UNGRANTED);
        if !std::mem::replace(&mut far.forbidden, true) {
            tracing::info!(
                lease = far.name,
                "no right to list this Lease in all namespaces: a controller in another namespace is not \
                 noticed; tried again every minute"
            );
        }
    }

    async fn claim(&mut self, lease: Lease) {
        let (at, us) = (place(&lease), self.rivals.us().to_owned());
        let ours = lease_object::holder(&lease) == Some(&us);
        let wanted = lease_object::claimed(&lease, &us, self.settings.timing.lease, self.env.now());
        let answer = self.put(&at, &wanted).await;
        let now = self.env.elapsed();
        let (answer, pause) = match answer {
            Ok(lease) => {
                if !ours {
                    tracing::info!(lease = %format_args!("{}/{}", at.0, at.1), "holding a predecessor's Lease");
                }
                (Claim::Held(Box::new(lease)), self.settings.timing.lease / 3)
            }
            Err(trouble) if trouble.is_conflict("replace") => {
                (Claim::Lost, self.settings.timing.retry_period)
            }
            Err(trouble) => {
                self.complaints.tell_of_others(&trouble, "update", &at.1, now);
                // Only a missing right (an older role) lets us act without the predecessor's Lease.
                let answer =
                    if trouble.is_forbidden() { Claim::Refused } else { Claim::Unanswered };
                (answer, self.settings.timing.retry_period)
            }
        };
        self.rivals.claimed(&at, answer, now + pause, now);
    }

    async fn give_up(&mut self, lease: Lease) {
        let at = place(&lease);
        let free = lease_object::released(&lease, None, self.env.now());
        match self.put(&at, &free).await {
            Ok(_) => tracing::info!("a predecessor's Lease was released"),
            Err(error) => tracing::debug!(%error, "a predecessor's Lease is not ours to release"),
        }
    }

    fn put(
        &self,
        (namespace, name): &Place,
        lease: &Lease,
    ) -> impl Future<Output = Result<Lease, Trouble>> + Send + use<> {
        let leases: Api<LeaseView> = Api::namespaced(self.client.clone(), namespace);
        let (name, longest) = (name.clone(), self.settings.timing.request());
        let lease = LeaseView(lease.clone());
        async move {
            match timeout(longest, leases.replace(&name, &PostParams::default(), &lease)).await {
                Ok(answer) => answer.map(Lease::from).map_err(Trouble::from),
                Err(_) => Err(Trouble::Timeout(longest)),
            }
        }
    }
}
