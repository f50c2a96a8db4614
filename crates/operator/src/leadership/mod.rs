//! Which replica acts: a Lease with client-go's semantics, and the guard that every mutating call
//! to a provider passes.
//!
//! A lease alone does not stop a leader that was paused, and no provider takes fencing tokens. So a
//! mutating call starts only while the lease outlives the call ([`Leadership::permit`]), and a new
//! leader whose predecessor vanished waits until the last of the predecessor's calls has taken
//! effect ([`Tenure::settle_until`]).
//!
//! **Guarantee**: calls of a replica start only after the calls of every other replica have taken
//! effect, or after the other replica has released the Lease.
//!
//! **Assumptions**: the clocks of two machines run at rates within 5 % of each other; a call ends
//! within `provider_timeout` of the check and takes effect within [`Timing::settle`] of its end; a
//! replica releases only after draining; processes with the same pod UID run one at a time; nobody
//! deletes the Lease, or empties its holder by hand, while a leader lives. (Watching replicas
//! notice such a change and react: the leader makes no calls until a renewal succeeds, a follower
//! waits as for an expired lease. A replica that starts at this moment cannot notice.)
//!
//! `lease_view` decodes the object, `lease_object` reads and writes it, `election` decides, `election_loop`
//! carries the decisions out, `guard` judges a call. Other controllers of the same objects have Leases of their
//! own: `competition` judges the Leases that count, `elsewhere` all other Leases, both by their
//! `pulse`; `other_leases` watches them and holds those of the predecessors.

mod competition;
mod election;
mod election_loop;
mod elsewhere;
mod guard;
mod identity;
mod lease_errors;
mod lease_object;
mod lease_view;
mod other_leases;
mod pulse;
#[cfg(test)]
mod tests;
mod timing;
mod watch;

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use election_loop::Candidate;
use guard::Standing;
use tokio::time::timeout;

use crate::env::Env;
pub use competition::{Doubt, Predecessor, Presence, Rival, Rivalry};
pub use guard::NotPermitted;
pub use identity::Identity;
pub use other_leases::{OtherLeases, OtherLeasesSettings, Predecessors, Sought};
pub use timing::{LONGEST_LEASE, Timing, TimingError};

/// The name of our own Lease.
pub const LEASE: &str = "pontoon";

/// The name of the Lease of observers. Holding the Lease keeps no replica from acting.
pub const OBSERVERS_LEASE: &str = "pontoon-observe";

/// Settings of an election.
#[derive(Clone, Debug)]
pub struct Config {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease, usually [`LEASE`].
    pub name: String,
    /// Our name in the Lease.
    pub identity: Identity,
    /// The periods. Values from a user must pass [`Timing::validate`].
    pub timing: Timing,
    /// The hard deadline of a mutating call to a provider.
    pub provider_timeout: Duration,
}

/// The role of this replica, as far as its election loop knows.
///
/// For display, and for starting and stopping work. A loop that is not polled keeps its last role:
/// before acting, ask [`Leadership::permit`] or [`Leadership::leads`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Another replica leads, or no replica does.
    Follower {
        /// The leader's identity, if the Lease has a holder.
        leader: Option<String>,
    },
    /// We lead.
    Leader(Tenure),
}

/// A period of leading, from an acquisition to its loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenure {
    /// Counts our own acquisitions, from 1.
    pub term: u64,
    /// When we began to lead, on [`Env::elapsed`].
    pub since: Duration,
    /// No mutating call before this time, on [`Env::elapsed`]. Equal to `since` after a clean
    /// handover, with a fresh Lease, and when no other replica led in between.
    pub settle_until: Duration,
}

/// A handle on the election. Clones share the election.
#[derive(Clone, Debug)]
pub struct Leadership {
    env: Env,
    shared: Arc<Shared>,
    /// A call's hard deadline plus the margin.
    reserve: Duration,
    /// Longest wait for a release.
    patience: Duration,
    ended: tokio::sync::watch::Receiver<()>,
}

/// State shared between the loop and the handles.
#[derive(Debug)]
struct Shared {
    standing: Mutex<Standing>,
    role: tokio::sync::watch::Sender<Role>,
    resign: tokio::sync::watch::Sender<Option<Duration>>,
}

impl Shared {
    fn new(standing: Standing) -> Arc<Self> {
        let role = tokio::sync::watch::Sender::new(standing.role());
        let resign = tokio::sync::watch::Sender::new(None);
        Arc::new(Self { standing: Mutex::new(standing), role, resign })
    }

    fn standing(&self) -> Standing {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Updates the guard before the role, so that a receiver of the role finds the guard up to
    /// date. `Released` is final.
    fn publish(&self, new: Standing) {
        let role = new.role();
        {
            let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
            if *standing == Standing::Released {
                return;
            }
            *standing = new;
        }
        self.role.send_if_modified(|current| {
            let changed = *current != role;
            if changed {
                match &role {
                    Role::Leader(tenure) => tracing::info!(term = tenure.term, "leading"),
                    Role::Follower { leader } => tracing::info!(leader, "following"),
                }
                *current = role;
            }
            changed
        });
    }
}

impl Leadership {
    /// A candidate for the Lease, and its loop: nothing happens unless the future is polled.
    /// Dropping the future ends the candidature; the Lease then expires. The future finishes after
    /// [`release`](Self::release).
    pub fn start(
        client: kube::Client,
        env: Env,
        config: Config,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let shared = Shared::new(Standing::Follower { leader: None });
        let (ending, ended) = tokio::sync::watch::channel(());
        let this = Self {
            env: env.clone(),
            shared: shared.clone(),
            reserve: config.provider_timeout + config.timing.margin,
            patience: config.timing.renew_deadline + config.timing.request(),
            ended,
        };
        (this, Candidate::new(client, env, config, shared, ending).run())
    }

    /// The role and its changes.
    pub fn role(&self) -> tokio::sync::watch::Receiver<Role> {
        self.shared.role.subscribe()
    }

    /// Whether a mutating call to a provider may start now: we lead, our predecessor's calls have
    /// taken effect, and the lease outlives the call with a margin. Must be checked immediately
    /// before each call; never waits.
    ///
    /// # Errors
    ///
    /// The reason in words.
    pub fn permit(&self) -> Result<(), NotPermitted> {
        self.shared.standing().permit(self.env.elapsed(), self.reserve).map(drop)
    }

    /// [`permit`](Self::permit) for a call that was decided earlier in the same tenure. Refused if
    /// leadership was lost and won again since, because the decision does not know of the other
    /// leader's changes.
    ///
    /// # Errors
    ///
    /// The reason in words.
    pub fn permit_in(&self, term: u64) -> Result<(), NotPermitted> {
        match self.shared.standing().permit(self.env.elapsed(), self.reserve)? {
            current if current == term => Ok(()),
            current => Err(NotPermitted::OtherTerm { decided: term, current }),
        }
    }

    /// Whether we hold the Lease now, by our own clock. Sufficient for writes to Kubernetes, which
    /// use compare-and-swap.
    pub fn leads(&self) -> bool {
        self.shared.standing().leads(self.env.elapsed())
    }

    /// [`leads`](Self::leads) for a write that was decided earlier, and that the end of its term
    /// outdates.
    pub fn leads_in(&self, term: u64) -> bool {
        let standing = self.shared.standing();
        let same = matches!(standing.role(), Role::Leader(tenure) if tenure.term == term);
        same && standing.leads(self.env.elapsed())
    }

    /// Releases the Lease, so that a follower takes over at once, and ends the loop. The guard
    /// closes immediately and for good.
    ///
    /// Must be called after draining. `owed` is the time for which a mutating call may still take
    /// effect, or reads may not show its effect: the Lease tells the successor to wait for so long,
    /// and at least for [`Timing::settle`], before changing anything. Zero: no wait.
    ///
    /// Takes at most one and a half renew deadlines; a Lease that cannot be released in time
    /// expires by itself. Waits while our own predecessor's calls may still take effect, because
    /// our successor does not.
    pub async fn release(&self, owed: Duration) {
        self.shared.publish(Standing::Released);
        self.shared.resign.send_replace(Some(owed));
        let mut ended = self.ended.clone();
        let over = timeout(self.patience, ended.wait_for(|()| false));
        if over.await.is_err() {
            tracing::warn!("the election loop does not end; the Lease expires by itself");
        }
    }
}

/// Leading without a Lease (`--leader-elect=false`). No other replica may run.
///
/// The guard opens once calls of a predecessor that has just died have taken effect: after
/// `provider_timeout`, the hard deadline of such a call, and [`Timing::settle`]. There is no renewal to
/// count from, and a predecessor that is still alive cannot be detected here.
pub fn always(env: Env, provider_timeout: Duration) -> Leadership {
    let since = env.elapsed();
    let settled = Timing::default().settled_after_death(provider_timeout);
    let tenure = Tenure { term: 1, since, settle_until: since + settled };
    let shared = Shared::new(Standing::Leader {
        tenure,
        renewed: since,
        trusted_until: Duration::MAX,
        contested: false,
    });
    let (_, ended) = tokio::sync::watch::channel(());
    Leadership { env, shared, reserve: Duration::ZERO, patience: Duration::ZERO, ended }
}
