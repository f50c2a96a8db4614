//! A cluster, a provider and the planner, run until nothing is left to do.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{Action, Done, Failure, FailureKind, LedgerWrite, MarkWrite, Outcome};
use pontoon_core::addresses::verdict::{AddressVerdict, Reason, State, Verdict};
use pontoon_core::addresses::{Abilities, AccountSetup};
use pontoon_core::model::{Families, Node, NodeName, ObjectKey, Pod, PodId, Pool, RecordSet};
use pontoon_core::plan::{Plan, Planner, plan_all};
use pontoon_core::records::verdict::RecordVerdict;
use pontoon_core::world::{Settings, World};

use super::cloud::{Cloud, Fault};
use super::dns::{self, DNS, Dns};
use super::fixture::{ACCOUNT, CLOUD, KINDS, MARKS, SOURCES, at, key, machine, node};

pub struct Scene {
    pub now: Time,
    pub world: World,
    pub planner: Planner,
    pub cloud: Cloud,
    pub dns: Dns,
    /// Every begun action, in order.
    pub history: Vec<Action>,
    /// Time of the next plan.
    pub wake: Option<Time>,
    /// Whether assigning to a full machine is acceptable: only after a crash in the middle of a
    /// move.
    pub tolerant: bool,
    /// Begun actions with pending answers.
    pub held_back: Vec<(Action, Time)>,
    settings: Settings,
    setups: BTreeMap<&'static str, AccountSetup>,
    nodes: BTreeMap<NodeName, Node>,
    pods: BTreeMap<PodId, Pod>,
    pools: BTreeMap<ObjectKey, Pool>,
    verdicts: BTreeMap<ObjectKey, Verdict>,
    record_sets: BTreeMap<ObjectKey, RecordSet>,
    record_verdicts: BTreeMap<ObjectKey, RecordVerdict>,
    version: u64,
}

/// Duration of a call.
const LATENCY: Duration = Duration::from_millis(1);

pub fn setup() -> AccountSetup {
    AccountSetup {
        cloud: CLOUD.into(),
        project: None,
        abilities: Abilities {
            moves_at_once: true,
            families: Families::BOTH,
            per_machine: 1,
            places_new: Families::V4,
            marks_new: false,
            region_required: true,
            lists_by_machine: false,
            displaces_own: false,
        },
    }
}

/// An account at a provider with other abilities.
pub fn able(change: impl FnOnce(&mut Abilities)) -> AccountSetup {
    let mut setup = setup();
    change(&mut setup.abilities);
    setup
}

/// An empty cluster at a provider with a single address per machine.
pub fn scene() -> Scene {
    scene_at(setup())
}

/// An empty cluster with the given account.
pub fn scene_at(setup: AccountSetup) -> Scene {
    scene_with(setup, Settings::default())
}

/// An empty cluster with the given account and settings.
pub fn scene_with(setup: AccountSetup, settings: Settings) -> Scene {
    let mut cloud = Cloud::new(setup.abilities);
    cloud.project = setup.project.as_ref().map(|_| "project");
    let mut scene = Scene {
        now: at(0),
        world: World::new(settings, &KINDS),
        settings,
        planner: Planner::default(),
        cloud,
        dns: Dns::default(),
        history: vec![],
        wake: None,
        tolerant: false,
        held_back: vec![],
        setups: [(ACCOUNT, setup)].into(),
        nodes: [].into(),
        pods: [].into(),
        pools: [].into(),
        verdicts: [].into(),
        record_sets: [].into(),
        record_verdicts: [].into(),
        version: 100,
    };
    // The leader's term began long ago.
    scene.boot(at(-60));
    scene
}

impl Scene {
    // ---- setup ----

    pub fn account(mut self, name: &'static str, setup: AccountSetup) -> Self {
        self.setups.insert(name, setup.clone());
        self.world.set_account(name.into(), Ok(setup));
        self
    }

    pub fn nodes<const N: usize>(self, names: [&str; N]) -> Self {
        names.into_iter().fold(self, |scene, name| scene.node(node(name)))
    }

    pub fn node(mut self, node: Node) -> Self {
        self.set_node(node);
        self
    }

    pub fn pod(mut self, pod: Pod) -> Self {
        self.set_pod(pod);
        self
    }

    pub fn pool(mut self, pool: Pool) -> Self {
        self.set_pool(pool);
        self
    }

    /// Adds an address at the provider, on a node's machine or unassigned.
    pub fn address(mut self, ip: IpAddr, node: Option<&str>) -> Self {
        self.cloud.place(ip, node.map(machine).as_deref());
        self
    }

    /// Runs the scene until nothing is left to do.
    pub fn settled(mut self) -> Self {
        self.settle();
        self
    }

    // ---- events ----

    pub fn set_node(&mut self, mut node: Node) {
        self.version += 1;
        node.version = self.version;
        self.nodes.insert(node.name.clone(), node.clone());
        self.world.set_node(node);
    }

    pub fn change_node(&mut self, name: &str, change: impl FnOnce(Node) -> Node) {
        let node = self.nodes[&name.into()].clone();
        self.set_node(change(node));
    }

    pub fn remove_node(&mut self, name: &str) {
        self.nodes.remove(&name.into());
        self.world.remove_node(&name.into());
    }

    pub fn set_pod(&mut self, pod: Pod) {
        self.world.set_pod(&pod);
        self.pods.insert(pod.id.clone(), pod);
    }

    pub fn remove_pod(&mut self, id: &str) {
        self.pods.remove(&id.into());
        self.world.remove_pod(&id.into());
    }

    pub fn set_pool(&mut self, mut pool: Pool) {
        self.version += 1;
        pool.version = self.version;
        self.pools.insert(pool.key.clone(), pool.clone());
        self.world.set_pool(pool);
    }

    pub fn change_pool(&mut self, name: &str, change: impl FnOnce(Pool) -> Pool) {
        let pool = self.stored(name).clone();
        self.set_pool(change(pool));
    }

    pub fn remove_pool(&mut self, name: &str) {
        self.pools.remove(&key(name));
        self.world.remove_pool(&key(name));
    }

    pub fn records(mut self, set: RecordSet) -> Self {
        self.set_records(set);
        self
    }

    pub fn set_records(&mut self, mut set: RecordSet) {
        self.version += 1;
        set.version = self.version;
        self.record_sets.insert(set.key.clone(), set.clone());
        self.world.set_record_set(set);
    }

    pub fn change_records(&mut self, name: &str, change: impl FnOnce(RecordSet) -> RecordSet) {
        let set = self.record_sets.values().find(|set| *set.key.name == *name).cloned();
        self.set_records(change(set.expect("records of that name")));
    }

    pub fn remove_records(&mut self, key: &ObjectKey) {
        self.record_sets.remove(key);
        self.world.remove_record_set(key);
    }

    /// Delivers all pending watch events.
    pub fn watch(&mut self) {
        self.nodes.values().for_each(|node| self.world.set_node(node.clone()));
        self.pools.values().for_each(|pool| self.world.set_pool(pool.clone()));
    }

    /// Scripts a fault for the next matching action.
    pub fn fault(&mut self, concerns: fn(&Action) -> bool, fault: Fault) {
        self.cloud.faults.push_back((concerns, fault));
    }

    pub fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    /// Ends the process and starts another, which may act after `wait`.
    pub fn restart(&mut self, wait: Duration) {
        self.boot(self.now + wait);
    }

    fn boot(&mut self, open_from: Time) {
        self.world = World::new(self.settings, &KINDS);
        self.planner = Planner::default();
        self.held_back.clear();
        for (name, setup) in &self.setups {
            self.world.set_account((*name).into(), Ok(setup.clone()));
        }
        self.nodes.values().for_each(|node| self.world.set_node(node.clone()));
        self.pods.values().for_each(|pod| self.world.set_pod(pod));
        self.pools.values().for_each(|pool| self.world.set_pool(pool.clone()));
        self.world.set_record_account(DNS.into(), Ok(dns::host()));
        self.record_sets.values().for_each(|set| self.world.set_record_set(set.clone()));
        for source in SOURCES {
            self.world.source_read(source);
        }
        self.world.take_over(open_from);
    }

    // ---- planning and acting ----

    /// The next plan. Asserts that a full plan gives the same actions.
    pub fn plan(&mut self) -> Plan {
        let full = plan_all(&self.world, self.now);
        let plan = self.planner.next(&mut self.world, self.now);
        assert_eq!(plan.actions, full.actions, "planning a part differs from planning all");
        for (key, verdict) in &plan.verdicts {
            if let Some(pool) = self.pools.get_mut(key) {
                let memory = |one: &AddressVerdict| (one.ip, one.memory.clone());
                pool.remembered = verdict.addresses.iter().map(memory).collect();
                pool.last_assignment = verdict.last_assignment;
            }
            self.verdicts.insert(key.clone(), verdict.clone());
        }
        for (key, verdict) in &plan.records {
            if let Some(set) = self.record_sets.get_mut(key) {
                set.held.clone_from(&verdict.held);
            }
            self.record_verdicts.insert(key.clone(), verdict.clone());
        }
        self.wake = plan.wake;
        plan
    }

    /// The actions of the next plan, without beginning them.
    pub fn planned(&mut self) -> Vec<Action> {
        self.plan().actions
    }

    /// Plans and begins the actions; answers stay pending until [`answer`](Self::answer).
    pub fn begin(&mut self) -> Vec<Action> {
        let actions = self.planned();
        for action in &actions {
            self.world.begin(action);
        }
        self.history.extend(actions.iter().cloned());
        self.held_back.extend(actions.iter().map(|action| (action.clone(), self.now)));
        actions
    }

    /// Carries out every begun action, and reports the outcomes to the planner.
    pub fn answer(&mut self) {
        while !self.held_back.is_empty() {
            self.answer_one(0);
        }
        assert!(self.tolerant || self.cloud.refused == 0, "put where there is no room");
    }

    /// Carries out a begun action, and reports its outcome to the planner.
    pub fn answer_one(&mut self, index: usize) {
        let (action, sent_at) = self.held_back.remove(index);
        let result = self.carry_out(&action);
        self.now = self.now.max(sent_at + LATENCY);
        self.finish(action, sent_at, result);
    }

    pub fn finish(&mut self, action: Action, sent_at: Time, result: Result<Done, Failure>) {
        self.world.finish(Outcome { action, sent_at, result, jitter: 0 }, self.now);
    }

    /// Plans and acts until nothing is left to do at this time.
    pub fn settle(&mut self) -> Vec<Action> {
        let from = self.history.len();
        for _ in 0..100 {
            let actions = self.begin();
            self.answer();
            if actions.is_empty() {
                return self.history[from..].to_vec();
            }
        }
        panic!("never quiet: {:#?}", &self.history[self.history.len() - 6..]);
    }

    /// Runs until a matching action has begun; its answer stays pending.
    pub fn until_begun(&mut self, such: fn(&Action) -> bool) -> Action {
        for _ in 0..20 {
            if let Some(action) = self.begin().into_iter().find(such) {
                return action;
            }
            self.answer();
        }
        panic!("never begun: {:#?}", self.history);
    }

    /// Runs for a while, with a plan at each wake-up.
    pub fn run(&mut self, time: Duration) -> Vec<Action> {
        let (from, end) = (self.history.len(), self.now + time);
        self.settle();
        while let Some(wake) = self.wake.filter(|wake| *wake <= end) {
            assert!(wake > self.now, "woken in the past");
            self.now = wake;
            self.settle();
        }
        self.now = self.now.max(end);
        self.settle();
        self.history[from..].to_vec()
    }

    /// Carries out an action at the provider, the DNS host or the API server, with scripted faults.
    pub fn carry_out(&mut self, action: &Action) -> Result<Done, Failure> {
        if matches!(action, Action::Record(_)) {
            let fault = self.cloud.fault_for(action);
            return self.dns.carry_out(action, fault);
        }
        if !action.changes_cluster() {
            return self.cloud.carry_out(action);
        }
        match self.cloud.fault_for(action) {
            None => self.write(action),
            Some(Fault::Answer(kind)) => Err(Failure::plain(kind, "scripted")),
            Some(Fault::Lost) => {
                drop(self.write(action));
                Err(Failure::plain(FailureKind::NoAnswer, "timed out"))
            }
            Some(_) => Err(Failure::plain(FailureKind::NoAnswer, "timed out")),
        }
    }

    fn write(&mut self, action: &Action) -> Result<Done, Failure> {
        let refuse = |kind| Err(Failure::plain(kind, "the API server refuses"));
        let version = self.version + 1;
        match action {
            Action::Ledger(LedgerWrite { pool, version: replaced, ledger, .. }) => {
                let Some(pool) = self.pools.get_mut(pool) else {
                    return refuse(FailureKind::NotFound);
                };
                if pool.version != *replaced {
                    return refuse(FailureKind::Conflict);
                }
                pool.version = version;
                pool.ledger = ledger.clone();
                pool.ledger_stripped = false;
                pool.resolution = None;
                self.version = version;
                Ok(Done::LedgerWritten { version })
            }
            Action::Mark(MarkWrite { node, uid, version: replaced, mark, value, .. }) => {
                let Some(node) = self.nodes.get_mut(node).filter(|node| node.uid == *uid) else {
                    return refuse(FailureKind::NotFound);
                };
                if replaced.is_some_and(|replaced| node.version != replaced) {
                    return refuse(FailureKind::Conflict);
                }
                node.version = version;
                match value {
                    Some(value) => node.marks.insert(mark, value.clone()),
                    None => node.marks.remove(mark),
                };
                self.version = version;
                Ok(Done::Marked { version })
            }
            Action::Evict(_) => Ok(Done::Evicted),
            _ => refuse(FailureKind::NotSent),
        }
    }

    // ---- results ----

    /// The pool as stored in the API server.
    pub fn stored(&self, name: &str) -> &Pool {
        &self.pools[&key(name)]
    }

    pub fn record_verdict(&self, key: &ObjectKey) -> &RecordVerdict {
        &self.record_verdicts[key]
    }

    pub fn verdict(&self, name: &str) -> &Verdict {
        &self.verdicts[&key(name)]
    }

    pub fn reason(&self, name: &str) -> &Reason {
        &self.verdict(name).reason
    }

    pub fn states(&self, name: &str) -> Vec<State> {
        self.verdict(name).addresses.iter().map(|one| one.state).collect()
    }

    /// The node of an address, according to the provider.
    pub fn home(&self, ip: IpAddr) -> Option<&str> {
        self.cloud.holder(ip).map(|machine| machine.trim_start_matches("m-"))
    }

    pub fn mark6(&self, node: &str) -> Option<&str> {
        self.nodes[&node.into()].marks.get(&MARKS[1]).map(|mark| &**mark)
    }

    pub fn mark(&self, node: &str) -> Option<&str> {
        self.nodes[&node.into()].marks.get(&MARKS[0]).map(|mark| &**mark)
    }
}
