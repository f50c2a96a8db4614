//! Random events in a management cluster.

use pontoon_core::action::FailureKind;
use pontoon_core::model::Family;
use pontoon_core::vips::model::{Cluster, Role};
use proptest::prelude::*;
use proptest::sample::select;

use super::fixture::*;

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// A Cluster appears, changes, or is made anew with another UID.
    Cluster(Box<Cluster>),
    ClusterGone(u8),
    /// A user, or a controller of Cluster API, changes one value of a Cluster.
    Touch(u8, Touch),
    Pool(Box<PoolOf>),
    PoolGone(u8),
    Class(bool),
    ClaimDeleted(u8),
    /// A claim appears that nobody owns.
    Stray(u8),
    /// An action ends, well or not.
    End(usize, Option<FailureKind>),
    /// The provider and the collector work.
    Provide,
    Collect,
    /// A watch delivers; its objects may lag behind the others.
    Deliver(u8),
    Pass(u64),
    TakeOver,
    Plan,
}

#[derive(Clone, Copy, Debug)]
pub enum Touch {
    Pause(bool),
    Delete(bool),
    Host(bool),
    DropVariable,
    DropHost,
    Status,
}

pub fn name(number: u8) -> String {
    // The name of one Cluster's second claim is the name of another Cluster's first claim.
    ["x", "y", "x-v6"][usize::from(number % 3)].to_owned()
}

fn a_cluster() -> impl Strategy<Value = Cluster> {
    let odd = (any::<bool>(), any::<bool>(), any::<bool>(), 0..6_u8);
    (0..3_u8, 0..2_u8, odd).prop_map(|(number, uid, (ingress, dual, any, odd))| {
        let named = name(number);
        let one = cluster(&named).with_uid(&format!("{named}-{uid}"));
        let one = if ingress { one.with_ingress() } else { one };
        let family = (!any).then_some(Family::V4);
        let one = Cluster { family, second: dual.then_some(Family::V6), ..one };
        match odd {
            0 => one.with_host("10.9.9.9"),
            1 => one.naming(Role::ControlPlane, "p1"),
            2 => one.without_topology(),
            _ => one,
        }
    })
}

fn a_pool() -> impl Strategy<Value = PoolOf> {
    let flags = (any::<bool>(), 0..8_u8, 0..8_u8, any::<bool>(), any::<bool>());
    (0..3_u8, 0..4_u8, flags).prop_map(|(number, size, (v6, paused, deleting, both, local))| {
        let one = pool(&format!("p{number}"));
        let from = number * 10 + 1;
        let one = match v6 {
            true => one.of_v6(u16::from(from)..u16::from(from + size)),
            false => one.of(from..from + size),
        };
        let one = if both { one.for_roles(&Role::ALL) } else { one };
        let one = if local { one.local() } else { one };
        one.but(|pool| (pool.paused, pool.deleting) = (paused == 0, deleting == 0))
    })
}

fn failure() -> impl Strategy<Value = Option<FailureKind>> {
    let kinds = vec![
        FailureKind::NoAnswer,
        FailureKind::Unavailable,
        FailureKind::Rejected,
        FailureKind::Refused,
        FailureKind::NotSent,
        FailureKind::Conflict,
    ];
    prop_oneof![5 => Just(None), 2 => select(kinds).prop_map(Some)]
}

pub fn event() -> impl Strategy<Value = Event> {
    let touches = vec![
        Touch::Pause(true),
        Touch::Pause(false),
        Touch::Delete(true),
        Touch::Delete(false),
        Touch::Host(true),
        Touch::Host(false),
        Touch::DropVariable,
        Touch::DropHost,
        Touch::Status,
    ];
    prop_oneof![
        4 => a_cluster().prop_map(|one| Event::Cluster(Box::new(one))),
        1 => (0..3_u8).prop_map(Event::ClusterGone),
        4 => (0..3_u8, select(touches)).prop_map(|(number, touch)| Event::Touch(number, touch)),
        3 => a_pool().prop_map(|one| Event::Pool(Box::new(one))),
        1 => (0..3_u8).prop_map(Event::PoolGone),
        1 => any::<bool>().prop_map(Event::Class),
        1 => (0..3_u8).prop_map(Event::ClaimDeleted),
        1 => (0..3_u8).prop_map(Event::Stray),
        10 => (any::<usize>(), failure()).prop_map(|(which, kind)| Event::End(which, kind)),
        4 => Just(Event::Provide),
        2 => Just(Event::Collect),
        8 => (0..7_u8).prop_map(Event::Deliver),
        2 => select(vec![1, 4, 70, 400]).prop_map(Event::Pass),
        1 => Just(Event::TakeOver),
        10 => Just(Event::Plan),
    ]
}

impl Touch {
    pub fn apply(self, one: &mut Cluster) {
        match self {
            Self::Pause(paused) => one.paused = paused,
            Self::Delete(guarded) => (one.deleting, one.guarded) = (true, guarded),
            Self::Host(true) => (one.host, one.port) = (Some("10.8.8.8".into()), Some(443)),
            Self::Host(false) | Self::DropHost => (one.host, one.port) = (None, None),
            Self::DropVariable => one.variable = None,
            Self::Status => {}
        }
    }
}
