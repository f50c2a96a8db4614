//! A replica: its leadership, and a leader's memory.

use crate::cloud::{ADDRESSES, Places, present};
use crate::cluster::{INTENTS, Intents, Ledger};
use crate::set::Set;

/// A leader's knowledge of its own move (`addresses/address.rs` `Operation`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// No move.
    #[default]
    None,
    /// Under way to this node.
    Sent(u8),
    /// Unanswered: the address may be on this node, or may get there.
    Uncertain(u8),
}

impl Operation {
    /// The possible or intended node of the address.
    pub fn to(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Sent(to) | Self::Uncertain(to) => Some(to.into()),
        }
    }
}

/// A leader's knowledge of an intent (`addresses/pool/ledger.rs` `IntentProgress`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Unknown: found in the ledger, or no intent at all.
    #[default]
    Found,
    /// Written by this leader in this term, and not sent.
    Ready,
    /// Under way.
    Sent,
    /// Unanswered: an address may have been reserved.
    Doubtful,
    /// Unanswered, and a later listing shows the result.
    Told,
    /// Resulted in this address, not yet recorded in the ledger.
    Made(u8),
}

/// A leader's knowledge, lost at the end of the term (`World::take_over`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Memory {
    /// The account was listed in this term.
    pub listed: bool,
    /// The place of each address as last seen.
    pub places: Places,
    /// Unfinished moves.
    pub operations: [Operation; ADDRESSES],
    /// The progress of each intent.
    pub progress: [Progress; INTENTS],
    /// The fate of the last write of the ledger is unknown.
    pub in_doubt: bool,
    /// The additions of the unanswered write.
    pub writing: Option<Ledger>,
    /// Intents used without being known to be in the ledger: only with a protection left out.
    pub unwritten: Intents,
    /// A listing without an answer yet.
    pub late_listing: Option<Listing>,
}

/// The content of a listing, and the parts that are news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listing {
    /// The place of each address when the listing was sent.
    pub places: Places,
    /// Addresses without newer information.
    pub tells: Set,
    /// Intents that could no longer have an effect when the listing was sent.
    pub settles: Set,
}

/// A replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Replica {
    /// The replica believes to lead.
    pub leads: bool,
    /// Calls of an earlier term may still take effect (`Election::unsettled_until`).
    pub settling: bool,
    /// The outdated ledger shown by a stale watch.
    pub stale: Option<Ledger>,
    /// The memory as a leader.
    pub memory: Memory,
}

impl Memory {
    /// Reserved addresses not yet in the ledger.
    pub fn made(&self) -> Set {
        let made = self.progress.iter().filter_map(|one| match one {
            Progress::Made(address) => Some(usize::from(*address)),
            _ => None,
        });
        made.collect()
    }

    /// Nodes that hold, may hold, or are about to hold an address (`Account::occupants`).
    pub fn occupied(&self) -> Set {
        let seen = self.places.iter().filter_map(|place| place.node());
        let meant = self.operations.iter().filter_map(|one| one.to());
        seen.chain(meant).collect()
    }

    /// All addresses seen.
    pub fn seen(&self) -> Set {
        present(&self.places)
    }

    /// The ledger changed. Knowledge of missing intents is dropped, except possible or actual
    /// results (`PoolEntry::forget_intents`). A doubtful write has taken effect or never will.
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
