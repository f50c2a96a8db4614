//! Crashes at every moment of every call to the outside, one by one: before it is sent, when
//! it has had its effect, when it is answered. Afterwards everything is as if nothing had
//! happened.

use crate::names::{Addresses, Host, ListingSetting, NameSetting};
use crate::play::{Kill, Manner, Played, play};
use crate::schedule::{
    Clock, Event, Millis, NodeEvent, Phase, PoolEvent, PoolSetting, ProcessEvent, Schedule,
    Setting, What,
};

/// What happens while somebody crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Two addresses are reserved for a pool.
    Create,
    /// One address is reserved for a pool.
    CreateOne,
    /// An IPv6 address is reserved for a pool.
    CreateSix,
    /// A node fails, and its address moves.
    Move,
    /// Two pools change nodes with each other.
    Swap,
    /// A pool is deleted.
    Delete,
    /// A pool is deleted that gives back what was reserved for it, and made again.
    GiveBack,
    /// The leader dies together with a node; it is the follower that crashes.
    Takeover,
    /// Two names are filled; a node fails and comes back, and so does its address in both.
    Names,
}

/// When a scenario begins: everybody has found everything in place by then.
const BEGINS: Millis = 45_000;

/// When a scenario without events is over.
const SOON: Millis = 3_000;

/// When whatever a scenario changes for a while is over: everybody has come to terms with it
/// by then, crashes included.
const OVER: Millis = 110_000;

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Create,
        Self::CreateOne,
        Self::CreateSix,
        Self::Move,
        Self::Swap,
        Self::Delete,
        Self::GiveBack,
        Self::Takeover,
        Self::Names,
    ];

    /// The process that crashes.
    pub fn victim(self) -> &'static str {
        if self == Self::Takeover { "b1" } else { "a1" }
    }

    /// What happens, without crashes.
    pub fn schedule(self) -> Schedule {
        let pool =
            |listed, wanted, app| PoolSetting { listed, wanted, app, ..PoolSetting::default() };
        let (nodes, pools, events) = match self {
            Self::Create => (2, vec![pool(0, Some(2), None)], vec![]),
            Self::CreateOne => (1, vec![pool(0, Some(1), None)], vec![]),
            Self::CreateSix => {
                (2, vec![PoolSetting { six: true, ..pool(1, Some(2), None) }], vec![])
            }
            Self::Move => {
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
                replicas: if self == Self::Takeover { 2 } else { 1 },
                nodes,
                pools,
                latency: 40,
                action_time: 2_000,
                crowded: false,
                project: false,
                listings: if self == Self::Names { vec![listing()] } else { vec![] },
                clocks: [Clock::default(); 2],
                observes: Default::default(),
            },
            ends: if events.is_empty() { SOON } else { OVER },
            lasting: vec![],
            events,
        }
    }

    /// The run in which nobody crashes.
    ///
    /// # Errors
    /// In words, if it cannot be played or breaks a promise.
    pub fn clean(self) -> Result<Played, String> {
        self.play(vec![])
    }

    /// A run with these crashes.
    ///
    /// # Errors
    /// In words, if it cannot be played or breaks a promise.
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

    /// Every moment at which a process that made so many calls can die.
    pub fn points(process: &str, calls: u64) -> Vec<Kill> {
        let point = |call, phase| Kill { process: process.to_owned(), call, phase };
        (1..=calls).flat_map(|call| Phase::ALL.map(|phase| point(call, phase))).collect()
    }
}

/// The name that an object asks for.
fn name(host: Host) -> NameSetting {
    NameSetting { host, ..NameSetting::default() }
}

/// A name that lists the nodes.
fn listing() -> ListingSetting {
    let (name, addresses) = (name(Host::Cloudflare), Addresses::External);
    ListingSetting { name, addresses, app: None }
}

fn lasting(what: What) -> Event {
    Event { at: BEGINS, lasts: OVER - BEGINS, what }
}

/// At first each app runs on one node only; then they change places.
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
