//! A plan in the making.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::Time;
use crate::action::Action;
use crate::addresses::plan::bipartite::Group;
use crate::addresses::verdict::Verdict;
use crate::model::{Family, NodeName, ObjectKey, Site};
use crate::plan::Plan;
use crate::records::verdict::RecordVerdict;

pub(crate) struct Draft {
    pub now: Time,
    plan: Plan,
    /// Marks by node and family: several pools may look at one node.
    marks: BTreeMap<(NodeName, Family), Action>,
    /// Pools that assign something in this plan, and which address goes to which node.
    assigning: BTreeSet<ObjectKey>,
    targets: BTreeMap<IpAddr, NodeName>,
    /// Addresses that are put on a node or taken off one in this plan.
    moving: BTreeSet<IpAddr>,
    /// Addresses that turned out to be the result of a reservation.
    adopted: BTreeSet<IpAddr>,
    /// How many more assignments a pool that paces them may begin.
    allowance: BTreeMap<ObjectKey, usize>,
    /// Pools for which an address is taken off a node.
    room_made: BTreeSet<ObjectKey>,
    /// Pools that wait for another's address to leave a node.
    contesting: BTreeSet<ObjectKey>,
}

impl Draft {
    pub fn new(now: Time) -> Self {
        Self {
            now,
            plan: Plan::default(),
            marks: BTreeMap::new(),
            assigning: BTreeSet::new(),
            targets: BTreeMap::new(),
            moving: BTreeSet::new(),
            adopted: BTreeSet::new(),
            allowance: BTreeMap::new(),
            room_made: BTreeSet::new(),
            contesting: BTreeSet::new(),
        }
    }

    /// Plans again at `time`, if it lies ahead.
    pub fn wake_at(&mut self, time: impl Into<Option<Time>>) {
        if let Some(time) = time.into().filter(|time| *time > self.now) {
            self.plan.wake = Some(self.plan.wake.map_or(time, |wake| wake.min(time)));
        }
    }

    pub fn act(&mut self, action: Action) {
        match &action {
            Action::Assign { pool, ip, node, .. } => {
                self.assigning.insert(pool.clone());
                self.targets.insert(*ip, node.clone());
                self.moving.insert(*ip);
            }
            Action::Unassign { ip, .. } => {
                self.moving.insert(*ip);
            }
            Action::Mark { node, family, .. } => {
                self.marks.insert((node.clone(), *family), action);
                return;
            }
            _ => {}
        }
        self.plan.actions.push(action);
    }

    /// The addresses that are put on a node in this plan.
    pub fn assigned(&self) -> BTreeSet<IpAddr> {
        self.targets.keys().copied().collect()
    }

    /// The node that an address is put on in this plan.
    pub fn target(&self, ip: IpAddr) -> Option<&NodeName> {
        self.targets.get(&ip)
    }

    /// Whether a change of these records is planned.
    pub fn changes_records(&self, site: &Site, family: Family) -> bool {
        self.plans(|action| {
            matches!(action, Action::ChangeRecords { site: at, family: of, .. }
                if at == site && *of == family)
        })
    }

    /// Whether an assignment for the pool is planned.
    pub fn assigns(&self, pool: &ObjectKey) -> bool {
        self.assigning.contains(pool)
    }

    /// Whether an address is put on a node or taken off one.
    pub fn moves(&self, ip: IpAddr) -> bool {
        self.moving.contains(&ip)
    }

    /// Whether such an action is planned.
    pub fn plans(&self, such: impl Fn(&Action) -> bool) -> bool {
        self.plan.actions.iter().any(such)
    }

    /// The pool may begin so many assignments in this plan.
    pub fn allow(&mut self, pool: &ObjectKey, assignments: usize) {
        self.allowance.insert(pool.clone(), assignments);
    }

    /// How many assignments the pool may still begin.
    pub fn allowance(&self, pool: &ObjectKey) -> usize {
        self.allowance.get(pool).copied().unwrap_or(usize::MAX)
    }

    /// The pool begins an assignment, if it may.
    pub fn spend(&mut self, pool: &ObjectKey) -> bool {
        match self.allowance.get_mut(pool) {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }

    /// The pool waits for another's address to leave a node.
    pub fn contest(&mut self, pool: &ObjectKey) {
        self.contesting.insert(pool.clone());
    }

    /// Whether it does.
    pub fn is_contesting(&self, pool: &ObjectKey) -> bool {
        self.contesting.contains(pool)
    }

    /// An address is taken off a node so that this pool can use it.
    pub fn make_room(&mut self, pool: &ObjectKey) {
        self.room_made.insert(pool.clone());
    }

    /// Whether one is.
    pub fn has_room_made(&self, pool: &ObjectKey) -> bool {
        self.room_made.contains(pool)
    }

    /// An address turned out to be the result of a reservation.
    pub fn adopt(&mut self, ip: IpAddr) {
        self.adopted.insert(ip);
    }

    /// Whether another reservation of this plan has the address already.
    pub fn has_adopted(&self, ip: IpAddr) -> bool {
        self.adopted.contains(&ip)
    }

    /// The pool is planned again whatever happens, or when there is room in one of `groups`.
    pub fn wait(&mut self, pool: &ObjectKey, groups: Option<Vec<Group>>) {
        match groups {
            Some(groups) => {
                self.plan.blocked.insert(pool.clone(), groups);
            }
            None => {
                self.plan.waiting.insert(pool.clone());
            }
        }
    }

    /// The pool has nothing to do with an address any more.
    pub fn let_go(&mut self, pool: &ObjectKey, ip: IpAddr) {
        self.plan.let_go.push((pool.clone(), ip));
    }

    pub fn say(&mut self, pool: &ObjectKey, verdict: Verdict) {
        self.plan.verdicts.insert(pool.clone(), verdict);
    }

    pub fn say_of_records(&mut self, key: &ObjectKey, verdict: RecordVerdict) {
        self.plan.records.insert(key.clone(), verdict);
    }

    /// The records of an object are planned again then, if not before.
    pub fn wake_for_records(&mut self, key: &ObjectKey, time: Time) {
        let wake = self.plan.record_wakes.entry(key.clone()).or_insert(time);
        *wake = time.min(*wake);
        self.wake_at(time);
    }

    pub fn finish(mut self) -> Plan {
        self.plan.actions.extend(self.marks.into_values());
        self.plan.actions.sort_by_key(urgency);
        self.plan
    }
}

/// Failover first, then what failover waits for, then the marks, then reading, then DNS.
fn urgency(action: &Action) -> u8 {
    match action {
        Action::Assign { .. } => 0,
        Action::Create { .. } | Action::WriteLedger { .. } | Action::Unassign { .. } => 1,
        Action::Mark { .. } => 2,
        Action::Release { .. } => 3,
        Action::List { .. } | Action::ReadAddress { .. } | Action::ReadOperation { .. } => 4,
        Action::ReadRecords { .. } | Action::ChangeRecords { .. } => 5,
    }
}
