//! Objects for tests, made by chaining: `pool("p").ips([1, 2]).on("role=edge")`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{Action, AddressAction, Effect, LedgerWrite, MarkWrite};
use pontoon_core::addresses::Unusable;
use pontoon_core::model::{
    Addresses, Family, Finding, Intent, Kind, Labels, Ledger, Machine, Mark, MarkPlace, Marks,
    Node, ObjectKey, Pod, PodState, Pool, PoolNames, RecordNames, Remembered, Request, Scope,
    Subject, Taint, Tells,
};
use pontoon_core::nodes::{Cordon, PodMatch, Selector, Toleration};
use pontoon_core::world::Source;

const fn kind(name: &'static str, scope: Scope, asks_for: &'static [Subject]) -> Kind {
    Kind { group: "test", version: "v1", name, plural: "", aliases: &[], scope, asks_for }
}

/// The kind of pools, which may ask for a name too.
pub static POOL: Kind = kind("Pool", Scope::Namespaced, &[Subject::Addresses, Subject::Records]);
/// A second kind of pools.
pub static ALLOCATION: Kind = kind("Allocation", Scope::Cluster, &[Subject::Addresses]);
/// The kind of record sets.
pub static RECORD_SET: Kind = kind("RecordSet", Scope::Namespaced, &[Subject::Records]);

/// The kinds of a scene.
pub const KINDS: [&Kind; 3] = [&POOL, &ALLOCATION, &RECORD_SET];
/// The sources of a scene.
pub const SOURCES: [Source; 5] = [
    Source::Nodes,
    Source::Pods,
    Source::Objects(&POOL),
    Source::Objects(&ALLOCATION),
    Source::Objects(&RECORD_SET),
];

/// The words of a front for pools.
pub static POOL_NAMES: PoolNames = PoolNames {
    release: "the policy of release",
    retain: "choose to retain",
    ledger: "test/ledger",
    resolution: "test/resolution",
    roles: "the usual roles",
};
/// The words of a front for records.
pub static RECORD_NAMES: RecordNames =
    RecordNames { ttl: "test.ttl", remove: "the policy of removal" };

/// The account of pools.
pub const ACCOUNT: &str = "account";
/// The provider of [`ACCOUNT`].
pub const CLOUD: &str = "cloud";
/// The region of new addresses.
pub const REGION: &str = "nyc3";

/// The `n`th IPv4 address of a scene.
pub fn ip(n: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, n).into()
}

/// The `n`th IPv6 address of a scene.
pub fn ip6(n: u16) -> IpAddr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n).into()
}

/// The given number of seconds after the start of a scene.
pub fn at(seconds: i64) -> Time {
    Time::from_micros((1_800_000_000 + seconds) * 1_000_000)
}

/// An account without credentials at a cloud.
pub fn unusable(cloud: &str) -> Unusable {
    let finding = Finding { reason: "CredentialsMissing", message: "no token".into() };
    Unusable { cloud: cloud.into(), finding }
}

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub fn labels(pairs: &[(&str, &str)]) -> Labels {
    Arc::new(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
}

/// The machine of a node.
pub fn machine(node: &str) -> String {
    format!("m-{node}")
}

/// The marks of pools, by family.
pub static MARKS: [Mark; 2] = [
    Mark { place: MarkPlace::Annotation, key: "v4", tells: Tells::Addresses(Family::V4) },
    Mark { place: MarkPlace::Annotation, key: "v6", tells: Tells::Addresses(Family::V6) },
];

/// A ready node with a machine at the provider.
pub fn node(name: &str) -> Node {
    Node {
        name: name.into(),
        uid: format!("uid-{name}").as_str().into(),
        version: 1,
        machine: Some(Machine { cloud: CLOUD.into(), id: machine(name).as_str().into() }),
        unnamed: None,
        provider_id: Some(format!("cloud://{}", machine(name)).as_str().into()),
        ready: true,
        deleting: false,
        cordoned: false,
        labels: labels(&[]),
        taints: vec![],
        marks: Marks::default(),
        addresses: Addresses::default(),
    }
}

pub trait NodeFixture {
    /// Cordoned, with the taint that Kubernetes adds.
    fn cordoned(self) -> Self;
    fn not_ready(self) -> Self;
    fn ready(self) -> Self;
    fn tainted(self, key: &str, value: &str, effect: &str) -> Self;
    fn labelled(self, key: &str, value: &str) -> Self;
    fn without_provider_id(self) -> Self;
    fn of_unknown_cloud(self) -> Self;
    fn of_cloud(self, cloud: &str) -> Self;
    fn on_machine(self, machine: &str) -> Self;
    fn marked(self, mark: &str) -> Self;
}

impl NodeFixture for Node {
    fn cordoned(self) -> Self {
        Self {
            cordoned: true,
            ..self.tainted("node.kubernetes.io/unschedulable", "", "NoSchedule")
        }
    }

    fn not_ready(self) -> Self {
        Self { ready: false, ..self }
    }

    fn ready(self) -> Self {
        Self { ready: true, ..self }
    }

    fn tainted(mut self, key: &str, value: &str, effect: &str) -> Self {
        self.taints.push(Taint { key: key.into(), value: value.into(), effect: effect.into() });
        self
    }

    fn labelled(self, key: &str, value: &str) -> Self {
        let mut labels = (*self.labels).clone();
        labels.insert(key.into(), value.into());
        Self { labels: Arc::new(labels), ..self }
    }

    fn without_provider_id(self) -> Self {
        Self { machine: None, provider_id: None, ..self }
    }

    fn of_unknown_cloud(self) -> Self {
        Self { machine: None, provider_id: Some("strange://1".into()), ..self }
    }

    fn of_cloud(mut self, cloud: &str) -> Self {
        if let Some(machine) = &mut self.machine {
            machine.cloud = cloud.into();
        }
        self
    }

    fn on_machine(mut self, id: &str) -> Self {
        if let Some(machine) = &mut self.machine {
            machine.id = id.into();
        }
        self
    }

    fn marked(mut self, mark: &str) -> Self {
        let key = &MARKS[usize::from(mark.contains(':'))];
        self.marks.insert(key, mark.into());
        self
    }
}

/// A ready pod without labels in namespace `default`.
pub fn pod(id: &str, node: &str) -> Pod {
    Pod {
        id: id.into(),
        namespace: "default".into(),
        name: id.into(),
        node: node.into(),
        labels: labels(&[]),
        state: PodState::Ready,
        owner: None,
    }
}

pub trait PodFixture {
    fn in_namespace(self, namespace: &str) -> Self;
    fn with_labels(self, pairs: &[(&str, &str)]) -> Self;
}

impl PodFixture for Pod {
    fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: namespace.into(), ..self }
    }

    fn with_labels(self, pairs: &[(&str, &str)]) -> Self {
        Self { labels: labels(pairs), ..self }
    }
}

pub fn key(name: &str) -> ObjectKey {
    ObjectKey { kind: &POOL, namespace: "default".into(), name: name.into() }
}

/// A pool without addresses and without rules for nodes.
pub fn pool(name: &str) -> Pool {
    Pool {
        key: key(name),
        uid: format!("uid-{name}").as_str().into(),
        version: 1,
        created_at: at(-1000),
        request: Ok(Request {
            account: ACCOUNT.into(),
            region: Some(REGION.into()),
            listed: vec![],
            wanted: None,
            matching: Arc::default(),
            unreadable: None,
            marks: &MARKS,
            evicts: None,
            reread: None,
            cool_off: Duration::ZERO,
            grace: Duration::ZERO,
        }),
        named: None,
        ledger: Ledger::default(),
        ledger_stripped: false,
        resolution: None,
        deleting: false,
        releases: false,
        finalizers: vec![],
        paused: None,
        remembered: [].into(),
        last_assignment: None,
        names: &POOL_NAMES,
    }
}

pub trait PoolFixture: Sized {
    fn ask(self, change: impl FnOnce(&mut Request)) -> Self;
    fn ips<const N: usize>(self, ips: [u8; N]) -> Self;
    fn ips6<const N: usize>(self, ips: [u16; N]) -> Self;
    fn wants(self, wanted: usize) -> Self;
    fn on(self, selector: &str) -> Self;
    /// Cordoned nodes keep their address while a pod with `app=web` is on them.
    fn keeping_while(self) -> Self;
    fn with_pods(self, namespace: Option<&str>, selector: &str) -> Self;
    fn tolerating(self, key: Option<&str>, value: Option<&str>, effect: Option<&str>) -> Self;
    fn cooling_off(self, seconds: u64) -> Self;
    fn with_grace(self, seconds: u64) -> Self;
    fn in_account(self, account: &str) -> Self;
    fn without_region(self) -> Self;
    fn created_at(self, time: Time) -> Self;
    fn releasing(self) -> Self;
    fn deleted(self) -> Self;
    fn invalid(self) -> Self;
    fn holding(self, ip: IpAddr) -> Self;
    fn without_node_since(self, ip: IpAddr, since: Time) -> Self;
    fn with_intent(self, target: Option<&str>) -> Self;
}

impl PoolFixture for Pool {
    fn ask(mut self, change: impl FnOnce(&mut Request)) -> Self {
        if let Ok(request) = &mut self.request {
            change(request);
        }
        self
    }

    fn ips<const N: usize>(self, ips: [u8; N]) -> Self {
        self.ask(|request| request.listed.extend(ips.map(ip)))
    }

    fn ips6<const N: usize>(self, ips: [u16; N]) -> Self {
        self.ask(|request| request.listed.extend(ips.map(ip6)))
    }

    fn wants(self, wanted: usize) -> Self {
        self.ask(|request| request.wanted = Some(wanted))
    }

    fn on(self, selector: &str) -> Self {
        let nodes = Selector::parse(selector).expect("a selector");
        self.ask(|request| Arc::make_mut(&mut request.matching).nodes = nodes)
    }

    fn keeping_while(self) -> Self {
        let labels = Selector::parse("app=web").expect("a selector");
        let pods = PodMatch { labels, unready: true, ..PodMatch::default() };
        let cordon = Cordon::KeepsWhile(pods);
        self.ask(|request| Arc::make_mut(&mut request.matching).cordon = cordon)
    }

    fn with_pods(self, namespace: Option<&str>, selector: &str) -> Self {
        let labels = Selector::parse(selector).expect("a selector");
        let namespace = namespace.map(Into::into);
        let pods = PodMatch { namespace, labels, ..PodMatch::default() };
        self.ask(|request| Arc::make_mut(&mut request.matching).pods = Some(pods))
    }

    fn tolerating(self, key: Option<&str>, value: Option<&str>, effect: Option<&str>) -> Self {
        let toleration = Toleration {
            key: key.map(Into::into),
            value: value.map(Into::into),
            effect: effect.map(Into::into),
        };
        self.ask(|request| Arc::make_mut(&mut request.matching).tolerations.push(toleration))
    }

    fn cooling_off(self, cool_off: u64) -> Self {
        self.ask(|request| request.cool_off = seconds(cool_off))
    }

    fn with_grace(self, grace: u64) -> Self {
        self.ask(|request| request.grace = seconds(grace))
    }

    fn in_account(self, account: &str) -> Self {
        self.ask(|request| request.account = account.into())
    }

    fn without_region(self) -> Self {
        self.ask(|request| request.region = None)
    }

    fn releasing(self) -> Self {
        Self { releases: true, ..self }
    }

    fn deleted(self) -> Self {
        Self { deleting: true, ..self }
    }

    fn created_at(self, created_at: Time) -> Self {
        Self { created_at, ..self }
    }

    fn invalid(self) -> Self {
        let finding = Finding { reason: "InvalidSelector", message: "no selector".into() };
        let named = self.request.as_ref().ok().map(|request| request.listed.clone());
        Self { request: Err(finding), named: named.or(self.named), ..self }
    }

    fn holding(mut self, ip: IpAddr) -> Self {
        let memory = Remembered { had: true, held: true, ..Remembered::default() };
        self.remembered.insert(ip, memory);
        self
    }

    fn without_node_since(mut self, ip: IpAddr, since: Time) -> Self {
        let ineligible_since = Some(since);
        let memory =
            Remembered { had: true, held: true, ineligible_since, ..Remembered::default() };
        self.remembered.insert(ip, memory);
        self
    }

    fn with_intent(mut self, target: Option<&str>) -> Self {
        let id = format!("intent-{}", self.ledger.intents.len());
        self.ledger.intents.push(Intent {
            id: id.as_str().into(),
            family: Family::V4,
            region: REGION.into(),
            target: target.map(|node| machine(node).as_str().into()),
            strangers: vec![],
            unsettled: vec![],
        });
        self
    }
}

/// The assignments among `actions`: address and node, in order.
pub fn moves(actions: &[Action]) -> Vec<(IpAddr, &str)> {
    let mut moves = vec![];
    for action in actions {
        if let Action::Address(AddressAction::Assign { ip, node, .. }) = action {
            moves.push((*ip, &*node.0));
        }
    }
    moves
}

/// The marks among `actions`: node and mark, in order.
pub fn marks(actions: &[Action]) -> Vec<(&str, Option<&str>)> {
    let mut marks = vec![];
    for action in actions {
        if let Action::Mark(MarkWrite { node, value, .. }) = action {
            marks.push((&*node.0, value.as_deref()));
        }
    }
    marks
}

/// The reservations among `actions`: their targets, in order.
pub fn creations(actions: &[Action]) -> Vec<Option<&str>> {
    let mut targets = vec![];
    for action in actions {
        if let Action::Address(AddressAction::Create { intent, .. }) = action {
            targets.push(intent.target.as_ref().map(|target| &*target.0));
        }
    }
    targets
}

/// Number of matching actions.
pub fn count(actions: &[Action], such: fn(&Action) -> bool) -> usize {
    actions.iter().filter(|action| such(action)).count()
}

pub fn is_list(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::List { .. }))
}

pub fn is_assign(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::Assign { .. }))
}

pub fn is_unassign(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::Unassign { .. }))
}

pub fn is_release(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::Release { .. }))
}

pub fn is_create(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::Create { .. }))
}

pub fn is_ledger(action: &Action) -> bool {
    matches!(action, Action::Ledger(LedgerWrite { .. }))
}

pub fn is_read(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::Read { .. }))
}

pub fn is_operation_read(action: &Action) -> bool {
    matches!(action, Action::Address(AddressAction::ReadOperation { .. }))
}

pub fn is_mark(action: &Action) -> bool {
    matches!(action, Action::Mark(MarkWrite { .. }))
}

/// Whether the action changes the provider or the cluster.
pub fn is_change(action: &Action) -> bool {
    action.effect() != Effect::Reads
}
