//! A replica: whether it leads, and what a leader remembers.

use crate::cloud::{ADDRESSES, Places, present};
use crate::cluster::{INTENTS, Intents, Ledger};
use crate::set::Set;

/// What a leader knows of a move of its own (`world/address.rs` `Operation`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// There is none.
    #[default]
    None,
    /// On its way to this node.
    Sent(u8),
    /// No answer came: it may be on this node, or get there.
    Uncertain(u8),
}

impl Operation {
    /// The node that the address may be on, or shall be on.
    pub fn to(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Sent(to) | Self::Uncertain(to) => Some(to.into()),
        }
    }
}

/// What a leader knows of an intent (`world/pool.rs` `IntentProgress`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Nothing: it was found in the ledger, or there is none.
    #[default]
    Found,
    /// Written by this leader in this term, and surely not sent.
    Ready,
    /// On its way.
    Sent,
    /// No answer came: it may have made an address.
    Doubtful,
    /// The same, and a listing since then tells.
    Told,
    /// It made this address, and the ledger does not say so yet.
    Made(u8),
}

/// What a leader knows. Lost with the term (`World::take_over`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The cloud was listed in this term.
    pub listed: bool,
    /// Where each address was last seen.
    pub places: Places,
    /// Moves that are not over.
    pub operations: [Operation; ADDRESSES],
    /// How far each intent is.
    pub progress: [Progress; INTENTS],
    /// What became of the last write of the ledger is not known.
    pub in_doubt: bool,
    /// What that write added.
    pub writing: Option<Ledger>,
    /// Intents that are acted on without being known to be in the ledger: only where a
    /// protection is left out.
    pub unwritten: Intents,
    /// A listing that was sent and is not answered yet.
    pub late_listing: Option<Listing>,
}

/// What a listing shows, and what of it is news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listing {
    /// Where each address was when it was sent.
    pub places: Places,
    /// Addresses of which nothing newer is known.
    pub tells: Set,
    /// Intents that could not make anything any more when it was sent.
    pub settles: Set,
}

/// A replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Replica {
    /// It believes that it leads.
    pub leads: bool,
    /// Calls of an earlier term may still take effect (`Election::unsettled_until`).
    pub settling: bool,
    /// What its watch still shows, although the ledger was written since.
    pub stale: Option<Ledger>,
    /// What it knows as a leader.
    pub memory: Memory,
}

impl Memory {
    /// Addresses that were made, and that the ledger does not name yet.
    pub fn made(&self) -> Set {
        let made = self.progress.iter().filter_map(|one| match one {
            Progress::Made(address) => Some(usize::from(*address)),
            _ => None,
        });
        made.collect()
    }

    /// Nodes that have an address, may have one, or are about to (`Account::occupants`).
    pub fn occupied(&self) -> Set {
        let seen = self.places.iter().filter_map(|place| place.node());
        let meant = self.operations.iter().filter_map(|one| one.to());
        seen.chain(meant).collect()
    }

    /// Addresses that were seen.
    pub fn seen(&self) -> Set {
        present(&self.places)
    }

    /// The ledger turned out to be another than it was known to be. What is known of intents
    /// that it has no more is void, except what they made or may be making
    /// (`PoolEntry::forget_intents`); a write in doubt has come through or never will.
    pub fn reconcile(&mut self, ledger: &Ledger) {
        let written = self.writing.take().unwrap_or_default().intents;
        self.in_doubt = false;
        for (intent, progress) in self.progress.iter_mut().enumerate() {
            let listed = ledger.intents[intent].is_some();
            let stays = match *progress {
                Progress::Found | Progress::Sent => true,
                Progress::Ready | Progress::Doubtful | Progress::Told => listed,
                Progress::Made(address) => listed || !ledger.created.contains(address.into()),
            };
            if !stays {
                *progress = Progress::Found;
            }
            if listed && *progress == Progress::Found && written[intent] == ledger.intents[intent] {
                *progress = Progress::Ready;
            }
        }
    }
}
