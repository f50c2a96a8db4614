//! Pools: which addresses, how many, on which nodes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::Time;
use crate::model::{AccountId, Family, MachineId, ObjectKey, Text};
use crate::nodes::Match;

/// What a custom resource asks for, in words that no front owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The object.
    pub key: ObjectKey,
    /// Its identity.
    pub uid: Text,
    /// The object's resource version, counted.
    pub version: u64,
    /// When it was created: the older of two claims wins.
    pub created_at: Time,
    /// What it asks for, or why that cannot be understood.
    pub request: Result<Request, Finding>,
    /// Addresses that the user lists in an object that cannot be understood otherwise: they are
    /// nobody else's until it is mended. `None` where nothing can be read, or `request` has them.
    pub named: Option<Vec<IpAddr>>,
    /// Addresses that were reserved for it, and reservations whose outcome is open.
    pub ledger: Ledger,
    /// Somebody took the ledger off the object: this one is what the status remembers of it.
    pub ledger_stripped: bool,
    /// The user's word on a reservation whose outcome is unknown.
    pub resolution: Option<Resolution>,
    /// It is being deleted.
    pub deleting: bool,
    /// When it is deleted, what was reserved for it shall be given back.
    pub releases: bool,
    /// What others keep it from going for.
    pub finalizers: Vec<Text>,
    /// Somebody paused it, and says why.
    pub paused: Option<Text>,
    /// What its status remembers of each address.
    pub remembered: BTreeMap<IpAddr, Remembered>,
    /// When the last assignment of this pool began, as its status remembers it.
    pub last_assignment: Option<Time>,
}

/// A request that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The account that its addresses are in.
    pub account: AccountId,
    /// Where new addresses are reserved.
    pub region: Option<Text>,
    /// The addresses that the user lists, without repetition, in order.
    pub listed: Vec<IpAddr>,
    /// What is wrong with an entry of the list that is no address.
    pub unreadable: Option<Finding>,
    /// How many addresses to use; `None` is all that are listed.
    pub wanted: Option<usize>,
    /// The nodes that may have one.
    pub matching: Arc<Match>,
    /// Least time between two assignments of this pool.
    pub cool_off: Duration,
    /// How long a node that stopped being eligible keeps its address, for recovering.
    pub grace: Duration,
}

/// Why an object cannot be planned: its own text is wrong, and only its owner can help.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Stable word for conditions and events.
    pub reason: &'static str,
    /// What is wrong and what to write instead.
    pub message: Text,
}

/// The addresses that were reserved for a pool. Kept on the object itself and written by
/// compare-and-swap *before* a reservation is sent, so that no crash loses an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Reserved for this pool, in order.
    pub created: Vec<IpAddr>,
    /// Once listed by the user, and kept when the list left them out, because more are wanted
    /// than it names. Not ours to give back.
    pub kept: Vec<IpAddr>,
    /// The object does not go before the addresses in here are given back.
    pub guarded: bool,
    /// Reservations that were about to be sent, or were.
    pub intents: Vec<Intent>,
}

/// A reservation that may have been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Its name within the ledger.
    pub id: Text,
    /// IP version.
    pub family: Family,
    /// Where.
    pub region: Text,
    /// The machine that the address is reserved on: clouds without marks are asked for it
    /// there, and it is recognised by that.
    pub target: Option<MachineId>,
    /// Addresses that the account had when this was written: whatever comes of this intent,
    /// it is none of them.
    pub strangers: Vec<IpAddr>,
    /// Addresses that it had as well, but that another reservation may have made: of two
    /// that are alike, each may turn out to be the other's.
    pub unsettled: Vec<IpAddr>,
}

/// The user's word on a reservation whose outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It made this address.
    Adopt(IpAddr),
    /// It made none.
    Nothing,
}

/// What a status remembers of an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    /// It is, or was, the pool's own: one that is not listed any more is let go of in order.
    pub had: bool,
    /// The pool has it: it is, or was last seen, on one of its nodes.
    pub held: bool,
    /// The machine that it was last seen on, with no call of ours about it under way.
    pub machine: Option<MachineId>,
    /// Its node stopped being eligible then.
    pub ineligible_since: Option<Time>,
    /// It was last assigned then.
    pub assigned_at: Option<Time>,
    /// Somebody else moved it.
    pub drift: Option<Drift>,
}

/// Somebody else took an address from the node that it served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// How often, with no long quiet in between.
    pub times: u32,
    /// When that was last found.
    pub at: Time,
    /// The machine that it was on, while it does not serve again.
    pub from: Option<MachineId>,
}
