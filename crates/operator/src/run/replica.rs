//! The main loop.

use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{Action, Finished};
use pontoon_core::plan::Planner;
use pontoon_core::world::World;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::Mode;
use super::stance::{Facing, Stance};
use super::watches::Watches;
use crate::env::Env;
use crate::execute::withhold::restrain;
use crate::execute::{Executor, Term};
use crate::extension::Board;
use crate::fronts::Controllers;
use crate::leadership::{Leadership, OtherLeases, Rivalry, Role};
use crate::observe::Observation;
use crate::policy::PolicyFile;
use crate::report::metrics::Metrics;
use crate::report::{Announcer, Objects, StatusWriter, Written};
use crate::serve::Health;

/// The most observations between two plans.
const BATCH: usize = 10_000;

/// Interval of the main loop's heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Wait before checking again whether a doubtful lease was renewed.
const LEASE_DOUBTED: Duration = Duration::from_millis(250);

/// Tasks that tokio runs between two turns of the main loop.
const TASKS_AT_A_TIME: usize = 61;

/// How long a stopping replica goes on writing events.
const EVENTS_LIMIT: Duration = Duration::from_secs(3);

/// The state of the main loop.
pub(super) struct Replica {
    pub(super) world: World,
    pub(super) planner: Planner,
    pub(super) executor: Executor,
    pub(super) announcer: Announcer,
    pub(super) objects: Objects,
    pub(super) statuses: StatusWriter,
    pub(super) watches: Watches,
    pub(super) leadership: Leadership,
    pub(super) term: Term,
    pub(super) env: Env,
    pub(super) metrics: Metrics,
    pub(super) health: Health,
    pub(super) board: Board,
    /// The administrator's policy, if there is one.
    pub(super) policy: Option<PolicyFile>,
    pub(super) inbox: Receiver<Observation>,
    /// The term of our leadership, if we lead.
    pub(super) leading: Option<u64>,
    pub(super) mode: Mode,
    pub(super) controllers: Controllers,
    /// The election's Lease: namespace and name.
    pub(super) lease: (String, &'static str),
    /// The rivalry as last handled.
    pub(super) facing: Facing,
    /// Our stance as a leader, as last reported.
    pub(super) stance: Option<Stance>,
    pub(super) other_leases: OtherLeases,
    /// Time of the next plan, if nothing happens before.
    pub(super) wake: Option<Time>,
    /// Until this time a call of ours may take effect, or reads may not show its effect.
    pub(super) unsettled_until: Time,
    pub(super) drain_limit: Duration,
}

impl Replica {
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        self.watches.start(self.executor.machine_names());
        self.tell_of_policy();
        let mut role = self.leadership.role();
        role.mark_changed();
        let mut rivalry = self.other_leases.rivalry();
        rivalry.mark_changed();
        let mut beat = tokio::time::interval(HEARTBEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let sleep = self.wake.map(|wake| wake.since(self.env.now()));
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => break,
                _ = beat.tick() => {
                    if !self.beat() {
                        continue;
                    }
                }
                failed = self.watches.failed() => {
                    // A replica without one of its tasks no longer sees changes, or no longer
                    // renews.
                    if let Ok(panic) = failed.try_into_panic() {
                        std::panic::resume_unwind(panic);
                    }
                }
                changed = role.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let now = role.borrow_and_update().clone();
                    self.role_changed(&now);
                }
                changed = rivalry.changed() => {
                    if changed.is_err() {
                        break;
                    }
                    let now = rivalry.borrow_and_update().clone();
                    self.rivalry_changed(now);
                }
                finished = self.executor.next() => self.take_outcome(finished),
                written = self.statuses.next() => self.status_written(written),
                observation = self.inbox.recv() => {
                    let Some(observation) = observation else { break };
                    self.apply(observation);
                }
                () = pause(sleep) => {}
            }
            self.apply_waiting();
            self.watches.follow_pods(&mut self.world);
            self.turn().await;
        }
        self.hand_over().await;
    }

    /// Tells that the loop runs, and reads the operator's own files again. Returns whether there is
    /// something to plan.
    fn beat(&mut self) -> bool {
        self.health.beats(self.env.now());
        if self.world.knows_vips() {
            self.metrics.stock(&self.world);
        }
        let policy = self.look_at_policy();
        self.look_at_tokens() || policy
    }

    fn status_written(&mut self, written: Written) {
        let now = self.env.now();
        let Some(wrote) = self.statuses.written(&mut self.objects, written, now) else { return };
        self.announcer.status_written(&wrote);
        // The new version of an object that asks for VIPs is taken from the watch alone. Such a status
        // is written without a check of its version, so the new version may contain writes of others
        // that the watch has not delivered yet.
        if let Ok(version) = wrote.result {
            self.world.wrote_pool(&wrote.key, &wrote.uid, version);
        }
    }

    /// Applies all waiting observations, so that a single plan covers them.
    fn apply_waiting(&mut self) {
        for _ in 0..BATCH {
            let Ok(observation) = self.inbox.try_recv() else { return };
            self.apply(observation);
        }
    }

    /// Plans, acts and reports, if we lead.
    async fn turn(&mut self) {
        self.wake = None;
        let now = self.env.now();
        self.take_stance(now);
        let restraints = match &self.stance {
            Some(Stance::Plans(restraints)) if self.is_read() => restraints.clone(),
            Some(Stance::Waits(until)) => {
                self.wake = Some(*until);
                return;
            }
            _ => return,
        };
        // After a pause of the process, the lease must be renewed before anything is reported.
        if !self.leadership.leads() {
            self.wake = Some(now + LEASE_DOUBTED);
            return;
        }
        let mut plan = self.planner.next(&mut self.world, now);
        let took = self.env.now().since(now);
        self.metrics.planned(took);
        let would = restrain(&mut plan, &self.world, &restraints);
        self.wake = [plan.wake, restraints.wake()].into_iter().flatten().min();
        let begun = plan.actions.len();
        for action in std::mem::take(&mut plan.actions) {
            // The status write changes the pool's version; the next plan contains the ledger write
            // again.
            if matches!(&action, Action::Ledger(write) if self.objects.is_being_written(&write.pool))
            {
                continue;
            }
            self.announcer.begins(&self.objects, &self.world, &action, now);
            self.world.begin(&action);
            self.executor.start(action);
        }
        sent(begun).await;
        self.announcer.take(&mut self.objects, &plan, &self.world, took);
        self.announcer.take_would(&mut self.objects, &plan, &would);
        self.statuses.take(&mut self.objects, &plan);
        let report = self.statuses.flush(&mut self.objects, &self.world, now);
        self.wake = [self.wake, report].into_iter().flatten().min();
    }

    /// Whether every source of some subject has been read whole.
    fn is_read(&self) -> bool {
        self.world.is_read() || self.world.knows_vips()
    }

    fn take_outcome(&mut self, finished: Finished) {
        self.announcer.ended(&mut self.objects, &self.world, &finished);
        let now = self.env.now();
        if crate::execute::is_unsettled(&finished.outcome) {
            let settled = now + self.world.settings().settle;
            self.unsettled_until = self.unsettled_until.max(settled);
        }
        self.world.finish(finished.outcome, now);
        for (id, account) in self.world.accounts() {
            self.metrics.listed(&id.0, account.listing.last);
        }
    }

    /// Handles a change of the role: a term begins or ends.
    fn role_changed(&mut self, role: &Role) {
        let term = match role {
            Role::Leader(tenure) => Some(tenure.term),
            Role::Follower { .. } => None,
        };
        if term == self.leading {
            return;
        }
        self.executor.abandon();
        self.announcer.set_leads(term.is_some());
        self.statuses.restart(&mut self.objects);
        self.leading = term;
        if let Role::Leader(tenure) = role {
            let wait = tenure.settle_until.saturating_sub(self.env.elapsed());
            if !wait.is_zero() {
                tracing::info!(?wait, "letting the last leader's calls settle");
            }
            self.term.set(tenure.term);
            self.facing.term_begins(self.env.now());
            self.planner = Planner::default();
            self.world.take_over(self.env.now() + wait);
        }
    }

    /// Handles a change of the rivalry.
    fn rivalry_changed(&mut self, rivalry: Rivalry) {
        let was_rival = self.facing.rivalry_changed(rivalry, self.env.now());
        if was_rival && self.leading.is_some() {
            // The rival's last calls may take effect for as long as calls of ours.
            let settings = self.world.settings();
            let open_from = self.env.now() + settings.call_deadline + settings.settle;
            // A successor of ours does not wait for the rival once more.
            self.unsettled_until = self.unsettled_until.max(open_from);
            self.executor.abandon();
            self.planner = Planner::default();
            self.world.take_over(open_from);
        }
    }

    /// Decides whether we act beside other controllers, and reports a change.
    fn take_stance(&mut self, now: Time) {
        let stance = self.leading.map(|_| self.facing.stance(self.mode, now));
        if stance == self.stance {
            return;
        }
        let aside =
            |stance: &Option<Stance>| stance.as_ref().map(Stance::aside).unwrap_or_default();
        let (before, after) = (aside(&self.stance), aside(&stance));
        self.metrics.rivals().aside(&after.iter().map(|(reason, _)| *reason).collect());
        for (reason, note) in after.difference(&before) {
            self.announcer.stands_aside(&self.lease, reason, note);
        }
        let held = stance.as_ref().map(Stance::held).unwrap_or_default();
        self.world.set_hands_off(match self.mode {
            Mode::Active => held,
            Mode::Observe => self.controllers.kinds().collect(),
        });
        self.stance = stance;
    }

    /// Time for which calls may take effect without being seen. A call that did not end in time may have
    /// been sent just now.
    fn owed(&self, drained: bool) -> Duration {
        let settings = self.world.settings();
        let under_way = settings.call_deadline + settings.settle;
        let settling = self.unsettled_until.since(self.env.now());
        if drained { settling } else { settling.max(under_way) }
    }

    /// Stops planning, waits for the calls under way, and releases the lease.
    async fn hand_over(mut self) {
        if self.leading.is_some() {
            tracing::info!("stopping: waiting for calls under way");
            let drained = self.executor.drain(self.drain_limit).await;
            self.leadership.release(self.owed(drained)).await;
            // Our own Lease is released first, so that our follower is faster than a predecessor.
            self.other_leases.release().await;
        }
        self.announcer.finish(EVENTS_LIMIT).await;
        tracing::info!("stopped");
    }
}

/// Lets calls be sent before the plan is told: all tasks share one thread. A call needs a turn of
/// its own task and one of its connection's.
async fn sent(calls: usize) {
    for _ in 0..=2 * calls / TASKS_AT_A_TIME {
        tokio::task::yield_now().await;
    }
}

async fn pause(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
