//! What happens in one run, as data: the setting, and every event with its time.
//!
//! A schedule comes from a seed ([`crate::generate()`]) or from a file. It is all that a run
//! depends on: the same schedule on the same code gives the same run.

use serde::{Deserialize, Serialize};

use crate::faults::{ApiFault, CloudFault};
use crate::names::{Host, ListingSetting, NameEvent, NameSetting, ZoneEvent};
use crate::wire::{ApiAction, CloudAction};

/// Milliseconds, since the start of the run or as a length of time.
pub type Millis = u64;

/// Everything that happens in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// What the run's own dice are seeded with.
    pub seed: u64,
    /// What there is at the start.
    pub setting: Setting,
    /// What happens, in the order of time.
    pub events: Vec<Event>,
    /// When the trouble is over: whatever lasts ends, whoever is dead is started.
    pub ends: Millis,
    /// What lasts beyond that, and what happens meanwhile. It is over once everything that it
    /// does not touch has had its time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lasting: Vec<Event>,
}

/// What there is at the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Replicas of the operator: one or two.
    #[serde(default = "both")]
    pub replicas: u8,
    /// Nodes, each with a machine and a ready pod of each app.
    pub nodes: u8,
    /// Pools.
    pub pools: Vec<PoolSetting>,
    /// How long a request to the cloud takes, half of it before its effect.
    pub latency: Millis,
    /// How long the cloud works on an assignment.
    pub action_time: Millis,
    /// Whether the account has so many other addresses that a listing has two pages.
    pub crowded: bool,
    /// Whether addresses that are reserved by region go into a project of their own.
    pub project: bool,
    /// NodeDNSRecordSets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listings: Vec<ListingSetting>,
    /// The clock of each replica's machine.
    pub clocks: [Clock; 2],
    /// Whether each replica only observes.
    #[serde(default)]
    pub observes: [Observes; 2],
}

fn both() -> u8 {
    2
}

/// One pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolSetting {
    /// Addresses that exist and are listed.
    pub listed: u8,
    /// `desiredIPs`; none: not set.
    pub wanted: Option<u8>,
    /// The app that must be ready on a node; none: a label of the node decides.
    pub app: Option<u8>,
    /// `assignmentCoolOffSeconds`.
    pub cool_off: u8,
    /// Whether it also lists the first address of the first pool.
    pub covets: bool,
    /// Whether what it lists is IPv6, and so what is reserved for it.
    #[serde(default)]
    pub six: bool,
    /// `gracePeriodSeconds`.
    #[serde(default)]
    pub grace: u8,
    /// `deletionPolicy: Release`.
    #[serde(default)]
    pub releases: bool,
    /// Whether it lists one address of the other family, too.
    #[serde(default, skip_serializing_if = "is_not")]
    pub mixed: bool,
    /// Which nodes it asks for beyond the app or the label; see [`Wish`].
    #[serde(default, skip_serializing_if = "Wish::is_plain")]
    pub wish: Wish,
    /// The name that lists its addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<NameSetting>,
}

/// Which nodes a pool asks for, beyond what its app says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// Those with the label `role=edge`, or those that run its app.
    #[default]
    Plain,
    /// The same nodes, and also those with a taint that the pool tolerates.
    Tolerant,
    /// Every other node, by a selector that names a set.
    Even,
    /// The other half, by a selector that excludes a set.
    Odd,
}

impl Wish {
    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
    fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

impl Setting {
    /// Whether anybody asks for a name.
    pub fn has_names(&self) -> bool {
        !self.listings.is_empty() || self.pools.iter().any(|pool| pool.name.is_some())
    }
}

/// Whether a replica only observes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observes {
    /// It acts.
    #[default]
    Never,
    /// Its first process does: whoever is started later acts.
    AtFirst,
    /// Each of its processes does.
    Always,
}

/// The clock of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// How much too fast it runs, in thousandths.
    pub fast: i8,
    /// How many seconds its wall clock is ahead.
    pub ahead: i32,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it begins.
    pub at: Millis,
    /// How long it lasts, for what lasts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lasts: Millis,
    /// What happens.
    pub what: What,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
fn is_not(this: &bool) -> bool {
    !this
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
fn is_zero(time: &Millis) -> bool {
    *time == 0
}

/// Which replica.
pub type ReplicaIndex = u8;

/// What can happen. Nodes, pools and addresses are numbers, taken modulo how many there are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Something happens to a node, or to what runs on it.
    Node(u8, NodeEvent),
    /// The user does something to a pool.
    Pool(u8, PoolEvent),
    /// Somebody does something at the cloud, by hand.
    Hand(HandEvent),
    /// The user does something to the name that an object asks for: pools first, then
    /// NodeDNSRecordSets.
    Name(u8, NameEvent),
    /// Somebody does something to a zone, by hand.
    Zone(ZoneEvent),
    /// While it lasts, some requests to the cloud go wrong.
    Cloud {
        /// How.
        fault: CloudFault,
        /// Which requests; none: all that it can happen to.
        on: Option<CloudAction>,
        /// How many of a hundred.
        percent: u8,
        /// Seeds which of them.
        dice: u64,
    },
    /// While it lasts, the cloud is in a state.
    CloudIs(CloudState),
    /// While it lasts, the cloud refuses every call that is about one thing.
    Refuses(Sticking),
    /// While it lasts, some requests to the API server go wrong.
    Api {
        /// How.
        fault: ApiFault,
        /// Which requests; none: all that it can happen to.
        on: Option<ApiAction>,
        /// Whose requests; none: everybody's.
        replica: Option<ReplicaIndex>,
        /// How many of a hundred.
        percent: u8,
        /// Seeds which of them.
        dice: u64,
    },
    /// While it lasts, a replica sees the API server as it was at the beginning.
    Stale(ReplicaIndex),
    /// The API server forgets its history and cuts every watch: 410 for whoever goes on.
    Compacted,
    /// Every watch is cut.
    WatchesCut,
    /// Something happens to a replica's process.
    Process(ReplicaIndex, ProcessEvent),
    /// While it lasts, FLIPOP runs: it stands for its Lease, and renews it once it has it.
    Flipop {
        /// It gives the Lease back at the end; else that has to expire.
        gives_back: bool,
    },
}

/// What can happen to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEvent {
    /// While it lasts, it is not ready.
    NotReady,
    /// While it lasts, it is cordoned.
    Cordoned,
    /// While it lasts, it has a taint that some pools tolerate.
    Tainted,
    /// While it lasts, it lacks the label that some pools ask for.
    Unlabelled,
    /// While it lasts, the pod of an app is not ready.
    PodFails(u8),
    /// The pod of an app is replaced by another.
    PodReplaced(u8),
    /// While it lasts, the node is gone; it comes back with another machine.
    Gone,
    /// While it lasts, the machine is gone, and the node is not ready; it comes back with
    /// another machine under the same name.
    MachineGone,
    /// The node and its machine are gone for good.
    Removed,
}

/// What a user can do to a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolEvent {
    /// Sets `desiredIPs`.
    Wants(u8),
    /// While it lasts, its last listed address is not listed.
    Unlisted,
    /// Deletes it, and makes it anew when that is over.
    Deleted,
    /// A GitOps tool applies the first manifest again.
    Reverted,
    /// A GitOps tool replaces the object by its first manifest: our annotations go.
    Replaced,
    /// While it lasts, it is paused.
    Paused,
    /// Sets `gracePeriodSeconds`.
    Grace(u8),
    /// Sets `deletionPolicy` to `Release`, or else to `Retain`.
    Releases(bool),
    /// While it lasts, its spec cannot be understood.
    Mistyped(Typo),
    /// While it lasts, its annotation cannot be read.
    LedgerSpoiled,
    /// While it lasts, it asks for other nodes.
    Rematched(Wish),
    /// While it lasts, it also lists an address that another pool has.
    Adopts(u8),
}

/// What is wrong with a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Typo {
    /// A selector of nodes that is none.
    Nodes,
    /// A selector of pods that is none.
    Pods,
}

/// The one thing that a lasting refusal sticks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sticking {
    /// An address that a pool has: it is put on no machine (422).
    Address(u8),
    /// A node's machine: nothing is put there (422).
    Machine(u8),
    /// Reserving addresses: the token lacks that scope (403).
    Reserving,
    /// Giving addresses back: the token lacks that scope (403).
    GivingBack,
    /// Changing names at a host: the token lacks that scope (403).
    Names(Host),
}

/// What somebody can do at the cloud by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandEvent {
    /// Moves an address to a node's machine.
    Moves(u8, u8),
    /// Moves the last address of a pool's manifest to a node's machine, whoever lists it now.
    MovesLast(u8, u8),
    /// Takes an address off its machine.
    Frees(u8),
    /// Gives an address back.
    Deletes(u8),
    /// Reserves an address of their own, on a node's machine or on none.
    Reserves(Option<u8>),
    /// Reserves an IPv6 address of their own, on no machine.
    ReservesSix,
    /// Does something else with an address, that takes a while.
    Busies(u8),
    /// Does something with a node's machine, that takes a while.
    BusiesMachine(u8),
}

/// A state that a cloud can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudState {
    /// Reads show what was so many milliseconds ago.
    Lagging(Millis),
    /// Every request is one too many.
    Throttled,
    /// No token is good.
    TokenExpired,
    /// The account has as many addresses as it may have.
    Full,
    /// The token may not see machines.
    Blind,
}

/// What can happen to a replica's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEvent {
    /// It is killed, and started again when that is over.
    Killed,
    /// It is killed at the so many-th call to the outside from now on.
    KilledAt(u8, Phase),
    /// It is killed at its next call of this kind.
    KilledOn(Called, Phase),
    /// It is told to stop, and started again when that is over.
    Stopped,
    /// It does not run while that lasts.
    Paused,
    /// It does not run from when it has sent its next call of this kind until that is over.
    PausedOn(Called),
    /// It does not run from when a task of its has run so often until that is over.
    PausedAtRun(u16),
    /// Nothing passes between it and the API server while that lasts.
    CutOffApi,
    /// Nothing passes between it and the cloud while that lasts.
    CutOffCloud,
    /// Nothing passes between it and the world while that lasts.
    CutOff,
}

/// A call to the outside, by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Called {
    /// To the cloud.
    Cloud(CloudAction),
    /// To the API server.
    Api(ApiAction),
}

impl Called {
    /// In words, for a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cloud(action) => action.name(),
            Self::Api(action) => action.name(),
        }
    }
}

/// A moment of a call to the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before it is sent.
    BeforeSend,
    /// When it has had its effect and is not answered.
    AfterEffect,
    /// When it is answered.
    AfterAnswer,
}

impl Phase {
    /// All of them, in the order of time.
    pub const ALL: [Self; 3] = [Self::BeforeSend, Self::AfterEffect, Self::AfterAnswer];

    /// In words, for a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeSend => "killed before the send",
            Self::AfterEffect => "killed after the effect",
            Self::AfterAnswer => "killed after the answer",
        }
    }
}
