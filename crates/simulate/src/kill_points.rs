//! Crashes at every point of every external call, each in a separate run: before the send, after
//! the effect, after the answer. The end state must equal a run without crashes.

use crate::allocations::{AllocationSetting, Workload};
use crate::clusters::{
    ClusterEvent, ClusterSetting, ManagementSetting, Propagation, Roles, VipPoolSetting,
};
use crate::names::{Addresses, Host, ListingSetting, NameSetting};
use crate::play::{Kill, Manner, Played, play};
use crate::process::Effect;
use crate::schedule::{
    Clock, Event, Millis, NodeEvent, Phase, PoolEvent, PoolSetting, ProcessEvent, Schedule,
    Setting, What,
};
use crate::vendor::Vendor;

/// The course of events around a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Two addresses are reserved for a pool.
    Create,
    /// A single address is reserved for a pool.
    CreateOne,
    /// An IPv6 address is reserved for a pool.
    CreateSix,
    /// A node fails, and its address moves.
    Move,
    /// Two pools exchange nodes.
    Swap,
    /// A pool is deleted.
    Delete,
    /// A pool with release is deleted and recreated.
    GiveBack,
    /// The leader dies together with a node; the follower is the process that crashes.
    Takeover,
    /// Two names are filled. A node fails and recovers, and its address leaves both names and
    /// returns.
    Names,
    /// A node fails, and its address moves in two steps, at Google Cloud.
    MoveAtGoogle,
    /// A node fails, and its address moves in two steps, each an operation, as at Azure.
    MoveLikeAzure,
    /// Two addresses are reserved for a pool on one machine that carries many, as at Hetzner.
    CreateLikeHetzner,
    /// A node fails, its address moves to another one, and the pods of the workload are evicted.
    Evict,
    /// A Cluster gets its VIPs, is deleted in the foreground, and is created again.
    Vips,
}

/// The start of a scenario, after everything has settled.
const BEGINS: Millis = 45_000;

/// A Cluster is deleted in the foreground, and created again.
const REPLACED: ClusterEvent = ClusterEvent::Replaced(Propagation::Foreground);

/// The end of a scenario without events.
const ENDS_WITHOUT_EVENTS: Millis = 3_000;

/// The end of a scenario's temporary changes, late enough for recovery even from crashes.
const OVER: Millis = 110_000;

impl Scenario {
    /// All scenarios.
    pub const ALL: [Self; 14] = [
        Self::Create,
        Self::CreateOne,
        Self::CreateSix,
        Self::Move,
        Self::Swap,
        Self::Delete,
        Self::GiveBack,
        Self::Takeover,
        Self::Names,
        Self::MoveAtGoogle,
        Self::MoveLikeAzure,
        Self::CreateLikeHetzner,
        Self::Evict,
        Self::Vips,
    ];

    /// The process to crash.
    pub fn victim(self) -> &'static str {
        if self == Self::Takeover { "b1" } else { "a1" }
    }

    fn vendor(self) -> Vendor {
        match self {
            Self::MoveAtGoogle | Self::Evict => Vendor::Google,
            Self::MoveLikeAzure => Vendor::Azure,
            Self::CreateLikeHetzner => Vendor::Hetzner,
            _ => Vendor::default(),
        }
    }

    /// The schedule, without crashes.
    pub fn schedule(self) -> Schedule {
        let pool =
            |listed, wanted, app| PoolSetting { listed, wanted, app, ..PoolSetting::default() };
        let (nodes, pools, events) = match self {
            Self::Create => (2, vec![pool(0, Some(2), None)], vec![]),
            Self::CreateLikeHetzner => (1, vec![pool(0, Some(2), None)], vec![]),
            Self::CreateOne => (1, vec![pool(0, Some(1), None)], vec![]),
            Self::CreateSix => {
                (2, vec![PoolSetting { six: true, ..pool(1, Some(2), None) }], vec![])
            }
            Self::Vips => (1, vec![], vec![lasting(What::Cluster(0, REPLACED))]),
            Self::Evict => (3, vec![], vec![lasting(What::Node(0, NodeEvent::NotReady))]),
            Self::Move | Self::MoveAtGoogle | Self::MoveLikeAzure => {
                (2, vec![pool(1, None, None)], vec![lasting(What::Node(0, NodeEvent::NotReady))])
            }
            Self::Swap => (2, vec![pool(1, None, Some(0)), pool(1, None, Some(1))], swap()),
            Self::Delete => {
                (2, vec![pool(1, Some(2), None)], vec![lasting(What::Pool(0, PoolEvent::Deleted))])
            }
            Self::GiveBack => {
                let pool = PoolSetting { releases: true, ..pool(1, Some(2), None) };
                (2, vec![pool], vec![lasting(What::Pool(0, PoolEvent::Deleted))])
            }
            Self::Names => {
                let pool =
                    PoolSetting { name: Some(name(Host::DigitalOcean)), ..pool(2, None, None) };
                (2, vec![pool], vec![lasting(What::Node(0, NodeEvent::NotReady))])
            }
            Self::Takeover => {
                let dies = What::Process(0, ProcessEvent::Killed);
                (
                    2,
                    vec![pool(1, Some(1), None)],
                    vec![lasting(dies), lasting(What::Node(0, NodeEvent::NotReady))],
                )
            }
        };
        Schedule {
            seed: 7,
            setting: Setting {
                vendor: self.vendor(),
                replicas: if self == Self::Takeover { 2 } else { 1 },
                nodes,
                pools,
                latency: 40,
                action_time: 2_000,
                crowded: false,
                project: false,
                allocations: if self == Self::Evict { vec![allocation()] } else { vec![] },
                management: (self == Self::Vips).then(management),
                listings: if self == Self::Names { vec![listing()] } else { vec![] },
                clocks: [Clock::default(); 2],
                observes: Default::default(),
            },
            ends: if events.is_empty() { ENDS_WITHOUT_EVENTS } else { OVER },
            lasting: vec![],
            events,
        }
    }

    /// A run without crashes.
    ///
    /// # Errors
    /// A description, if the run fails or violates an invariant.
    pub fn clean(self) -> Result<Played, String> {
        self.play(vec![])
    }

    /// A run with these crashes.
    ///
    /// # Errors
    /// A description, if the run fails or violates an invariant.
    pub fn play(self, kills: Vec<Kill>) -> Result<Played, String> {
        let what = format!("{self:?} {kills:?}");
        let played = play(
            &self.schedule(),
            &Manner { ends: true, hurries: true, kills, ..Manner::default() },
        )?;
        match &played.violation {
            Some(violation) => Err(format!("{what}: {violation:?}")),
            None => Ok(played),
        }
    }

    /// Every point of death for a process with these calls. Reads in a row have a single point, and
    /// renewals of a Lease in a row those of the first: the process has changed nothing in between, and
    /// forgets the answers.
    pub fn points(process: &str, calls: &[Effect]) -> Vec<Kill> {
        let mut since_the_change = Vec::new();
        let mut points = Vec::new();
        for (call, effect) in (1..).zip(calls) {
            let phases = match effect {
                Effect::Change => &Phase::ALL[..],
                Effect::Renewal if !since_the_change.contains(effect) => &Phase::ALL[..],
                Effect::Read if since_the_change.is_empty() => &[Phase::BeforeSend],
                Effect::Renewal | Effect::Read => &[],
            };
            let point = |phase: &Phase| Kill { process: process.to_owned(), call, phase: *phase };
            points.extend(phases.iter().map(point));
            if *effect == Effect::Change {
                since_the_change.clear();
            } else {
                since_the_change.push(*effect);
            }
        }
        points
    }
}

/// The name requested by an object.
fn name(host: Host) -> NameSetting {
    NameSetting { host, ..NameSetting::default() }
}

/// An allocation whose Deployment has a pod on every node.
fn allocation() -> AllocationSetting {
    AllocationSetting {
        listed: 1,
        workload: Some(Workload::Deployment),
        grace: Some(5),
        ..AllocationSetting::default()
    }
}

/// A Cluster, and VIP pools for its endpoint and its ingress.
fn management() -> ManagementSetting {
    let pool = |roles| VipPoolSetting { local: false, size: 2, roles, class: None };
    ManagementSetting {
        pools: vec![pool(Roles::ControlPlane), pool(Roles::Ingress)],
        clusters: vec![ClusterSetting::default()],
        variables: [true, true],
        holds: true,
        lag: 200,
        pace: 300,
        machines: 3_000,
    }
}

/// A NodeDNSRecordSet of all nodes.
fn listing() -> ListingSetting {
    let (name, addresses) = (name(Host::Cloudflare), Addresses::External);
    ListingSetting { name, addresses, app: None }
}

fn lasting(what: What) -> Event {
    Event { at: BEGINS, lasts: OVER - BEGINS, what }
}

/// At first each app runs on only one node; then the apps change places.
fn swap() -> Vec<Event> {
    let fails = |node, app, at, lasts| Event {
        at,
        lasts,
        what: What::Node(node, NodeEvent::PodFails(app)),
    };
    let (first, second) = (BEGINS, OVER - BEGINS);
    vec![
        fails(0, 1, 0, first),
        fails(1, 0, 0, first),
        fails(0, 0, first, second),
        fails(1, 1, first, second),
    ]
}
