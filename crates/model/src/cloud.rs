//! The cloud: where each address is, and the calls that are under way.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::set::Set;

/// Nodes, each with a machine of its own.
pub const NODES: usize = 3;
/// Addresses that may be ours: the three that are wanted, and one too many.
pub const OURS: usize = 4;
/// The address of somebody else.
pub const STRANGER: usize = 4;
/// All addresses.
pub const ADDRESSES: usize = 5;

/// Calls that may be under way at once. In a sound design there is one for each wanted
/// address at most; where protections are left out, a further one is not sent.
const CALLS: usize = 6;

/// Where an address is.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(u8);

/// Where each address is.
pub type Places = [Place; ADDRESSES];

impl Place {
    /// It does not exist.
    pub const ABSENT: Self = Self(0);
    /// It exists, and is on no machine.
    pub const LOOSE: Self = Self(1);

    /// On the machine of a node.
    pub fn on(node: usize) -> Self {
        Self(2 + node as u8)
    }

    /// The node whose machine it is on.
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

/// The addresses that exist.
pub fn present(places: &Places) -> Set {
    (0..ADDRESSES).filter(|one| places[*one] != Place::ABSENT).collect()
}

/// What a call asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Put an address on a node.
    Assign {
        /// The address.
        address: u8,
        /// The node.
        to: u8,
        /// Where the sender saw it: what it may be taken from.
        from: Place,
    },
    /// Make an address, for an intent of the ledger. Where the mark is the machine, an
    /// intent has the number of its node.
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

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Decided, and not sent yet.
    Held,
    /// On its way; the caller waits.
    Waiting,
    /// On its way; nobody waits any more. It takes effect, or never will.
    Late,
    /// It made this address, and the answer is on its way.
    Answering(u8),
    /// It is over, but its caller, who got no answer, cannot know that yet.
    Spent,
}

/// A call to the cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// What it asks for.
    pub request: Request,
    /// The replica that decided it; 2 if that does not matter any more.
    pub by: u8,
    /// The term of leadership in which it was decided is over.
    pub past: bool,
    /// How far it is.
    pub phase: Phase,
    /// Sent while the sender's lease was good: it is over before a successor stops waiting.
    pub covered: bool,
}

/// The sender of a call that nobody waits for.
pub const NOBODY: u8 = 2;

impl Call {
    /// Whether it may still take effect.
    pub fn is_on_its_way(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Late)
    }

    /// Whether it was decided by `replica`, in the term that it is in.
    pub fn is_of(&self, replica: usize) -> bool {
        usize::from(self.by) == replica && !self.past
    }
}

/// The calls that are under way, in an order that says nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls([Option<Call>; CALLS]);

/// Most states have few calls: only those are gone through.
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

    /// One more; none if there are too many to follow.
    pub fn add(&mut self, call: Call) -> Option<()> {
        *self.0.iter_mut().find(|one| one.is_none())? = Some(call);
        self.order();
        Some(())
    }

    /// One less.
    pub fn remove(&mut self, call: Call) {
        if let Some(one) = self.0.iter_mut().find(|one| **one == Some(call)) {
            *one = None;
        }
        self.order();
    }

    /// Each of them becomes another, or none.
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

/// The cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cloud {
    /// Where each address is.
    pub places: Places,
    /// The calls that are under way.
    pub calls: Calls,
}

impl Cloud {
    /// Whether a node's machine has an address.
    pub fn is_occupied(&self, node: usize) -> bool {
        self.places.contains(&Place::on(node))
    }
}
