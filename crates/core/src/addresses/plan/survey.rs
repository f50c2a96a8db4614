//! The place of each address of a pool, and whether the address may stay there.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::drift;
use super::marks;
use super::need::unmade;
use super::view::{AddressView, Hold, Place, PoolFacts, PoolView, grace_ends, owner};
use crate::Time;
use crate::addresses::verdict::Note;
use crate::addresses::{Abilities, Knowledge, PoolEntry};
use crate::model::{Drift, Family, MachineId, ObjectKey, Remembered};
use crate::nodes::Unfit;
use crate::world::World;

/// Surveys every pool in scope. Older pools come first and choose first. Paused pools come last,
/// and take no node from the others.
pub(crate) fn survey<'w>(
    world: &'w World,
    scope: &BTreeSet<ObjectKey>,
    now: Time,
) -> Vec<PoolView<'w>> {
    let entries = scope.iter().filter_map(|key| world.pool(key));
    let mut views: Vec<_> = entries.map(|entry| view(world, entry, now)).collect();
    views.sort_by_cached_key(|view| seniority(world, view.entry));
    views
}

/// The order in which pools choose nodes.
pub(crate) type Seniority = (bool, Time, ObjectKey);

/// The rank of a pool in this order: pools whose calls are made first, then older ones.
pub(crate) fn seniority(world: &World, entry: &PoolEntry) -> Seniority {
    (world.comes_last(&entry.pool), entry.pool.created_at, entry.pool.key.clone())
}

fn view<'w>(world: &'w World, entry: &'w PoolEntry, now: Time) -> PoolView<'w> {
    let facts = facts(world, entry);
    if facts.request.is_none() {
        return PoolView::new(facts, vec![], vec![], vec![]);
    }
    let listed = entry.addresses().iter().enumerate();
    let addresses: Vec<_> =
        listed.map(|(index, ip)| facts.stand(world, *ip, index < facts.wanted, now)).collect();
    let leaving = entry.leaving().filter(|_| !entry.is_ending());
    let leaving: Vec<_> = leaving.map(|ip| facts.leave(world, ip)).collect();
    let lacks = facts.wanted.saturating_sub(addresses.len() + unmade(entry));
    let keeping = facts.keep(world, &leaving, lacks);
    PoolView::new(facts, addresses, leaving, keeping)
}

fn facts<'w>(world: &'w World, entry: &'w PoolEntry) -> PoolFacts<'w> {
    let request = entry.pool.request.as_ref().ok();
    let account = request.and_then(|request| world.account(&request.account));
    let request = request.filter(|_| account.is_some_and(|account| account.setup.is_ok()));
    // A pool waiting for the release of its addresses wants none.
    let all = if entry.is_ending() { Some(0) } else { request.and_then(|request| request.wanted) };
    let wanted = all.unwrap_or(entry.addresses().len());
    PoolFacts { key: &entry.pool.key, entry, request, account, class: entry.class, wanted }
}

impl<'w> PoolFacts<'w> {
    fn stand(&self, world: &'w World, ip: IpAddr, used: bool, now: Time) -> AddressView<'w> {
        let place = self.place(world, ip, used);
        let mut memory = self.entry.memory(ip);
        drift::not_ahead(&mut memory, now);
        if let Some(holder) = place.holder() {
            let ours = !world.leaves_alone(&self.entry.pool);
            let judged = used && ours;
            let left = memory.machine.take().filter(|left| judged && Some(left) != holder);
            // A call of ours that failed may have taken effect late.
            let late = holder.is_some_and(|machine| self.is_late_call(ip, machine));
            // Taking an address from an ineligible node is no drift.
            if let Some(from) = left.filter(|from| !late && self.may_keep(world, from)) {
                memory.drift = Some(drift::found(memory.drift.as_ref(), from, now));
            }
            // In observe mode, or while paused, a pool acquires no address.
            memory.had |= ours;
            memory.machine = holder.cloned();
            memory.free = holder.is_none();
        }
        match &place {
            Place::Conflict(_) | Place::Gone => memory = Remembered::default(),
            Place::Home(..) => {
                memory.held = true;
                memory.ineligible_since = None;
                drift::clear(&mut memory);
            }
            // The time without an eligible node goes on until the address has arrived.
            Place::Moving(_) => {
                memory.had = true;
                memory.held = true;
                memory.machine = None;
                memory.free = false;
            }
            Place::Stranded(..) => {
                memory.held = true;
                // A time in the future is a clock error, and counts as now.
                let since = memory.ineligible_since.filter(|since| *since <= now);
                memory.ineligible_since = Some(since.unwrap_or(now));
            }
            Place::Free => memory.ineligible_since = None,
            Place::Disabled(_) => {
                memory.ineligible_since = None;
                drift::clear(&mut memory);
            }
            Place::Unknown | Place::Missing | Place::Unsupported | Place::Busy(_) => {}
        }
        let hold = self.hold(world, &place, &memory, now);
        let unmarking = self.is_unmarking(world, &place, now);
        AddressView { ip, place, memory, hold, unmarking }
    }

    /// Whether a failed call of ours may have taken an address to a machine.
    fn is_late_call(&self, ip: IpAddr, machine: &MachineId) -> bool {
        self.account.is_some_and(|account| account.setbacks.may_have_moved(ip, machine))
    }

    fn hold(
        &self,
        world: &World,
        place: &Place<'_>,
        memory: &Remembered,
        now: Time,
    ) -> Option<Hold> {
        match (place, &memory.drift) {
            (Place::Free | Place::Stranded(..), Some(Drift { from: Some(from), .. })) => {
                // If its former node is lost, the address fails over without a hold-down.
                let until = drift::held_until(memory, matches!(place, Place::Free), now);
                until.filter(|_| self.may_keep(world, from)).map(Hold::Drift)
            }
            (Place::Stranded(_, Note::Unfit(unfit)), _) => {
                grace_ends(self.request?.grace, unfit, memory, now).map(Hold::Grace)
            }
            _ => None,
        }
    }

    /// Whether an address leaves a drained node that still carries a mark of the pool. The move is
    /// planned, so it waits for the withdrawal, unless the withdrawal failed.
    fn is_unmarking(&self, world: &World, place: &Place<'_>, now: Time) -> bool {
        let Place::Stranded(machine, Note::Unfit(Unfit::Cordoned)) = place else { return false };
        let node = self.node_on(world, machine).and_then(|name| world.node(name));
        let marks = self.request.map_or(&[][..], |request| request.marks);
        let withdrawn = |node| marks.iter().any(|mark| marks::is_withdrawn(world, node, mark, now));
        node.is_some_and(withdrawn)
    }

    /// The view of an address the pool no longer names. The remembered facts are not updated: the
    /// machine at that time shows whether the address was moved since. During a call of ours that
    /// machine is the one that the call concerns; a move between two machines may end on either.
    fn leave(&self, world: &'w World, ip: IpAddr) -> AddressView<'w> {
        let (place, mut memory) = (self.place(world, ip, false), self.entry.memory(ip));
        let address = self.account.and_then(|account| account.address(ip));
        if let (Place::Moving(_), Some(address)) = (&place, address)
            && matches!(address.knowledge, Knowledge::Known { .. })
            && let [Some(one), None] | [None, Some(one)] = address.machines()
        {
            memory.machine.get_or_insert_with(|| one.clone());
            memory.free = false;
        }
        AddressView { ip, place, memory, hold: None, unmarking: false }
    }

    fn place(&self, world: &'w World, ip: IpAddr, used: bool) -> Place<'w> {
        let owner = owner(world, ip);
        if let Some(owner) = owner.filter(|owner| *owner != self.key) {
            return Place::Conflict(owner);
        }
        let supported = |abilities: &Abilities| abilities.families.has(Family::of(ip));
        if !self.abilities().is_some_and(supported) {
            return Place::Unsupported;
        }
        let Some(address) = self.account.and_then(|account| account.address(ip)) else {
            return Place::Unknown;
        };
        if let Some(operation) = &address.operation {
            return Place::Moving(operation);
        }
        let sighting = match &address.knowledge {
            Knowledge::Unknown => return Place::Unknown,
            Knowledge::Missing => return Place::Missing,
            Knowledge::Gone => return Place::Gone,
            Knowledge::Known { sighting, .. } => sighting,
        };
        if sighting.busy {
            return Place::Busy(sighting.holder.as_ref());
        }
        if !used {
            return Place::Disabled(sighting.holder.as_ref());
        }
        match &sighting.holder {
            Some(machine) => self.on_machine(world, machine),
            None => Place::Free,
        }
    }

    fn on_machine(&self, world: &'w World, machine: &'w MachineId) -> Place<'w> {
        if let Some(node) = self.keeper_on(world, machine).and_then(|name| world.node(name)) {
            return Place::Home(node, machine);
        }
        let name = self.node_on(world, machine);
        let unfit = name.and_then(|name| self.judge(world, name).unfit());
        Place::Stranded(machine, unfit.map_or(Note::NoNode, Note::Unfit))
    }

    /// Up to `lacks` leaving addresses that the pool keeps, those on eligible nodes first.
    fn keep(&self, world: &World, leaving: &[AddressView<'_>], lacks: usize) -> Vec<IpAddr> {
        let there = |one: &&AddressView<'_>| !matches!(one.place, Place::Conflict(_) | Place::Gone);
        let mut kept: Vec<_> = leaving.iter().filter(there).collect();
        kept.sort_by_key(|one| (!self.serves(world, one), one.ip));
        kept.iter().take(lacks).map(|one| one.ip).collect()
    }

    /// Whether a delisted address is on a node that may keep it.
    pub fn serves(&self, world: &World, one: &AddressView<'_>) -> bool {
        match one.place {
            Place::Disabled(Some(machine)) => self.may_keep(world, machine),
            _ => false,
        }
    }
}
