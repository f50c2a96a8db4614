//! The account: the place of each address, and the calls under way.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::set::Set;

/// Nodes, each with its own machine.
pub const NODES: usize = 3;
/// Addresses possibly ours: the three wanted, and one too many.
pub const OURS: usize = 4;
/// The address of somebody else.
pub const STRANGER: usize = 4;
/// All addresses.
pub const ADDRESSES: usize = 5;

/// The most calls under way. A sound design has at most one per wanted address. With protections
/// left out, further calls are not sent.
const CALLS: usize = 6;

/// The place of an address.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(u8);

/// The place of each address.
pub type Places = [Place; ADDRESSES];

impl Place {
    /// The address does not exist.
    pub const ABSENT: Self = Self(0);
    /// The address exists and is on no machine.
    pub const LOOSE: Self = Self(1);

    /// On the machine of a node.
    pub fn on(node: usize) -> Self {
        Self(2 + node as u8)
    }

    /// The node holding the address, if any.
    pub fn node(self) -> Option<usize> {
        self.0.checked_sub(2).map(usize::from)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            Some(node) => write!(f, "n{node}"),
            None if *self == Self::LOOSE => f.write_str("loose"),
            None => f.write_str("-"),
        }
    }
}

/// The existing addresses.
pub fn present(places: &Places) -> Set {
    (0..ADDRESSES).filter(|one| places[*one] != Place::ABSENT).collect()
}

/// The request of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Assign an address to a node.
    Assign {
        /// The address.
        address: u8,
        /// The node.
        to: u8,
        /// The place seen by the sender, from which the address may be taken.
        from: Place,
    },
    /// Reserve an address for an intent of the ledger. With
    /// [`TargetMachine`](crate::Mark::TargetMachine) the intent has the number of its node.
    Create {
        /// The intent.
        intent: u8,
    },
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assign { address, to, from } => {
                write!(f, "assign a{address}, seen {from:?}, to n{to}")
            }
            Self::Create { intent } => write!(f, "create for intent {intent}"),
        }
    }
}

/// The progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Decided, and not sent yet.
    Held,
    /// Under way, with a waiting caller.
    Waiting,
    /// Under way, without a waiting caller. The call takes effect later, or never.
    Late,
    /// The call reserved this address, and the answer is under way.
    Answering(u8),
    /// Over, but the caller got no answer and cannot know yet.
    Spent,
}

/// A call to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The requested change.
    pub request: Request,
    /// The deciding replica, or `NOBODY` once irrelevant.
    pub by: u8,
    /// The term of the decision is over.
    pub past: bool,
    /// The progress.
    pub phase: Phase,
    /// Sent under a valid Lease: the call is over before a successor stops waiting.
    pub covered: bool,
}

/// The sender of a call without a waiting caller.
pub const NOBODY: u8 = 2;

impl Call {
    /// Whether the call may still take effect.
    pub fn is_on_its_way(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Late)
    }

    /// Whether `replica` decided on the call in its current term.
    pub fn is_of(&self, replica: usize) -> bool {
        usize::from(self.by) == replica && !self.past
    }
}

/// The calls under way, sorted so that equal sets are equal.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls([Option<Call>; CALLS]);

/// Hashes only the calls present: most states have few.
impl Hash for Calls {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.iter().for_each(|call| call.hash(hasher));
        hasher.write_u8(u8::MAX);
    }
}

impl Calls {
    /// Every call.
    pub fn iter(&self) -> impl Iterator<Item = Call> {
        self.0.into_iter().flatten()
    }

    /// Adds a call. `None` if there are already too many.
    pub fn add(&mut self, call: Call) -> Option<()> {
        *self.0.iter_mut().find(|one| one.is_none())? = Some(call);
        self.order();
        Some(())
    }

    /// Removes a call.
    pub fn remove(&mut self, call: Call) {
        if let Some(one) = self.0.iter_mut().find(|one| **one == Some(call)) {
            *one = None;
        }
        self.order();
    }

    /// Replaces or removes each call.
    pub fn change(&mut self, change: impl Fn(Call) -> Option<Call>) {
        for one in &mut self.0 {
            *one = one.and_then(&change);
        }
        self.order();
    }

    fn order(&mut self) {
        self.0.sort_unstable_by(|one, other| other.cmp(one));
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The provider's side: addresses and calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cloud {
    /// The place of each address.
    pub places: Places,
    /// The calls under way.
    pub calls: Calls,
}

impl Cloud {
    /// Whether a node's machine holds an address.
    pub fn is_occupied(&self, node: usize) -> bool {
        self.places.contains(&Place::on(node))
    }
}
