//! The protections of the protocol, and the recognition of reserved addresses.

/// The recognition of a reserved address after a lost answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// By a property of all our addresses and no others, without distinguishing between
    /// reservations: a tag, or a dedicated project. The address is reserved on no machine (`judge`
    /// in `plan/recognise.rs`: "in our project").
    Tag,
    /// By the machine of the reservation (`judge`: `at_target`). A machine holds one address.
    TargetMachine,
}

/// A rule of the protocol. Leaving out any rule breaks an invariant.
///
/// Paths are relative to `crates/operator/src` and `crates/core/src`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protection {
    /// A call is sent only while the sender's Lease outlives the call: `leadership/guard.rs`
    /// `Standing::permit`, asked last before the wire (`Gate` of the providers).
    Guard,
    /// A replica taking an unreleased Lease sends nothing before the holder's last call has taken
    /// effect: `leadership/election.rs` `take` and `held`, with `Timing::quiet`.
    SettleAtTakeover,
    /// A process may take the Lease of a dead process of its own pod at once, and sends nothing
    /// before the last call of the dead process has taken effect: `leadership/election.rs` `take`,
    /// with `Timing::settled_after_death`.
    SettleAfterRestart,
    /// An unanswered call keeps its address or intent out of every plan until the call is over and
    /// the account was listed: `addresses/fold_moves.rs` `end_move` (`Operation::Uncertain`),
    /// `addresses/address.rs` `see`, `addresses/fold_creations.rs` `after`
    /// (`IntentProgress::Doubtful`).
    QuiescePerAddress,
    /// An intent is written before its reservation is sent: `plan/creation.rs` `intents`, `send`.
    CreationIntent,
    /// An intent counts as an address: `plan/need.rs` `missing`, `plan/creation.rs` `keep`.
    IntentsCount,
    /// The ledger is written only over the version last seen: `execute/cluster.rs` `write_ledger`.
    CompareAndSwap,
    /// No reservation is sent while the content of the ledger is unknown: `plan/creation.rs`
    /// `send`, `addresses/pool/ledger.rs` `write_failed`.
    LedgerKnown,
    /// A call decided before leadership was lost and regained is refused: `leadership/mod.rs`
    /// `permit_in`.
    TermInGuard,
    /// A leader acts only on listings made after the last leader's calls have taken effect:
    /// `plan/gate.rs` `may_change`, `plan/reading.rs` `plan`.
    ListingAfterSettling,
    /// A leader releasing with an unanswered call notes this on the Lease, and the next leader
    /// waits: `run/replica.rs` `hand_over`, `leadership/lease_object.rs` `settle`,
    /// `leadership/election.rs` `take`.
    SettleAtHandover,
    /// A leader still waiting for its predecessor's calls does not release:
    /// `leadership/election.rs` `leave`.
    HandoverAfterSettling,
    /// A leader renewing its Lease after missing the deadline waits for its *own* earlier calls,
    /// because the world forgets them between two terms (`World::take_over`):
    /// `leadership/election.rs` `lose`.
    SettleAfterOwnLapse,
    /// Only intents written in this term are sent. A found intent without a result is replaced by a
    /// new intent, so the API server tells whether the old intent was still in the ledger:
    /// `plan/creation.rs` `keep`, `addresses/pool/ledger.rs` `wrote_intent`.
    OwnIntentsOnly,
    /// An intent names the addresses that cannot be its result: `plan/creation.rs` `intents`,
    /// `plan/recognise.rs` `resolve`.
    StrangersNamed,
    /// A possible result of another open intent is not named as a stranger: `plan/creation.rs`
    /// `intents`.
    ResultsAreNoStrangers,
    /// If marks do not distinguish intents, no address is adopted while a reservation is under way,
    /// because a listed address may be the result of the running call. `plan/recognise.rs` `judge`.
    AdoptionWaitsForAnswers,
    /// No address is moved before the ledger names the address, because the place is the mark:
    /// `plan/view.rs` `movable`.
    RecordedBeforeMoved,
    /// No address is assigned to the target machine of a reservation: `plan/seats.rs`
    /// `keep_targets`.
    TargetsReserved,
    /// A listing is as old as its request, and proves nothing about later changes:
    /// `addresses/address.rs` `see`, `learn`, `miss`.
    AgeOfReads,
}

impl Protection {
    /// All protections.
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

/// The set of active protections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Design {
    left_out: u32,
}

impl Design {
    /// All protections active.
    pub fn complete() -> Self {
        Self { left_out: 0 }
    }

    /// The same design without a protection.
    #[must_use]
    pub fn without(self, protection: Protection) -> Self {
        Self { left_out: self.left_out | 1 << protection as u32 }
    }

    /// Whether a protection is active.
    pub fn has(self, protection: Protection) -> bool {
        self.left_out & (1 << protection as u32) == 0
    }
}
