//! The phase after all trouble: everything must reach its final state, and then no more work is
//! done.

use super::Player;
use crate::schedule::Millis;

/// The time limit for reaching the final state.
const SETTLES: Millis = 20 * 60_000;

/// The interval of checks.
const CHECK_INTERVAL: Millis = 5_000;

/// The time for remaining work after the final state is reached.
const GRACE: Millis = 90_000;

/// The time for a process killed at the last moment to catch up.
const CATCH_UP: Millis = 30_000;

/// The longest delay of statuses.
const TELLS: Millis = 4_000;

/// The length of the observed rest.
const REST: Millis = 70_000;

/// The most listings during rest: two per minute, and one for a timer just due.
const LISTINGS_AT_REST: u64 = 3;

/// The most DNS reads during rest: one every two minutes, for any number of names.
const NAMES_READ_AT_REST: u64 = 1;

/// The duration of the settled state so far.
fn settled_for(since: &mut Option<Millis>, at: Millis, settled: bool) -> Millis {
    *since = since.filter(|_| settled).or(settled.then_some(at));
    since.map_or(0, |since| at - since)
}

impl Player<'_> {
    /// Ends all trouble.
    pub(super) async fn heal(&mut self) {
        self.stage.shared.tell(|| "-- everything is well from now on".to_owned());
        for replica in [0, 1] {
            if let Some(life) = &self.stage.replicas[replica].life {
                // Kill points apply at any time.
                if !self.hurries {
                    life.process.spare();
                }
                life.process.resume();
            }
            self.stage.ended(replica).await;
        }
        self.act_at_last();
        self.start_all();
    }

    pub(super) fn start_all(&mut self) {
        for replica in 0..usize::from(self.schedule.setting.replicas) {
            self.stage.start(replica);
        }
    }

    /// Waits for the final state, then observes rest.
    pub(super) async fn settle(&mut self) {
        let limit = self.healed + SETTLES;
        let mut at = self.healed;
        let mut since = None;
        loop {
            at += if self.hurries { 1_000 } else { CHECK_INTERVAL };
            self.wait_until(at).await;
            self.cluster.restore_pools().await;
            self.cluster.restore_allocations().await;
            let mut waiting = Vec::new();
            let unknown = self.stage.shared.oracle().unknown_creations();
            for (pool, made) in unknown {
                self.stage.shared.tell(|| format!("-- the user says of {pool}: {made:?}"));
                self.resolved += 1;
                self.cluster.resolve(&pool, made).await;
                waiting.push(format!("{pool} waits for the user's answer"));
            }
            let mut unsettled = self.stage.shared.oracle().unsettled();
            unsettled.extend(waiting);
            self.stage.shared.tell(|| format!("-- left to do: {}", unsettled.join("; ")));
            // A process killed a moment ago still has to catch up.
            let dead = self.last_death.filter(|death| at < death + CATCH_UP);
            if unsettled.is_empty() && dead.is_none() {
                self.settled.get_or_insert_with(|| self.stage.calls());
            } else if !self.hurries {
                self.settled = None;
            }
            // Statuses may lag for a moment.
            let told = settled_for(&mut since, at, unsettled.is_empty() && dead.is_none());
            if self.hurries && told < TELLS {
                if at >= limit {
                    let text = unsettled.join("; ");
                    return self.stage.shared.oracle().violated("L1", text);
                }
                continue;
            }
            if self.broken() || unsettled.is_empty() && (self.hurries || self.rests(at).await) {
                return;
            }
            if at >= limit {
                let text = unsettled.join("; ");
                return self.stage.shared.oracle().violated("L1", text);
            }
        }
    }

    /// The most listings during rest: an allocation may ask for more than the usual ones.
    fn listings_at_rest(&self) -> u64 {
        let all = self.schedule.setting.allocations.iter();
        let shortest = all.map(|one| if one.interval == 0 { 30 } else { one.interval.max(5) });
        let asked = shortest.min().map_or(0, |seconds| REST / (u64::from(seconds) * 1_000) + 2);
        // Each family is a listing of its own, at one and a half times the interval.
        LISTINGS_AT_REST.max(asked + asked / 2)
    }

    /// Whether all work has ended. Remaining work gets some time after the final state. Reads and
    /// status writes may take longer: an operation on a released address is polled for two minutes,
    /// and statuses may lag by a back-off.
    async fn rests(&mut self, settled: Millis) -> bool {
        let mut at = settled + GRACE;
        self.wait_until(at).await;
        // The final state may have been reached by chance: a listing can show a change by hand that
        // makes a name wrong.
        if !self.stage.shared.oracle().unsettled().is_empty() {
            return false;
        }
        let mut slow = false;
        loop {
            let before = self.stage.shared.oracle().doings();
            at += REST;
            self.wait_until(at).await;
            let mut oracle = self.stage.shared.oracle();
            let now = oracle.doings();
            let pages = if self.schedule.setting.crowded { 2 } else { 1 };
            let busy = now.writes != before.writes
                || now.reads != before.reads
                || now.records - before.records > NAMES_READ_AT_REST
                || now.listings - before.listings > self.listings_at_rest() * pages;
            let changes = now.changes != before.changes;
            if busy && !changes && !slow {
                slow = true;
                continue;
            }
            if busy || changes {
                oracle.violated("L3", format!("not at rest: {before:?} became {now:?}"));
            }
            let unsettled = oracle.unsettled();
            if !unsettled.is_empty() {
                oracle.violated("L1", format!("at rest, and yet: {}", unsettled.join("; ")));
            }
            return true;
        }
    }
}
