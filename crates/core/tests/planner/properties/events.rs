//! Random events in random order, including events that no cluster and no provider would produce.

use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::action::{
    Action, AddressAction, Done, Failure, FailureKind, LedgerWrite, MarkWrite, OperationState,
    RecordAction,
};
use pontoon_core::addresses::{Abilities, AccountSetup, Unusable};
use pontoon_core::model::{
    Drift, Families, Family, Intent, Ledger, Node, OperationId, Pod, PodState, Pool, Remembered,
    Resolution, Sighting,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::fixture::*;

#[derive(Clone, Debug)]
pub enum Event {
    Node(Node),
    NodeGone(usize),
    Pod(Pod),
    PodGone(usize),
    Pool(Box<Pool>),
    PoolGone(usize),
    /// A pending action ends: its index, the age of its claimed start, and the answer.
    End(usize, Duration, Box<Answer>),
    Pass(Duration),
    TakeOver(Duration),
    Plan,
}

/// An answer to any action.
#[derive(Clone, Debug)]
pub struct Answer {
    failure: Option<Failure>,
    /// An answer to another action.
    odd: Option<Done>,
    listed: Vec<(IpAddr, Sighting)>,
    read: Option<Sighting>,
    state: OperationState,
    operation: Option<OperationId>,
    made: IpAddr,
    version: u64,
}

impl Answer {
    /// An answer of success.
    pub fn good() -> Self {
        Self {
            failure: None,
            odd: None,
            listed: vec![],
            read: None,
            state: OperationState::Done,
            operation: None,
            made: ip(200),
            version: 1,
        }
    }

    /// The result for an action.
    pub fn to(self, action: &Action) -> Result<Done, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        Ok(match (self.odd, action) {
            (Some(odd), _) => odd,
            (None, Action::Address(AddressAction::List { .. })) => Done::Listed(self.listed),
            (None, Action::Address(AddressAction::Read { .. })) => Done::Read(self.read),
            (None, Action::Address(AddressAction::ReadOperation { .. })) => {
                Done::Operation(self.state)
            }
            (
                None,
                Action::Address(AddressAction::Assign { .. })
                | Action::Address(AddressAction::Unassign { .. }),
            ) => self.operation.map_or(Done::Effective, Done::Accepted),
            (None, Action::Address(AddressAction::Release { .. })) => Done::Released,
            (None, Action::Address(AddressAction::Create { .. })) => {
                Done::Created { ip: self.made, pending: self.operation }
            }
            (None, Action::Ledger(LedgerWrite { version, .. })) => {
                Done::LedgerWritten { version: version + self.version }
            }
            (None, Action::Mark(MarkWrite { .. })) => Done::Marked { version: 100 + self.version },
            (None, Action::Evict(_)) => Done::Evicted,
            (None, Action::Vip(_)) => Done::VipDeleted,
            (None, Action::Address(AddressAction::RestoreEgress { .. })) => Done::Effective,
            (
                None,
                Action::Record(RecordAction::Read { .. })
                | Action::Record(RecordAction::Change { .. }),
            ) => Done::RecordsChanged(vec![]),
        })
    }
}

/// The accounts of every world: two valid accounts, and an invalid account.
pub fn accounts() -> [(&'static str, Result<AccountSetup, Unusable>); 3] {
    let setup = |cloud: &str, per_machine, project: Option<&str>| AccountSetup {
        cloud: cloud.into(),
        project: project.map(Into::into),
        abilities: Abilities {
            moves_at_once: cloud == CLOUD,
            families: Families::BOTH,
            per_machine,
            places_new: Families { v4: true, v6: cloud == CLOUD },
            marks_new: false,
            region_required: true,
            lists_by_machine: false,
            displaces_own: false,
        },
    };
    [
        (ACCOUNT, Ok(setup(CLOUD, 1, None))),
        ("second", Ok(setup("other", 2, Some("project")))),
        ("broken", Err(unusable(CLOUD))),
    ]
}

pub fn event() -> impl Strategy<Value = Event> {
    let end = (any::<usize>(), wait(), answer());
    prop_oneof![
        6 => node_object().prop_map(Event::Node),
        1 => (0..6_usize).prop_map(Event::NodeGone),
        3 => pod_object().prop_map(Event::Pod),
        1 => (0..4_usize).prop_map(Event::PodGone),
        5 => pool_object().prop_map(|pool| Event::Pool(Box::new(pool))),
        1 => (0..4_usize).prop_map(Event::PoolGone),
        20 => end.prop_map(|(which, ago, answer)| Event::End(which, ago, Box::new(answer))),
        4 => wait().prop_map(Event::Pass),
        1 => wait().prop_map(Event::TakeOver),
        14 => Just(Event::Plan),
    ]
}

/// A cluster with some nodes and listed pools, then random events.
pub fn events() -> impl Strategy<Value = Vec<Event>> {
    let edge = |n| Event::Node(node(&name(n)).labelled("role", "edge"));
    let nodes = vec((0..6_usize).prop_map(edge), 0..6);
    let pools = vec(plain_pool().prop_map(|pool| Event::Pool(Box::new(pool))), 0..4);
    let listed = btree_map(address(), sighting(), 0..7)
        .prop_map(|listed| Answer { listed: listed.into_iter().collect(), ..Answer::good() });
    let listed = listed.prop_map(|answer| Event::End(0, Duration::ZERO, Box::new(answer)));
    (nodes, pools, listed, vec(event(), 0..80)).prop_map(|(nodes, pools, listed, events)| {
        nodes.into_iter().chain(pools).chain([Event::Plan, listed]).chain(events).collect()
    })
}

fn wait() -> impl Strategy<Value = Duration> {
    select(vec![0, 1, 500, 1_000, 2_000, 6_000, 11_000, 61_000, 130_000, 400_000])
        .prop_map(Duration::from_millis)
}

fn time() -> impl Strategy<Value = pontoon_core::Time> {
    prop_oneof![4 => (-100..100_i64).prop_map(at), 1 => Just(at(1_000_000))]
}

pub fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![5 => (1..6_u8).prop_map(ip), 2 => (1..3_u16).prop_map(ip6)]
}

fn machine_id() -> impl Strategy<Value = String> {
    (0..6_usize).prop_map(|n| machine(&name(n)))
}

/// The name of the `n`th node.
pub fn name(n: usize) -> String {
    format!("n{n}")
}

pub fn node_object() -> impl Strategy<Value = Node> {
    let mark = option::weighted(0.3, vec(address(), 1..3));
    let shape = (0..6_usize, 0..6_u8, 0..8_u8, any::<bool>(), 0..12_u8, 0..9_u64);
    (shape, option::weighted(0.1, machine_id()), mark).prop_map(
        |((n, uid, ready, labelled, taint, version), moved, mark)| {
            let mut node = node(&name(n));
            node.version = version;
            if uid == 0 {
                node.uid = "uid-other".into();
            }
            node.ready = ready > 1;
            node.deleting = ready == 7;
            node.cordoned = ready == 6;
            if labelled {
                node = node.labelled("role", "edge");
            }
            node = match taint {
                0 => node.tainted("k", "v", "NoSchedule"),
                1 => node.tainted("k", "", "NoExecute"),
                2 => node.of_cloud("other"),
                3 => node.of_unknown_cloud(),
                _ => node,
            };
            if let Some(machine) = moved {
                node = node.on_machine(&machine);
            }
            for ip in mark.into_iter().flatten() {
                let key = &MARKS[usize::from(ip.is_ipv6())];
                let before = node.marks.get(key).map(|mark| format!("{mark},"));
                node = node.marked(&format!("{}{ip}", before.unwrap_or_default()));
            }
            node
        },
    )
}

pub fn pod_object() -> impl Strategy<Value = Pod> {
    (0..4_usize, 0..6_usize, any::<bool>(), any::<bool>()).prop_map(|(id, on, ingress, web)| {
        let mut pod = pod(&format!("pod-{id}"), &name(on));
        if id == 3 {
            pod.state = PodState::Unready;
        }
        let pod = if ingress { pod.in_namespace("ingress") } else { pod };
        if web { pod.with_labels(&[("app", "web")]) } else { pod }
    })
}

fn intent() -> impl Strategy<Value = Intent> {
    let parts = (0..4_u8, option::of(machine_id()), vec(address(), 0..2));
    parts.prop_map(|(id, target, strangers)| Intent {
        id: format!("intent-{id}").as_str().into(),
        family: if id == 3 { Family::V6 } else { Family::V4 },
        region: REGION.into(),
        target: target.map(|target| target.as_str().into()),
        strangers,
        unsettled: vec![],
    })
}

fn ledger() -> impl Strategy<Value = Ledger> {
    let addresses = (vec(address(), 0..2), option::weighted(0.2, address()));
    (addresses, vec(intent(), 0..3)).prop_map(|((created, kept), intents)| {
        let mut ledger = Ledger {
            created,
            kept: kept.into_iter().collect(),
            intents,
            guarded: false,
            account: None,
        };
        ledger.intents.dedup_by(|one, other| one.id == other.id);
        ledger
    })
}

fn memory() -> impl Strategy<Value = Remembered> {
    let machine = option::of(machine_id().prop_map(|id| id.as_str().into()));
    let from = option::of(machine_id().prop_map(|id| id.as_str().into()));
    let drift = (0..4_u32, time(), from).prop_map(|(times, at, from)| Drift { times, at, from });
    let times = (option::of(time()), option::of(time()), option::weighted(0.3, drift));
    (any::<[bool; 3]>(), machine, times).prop_map(
        |([had, held, free], machine, (ineligible_since, assigned_at, drift))| Remembered {
            had,
            held,
            machine,
            free,
            ineligible_since,
            assigned_at,
            drift,
        },
    )
}

/// A valid pool in the valid account.
pub fn plain_pool() -> impl Strategy<Value = Pool> {
    let listed = vec(address(), 0..4);
    let shape = (0..4_u8, 0..3_i64, option::weighted(0.4, 0..6_usize), 0..12_u8);
    (shape, listed).prop_map(|((n, age, wanted, conditions), listed)| {
        let pool = pool(&format!("p{n}")).created_at(at(-1000 * age));
        let pool = match conditions {
            0 | 1 => pool.on("role=edge"),
            2 => pool.with_pods(Some("ingress"), ""),
            3 => pool.with_pods(None, "app=web"),
            4 => pool.tolerating(Some("k"), None, None),
            _ => pool,
        };
        pool.ask(|request| {
            for ip in listed {
                if !request.listed.contains(&ip) {
                    request.listed.push(ip);
                }
            }
            request.wanted = wanted;
        })
    })
}

fn pool_object() -> impl Strategy<Value = Pool> {
    let status = (btree_map(address(), memory(), 0..3), option::of(time()));
    let word = option::weighted(
        0.2,
        prop_oneof![Just(Resolution::Nothing), address().prop_map(Resolution::Adopt)],
    );
    let shape = (0..18_u8, 0..6_u8, 0..9_u64, 0..8_u8);
    (plain_pool(), ledger(), status, word, shape).prop_map(
        |(pool, ledger, (remembered, last_assignment), resolution, shape)| {
            let (account, uid, version, cools) = shape;
            // Some pools are guarded, some of these are being deleted, some changed their policy.
            let ledger = Ledger { guarded: version % 3 == 1, ..ledger };
            let mut pool = Pool { ledger, remembered, last_assignment, resolution, ..pool };
            pool.version = version;
            pool.deleting = version % 6 == 1;
            pool.releases = uid > 1;
            if uid == 0 {
                pool.uid = "uid-other".into();
            }
            let pool = if cools % 4 == 0 { pool.cooling_off(20) } else { pool };
            let pool = if cools > 4 { pool.with_grace(15) } else { pool };
            let pool = if cools % 4 == 1 { pool.keeping_while() } else { pool };
            match account {
                0 => pool.invalid(),
                1 => pool.in_account("broken"),
                2 => pool.in_account("nowhere"),
                3 => pool.without_region(),
                4..=6 => pool.in_account("second"),
                _ => pool,
            }
        },
    )
}

pub fn sighting() -> impl Strategy<Value = Sighting> {
    let holder = option::weighted(0.6, machine_id());
    (holder, any::<bool>(), 0..6_u8).prop_map(|(holder, project, busy)| Sighting {
        holder: holder.map(|id| id.as_str().into()),
        region: Some(REGION.into()),
        project: project.then(|| "project".into()),
        busy: busy == 0,
        mark: None,
    })
}

fn answer() -> impl Strategy<Value = Answer> {
    let state = select(vec![
        OperationState::Running,
        OperationState::Done,
        OperationState::Failed,
        OperationState::Unheard,
    ]);
    let operation =
        option::weighted(0.4, (0..3_u8).prop_map(|n| format!("op-{n}").as_str().into()));
    let odd = option::weighted(0.05, odd());
    let seen = (btree_map(address(), sighting(), 0..7), option::of(sighting()));
    let other = (state, operation, address(), 0..3_u64);
    (option::weighted(0.25, failure()), odd, seen, other).prop_map(
        |(failure, odd, (listed, read), (state, operation, made, version))| Answer {
            failure,
            odd,
            listed: listed.into_iter().collect(),
            read,
            state,
            operation,
            made,
            version,
        },
    )
}

fn odd() -> impl Strategy<Value = Done> {
    select(vec![
        Done::Listed(vec![]),
        Done::Read(None),
        Done::Operation(OperationState::Done),
        Done::Effective,
        Done::Accepted("odd".into()),
        Done::Created { ip: ip(3), pending: Some("odd".into()) },
        Done::CreatedLoose { ip: ip(4) },
        Done::LedgerWritten { version: 7 },
        Done::Marked { version: 7 },
    ])
}

fn failure() -> impl Strategy<Value = Failure> {
    let kind = select(vec![
        FailureKind::NotSent,
        FailureKind::Throttled { wait: Duration::from_secs(3) },
        FailureKind::HeldBack { wait: Duration::from_secs(4), pacing: false },
        FailureKind::NoAnswer,
        FailureKind::Unavailable,
        FailureKind::Refused,
        FailureKind::NotFound,
        FailureKind::Busy,
        FailureKind::Quota,
        FailureKind::Rejected,
        FailureKind::Conflict,
    ]);
    (kind, option::weighted(0.3, sighting()))
        .prop_map(|(kind, seen)| Failure { seen, ..Failure::plain(kind, "failed") })
}
