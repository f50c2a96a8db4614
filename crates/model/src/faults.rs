//! Possible faults and their frequency.

/// A kind of fault.
///
/// Changes of eligibility are no fault here: a leader of the model may decide on any move at any
/// time, which covers every change of a node and every delay in seeing the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A process dies. Another starts in the same or another pod, with an empty memory.
    Crash,
    /// A replica is suspended between a decision and the wire.
    Pause,
    /// Renewals of the Lease fail for longer than the Lease lasts.
    Outage,
    /// The provider's answer is lost. The call takes effect later, or never.
    LostAnswer,
    /// The answer to a write of the ledger is lost. The write takes effect later, or never.
    LostWrite,
    /// A replica's watch misses a write of the ledger.
    StaleWatch,
    /// The answer to a listing is late.
    LateListing,
    /// Somebody else reserves an address, or assigns an address to one of our nodes.
    Stranger,
    /// A leader shuts down: drains and releases the Lease.
    Stop,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Crash,
        Self::Pause,
        Self::Outage,
        Self::LostAnswer,
        Self::LostWrite,
        Self::StaleWatch,
        Self::LateListing,
        Self::Stranger,
        Self::Stop,
    ];

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The remaining faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Kinds possible once.
    once: u16,
    /// Kinds possible any number of times. Unlimited faults need fewer states than counted ones,
    /// because a state does not record past faults.
    often: u16,
}

impl Faults {
    /// No fault.
    pub fn none() -> Self {
        Self { once: 0, often: 0 }
    }

    /// Any number of each kind, but one of [`Fault::Stranger`].
    pub fn all() -> Self {
        let often = Fault::ALL.iter().fold(0, |all, fault| all | fault.bit());
        Self { once: 0, often }.once(Fault::Stranger)
    }

    /// The same, with `fault` once.
    #[must_use]
    pub fn once(self, fault: Fault) -> Self {
        Self { once: self.once | fault.bit(), often: self.often & !fault.bit() }
    }

    /// The same, with `fault` any number of times.
    #[must_use]
    pub fn often(self, fault: Fault) -> Self {
        Self { once: self.once & !fault.bit(), often: self.often | fault.bit() }
    }

    /// The same without `fault`.
    #[must_use]
    pub fn without(self, fault: Fault) -> Self {
        Self { once: self.once & !fault.bit(), often: self.often & !fault.bit() }
    }

    /// Whether `fault` is possible now.
    pub fn may(self, fault: Fault) -> bool {
        (self.once | self.often) & fault.bit() != 0
    }

    /// Uses up `fault`. `None` if not possible.
    pub(crate) fn spend(&mut self, fault: Fault) -> Option<()> {
        self.may(fault).then(|| self.once &= !fault.bit())
    }
}
