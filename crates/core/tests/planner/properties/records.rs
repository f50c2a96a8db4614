//! Properties of DNS names, for random events in random order.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{Action, Done, Failure, FailureKind, Outcome, RecordAction};
use pontoon_core::model::{
    Addresses, EmptyPolicy, Family, Finding, Held, Node, NodeAddress, ObjectKey, Record,
    RecordRequest, RecordSet, RecordSource, Site,
};
use pontoon_core::nodes::{Match, Selector};
use pontoon_core::plan::{Planner, plan_all};
use pontoon_core::records::verdict::RecordReason;
use pontoon_core::world::{Settings, World};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::cloud::{Fault, held_back_after};
use super::super::dns::{DNS, Dns, host};
use super::super::fixture::*;

#[derive(Clone, Debug)]
enum Event {
    Node(Box<Node>),
    NodeGone(u8),
    Set(Box<RecordSet>),
    SetGone(u8),
    /// A pending call ends: its index, and a fault.
    End(usize, Option<Fault>),
    /// Another controller adds a record.
    Hand(u8, IpAddr),
    Pass(u64),
    TakeOver,
    Plan,
}

fn key_of(n: u8) -> ObjectKey {
    ObjectKey { kind: &RECORD_SET, namespace: "d".into(), name: format!("s{n}").as_str().into() }
}

fn value() -> impl Strategy<Value = IpAddr> {
    prop_oneof![4 => (1..5_u8).prop_map(ip), 1 => (1..3_u16).prop_map(ip6)]
}

fn edge() -> impl Strategy<Value = Node> {
    (0..4_u8, 0..5_u8, vec(value(), 0..3)).prop_map(|(n, ready, external)| {
        let addresses = Addresses { external, internal: vec![] };
        let node = Node { addresses, ..node(&format!("n{n}")).labelled("role", "edge") };
        if ready == 0 { node.not_ready() } else { node }
    })
}

fn set() -> impl Strategy<Value = RecordSet> {
    let held = prop_oneof![4 => Just(None), 1 => (0..2_u8).prop_map(Some)];
    (0..3_u8, 0..2_u8, 0..3_i64, any::<bool>(), 0..8_u8, held).prop_map(
        |(n, name, age, remove, odd, held)| {
            let key = key_of(n);
            let nodes = Selector::parse("role=edge").expect("a selector");
            let matching = Arc::new(Match { nodes, ..Match::default() });
            let request = RecordRequest {
                account: if odd == 1 { "broken" } else { DNS }.into(),
                zone: "example.com".into(),
                name: if odd == 2 { format!("w{name}.example.com") } else { format!("w{name}") }
                    .as_str()
                    .into(),
                ttl: match odd {
                    3 => Some(30),
                    4 => Some(7),
                    _ => Some(60),
                },
                empty: if remove { EmptyPolicy::Remove } else { EmptyPolicy::Keep },
                source: RecordSource::Nodes { matching, addresses: NodeAddress::External },
                mark: None,
            };
            let finding = Finding { reason: "InvalidSelector", message: "no".into() };
            RecordSet {
                uid: format!("uid-{}", key.name).as_str().into(),
                key,
                version: 1,
                created_at: at(-age),
                request: if odd == 0 { Err(finding) } else { Ok(request) },
                held: held.map(|name| Held { site: site(name), families: [Family::V4].into() }),
                paused: None,
                names: &RECORD_NAMES,
            }
        },
    )
}

fn site(name: u8) -> Site {
    Site {
        account: DNS.into(),
        zone: "example.com".into(),
        name: format!("w{name}.example.com").as_str().into(),
    }
}

fn fault() -> impl Strategy<Value = Option<Fault>> {
    let kinds = vec![
        FailureKind::Unavailable,
        FailureKind::Throttled { wait: Duration::from_secs(7) },
        FailureKind::HeldBack { wait: Duration::from_secs(4), pacing: false },
        FailureKind::NotFound,
        FailureKind::Busy,
        FailureKind::NotSent,
    ];
    prop_oneof![
        6 => Just(None),
        2 => select(kinds).prop_map(|kind| Some(Fault::Answer(kind))),
        1 => Just(Some(Fault::Lost)),
        1 => Just(Some(Fault::Dropped)),
        2 => (1..3_usize).prop_map(|records| Some(held_back_after(records, 4))),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => edge().prop_map(|node| Event::Node(Box::new(node))),
        1 => (0..4_u8).prop_map(Event::NodeGone),
        4 => set().prop_map(|set| Event::Set(Box::new(set))),
        1 => (0..3_u8).prop_map(Event::SetGone),
        14 => (any::<usize>(), fault()).prop_map(|(which, fault)| Event::End(which, fault)),
        1 => (0..2_u8, value()).prop_map(|(name, ip)| Event::Hand(name, ip)),
        3 => select(vec![1, 5, 11, 121, 400]).prop_map(Event::Pass),
        1 => Just(Event::TakeOver),
        12 => Just(Event::Plan),
    ]
}

struct Run {
    now: Time,
    world: World,
    planner: Planner,
    dns: Dns,
    under_way: Vec<(Action, Time)>,
    version: u64,
    wake: Option<Time>,
}

impl Run {
    fn new() -> Self {
        let mut world = World::new(Settings::default(), &KINDS);
        world.set_record_account(DNS.into(), Ok(host()));
        let finding = Finding { reason: "CredentialsMissing", message: "no token".into() };
        world.set_record_account("broken".into(), Err(finding));
        for source in SOURCES {
            world.source_read(source);
        }
        let (planner, dns) = (Planner::default(), Dns::default());
        Self { now: at(0), world, planner, dns, under_way: vec![], version: 1, wake: None }
    }

    fn take(&mut self, event: Event) {
        self.version += 1;
        match event {
            Event::Node(node) => self.world.set_node(Node { version: self.version, ..*node }),
            Event::NodeGone(n) => self.world.remove_node(&format!("n{n}").as_str().into()),
            Event::Set(set) => {
                self.world.set_record_set(RecordSet { version: self.version, ..*set });
            }
            Event::SetGone(n) => self.world.remove_record_set(&key_of(n)),
            Event::End(which, fault) => self.end(which, fault),
            Event::Hand(name, ip) => self.dns.add(&site(name).name, ip, 60),
            Event::Pass(time) => self.now = self.now + seconds(time),
            Event::TakeOver => {
                self.under_way.clear();
                self.planner = Planner::default();
                self.world.take_over(self.now);
            }
            Event::Plan => self.plan(),
        }
    }

    fn end(&mut self, which: usize, fault: Option<Fault>) {
        if self.under_way.is_empty() {
            return;
        }
        let (action, sent_at) = self.under_way.remove(which % self.under_way.len());
        let result = self.carry_out(&action, fault);
        self.world.finish(Outcome { action, sent_at, result, jitter: 0 }, self.now);
    }

    /// Carries out an action. An update of a missing record fails as busy, as DNS hosts report
    /// concurrent changes.
    fn carry_out(&mut self, action: &Action, fault: Option<Fault>) -> Result<Done, Failure> {
        if let Action::Record(RecordAction::Change { change, .. }) = action
            && change.update.iter().any(|(id, _)| !self.dns.has(id))
        {
            return Err(Failure::plain(FailureKind::Busy, "somebody else changed it"));
        }
        self.dns.carry_out(action, fault)
    }

    /// Plans a part, compares with a full plan, and begins the actions.
    fn plan(&mut self) {
        let full = plan_all(&self.world, self.now);
        let plan = self.planner.next(&mut self.world, self.now);
        assert_eq!(plan.actions, full.actions, "planning a part differs from planning all");
        for action in plan.actions {
            self.check(&action);
            self.world.begin(&action);
            self.under_way.push((action, self.now));
        }
        self.wake = plan.wake;
    }

    /// Checks the invariants of a requested change.
    fn check(&self, action: &Action) {
        let Action::Record(RecordAction::Change { owner, site, family, change }) = action else {
            return;
        };
        let busy = |(other, _): &(Action, Time)| {
            matches!(other, Action::Record(RecordAction::Change { site: at, family: of, .. })
                if at == site && of == family)
        };
        assert!(!self.under_way.iter().any(busy), "two changes of {site} at a time");
        let entry = self.world.record_set(owner).expect("it exists");
        let request = entry.set.request.as_ref().expect("a request");
        let before = entry.known(*family).records.clone().expect("nothing is changed unread");
        let left = before.len() + change.create.len() - change.delete.len();
        assert!(left > 0 || request.empty == EmptyPolicy::Remove, "{site} is emptied");
        let writes = !change.create.is_empty() || !change.update.is_empty();
        assert!(!writes || host().ttls.contains(&change.ttl), "{site}: a TTL of {}", change.ttl);
    }

    /// Lets all calls succeed until nothing is left to do.
    fn settle(&mut self) {
        for _ in 0..200 {
            self.plan();
            if self.under_way.is_empty() {
                match self.wake {
                    // Longer than all waits except the routine read.
                    Some(wake) if wake.since(self.now) < seconds(100) => self.now = wake,
                    _ => return,
                }
            }
            while !self.under_way.is_empty() {
                self.end(0, None);
            }
        }
        panic!("never quiet");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_part_is_planned_like_all_nothing_is_emptied_and_in_the_end_every_name_is_as_wanted(
        events in vec(event(), 0..120),
    ) {
        let mut run = Run::new();
        for event in events {
            run.take(event);
        }
        while !run.under_way.is_empty() {
            run.end(0, None);
        }
        // Failures are over, and all records are read again.
        run.now = run.now + seconds(600);
        run.take(Event::TakeOver);
        run.settle();
        let wanted: std::collections::BTreeSet<IpAddr> = run
            .world
            .nodes()
            .filter(|node| node.ready)
            .flat_map(|node| node.addresses.external.clone())
            .collect();
        for (key, verdict) in plan_all(&run.world, run.now).records {
            if verdict.reason != RecordReason::Current {
                continue;
            }
            let listed = run.dns.listed(&verdict.site.expect("a site").name);
            for family in Family::ALL {
                let of = |ips: &mut dyn Iterator<Item = IpAddr>| {
                    ips.filter(|ip| Family::of(*ip) == family).collect::<Vec<_>>()
                };
                let should = of(&mut wanted.iter().copied());
                if !should.is_empty() {
                    prop_assert_eq!(of(&mut listed.iter().copied()), should, "{}", key);
                }
            }
        }
        // Completed changes are not repeated.
        let writes = |run: &Run| run.under_way.iter().filter(|(one, _)| is_change(one)).count();
        run.plan();
        prop_assert_eq!(writes(&run), 0);
    }

    #[test]
    fn the_order_in_which_things_are_seen_makes_no_difference(
        nodes in vec(edge(), 0..4),
        sets in vec(set(), 0..4),
        shuffle in any::<u64>(),
    ) {
        let mut last: BTreeMap<String, Event> = BTreeMap::new();
        for node in nodes {
            last.insert(format!("node {}", node.name), Event::Node(Box::new(node)));
        }
        for set in sets {
            last.insert(format!("set {}", set.key), Event::Set(Box::new(set)));
        }
        let outcome = |events: Vec<Event>| {
            let mut run = Run::new();
            events.into_iter().for_each(|event| run.take(event));
            run.settle();
            let names = [0, 1].map(|name| run.dns.listed(&site(name).name));
            (names, plan_all(&run.world, run.now).records)
        };
        let forwards: Vec<_> = last.values().cloned().collect();
        let mut other = forwards.clone();
        let turn = usize::try_from(shuffle % 7).expect("small").min(other.len());
        other.rotate_left(turn);
        other.reverse();
        let (one, two) = (outcome(forwards), outcome(other));
        prop_assert_eq!(one.0, two.0);
        prop_assert_eq!(
            one.1.into_iter().map(|(key, verdict)| (key, verdict.reason)).collect::<Vec<_>>(),
            two.1.into_iter().map(|(key, verdict)| (key, verdict.reason)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn any_outcome_of_anything_is_taken_in(
        family in select(Family::ALL.to_vec()),
        set in set(),
        values in vec(value(), 0..4),
        result in 0..5_u8,
    ) {
        let mut run = Run::new();
        run.take(Event::Set(Box::new(set.clone())));
        let record = |(n, value): (usize, &IpAddr)| Record {
            id: format!("x{}", n % 2).as_str().into(), value: *value, ttl: 1, proxied: n == 0,
        };
        let records: Vec<_> = values.iter().enumerate().map(record).collect();
        if let Ok(request) = set.request {
            for action in [
                Action::Record(RecordAction::Read { owner: set.key.clone(), request, family }),
                Action::Record(RecordAction::Change {
                    owner: set.key, site: site(0), family,
                    change: pontoon_core::model::RecordChange::default(),
                }),
            ] {
                let result = match result {
                    0 => Ok(Done::RecordsListed { site: site(0), records: records.clone() }),
                    1 => Ok(Done::RecordsChanged(records.clone())),
                    2 => Ok(Done::Effective),
                    3 => Ok(Done::RecordsChangedInPart {
                        written: records.clone(),
                        deleted: vec!["x0".into(), "y".into()],
                        wait: Duration::from_secs(4),
                        pacing: false,
                    }),
                    _ => Err(Failure::plain(FailureKind::NoAnswer, "lost")),
                };
                let outcome = Outcome { action, sent_at: run.now, result, jitter: 0 };
                run.world.finish(outcome, run.now);
                run.plan();
            }
        }
    }
}
