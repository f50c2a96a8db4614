//! Extreme values: the ends of time, no room and unlimited room, texts that are invalid names,
//! answers to calls that were never made.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{
    Action, AddressAction, Done, Failure, FailureKind, LedgerWrite, MarkWrite, OperationState,
    Outcome, Removal,
};
use pontoon_core::addresses::{Abilities, AccountSetup, Unusable};
use pontoon_core::model::{
    AccountId, Addresses, Drift, Families, Family, Finding, Intent, Labels, Ledger, Machine,
    MachineId, Node, NodeName, ObjectKey, Owner, Pod, PodState, Pool, Remembered, Request,
    Resolution, Sighting, Taint, Text,
};
use pontoon_core::nodes::{Cordon, Match, OwnerMatch, PodMatch, Selector, Toleration, Workload};
use pontoon_core::world::Settings;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::fixture::{ALLOCATION, MARKS, POOL_NAMES, ip, ip6, key, unusable};

pub fn time() -> impl Strategy<Value = Time> {
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, 1_800_000_000_000_000, i64::MAX - 1, i64::MAX];
    let near = 1_799_999_990_000_000..1_800_000_400_000_000_i64;
    prop_oneof![4 => select(ends.to_vec()), 4 => near, 1 => any::<i64>()]
        .prop_map(Time::from_micros)
}

pub fn duration() -> impl Strategy<Value = Duration> {
    let some = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_millis(1),
        Duration::from_secs(5),
        Duration::from_secs(u64::MAX),
        Duration::MAX,
    ];
    prop_oneof![3 => select(some.to_vec()), 1 => any::<Duration>()]
}

pub fn settings() -> impl Strategy<Value = Settings> {
    let times = (duration(), duration(), duration(), duration(), duration());
    let odd =
        times.prop_map(|(resync, call_deadline, settle, retry_initial, retry_max)| Settings {
            resync,
            record_resync: resync,
            call_deadline,
            settle,
            retry_initial,
            retry_max,
            egress: None,
            vips: Default::default(),
        });
    prop_oneof![Just(Settings::default()), odd]
}

/// A number of objects, or a limit of a number.
fn count() -> impl Strategy<Value = usize> {
    prop_oneof![5 => 0..4_usize, 1 => 0..40_usize, 1 => Just(usize::MAX)]
}

fn version() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..9_u64, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

pub fn address() -> impl Strategy<Value = IpAddr> {
    let odd = ["0.0.0.0", "255.255.255.255", "127.0.0.1", "::", "::1", "::ffff:192.0.2.1"];
    let odd = select(odd.to_vec()).prop_map(|text| text.parse().unwrap());
    prop_oneof![
        8 => (1..5_u8).prop_map(ip),
        3 => (1..3_u16).prop_map(ip6),
        1 => odd,
        1 => any::<IpAddr>(),
    ]
}

/// A name from a small set, or an invalid name.
fn word(few: &'static [&'static str]) -> impl Strategy<Value = Text> {
    let odd = ["", " ", "\u{0}", "a/b:c", "\u{1F600}\u{301}", "null"];
    let any = "\\PC{0,12}".prop_map(|text| text.as_str().into());
    let odd = select(odd.to_vec()).prop_map(Text::from);
    prop_oneof![16 => select(few).prop_map(Text::from), 1 => odd, 1 => any]
}

pub fn node_name() -> impl Strategy<Value = NodeName> {
    word(&["n0", "n1", "n2", "n3"]).prop_map(NodeName)
}

fn machine() -> impl Strategy<Value = MachineId> {
    word(&["m-n0", "m-n1", "m-n2", "m-n3"]).prop_map(MachineId)
}

pub fn account() -> impl Strategy<Value = AccountId> {
    word(&["account", "account", "second", "broken"]).prop_map(AccountId)
}

fn cloud() -> impl Strategy<Value = Text> {
    word(&["cloud", "cloud", "cloud", "other"])
}

pub fn pool_key() -> impl Strategy<Value = ObjectKey> {
    let known = (0..3_u8).prop_map(|n| key(&format!("p{n}")));
    let odd = (word(&["default"]), word(&["p0"]));
    let odd = odd.prop_map(|(namespace, name)| ObjectKey { kind: &ALLOCATION, namespace, name });
    prop_oneof![12 => known, 1 => odd]
}

fn labels() -> impl Strategy<Value = Labels> {
    btree_map(word(&["role", "tier"]), word(&["edge", "7"]), 0..3).prop_map(Arc::new)
}

pub fn setup() -> BoxedStrategy<Result<AccountSetup, Unusable>> {
    let able = || any::<[bool; 2]>().prop_map(|[v4, v6]| Families { v4, v6 });
    let abilities = (any::<[bool; 3]>(), count(), able(), able()).prop_map(
        |([moves_at_once, marks_new, region_required], per_machine, families, places_new)| {
            Abilities {
                moves_at_once,
                families,
                per_machine,
                places_new,
                marks_new,
                region_required,
                lists_by_machine: false,
                displaces_own: false,
            }
        },
    );
    let parts = (cloud(), abilities, option::of(word(&["project"])));
    let good = parts
        .prop_map(|(cloud, abilities, project)| Ok(AccountSetup { cloud, abilities, project }));
    let bad = cloud().prop_map(|cloud| Err(unusable(&cloud)));
    prop_oneof![9 => good, 1 => bad].boxed()
}

pub fn node() -> BoxedStrategy<Node> {
    let one = || word(&["192.0.2.1", "192.0.2.1,192.0.2.2", " 192.0.2.3 ,,x", "2001:db8::1"]);
    let mark = || option::weighted(0.4, one());
    let taint = (word(&["k"]), word(&["", "v"]), word(&["NoSchedule", "NoExecute"]));
    let taint =
        taint.prop_map(|(key, value, effect)| Taint { key, value, effect: (&*effect).into() });
    let machine = (cloud(), machine()).prop_map(|(cloud, id)| Machine { cloud, id });
    let parts = (node_name(), word(&["u"]), version(), option::weighted(0.9, machine), labels());
    let provider_id = option::weighted(0.5, word(&["cloud://1", "cloud://01"]));
    let state = (0..8_u8, provider_id, vec(option::weighted(0.3, taint), 0..2), mark(), mark());
    (parts, state)
        .prop_map(|((name, uid, version, machine, labels), state)| {
            let (ready, provider_id, taints, v4, v6) = state;
            Node {
                name,
                uid,
                version,
                machine,
                unnamed: None,
                provider_id,
                ready: ready > 0,
                deleting: ready == 7,
                cordoned: ready == 6,
                labels,
                taints: taints.into_iter().flatten().collect(),
                marks: MARKS
                    .iter()
                    .zip([v4, v6])
                    .filter_map(|(key, mark)| Some((key, mark?)))
                    .collect(),
                addresses: Addresses::default(),
            }
        })
        .boxed()
}

pub fn pod() -> BoxedStrategy<Pod> {
    let parts = (word(&["x", "y"]), word(&["default"]), node_name(), labels());
    (parts, any::<bool>(), option::weighted(0.5, owner()))
        .prop_map(|((id, namespace, node, labels), ready, owner)| Pod {
            id: (&*id).into(),
            namespace,
            name: id,
            node,
            labels,
            state: if ready { PodState::Ready } else { PodState::Unready },
            owner,
        })
        .boxed()
}

fn owner() -> impl Strategy<Value = Owner> {
    (word(&["Deployment", "DaemonSet"]), word(&["web"]))
        .prop_map(|(kind, name)| Owner { kind, name })
}

fn conditions() -> impl Strategy<Value = Match> {
    let selector = || {
        let some = ["", "", "role=edge", "tier>6", "!role", "role in (edge,)"];
        select(some.to_vec()).prop_map(|text| Selector::parse(text).unwrap())
    };
    let owners = || {
        prop_oneof![
            Just(OwnerMatch::Any),
            (owner(), option::of(word(&["ReplicaSet"])))
                .prop_map(|(owner, through)| Workload {
                    owner,
                    through,
                    labels: vec!["app".into()]
                })
                .prop_map(OwnerMatch::Is),
            word(&["DaemonSet"]).prop_map(|kind| OwnerMatch::NotOfKinds(vec![kind]))
        ]
    };
    let pods = || {
        (option::of(word(&["default"])), selector(), owners(), any::<bool>()).prop_map(
            |(namespace, labels, owner, unready)| {
                let except = if unready { vec!["kube-system".into()] } else { vec![] };
                PodMatch { namespace, except, labels, owner, unready }
            },
        )
    };
    let cordon = option::weighted(0.3, pods())
        .prop_map(|pods| pods.map_or(Cordon::Tainted, Cordon::KeepsWhile));
    let toleration =
        (option::of(word(&["k"])), option::of(word(&["v"])), option::of(word(&["NoExecute"])));
    let toleration = toleration.prop_map(|(key, value, effect)| Toleration {
        key,
        value,
        effect: effect.map(|effect| (&*effect).into()),
    });
    (selector(), option::weighted(0.2, pods()), vec(toleration, 0..2), cordon)
        .prop_map(|(nodes, pods, tolerations, cordon)| Match { nodes, pods, tolerations, cordon })
}

pub fn intent() -> impl Strategy<Value = Intent> {
    let family = select(&Family::ALL[..]);
    let parts = (word(&["i0", "i1"]), family, word(&["nyc3"]), option::of(machine()));
    (parts, vec(address(), 0..3)).prop_map(|((id, family, region, target), strangers)| Intent {
        id,
        family,
        region,
        target,
        strangers,
        unsettled: vec![],
    })
}

pub fn ledger() -> BoxedStrategy<Ledger> {
    (vec(address(), 0..3), vec(address(), 0..2), vec(intent(), 0..4))
        .prop_map(|(created, kept, intents)| {
            let guarded = kept.len() == 1;
            Ledger { created, kept, intents, guarded, account: None }
        })
        .boxed()
}

pub fn memory() -> impl Strategy<Value = Remembered> {
    let machine = option::of(machine());
    let drift = (any::<u32>(), time(), option::of(self::machine()))
        .prop_map(|(times, at, from)| Drift { times, at, from });
    let times = (option::of(time()), option::of(time()), option::of(drift));
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

pub fn pool() -> BoxedStrategy<Pool> {
    let wish = (account(), option::weighted(0.9, word(&["nyc3"])), vec(address(), 0..4));
    let times = (duration(), duration());
    let request = (wish, option::of(count()), conditions(), times).prop_map(
        |((account, region, listed), wanted, matching, (cool_off, grace))| Request {
            account,
            region,
            unreadable: (listed.len() == 3)
                .then(|| Finding { reason: "InvalidAddress", message: "no address".into() }),
            listed,
            wanted,
            matching: Arc::new(matching),
            marks: &MARKS,
            evicts: None,
            reread: None,
            cool_off,
            grace,
        },
    );
    let finding = Finding { reason: "InvalidSelector", message: "no selector".into() };
    let request = option::weighted(0.95, request).prop_map(move |one| one.ok_or(finding.clone()));
    let word_on_it = prop_oneof![Just(Resolution::Nothing), address().prop_map(Resolution::Adopt)];
    let object = (pool_key(), word(&["u"]), version(), time());
    let status = (btree_map(address(), memory(), 0..3), option::of(time()));
    (object, request, ledger(), option::weighted(0.2, word_on_it), status)
        .prop_map(|((key, uid, version, created_at), request, ledger, resolution, status)| Pool {
            key,
            uid,
            version,
            created_at,
            request,
            named: Some(vec![]),
            ledger,
            ledger_stripped: version % 7 == 3,
            resolution,
            deleting: version % 4 == 1,
            releases: version % 3 != 0,
            finalizers: vec![],
            paused: (version % 5 == 2).then(|| "why".into()),
            remembered: status.0,
            last_assignment: status.1,
            names: &POOL_NAMES,
        })
        .boxed()
}

pub fn sighting() -> impl Strategy<Value = Sighting> {
    let parts = (option::weighted(0.6, machine()), option::of(word(&["nyc3"])));
    (parts, option::of(word(&["project"])), 0..6_u8).prop_map(
        |((holder, region), project, busy)| Sighting {
            holder,
            region,
            project,
            busy: busy == 0,
            mark: None,
        },
    )
}

pub fn action() -> BoxedStrategy<Action> {
    let on = || (account(), address());
    let for_pool = || (account(), pool_key(), address());
    let operation = || word(&["op-0", "op-1"]);
    let mark =
        (node_name(), word(&["u"]), select(&Family::ALL[..]), option::of(word(&["192.0.2.1"])));
    prop_oneof![
        2 => (account(), vec(select(&Family::ALL[..]), 0..3), any::<bool>()).prop_map(
            |(account, families, confirms)| Action::Address(AddressAction::List { account, families, confirms, scope: Default::default(), })
        ),
        1 => on().prop_map(|(account, ip)| Action::Address(AddressAction::Read { account, ip })),
        1 => (on(), operation()).prop_map(|((account, ip), id)| {
            Action::Address(AddressAction::ReadOperation { account, ip, operation: (&*id).into() })
        }),
        1 => (for_pool(), node_name(), machine()).prop_map(|((account, pool, ip), node, machine)| {
            Action::Address(AddressAction::Assign { account, pool, ip, node, machine })
        }),
        1 => for_pool().prop_map(|(account, pool, ip)| {
            let why = Removal::MakesRoom(pool.clone());
            Action::Address(AddressAction::Unassign { account, pool, ip, why })
        }),
        1 => for_pool().prop_map(|(account, pool, ip)| Action::Address(AddressAction::Release { account, pool, ip })),
        1 => (pool_key(), word(&["u"]), version(), ledger()).prop_map(
            |(pool, uid, version, ledger)| {
                let guard = ledger.guarded.then(Vec::new);
                Action::Ledger(LedgerWrite { pool, uid, version, ledger, new_intents: 0, guard })
            }
        ),
        1 => (account(), pool_key(), intent())
            .prop_map(|(account, pool, intent)| Action::Address(AddressAction::Create { account, pool, intent, mark: None })),
        1 => mark.prop_map(|(node, uid, family, value)| {
            let mark = &MARKS[usize::from(family == Family::V6)];
            Action::Mark(MarkWrite { owner: None, node, uid, version: None, mark, value })
        }),
    ]
    .boxed()
}

/// A random result, which may not fit the action.
pub fn result() -> BoxedStrategy<Result<Done, Failure>> {
    let state = [
        OperationState::Running,
        OperationState::Done,
        OperationState::Failed,
        OperationState::Unheard,
    ];
    let done = prop_oneof![
        6 => vec((address(), sighting()), 0..6).prop_map(Done::Listed),
        1 => option::of(sighting()).prop_map(Done::Read),
        1 => select(state.to_vec()).prop_map(Done::Operation),
        2 => Just(Done::Effective),
        1 => Just(Done::Released),
        1 => word(&["op-0", "op-1"]).prop_map(|id| Done::Accepted((&*id).into())),
        1 => (address(), option::of(word(&["op-0"]))).prop_map(|(ip, pending)| {
            Done::Created { ip, pending: pending.map(|id| (&*id).into()) }
        }),
        1 => address().prop_map(|ip| Done::CreatedLoose { ip }),
        2 => version().prop_map(|version| Done::LedgerWritten { version }),
        1 => version().prop_map(|version| Done::Marked { version }),
    ];
    prop_oneof![4 => done.prop_map(Ok), 1 => failure().prop_map(Err)].boxed()
}

fn failure() -> impl Strategy<Value = Failure> {
    let kind = prop_oneof![
        2 => duration().prop_map(|wait| FailureKind::Throttled { wait }),
        1 => duration().prop_map(|wait| FailureKind::HeldBack { wait, pacing: true }),
        9 => select(&[
            FailureKind::NotSent,
            FailureKind::NoAnswer,
            FailureKind::Unavailable,
            FailureKind::Refused,
            FailureKind::NotFound,
            FailureKind::Busy,
            FailureKind::Quota,
            FailureKind::Rejected,
            FailureKind::Conflict,
        ][..]),
    ];
    (kind, word(&["failed"]), option::weighted(0.3, sighting()))
        .prop_map(|(kind, message, seen)| Failure { kind, message, seen, displaced: false })
}

/// An outcome of `action`, with a random start.
pub fn outcome(action: Action) -> impl Strategy<Value = Outcome> {
    (time(), result(), any::<u16>()).prop_map(move |(sent_at, result, jitter)| Outcome {
        action: action.clone(),
        sent_at,
        result,
        jitter,
    })
}

/// A small set, for the objects that are left after a watch restarts.
pub fn some<T: Ord + std::fmt::Debug>(
    one: impl Strategy<Value = T>,
) -> impl Strategy<Value = std::collections::BTreeSet<T>> {
    vec(one, 0..3).prop_map(|all| all.into_iter().collect())
}

/// The accounts of a world.
pub fn accounts() -> impl Strategy<Value = BTreeMap<AccountId, Result<AccountSetup, Unusable>>> {
    btree_map(account(), setup(), 1..4)
}
