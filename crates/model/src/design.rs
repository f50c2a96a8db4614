//! Which protections are on, and how what was created is recognised.

/// How an address that a reservation made is recognised by somebody who was not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// By something that every address of ours carries and nobody else's does, but that does
    /// not tell one reservation from another: a tag, or a project of our own. Such an address
    /// is made on no machine (`judge` in `plan/outcome.rs`: "in our project").
    Tag,
    /// By the machine that it was made on (`judge`: `at_target`). A machine takes one address.
    TargetMachine,
}

/// One rule of the protocol. Each can be left out, and is found missing.
///
/// Paths are those of `crates/operator/src` and `crates/core/src`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protection {
    /// A call is sent only while the sender's lease outlives it: `leadership/guard.rs`
    /// `Standing::permit`, asked last thing before the wire (`Gate` of the providers).
    Guard,
    /// Who takes a lease that was not released sends nothing before the last call of the
    /// holder has taken effect: `leadership/election.rs` `take` and `held`, with
    /// `Timing::quiet`.
    SettleAtTakeover,
    /// Who takes back the lease of a dead process of its own pod, which it may do at once,
    /// sends nothing before the last call of that process has taken effect:
    /// `leadership/election.rs` `take`, with `Timing::settled_after_death`.
    SettleAfterRestart,
    /// A call without an answer keeps its address, or its intent, out of every plan until it
    /// is over and the cloud was read: `world/moves.rs` `end_move` (`Operation::Uncertain`),
    /// `world/address.rs` `see`, `world/reservations.rs` `after` (`IntentProgress::Doubtful`).
    QuiescePerAddress,
    /// A reservation is written down before it is sent: `plan/creation.rs` `intents`, `send`.
    CreationIntent,
    /// An intent counts as an address: `plan/creation.rs` `missing` and `keep`.
    IntentsCount,
    /// The ledger is written only over the version that was seen:
    /// `execute/cluster.rs` `write_ledger`.
    CompareAndSwap,
    /// Nothing is sent while it is not known what the ledger says: `plan/creation.rs` `send`,
    /// `world/pool.rs` `write_failed`.
    LedgerKnown,
    /// A call that was decided before leadership was lost and won again is refused:
    /// `leadership/mod.rs` `permit_in`.
    TermInGuard,
    /// What a leader acts on was read after the last leader's calls have taken effect:
    /// `plan/mod.rs` `may_change`, `plan/reading.rs` `plan`.
    ListingAfterSettling,
    /// Who releases with a call unanswered says so on the Lease, and the next leader waits:
    /// `run.rs` `hand_over`, `leadership/record.rs` `settle`, `leadership/election.rs` `take`.
    SettleAtHandover,
    /// Who still waits for its predecessor's calls does not release: `leadership/election.rs`
    /// `leave`.
    HandoverAfterSettling,
    /// Who lost its lease by the deadline and renews it after all waits for its *own* earlier
    /// calls, because the world forgets them between two terms (`World::take_over`):
    /// `leadership/election.rs` `lose`.
    SettleAfterOwnLapse,
    /// Only intents that were written in this term are sent. One that is found and made
    /// nothing is replaced by another, so that the server says whether it was still there:
    /// `plan/creation.rs` `keep`, `world/pool.rs` `wrote_intent`.
    OwnIntentsOnly,
    /// An intent names the addresses that it surely did not make: `plan/creation.rs`
    /// `intents`, `plan/outcome.rs` `resolve`.
    StrangersNamed,
    /// What another open intent may have made is not named as a stranger:
    /// `plan/creation.rs` `intents`.
    ResultsAreNoStrangers,
    /// Where a mark does not tell two intents apart, nothing is adopted while a reservation
    /// is on its way: what is listed may be its. `plan/outcome.rs` `judge`.
    AdoptionWaitsForAnswers,
    /// No address is moved before the ledger names it, because its place is its mark:
    /// `plan/standing.rs` `movable`.
    RecordedBeforeMoved,
    /// No address is put on a machine that a reservation is for: `plan/placement.rs`
    /// `keep_targets`.
    TargetsReserved,
    /// A listing is as old as its sending, and tells nothing of what was done since:
    /// `world/address.rs` `see`, `learn`, `miss`.
    AgeOfReads,
}

impl Protection {
    /// Every one of them.
    pub const ALL: [Self; 20] = [
        Self::Guard,
        Self::SettleAtTakeover,
        Self::SettleAfterRestart,
        Self::QuiescePerAddress,
        Self::CreationIntent,
        Self::IntentsCount,
        Self::CompareAndSwap,
        Self::LedgerKnown,
        Self::TermInGuard,
        Self::ListingAfterSettling,
        Self::SettleAtHandover,
        Self::HandoverAfterSettling,
        Self::SettleAfterOwnLapse,
        Self::OwnIntentsOnly,
        Self::StrangersNamed,
        Self::ResultsAreNoStrangers,
        Self::AdoptionWaitsForAnswers,
        Self::RecordedBeforeMoved,
        Self::TargetsReserved,
        Self::AgeOfReads,
    ];
}

/// Which protections are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Design {
    left_out: u32,
}

impl Design {
    /// All of them.
    pub fn complete() -> Self {
        Self { left_out: 0 }
    }

    /// The same without one.
    #[must_use]
    pub fn without(self, protection: Protection) -> Self {
        Self { left_out: self.left_out | 1 << protection as u32 }
    }

    /// Whether a protection is on.
    pub fn has(self, protection: Protection) -> bool {
        self.left_out & (1 << protection as u32) == 0
    }
}
