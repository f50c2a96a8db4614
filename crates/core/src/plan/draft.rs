//! A plan in the making.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::Time;
use crate::action::{Action, AddressAction, MarkWrite, RecordAction};
use crate::addresses::plan::bipartite::Group;
use crate::addresses::verdict::Verdict;
use crate::model::{Family, MachineId, Mark, NodeName, ObjectKey, Site, Text};
use crate::plan::Plan;
use crate::records::verdict::RecordVerdict;
use crate::vips::verdict::VipVerdict;

pub(crate) struct Draft {
    pub now: Time,
    plan: Plan,
    /// Marks by node and key, since several pools may mark one node.
    marks: BTreeMap<NodeName, BTreeMap<&'static Mark, MarkWrite>>,
    /// Pools with an assignment in this plan, and the target node of each address.
    assigning: BTreeSet<ObjectKey>,
    targets: BTreeMap<IpAddr, NodeName>,
    /// Machines to which this plan or a later one brings an address, with the pool of the address.
    coming: BTreeSet<(MachineId, ObjectKey)>,
    brought: BTreeSet<IpAddr>,
    /// Machines with a call that waits for notes on their nodes.
    awaiting_notes: BTreeSet<MachineId>,
    /// Addresses assigned or unassigned by this plan.
    moving: BTreeSet<IpAddr>,
    /// Addresses recognised as results of reservations, and the intents of those.
    adopted: BTreeSet<IpAddr>,
    settled: BTreeSet<(ObjectKey, Text)>,
    /// Assignments left for each pool with a cool-off.
    allowance: BTreeMap<ObjectKey, usize>,
    /// Pools for which an address is unassigned to make room.
    room_made: BTreeSet<ObjectKey>,
    /// Pools that wait for an address of another pool to leave a node.
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
            coming: BTreeSet::new(),
            brought: BTreeSet::new(),
            awaiting_notes: BTreeSet::new(),
            moving: BTreeSet::new(),
            adopted: BTreeSet::new(),
            settled: BTreeSet::new(),
            allowance: BTreeMap::new(),
            room_made: BTreeSet::new(),
            contesting: BTreeSet::new(),
        }
    }

    /// Plans again at `time`, unless past.
    pub fn wake_at(&mut self, time: impl Into<Option<Time>>) {
        if let Some(time) = time.into().filter(|time| *time > self.now) {
            self.plan.wake = Some(self.plan.wake.map_or(time, |wake| wake.min(time)));
        }
    }

    /// Notes that a call about a machine waits for notes on the machine's nodes.
    pub fn awaits_notes(&mut self, machine: &MachineId) {
        self.awaiting_notes.insert(machine.clone());
    }

    /// Whether a call about a machine waits for notes on the machine's nodes.
    pub fn is_awaiting_notes(&self, machine: &MachineId) -> bool {
        self.awaiting_notes.contains(machine)
    }

    /// Notes that a pool's assignment is prepared, and follows in the next plan.
    pub fn prepares(&mut self, pool: &ObjectKey) {
        self.assigning.insert(pool.clone());
    }

    /// Notes that an address of a pool is assigned to a machine: now, after a note on a node, or after
    /// the address has left another machine.
    pub fn brings(&mut self, pool: &ObjectKey, ip: IpAddr, machine: &MachineId) {
        self.brought.insert(ip);
        self.awaits_account(pool, machine);
    }

    /// Notes that an assignment of a pool's address to a machine waits for the account alone.
    pub fn awaits_account(&mut self, pool: &ObjectKey, machine: &MachineId) {
        self.coming.insert((machine.clone(), pool.clone()));
    }

    /// The pools whose addresses are about to come to a machine.
    pub fn coming_to(&self, machine: &MachineId) -> impl Iterator<Item = &ObjectKey> {
        self.coming.iter().filter(move |(to, _)| to == machine).map(|(_, pool)| pool)
    }

    pub fn mark(&mut self, write: MarkWrite) {
        self.marks.entry(write.node.clone()).or_default().insert(write.mark, write);
    }

    /// The marks that this plan writes, for each node.
    pub fn marks_by_node(
        &mut self,
    ) -> impl Iterator<Item = &mut BTreeMap<&'static Mark, MarkWrite>> {
        self.marks.values_mut()
    }

    pub fn act(&mut self, action: Action) {
        match &action {
            Action::Address(AddressAction::Assign { pool, ip, node, .. }) => {
                self.assigning.insert(pool.clone());
                self.targets.insert(*ip, node.clone());
                self.moving.insert(*ip);
            }
            Action::Address(AddressAction::Unassign { ip, .. }) => {
                self.moving.insert(*ip);
            }
            _ => {}
        }
        self.plan.actions.push(action);
    }

    /// Addresses that this plan brings to a machine, in one step or with the first of two.
    pub fn brought(&self) -> &BTreeSet<IpAddr> {
        &self.brought
    }

    /// The node to which this plan assigns an address.
    pub fn target(&self, ip: IpAddr) -> Option<&NodeName> {
        self.targets.get(&ip)
    }

    /// Whether the plan changes the set.
    pub fn changes_records(&self, site: &Site, family: Family) -> bool {
        self.plans(|action| {
            matches!(action, Action::Record(RecordAction::Change { site: at, family: of, .. })
                if at == site && *of == family)
        })
    }

    /// Whether the plan has an assignment for the pool.
    pub fn assigns(&self, pool: &ObjectKey) -> bool {
        self.assigning.contains(pool)
    }

    /// Whether the plan assigns or unassigns an address.
    pub fn moves(&self, ip: IpAddr) -> bool {
        self.moving.contains(&ip)
    }

    /// Whether the plan has a matching action.
    pub fn plans(&self, such: impl Fn(&Action) -> bool) -> bool {
        self.plan.actions.iter().any(such)
    }

    /// Limits the assignments of a pool in this plan.
    pub fn allow(&mut self, pool: &ObjectKey, assignments: usize) {
        self.allowance.insert(pool.clone(), assignments);
    }

    /// Number of assignments left for the pool.
    pub fn allowance(&self, pool: &ObjectKey) -> usize {
        self.allowance.get(pool).copied().unwrap_or(usize::MAX)
    }

    /// Takes one assignment from the pool's allowance. Returns false if the allowance is used up.
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

    /// Notes that the pool waits for an address of another pool to leave a node.
    pub fn contest(&mut self, pool: &ObjectKey) {
        self.contesting.insert(pool.clone());
    }

    /// Whether the pool waits for an address of another pool to leave a node.
    pub fn is_contesting(&self, pool: &ObjectKey) -> bool {
        self.contesting.contains(pool)
    }

    /// Notes that an address is unassigned to make room for the pool.
    pub fn make_room(&mut self, pool: &ObjectKey) {
        self.room_made.insert(pool.clone());
    }

    /// Whether an address is unassigned to make room for the pool.
    pub fn has_room_made(&self, pool: &ObjectKey) -> bool {
        self.room_made.contains(pool)
    }

    /// Notes that an address is the result of a pool's reservation.
    pub fn adopt(&mut self, ip: IpAddr, pool: &ObjectKey, intent: &Text) {
        self.adopted.insert(ip);
        self.settled.insert((pool.clone(), intent.clone()));
    }

    /// Whether this plan has found the result of a pool's reservation.
    pub fn has_settled(&self, pool: &ObjectKey, intent: &Text) -> bool {
        self.settled.contains(&(pool.clone(), intent.clone()))
    }

    /// Whether a reservation of this plan has the address already.
    pub fn has_adopted(&self, ip: IpAddr) -> bool {
        self.adopted.contains(&ip)
    }

    /// Plans the pool again when one of `groups` may have room; on any event without `groups`.
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

    /// Ends the pool's tie to a delisted address.
    pub fn let_go(&mut self, pool: &ObjectKey, ip: IpAddr) {
        self.plan.let_go.push((pool.clone(), ip));
    }

    /// The records of an object are as wanted, after failed changes or changes by others.
    pub fn rests(&mut self, owner: &ObjectKey, family: Family) {
        self.plan.rested.push((owner.clone(), family));
    }

    pub fn say(&mut self, pool: &ObjectKey, verdict: Verdict) {
        self.plan.verdicts.insert(pool.clone(), verdict);
    }

    pub fn say_of_records(&mut self, key: &ObjectKey, verdict: RecordVerdict) {
        self.plan.records.insert(key.clone(), verdict);
    }

    pub fn say_of_vips(&mut self, key: &ObjectKey, verdict: VipVerdict) {
        self.plan.vips.insert(key.clone(), verdict);
    }

    /// Plans the records or VIPs of an object again at `time` at the latest.
    pub fn wake_for(&mut self, key: &ObjectKey, time: Time) {
        let wake = self.plan.wakes.entry(key.clone()).or_insert(time);
        *wake = time.min(*wake);
        self.wake_at(time);
    }

    pub fn finish(mut self) -> Plan {
        let marks = self.marks.into_values().flat_map(BTreeMap::into_values);
        self.plan.actions.extend(marks.map(Action::Mark));
        self.plan.actions.sort_by_key(urgency);
        self.plan
    }
}

/// Failover first, then calls that failover waits for and VIPs, marks, releases, reads, DNS and evictions.
fn urgency(action: &Action) -> u8 {
    match action {
        Action::Address(call) => match call {
            AddressAction::Assign { .. } => 0,
            AddressAction::Create { .. } | AddressAction::Unassign { .. } => 1,
            AddressAction::Release { .. } | AddressAction::RestoreEgress { .. } => 3,
            AddressAction::List { .. }
            | AddressAction::Read { .. }
            | AddressAction::ReadOperation { .. } => 4,
        },
        Action::Ledger(_) | Action::Vip(_) => 1,
        Action::Mark(_) => 2,
        Action::Record(_) | Action::Evict(_) => 5,
    }
}
