//! The part of a schedule with a management cluster: Clusters, VIP pools, classes, their users'
//! changes, and controllers that are down for a while.
//!
//! Uses its own random numbers.

use fastrand::Rng;

use crate::clusters::{
    ClusterEvent, ClusterSetting, ManagementSetting, Propagation, Roles, VipPoolEvent,
    VipPoolSetting,
};
use crate::schedule::{Called, Event, ProcessEvent, Schedule, What};
use crate::wire::ApiAction;

/// Whether a seed plays a management cluster, beside those about a single pair of fault and action:
/// one in twenty.
pub fn has_clusters(seed: u64) -> bool {
    seed % 20 == 18
}

/// Adds a management cluster, alone or beside everything else.
pub fn add_clusters(schedule: &mut Schedule) {
    let mut dice = Rng::with_seed(schedule.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x7669_7073);
    let dice = &mut dice;
    let calm = schedule.events.iter().all(|event| matches!(event.what, What::Node(..)));
    if dice.u8(0..4) > 0 {
        alone(schedule);
    }
    schedule.setting.management = Some(setting(dice));
    for event in &mut schedule.events {
        turn(event, dice);
    }
    let ends = schedule.ends;
    for _ in 0..if calm { 0 } else { dice.usize(0..=6) } {
        let (at, lasts) = (dice.u64(0..ends), dice.u64(1_000..40_000));
        let (replica, action) = (dice.u8(0..2), any(dice, |_| true));
        let what = match dice.u8(0..3) {
            0 => ProcessEvent::PausedOn(Called::Api(action)),
            _ => {
                let phase = dice.choice(crate::schedule::Phase::ALL);
                let phase = phase.unwrap_or(crate::schedule::Phase::AfterEffect);
                ProcessEvent::KilledOn(Called::Api(action), phase)
            }
        };
        schedule.events.push(Event { at, lasts, what: What::Process(replica, what) });
    }
    for _ in 0..dice.usize(4..=16) {
        let at = dice.u64(0..ends);
        let lasts = if dice.bool() { dice.u64(500..8_000) } else { dice.u64(8_000..70_000) };
        schedule.events.push(Event { at, lasts, what: event(dice) });
    }
    schedule.events.sort_by_key(|event| event.at);
}

/// Leaves a management cluster without pools of ours.
pub fn alone(schedule: &mut Schedule) {
    let setting = &mut schedule.setting;
    setting.pools.clear();
    setting.listings.clear();
    (setting.nodes, setting.crowded) = (1, false);
    schedule.lasting.clear();
    schedule.events.retain(|event| {
        matches!(
            event.what,
            What::Api { .. }
                | What::Stale(_)
                | What::Compacted
                | What::WatchesCut
                | What::Process(..)
        )
    });
}

/// Has most faults of requests meet a request about VIPs.
fn turn(event: &mut Event, dice: &mut Rng) {
    if dice.u8(0..3) == 0 {
        return;
    }
    match &mut event.what {
        What::Api { fault, on: Some(on), .. } => {
            let fault = *fault;
            *on = any(dice, |action| fault.befalls(action));
        }
        What::Process(_, ProcessEvent::KilledOn(on, _) | ProcessEvent::PausedOn(on)) => {
            *on = Called::Api(any(dice, |_| true))
        }
        _ => {}
    }
}

fn any(dice: &mut Rng, fits: impl Fn(ApiAction) -> bool) -> ApiAction {
    let all: Vec<_> = ApiAction::of_vips().filter(|action| fits(*action)).collect();
    dice.choice(all).unwrap_or(ApiAction::CreateClaim)
}

/// Small VIP pools: some Clusters wait, and some fall back.
pub fn setting(dice: &mut Rng) -> ManagementSetting {
    let pools = dice.usize(2..=5);
    let mut pools: Vec<_> = (0..pools).map(|_| pool(dice)).collect();
    pools[0].roles = Roles::ControlPlane;
    pools[1].roles = dice.choice([Roles::Ingress, Roles::Both]).unwrap_or_default();
    let cluster = |dice: &mut Rng| ClusterSetting {
        class: dice.u8(0..2),
        manual: dice.u8(0..8) == 0,
        without_ingress: dice.u8(0..6) == 0,
    };
    ManagementSetting {
        pools,
        clusters: (0..dice.usize(1..=5)).map(|_| cluster(dice)).collect(),
        variables: [dice.u8(0..4) > 0, dice.bool()],
        holds: dice.bool(),
        lag: dice.choice([10, 200, 1_500, 6_000]).unwrap_or(200),
        pace: dice.choice([20, 300, 1_500, 4_000]).unwrap_or(300),
        machines: dice.u64(1_000..25_000),
    }
}

fn pool(dice: &mut Rng) -> VipPoolSetting {
    VipPoolSetting {
        local: dice.u8(0..3) == 0,
        size: dice.choice([1, 1, 2, 2, 3, 6]).unwrap_or(2),
        roles: dice.choice([Roles::ControlPlane, Roles::Ingress, Roles::Both]).unwrap_or_default(),
        class: dice.choice([None, None, Some(0), Some(1)]).flatten(),
    }
}

fn event(dice: &mut Rng) -> What {
    let which = dice.u8(..);
    match dice.u8(0..20) {
        0..2 => What::ControllersDown,
        2..5 => {
            What::VipPool(which, dice.choice(VipPoolEvent::ALL).unwrap_or(VipPoolEvent::Paused))
        }
        5 => What::Class(which),
        _ => What::Cluster(which, change(dice)),
    }
}

fn change(dice: &mut Rng) -> ClusterEvent {
    let propagation = if dice.bool() { Propagation::Background } else { Propagation::Foreground };
    match dice.u8(0..20) {
        0..3 => ClusterEvent::Deleted(propagation),
        3..8 => ClusterEvent::Replaced(propagation),
        8..10 => ClusterEvent::Removed(propagation),
        10 => ClusterEvent::MovedAway,
        11..14 => ClusterEvent::Paused,
        14 => ClusterEvent::Host,
        15 => ClusterEvent::Variable,
        16 => ClusterEvent::WithoutVariables,
        17 => ClusterEvent::WithoutIngress,
        _ => ClusterEvent::OtherClass,
    }
}
