//! Once nothing goes wrong any more: everything becomes as it should be, and then nobody does
//! anything.

use super::Player;
use crate::schedule::Millis;

/// How long everything may take to settle once nothing goes wrong.
const SETTLES: Millis = 20 * 60_000;

/// How often it is looked whether it has.
const LOOK: Millis = 5_000;

/// How long somebody may still be at work once everything is as it should be.
const GRACE: Millis = 70_000;

/// How long one who was killed at the last moment needs to be where the other was.
const CATCH_UP: Millis = 30_000;

/// How soon everything is told.
const TELLS: Millis = 4_000;

/// How long rest is watched.
const REST: Millis = 70_000;

/// The most listings in that time: two a minute, and one for a timer that is just due.
const LISTINGS_AT_REST: u64 = 3;

/// The most reads of DNS in that time: one in two minutes, however many names there are.
const NAMES_READ_AT_REST: u64 = 1;

/// For how long everything has been settled.
fn settled_for(since: &mut Option<Millis>, at: Millis, settled: bool) -> Millis {
    *since = since.filter(|_| settled).or(settled.then_some(at));
    since.map_or(0, |since| at - since)
}

impl Player<'_> {
    /// Nothing goes wrong any more.
    pub(super) async fn heal(&mut self) {
        self.stage.shared.tell(|| "-- everything is well from now on".to_owned());
        for replica in [0, 1] {
            if let Some(life) = &self.stage.replicas[replica].life {
                // Kill points come whenever their call does.
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

    /// Waits until everything is as it should be, then watches it rest.
    pub(super) async fn settle(&mut self) {
        let limit = self.healed + SETTLES;
        let mut at = self.healed;
        let mut since = None;
        loop {
            at += if self.hurries { 1_000 } else { LOOK };
            self.wait_until(at).await;
            self.cluster.restore_pools().await;
            let unknown = self.stage.shared.oracle().unknown_creations();
            for (pool, made) in unknown {
                self.stage.shared.tell(|| format!("-- the user says of {pool}: {made:?}"));
                self.resolved += 1;
                self.cluster.resolve(&pool, made).await;
            }
            let unsettled = self.stage.shared.oracle().unsettled();
            // Whoever was killed a moment ago still has to catch up.
            let dead = self.last_death.filter(|death| at < death + CATCH_UP);
            if unsettled.is_empty() && dead.is_none() {
                self.settled.get_or_insert_with(|| self.stage.calls());
            } else if !self.hurries {
                self.settled = None;
            }
            // What is told may lag behind by a moment.
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

    /// Whether nothing is done any more. Whoever is still at work when everything is as it
    /// should be has a little while for the rest of it. Reading and telling may go on for a
    /// little longer: an operation on an address that somebody gave back is asked about for
    /// two minutes, and what is told may lag behind by a back-off.
    async fn rests(&mut self, settled: Millis) -> bool {
        let mut at = settled + GRACE;
        self.wait_until(at).await;
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
                || now.listings - before.listings > LISTINGS_AT_REST * pages;
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
