//! Schedules about a single pair of fault and action.
//!
//! Chance alone rarely brings together a rare fault and a rare call. Every other seed is about a
//! single pair: the schedule provokes the action, and applies the fault to the call.

use fastrand::Rng;

use crate::allocations::{AllocationSetting, Workload};
use crate::clusters::{
    ClusterEvent, ClusterSetting, ManagementSetting, Propagation, Roles, VipPoolSetting,
};
use crate::coverage::{CUT_OFF, PAUSED, Pair};
use crate::faults::{ApiFault, CloudFault};
use crate::names::{Addresses, Host, ListingSetting, NameEvent, NameSetting};
use crate::schedule::{
    Called, CloudState, Event, HandEvent, Millis, NodeEvent, Phase, PoolEvent, PoolSetting,
    ProcessEvent, Schedule, Setting, What,
};
use crate::vendor::{AT_GOOGLE, Vendor};
use crate::wire::{ApiAction, CloudAction};

/// A fault and the action to meet.
pub struct Theme {
    called: Called,
    trouble: Trouble,
}

#[derive(Clone, Copy)]
enum Trouble {
    /// A fault of the call.
    Cloud(CloudFault),
    /// A fault of the call.
    Api(ApiFault),
    /// A state of the provider during the call.
    State(CloudState),
    /// A cut link during the call.
    CutOff,
    /// The process is killed during the call.
    Killed(Phase),
    /// The process is paused during the call.
    Paused,
}

impl Theme {
    /// The names in the coverage table, at a vendor.
    fn pair(&self, vendor: Vendor) -> Pair {
        let called = match self.called {
            Called::Cloud(action) => vendor.called(action),
            Called::Api(action) => action.name(),
        };
        let trouble = match self.trouble {
            Trouble::Cloud(fault) => fault.name(),
            Trouble::Api(fault) => fault.name(),
            Trouble::State(state) => state.name(),
            Trouble::CutOff => CUT_OFF,
            Trouble::Killed(phase) => phase.name(),
            Trouble::Paused => PAUSED,
        };
        (trouble, called)
    }
}

/// The time of the provocation.
const PROVOKED: Millis = 20_000;

/// The duration of the trouble, from the start.
const TROUBLE: Millis = 75_000;

/// The start of a state, and the time until which calls are refused before meeting the state.
fn meeting(called: Called) -> (Millis, Millis) {
    match called {
        // Only the second listing shows the absence of an address, a minute after the last move.
        Called::Cloud(CloudAction::ReadAddress) => (80_000, 82_000),
        // The listings two and five seconds after a failure would meet an earlier state.
        Called::Cloud(CloudAction::Unassign | CloudAction::RestoreOwn) => (34_000, 34_500),
        // The addresses are listed five seconds after a failure, and would meet an earlier state.
        Called::Cloud(CloudAction::CreateOn) => (30_000, 30_500),
        // The records are read five seconds after a failure, and would meet an earlier state. From
        // the fifth failure on, the next change comes later than that.
        Called::Cloud(CloudAction::AddRecord) => (52_000, 52_500),
        Called::Cloud(CloudAction::EditRecord) => (60_500, 61_000),
        // IPv4 addresses are listed first, and would meet an earlier state.
        Called::Cloud(CloudAction::ListSix) => (300, 300),
        _ => (25_000, 30_000),
    }
}

/// The pair of the theme with this number, at a vendor.
pub fn pair(themes: &[Theme], number: u64, vendor: Vendor) -> Pair {
    numbered(themes, number).pair(vendor)
}

fn numbered(themes: &[Theme], number: u64) -> &Theme {
    let index = usize::try_from(number % themes.len() as u64).unwrap_or(0);
    &themes[index]
}

/// Turns a schedule into the theme with this number.
pub fn theme(schedule: &mut Schedule, themes: &[Theme], number: u64, dice: &mut Rng) {
    let theme = numbered(themes, number);
    set_up(theme.called, &mut schedule.setting, dice);
    schedule.ends = schedule.ends.max(TROUBLE + 60_000);
    // Other events come later.
    schedule.events.retain(|event| event.at > TROUBLE);
    schedule.events.extend(provocation(theme.called, dice));
    schedule.events.extend(trouble(theme, dice));
    schedule.events.sort_by_key(|event| event.at);
}

/// The themes with pools and DNS at DigitalOcean, DNS at Cloudflare, and VIPs.
pub fn themes() -> Vec<Theme> {
    let mut themes = at_cloud(CloudAction::ALL);
    themes.extend(at_api(ApiAction::all()));
    themes.extend(at_api(ApiAction::of_vips()));
    themes
}

/// The themes with pools at Google Cloud, and with allocations.
pub fn themes_at_google() -> Vec<Theme> {
    let mut themes = at_cloud(AT_GOOGLE);
    themes.extend(at_api(ApiAction::of_allocations()));
    themes
}

/// The themes about the calls of a vendor.
pub fn themes_of(vendor: Vendor) -> Vec<Theme> {
    at_cloud(vendor.calls().iter().copied())
}

fn at_api(actions: impl Iterator<Item = ApiAction>) -> impl Iterator<Item = Theme> {
    actions.flat_map(|action| {
        let faults = ApiFault::ALL.into_iter().filter(move |fault| fault.befalls(action));
        with_each(Called::Api(action), faults.map(Trouble::Api))
    })
}

fn at_cloud(actions: impl IntoIterator<Item = CloudAction>) -> Vec<Theme> {
    let mut themes = Vec::new();
    for action in actions {
        let faults = CloudFault::ALL.into_iter().filter(|fault| fault.befalls(action));
        let states = [
            CloudState::Lagging(1_500),
            CloudState::Throttled,
            CloudState::TokenExpired,
            CloudState::Full,
            CloudState::Blind,
        ];
        let states = states.into_iter().filter(|state| state.concerns(action));
        let troubles = faults.map(Trouble::Cloud).chain(states.map(Trouble::State));
        themes.extend(with_each(Called::Cloud(action), troubles));
    }
    themes
}

fn with_each(
    called: Called,
    troubles: impl Iterator<Item = Trouble>,
) -> impl Iterator<Item = Theme> {
    let process = Phase::ALL.into_iter().map(Trouble::Killed);
    let process = process.chain([Trouble::Paused, Trouble::CutOff]);
    troubles.chain(process).map(move |trouble| Theme { called, trouble })
}

/// A cluster that needs the action.
fn set_up(called: Called, setting: &mut Setting, dice: &mut Rng) {
    let pool = |listed, wanted| PoolSetting { listed, wanted, ..PoolSetting::default() };
    match called {
        Called::Cloud(action) if action.is_of_names() => {
            let host = match action {
                CloudAction::FindZone | CloudAction::ReadName | CloudAction::ChangeName => {
                    Host::Cloudflare
                }
                _ => Host::DigitalOcean,
            };
            alone(setting);
            setting.latency = setting.latency.min(40);
            setting.nodes = dice.u8(3..=5);
            let name = Some(NameSetting { host, in_full: dice.bool(), ..NameSetting::default() });
            setting.pools[0] = PoolSetting { name, ..pool(dice.u8(2..=3), None) };
        }
        Called::Api(ApiAction::WriteListing) => {
            alone(setting);
            let name = NameSetting { label: 3, ..NameSetting::default() };
            let addresses = Addresses::External;
            setting.listings = vec![ListingSetting { name, addresses, app: None }];
        }
        Called::Cloud(CloudAction::Unassign | CloudAction::RestoreOwn) => {
            setting.nodes = 3;
            setting.pools = vec![pool(3, None), pool(3, None)];
        }
        Called::Cloud(CloudAction::ListSix) => {
            (setting.latency, setting.crowded) = (400, false);
            setting.pools[0] = PoolSetting { six: true, ..pool(2, None) };
        }
        Called::Cloud(CloudAction::CreateSix) => {
            setting.pools[0] = PoolSetting { six: true, ..pool(1, Some(3)) };
        }
        Called::Cloud(CloudAction::Release) => {
            setting.nodes = 3;
            setting.action_time = setting.action_time.min(2_000);
            setting.pools[0] = PoolSetting { releases: true, ..pool(0, Some(dice.u8(1..=3))) };
        }
        Called::Cloud(CloudAction::CreateIn) => {
            setting.nodes = 2;
            setting.pools[0] = pool(0, Some(4));
        }
        Called::Cloud(CloudAction::CreateOn) | Called::Api(ApiAction::WriteLedger) => {
            setting.nodes = dice.u8(3..=5);
            setting.pools[0] = pool(0, Some(3));
        }
        // The time of the second listing must be predictable.
        Called::Cloud(CloudAction::ReadAddress) => {
            setting.action_time = 2_000;
            setting.pools[0] = pool(dice.u8(1..=3), None);
        }
        Called::Cloud(_) => {
            setting.action_time = setting.action_time.max(2_000);
            setting.pools[0] = pool(dice.u8(1..=3), None);
        }
        Called::Api(action) => set_up_for(action, setting, dice),
    }
}

/// The objects that only some requests to the API server need.
fn set_up_for(action: ApiAction, setting: &mut Setting, dice: &mut Rng) {
    if ApiAction::of_allocations().any(|one| one == action) {
        allocating(setting, dice);
    } else if ApiAction::of_vips().any(|one| one == action) {
        managing(setting, dice);
    }
}

/// An allocation whose Deployment has pods on every node.
fn allocating(setting: &mut Setting, dice: &mut Rng) {
    setting.nodes = dice.u8(3..=4);
    setting.action_time = setting.action_time.min(2_000);
    setting.allocations = vec![AllocationSetting {
        listed: dice.u8(1..=2),
        workload: Some(Workload::Deployment),
        grace: Some(5),
        ..AllocationSetting::default()
    }];
    setting.pools.clear();
    setting.listings.clear();
}

/// Two Clusters with a small VIP pool before a larger one: one Cluster falls back.
fn managing(setting: &mut Setting, dice: &mut Rng) {
    let pool = |size, roles| VipPoolSetting { local: false, size, roles, class: None };
    setting.management = Some(ManagementSetting {
        pools: vec![pool(1, Roles::ControlPlane), pool(4, Roles::Both)],
        clusters: vec![ClusterSetting::default(); 2],
        variables: [true, true],
        holds: true,
        lag: dice.choice([10, 1_500]).unwrap_or(10),
        pace: dice.choice([20, 1_500]).unwrap_or(20),
        machines: 2_000,
    });
    (setting.nodes, setting.crowded) = (2, false);
    setting.pools.clear();
    setting.listings.clear();
}

/// Removes all names.
fn alone(setting: &mut Setting) {
    setting.pools.iter_mut().for_each(|pool| pool.name = None);
    setting.listings.clear();
}

/// Events that cause the action, if needed.
fn provocation(called: Called, dice: &mut Rng) -> Vec<Event> {
    let from = |at, lasts, what| Event { at, lasts, what };
    match called {
        Called::Cloud(CloudAction::EditRecord) => {
            vec![from(PROVOKED, 0, What::Name(0, NameEvent::Ttl(dice.u16(61..600))))]
        }
        Called::Cloud(
            CloudAction::Unassign | CloudAction::RestoreOwn | CloudAction::DropRecord,
        ) => {
            vec![from(PROVOKED, TROUBLE, What::Pool(0, PoolEvent::Wants(1)))]
        }
        Called::Cloud(CloudAction::ReadAddress) => {
            let gap = on_cloud(CloudFault::PageGap, CloudAction::List, dice);
            let deleted = What::Hand(HandEvent::Deletes(dice.u8(..)));
            vec![from(0, TROUBLE, gap), from(PROVOKED, 0, deleted)]
        }
        // Operations are not polled while listings show a running operation or the arrival.
        Called::Cloud(CloudAction::ReadOperation) => {
            vec![from(0, TROUBLE, on_cloud(CloudFault::OperationFails, CloudAction::Assign, dice))]
        }
        Called::Cloud(CloudAction::Release) => {
            vec![from(PROVOKED, TROUBLE, What::Pool(0, PoolEvent::Deleted))]
        }
        // A node fails, and its address goes to another one.
        Called::Api(ApiAction::Evict | ApiAction::NoteEviction) => {
            vec![from(PROVOKED, TROUBLE, What::Node(0, NodeEvent::NotReady))]
        }
        // A deleted Cluster needs its holders no longer.
        Called::Api(ApiAction::DropHolder) => {
            let replaced = ClusterEvent::Replaced(Propagation::Foreground);
            vec![from(PROVOKED, 0, What::Cluster(0, replaced))]
        }
        // FLIPOP leaves its Lease behind, and our leader takes the Lease.
        Called::Api(ApiAction::HoldTheirs) => {
            vec![from(0, 0, What::Flipop { gives_back: dice.bool() })]
        }
        _ => vec![],
    }
}

fn trouble(theme: &Theme, dice: &mut Rng) -> Vec<Event> {
    let always = |what| Event { at: 0, lasts: TROUBLE, what };
    let process = |what| [0, 1].map(|replica| always(What::Process(replica, what))).to_vec();
    match (theme.trouble, theme.called) {
        (Trouble::Cloud(fault), Called::Cloud(action)) => {
            vec![always(on_cloud(fault, action, dice))]
        }
        (Trouble::Api(fault), Called::Api(action)) => vec![always(on_api(fault, action, dice))],
        (Trouble::Killed(phase), called) => process(ProcessEvent::KilledOn(called, phase)),
        (Trouble::Paused, called) => process(ProcessEvent::PausedOn(called)),
        (Trouble::State(state), called) => held_up(called, vec![What::CloudIs(state)], dice),
        (Trouble::CutOff, called) => {
            let cut = match called {
                Called::Cloud(_) => ProcessEvent::CutOffCloud,
                Called::Api(_) => ProcessEvent::CutOffApi,
            };
            held_up(called, [0, 1].map(|replica| What::Process(replica, cut)).to_vec(), dice)
        }
        (Trouble::Cloud(_) | Trouble::Api(_), _) => vec![],
    }
}

/// Refuses calls until shortly after the state begins, so that a retry meets the state.
fn held_up(called: Called, then: Vec<What>, dice: &mut Rng) -> Vec<Event> {
    let refused = match called {
        Called::Cloud(action) => on_cloud(CloudFault::Unavailable, action, dice),
        Called::Api(action) => on_api(ApiFault::Unavailable, action, dice),
    };
    let (from, until) = meeting(called);
    let refused = Event { at: 0, lasts: until, what: refused };
    let then = then.into_iter().map(|what| Event { at: from, lasts: 40_000, what });
    std::iter::once(refused).chain(then).collect()
}

fn on_cloud(fault: CloudFault, action: CloudAction, dice: &mut Rng) -> What {
    What::Cloud { fault, on: Some(action), percent: 100, dice: dice.u64(..) }
}

fn on_api(fault: ApiFault, action: ApiAction, dice: &mut Rng) -> What {
    What::Api { fault, on: Some(action), replica: None, percent: 100, dice: dice.u64(..) }
}
