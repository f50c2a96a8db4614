//! Users' edits of pools, mostly mistakes: typos, other nodes, another pool's address, an
//! unreadable annotation.

use super::Player;
use crate::schedule::PoolEvent;

impl Player<'_> {
    pub(super) async fn edit(&mut self, event: usize, pool: usize, what: PoolEvent, begins: bool) {
        match (what, begins) {
            (PoolEvent::Mistyped(typo), true) => self.cluster.mistype(pool, typo).await,
            (PoolEvent::Rematched(wish), true) => self.cluster.rematch(pool, wish).await,
            (PoolEvent::Mistyped(_) | PoolEvent::Rematched(_), false) => {
                self.cluster.ask_as_at_first(pool).await;
            }
            (PoolEvent::Adopts(other), true) => {
                self.cluster.adopt(pool, usize::from(other) % self.cluster.pools()).await;
            }
            (PoolEvent::Adopts(_), false) => self.cluster.relist(pool).await,
            (PoolEvent::LedgerSpoiled, true) => {
                if let Some(before) = self.cluster.spoil(pool).await {
                    self.spoiled.push((event, pool, before));
                }
            }
            (PoolEvent::LedgerSpoiled, false) => {
                let all: Vec<_> = self.spoiled.extract_if(.., |one| one.0 == event).collect();
                for (_, pool, before) in all {
                    self.cluster.mend(pool, before).await;
                }
            }
            _ => {}
        }
    }
}
