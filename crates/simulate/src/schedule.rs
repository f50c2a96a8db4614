//! A run as data: the setting, and every event with its time.
//!
//! A schedule comes from a seed ([`crate::generate()`]) or from a file, and determines a run: the
//! same schedule on the same code gives the same run.

use serde::{Deserialize, Serialize};

use crate::allocations::{AllocationEvent, AllocationSetting, Workload};
use crate::clusters::{ClusterEvent, ManagementSetting, VipPoolEvent};
use crate::faults::{ApiFault, CloudFault};
use crate::names::{Host, ListingSetting, NameEvent, NameSetting, ZoneEvent};
use crate::vendor::Vendor;
use crate::wire::{ApiAction, CloudAction};

/// Milliseconds, since the start of the run or as a length of time.
pub type Millis = u64;

/// All events of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// The seed of the run's random numbers.
    pub seed: u64,
    /// The initial state.
    pub setting: Setting,
    /// The events in order of time.
    pub events: Vec<Event>,
    /// The end of trouble: events end, and dead processes are started.
    pub ends: Millis,
    /// Faults that outlast the others, and events meanwhile. These faults end once everything not
    /// touched by them has reached its final state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lasting: Vec<Event>,
}

/// The initial state of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The provider of machines and addresses.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub vendor: Vendor,
    /// The number of replicas: one or two.
    #[serde(default = "both")]
    pub replicas: u8,
    /// The number of nodes, each with a machine and a ready pod of each app.
    pub nodes: u8,
    /// Pools.
    pub pools: Vec<PoolSetting>,
    /// The duration of a request to the provider, half of it before the effect.
    pub latency: Millis,
    /// The duration of an assignment's operation.
    pub action_time: Millis,
    /// Whether the account has enough strangers for a listing of two pages.
    pub crowded: bool,
    /// Whether addresses reserved by region go into a dedicated project.
    pub project: bool,
    /// NodeDNSRecordSets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listings: Vec<ListingSetting>,
    /// NetIPAllocations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<AllocationSetting>,
    /// The management cluster, if the cluster is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub management: Option<ManagementSetting>,
    /// The clock of each replica's machine.
    pub clocks: [Clock; 2],
    /// Whether each replica observes.
    #[serde(default)]
    pub observes: [Observes; 2],
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde requires this signature
fn is_usual(vendor: &Vendor) -> bool {
    *vendor == Vendor::default()
}

fn both() -> u8 {
    2
}

/// The initial state of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolSetting {
    /// The number of listed addresses, existing from the start.
    pub listed: u8,
    /// `desiredIPs`, if set.
    pub wanted: Option<u8>,
    /// The app required on a node. `None`: a node label decides.
    pub app: Option<u8>,
    /// `assignmentCoolOffSeconds`.
    pub cool_off: u8,
    /// Whether the pool also lists the first address of the first pool.
    pub covets: bool,
    /// Whether the pool lists IPv6 addresses, and so reserves IPv6 addresses.
    #[serde(default)]
    pub six: bool,
    /// `gracePeriodSeconds`.
    #[serde(default)]
    pub grace: u8,
    /// `deletionPolicy: Release`.
    #[serde(default)]
    pub releases: bool,
    /// Whether the pool also lists an address of the other family.
    #[serde(default, skip_serializing_if = "is_not")]
    pub mixed: bool,
    /// Further conditions on nodes.
    #[serde(default, skip_serializing_if = "Wish::is_plain")]
    pub wish: Wish,
    /// The DNS name of the pool's addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<NameSetting>,
}

/// A pool's conditions on nodes, besides the app.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// Nodes with the label `role=edge`, or nodes running the app.
    #[default]
    Plain,
    /// The same, including nodes with a tolerated taint.
    Tolerant,
    /// Nodes with an even number, by an `in` selector.
    Even,
    /// Nodes with an odd number, by a `notin` selector.
    Odd,
}

impl Wish {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde requires this signature
    fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

impl Setting {
    /// Whether any object requests a name.
    pub fn has_names(&self) -> bool {
        !self.listings.is_empty() || self.pools.iter().any(|pool| pool.name.is_some())
    }
}

/// Whether a replica observes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observes {
    /// The replica always acts.
    #[default]
    Never,
    /// The first process observes, and later ones act.
    AtFirst,
    /// Every process observes.
    Always,
}

/// The clock of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// The excess rate, in thousandths.
    pub fast: i8,
    /// The offset of the wall clock, in seconds.
    pub ahead: i32,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The beginning.
    pub at: Millis,
    /// The duration, for lasting events.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lasts: Millis,
    /// The kind of event.
    pub what: What,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde requires this signature
fn is_not(this: &bool) -> bool {
    !this
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde requires this signature
fn is_zero(time: &Millis) -> bool {
    *time == 0
}

/// The index of a replica.
pub type ReplicaIndex = u8;

/// A kind of event. Numbers of nodes, pools and addresses are taken modulo their count. Most events
/// last: their effect holds until the end of the event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An event of a node or its pods.
    Node(u8, NodeEvent),
    /// A user's change to a pool.
    Pool(u8, PoolEvent),
    /// A change by hand at the provider.
    Hand(HandEvent),
    /// A user's change to an object's name. Objects are numbered pools first, then
    /// NodeDNSRecordSets.
    Name(u8, NameEvent),
    /// A change by hand to a zone.
    Zone(ZoneEvent),
    /// A user's change to an allocation.
    Allocation(u8, AllocationEvent),
    /// A node is cordoned, loses its pods one after the other, and is uncordoned at the end.
    Drained(u8),
    /// A workload's disruption budget allows no eviction.
    Budget(Workload),
    /// A change to a Cluster.
    Cluster(u8, ClusterEvent),
    /// A change to a VIP pool.
    VipPool(u8, VipPoolEvent),
    /// A class loses or gains its variables for VIPs.
    Class(u8),
    /// The controllers of the management cluster are down.
    ControllersDown,
    /// Some requests to the provider fail.
    Cloud {
        /// The kind of failure.
        fault: CloudFault,
        /// The affected requests. `None`: all requests the fault applies to.
        on: Option<CloudAction>,
        /// The percentage of affected requests.
        percent: u8,
        /// The seed for choosing affected requests.
        dice: u64,
    },
    /// The provider is in a state.
    CloudIs(CloudState),
    /// The provider refuses every call about a target.
    Refuses(Sticking),
    /// Some requests to the API server fail.
    Api {
        /// The kind of failure.
        fault: ApiFault,
        /// The affected requests. `None`: all requests the fault applies to.
        on: Option<ApiAction>,
        /// The affected replica. `None`: both.
        replica: Option<ReplicaIndex>,
        /// The percentage of affected requests.
        percent: u8,
        /// The seed for choosing affected requests.
        dice: u64,
    },
    /// A replica sees the API server's state from the beginning of the event.
    Stale(ReplicaIndex),
    /// The API server compacts its history and cuts every watch: resuming gives 410.
    Compacted,
    /// Every watch is cut.
    WatchesCut,
    /// An event of a replica's process.
    Process(ReplicaIndex, ProcessEvent),
    /// FLIPOP runs: a candidate for its Lease, renewing the Lease once held.
    Flipop {
        /// FLIPOP releases the Lease at the end. Otherwise the Lease must expire.
        gives_back: bool,
    },
    /// ip-address-controller runs, in the same manner.
    Controller {
        /// The controller releases the Lease at the end.
        gives_back: bool,
    },
}

/// An event of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEvent {
    /// The node is not ready.
    NotReady,
    /// The node is cordoned.
    Cordoned,
    /// The node has a taint tolerated by some pools.
    Tainted,
    /// The node lacks the label requested by some pools.
    Unlabelled,
    /// An app's pod is not ready.
    PodFails(u8),
    /// An app's pod is replaced.
    PodReplaced(u8),
    /// The node is gone, and returns with another machine.
    Gone,
    /// The machine is gone and the node not ready. The node returns under the same name with
    /// another machine.
    MachineGone,
    /// The node and its machine are gone for good.
    Removed,
    /// Another node, not ready, says that it runs on the same machine.
    Twin,
    /// The node is not ready, and another one runs on the same machine: it registered by another
    /// name.
    Renamed,
    /// The node joins with another machine, and does not say with which for a while.
    Nameless,
}

/// A user's change to a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolEvent {
    /// Sets `desiredIPs`.
    Wants(u8),
    /// The last listed address is delisted.
    Unlisted,
    /// The pool is deleted, and recreated at the end.
    Deleted,
    /// A GitOps tool applies the manifest again.
    Reverted,
    /// A GitOps tool replaces the object with the manifest, removing our annotations.
    Replaced,
    /// The pool is paused.
    Paused,
    /// Sets `gracePeriodSeconds`.
    Grace(u8),
    /// Sets `deletionPolicy` to `Release`, or else to `Retain`.
    Releases(bool),
    /// The spec is unreadable.
    Mistyped(Typo),
    /// The ledger is unreadable.
    LedgerSpoiled,
    /// The pool requests other nodes.
    Rematched(Wish),
    /// The pool also lists an address of another pool.
    Adopts(u8),
}

/// The defect of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Typo {
    /// An invalid node selector.
    Nodes,
    /// An invalid pod selector.
    Pods,
}

/// The target of a lasting refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sticking {
    /// Assignments of a pool's address (422).
    Address(u8),
    /// Assignments to a node's machine (422).
    Machine(u8),
    /// Reservations: the token lacks the scope (403).
    Reserving,
    /// Releases: the token lacks the scope (403).
    GivingBack,
    /// Record changes at a host: the token lacks the scope (403).
    Names(Host),
}

/// A change by hand at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandEvent {
    /// Moves an address to a node's machine.
    Moves(u8, u8),
    /// Moves the last address of a pool's manifest to a node's machine, listed or not.
    MovesLast(u8, u8),
    /// Unassigns an address.
    Frees(u8),
    /// Releases an address.
    Deletes(u8),
    /// Reserves a stranger, on a node's machine or on none.
    Reserves(Option<u8>),
    /// Reserves an IPv6 stranger, on no machine.
    ReservesSix,
    /// Starts another, slow operation on an address.
    Busies(u8),
    /// Starts a slow operation on a node's machine.
    BusiesMachine(u8),
}

/// A state of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloudState {
    /// Reads show a past state, so many milliseconds old.
    Lagging(Millis),
    /// Every request exceeds the rate limit.
    Throttled,
    /// The token is invalid.
    TokenExpired,
    /// The account is at its limit of addresses.
    Full,
    /// The token may not read machines.
    Blind,
}

/// An event of a replica's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEvent {
    /// The process is killed, and a new one started at the end.
    Killed,
    /// The process is killed at this external call, counted from now.
    KilledAt(u8, Phase),
    /// The process is killed at its next call of this kind.
    KilledOn(Called, Phase),
    /// The process is asked to stop, and a new one started at the end.
    Stopped,
    /// The process is paused.
    Paused,
    /// The process is paused after the send of its next call of this kind.
    PausedOn(Called),
    /// The process is paused after so many polls of its tasks.
    PausedAtRun(u16),
    /// The process is cut off from the API server.
    CutOffApi,
    /// The process is cut off from the provider.
    CutOffCloud,
    /// The process is cut off from both.
    CutOff,
}

/// A kind of external call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Called {
    /// A call to the provider.
    Cloud(CloudAction),
    /// A call to the API server.
    Api(ApiAction),
}

impl Called {
    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cloud(action) => action.name(),
            Self::Api(action) => action.name(),
        }
    }
}

/// A phase of an external call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the send.
    BeforeSend,
    /// After the effect, before the answer.
    AfterEffect,
    /// After the answer.
    AfterAnswer,
}

impl Phase {
    /// All phases in order.
    pub const ALL: [Self; 3] = [Self::BeforeSend, Self::AfterEffect, Self::AfterAnswer];

    /// The name in the coverage table.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeSend => "killed before the send",
            Self::AfterEffect => "killed after the effect",
            Self::AfterAnswer => "killed after the answer",
        }
    }
}
