//! What may go wrong, and how often.

/// A kind of fault.
///
/// A node that becomes eligible, or stops being so, is no fault here: a leader of the model
/// may decide any move at any time, which covers every change and every delay of such news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A process dies, and another starts in its pod, or in another one, with an empty
    /// memory.
    Crash,
    /// A replica is stopped between a decision and the wire.
    Pause,
    /// Renewals of the lease do not get through for longer than it lasts.
    Outage,
    /// The caller of a cloud gets no answer; the call takes effect later, or never.
    LostAnswer,
    /// The writer of the ledger gets no answer; the write comes through later, or never.
    LostWrite,
    /// A replica's watch does not show that the ledger was written.
    StaleWatch,
    /// A listing is answered long after it was sent.
    LateListing,
    /// Somebody else gets an address, or puts it on one of our nodes.
    Stranger,
    /// A leader is told to stop: it drains and releases the lease.
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

/// The faults that may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Faults {
    /// Kinds that may happen once.
    once: u16,
    /// Kinds that may happen any number of times. This costs less than counting: a state
    /// then says nothing of how often something has happened.
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

    /// The same, and `fault` once.
    #[must_use]
    pub fn once(self, fault: Fault) -> Self {
        Self { once: self.once | fault.bit(), often: self.often & !fault.bit() }
    }

    /// The same, and `fault` any number of times.
    #[must_use]
    pub fn often(self, fault: Fault) -> Self {
        Self { once: self.once & !fault.bit(), often: self.often | fault.bit() }
    }

    /// The same without `fault`.
    #[must_use]
    pub fn without(self, fault: Fault) -> Self {
        Self { once: self.once & !fault.bit(), often: self.often & !fault.bit() }
    }

    /// Whether `fault` may happen now.
    pub fn may(self, fault: Fault) -> bool {
        (self.once | self.often) & fault.bit() != 0
    }

    /// `fault` happens; none if it may not.
    pub(crate) fn spend(&mut self, fault: Fault) -> Option<()> {
        self.may(fault).then(|| self.once &= !fault.bit())
    }
}
