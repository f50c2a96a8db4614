//! Users' changes of further pool fields, strangers, FLIPOP, and the switch from observing to
//! acting.

use std::net::Ipv6Addr;

use pontoon::api::PAUSED_ANNOTATION;
use pontoon::fronts::flipop::FLIPOP;
use serde_json::json;

use super::Player;
use crate::flipop::{Flipop, of_allocations};
use crate::schedule::PoolEvent;

impl Player<'_> {
    pub(super) async fn pool_way(&mut self, pool: usize, what: PoolEvent, begins: bool) {
        let patch = match (what, begins) {
            (PoolEvent::Paused, _) => {
                let why = begins.then_some("moving the rack");
                json!({"metadata": {"annotations": {PAUSED_ANNOTATION: why}}})
            }
            (PoolEvent::Grace(seconds), true) => json!({"spec": {"gracePeriodSeconds": seconds}}),
            (PoolEvent::Releases(releases), true) => {
                let policy = if releases { "Release" } else { "Retain" };
                json!({"spec": {"deletionPolicy": policy}})
            }
            _ => return,
        };
        self.cluster.patch_pool(pool, &patch).await;
    }

    /// A person reserves an IPv6 address.
    pub(super) fn stranger_six(&self) {
        let cloud = &self.stage.cloud;
        let address = |last| Ipv6Addr::new(0x2001, 0xdb8, 0xeeee, 0, 0, 0, 0, last);
        let used = |last: &u16| cloud.look(|state| state.address(address(*last).into()).is_some());
        if let Some(last) = (1..=u16::MAX).find(|last| !used(last)) {
            cloud.reserve(address(last), self.cluster.region());
        }
    }

    /// Starts the predecessor of pools, or of allocations.
    pub(super) fn flipop_starts(&mut self, event: usize, of_pools: bool, gives_back: bool) {
        let predecessor = if of_pools { Some(&FLIPOP) } else { of_allocations() };
        let Some(lease) = predecessor.map(|one| one.lease) else { return };
        let name = format!("flipop-{event}");
        let user = self.stage.user.clone();
        self.flipops.push((event, Flipop::start(user, lease, name, gives_back)));
    }

    pub(super) async fn flipop_ends(&mut self, event: usize) {
        for (_, flipop) in self.flipops.extract_if(.., |(one, _)| *one == event) {
            flipop.end().await;
        }
    }

    /// Stops replicas that observe at first. The next process of each acts.
    pub(super) fn act_at_last(&mut self) {
        for replica in [0, 1] {
            if self.stage.replicas[replica].is_to_act() {
                self.stage.kill(replica);
            }
        }
    }
}
