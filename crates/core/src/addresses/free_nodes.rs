//! Nodes with room for another address. The index follows the occupants of machines, so that
//! finding a free node does not search the full ones.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Account;
use crate::model::{AccountId, Family, Machine, MachineId, Node, NodeName, Text};
use crate::nodes::ClassId;
use crate::world::World;

/// Room on nodes, by cloud and family.
#[derive(Clone, Debug, Default)]
pub(crate) struct FreeNodes {
    sides: BTreeMap<(Text, Family), Side>,
}

#[derive(Clone, Debug, Default)]
struct Side {
    vacant: BTreeSet<NodeName>,
    foreign: BTreeSet<NodeName>,
}

/// The occupancy of a node for one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// Room for another address.
    Vacant,
    /// Full, with addresses of pools only.
    Taken,
    /// Full, with at least one stranger.
    Foreign,
}

impl FreeNodes {
    /// Returns whether the node has room, if changed.
    fn set(&mut self, cloud: &Text, family: Family, node: &NodeName, room: Room) -> Option<bool> {
        let side = self.sides.entry((cloud.clone(), family)).or_default();
        if room == Room::Foreign {
            side.foreign.insert(node.clone());
        } else {
            side.foreign.remove(node);
        }
        let has = room == Room::Vacant;
        let changed = if has { side.vacant.insert(node.clone()) } else { side.vacant.remove(node) };
        changed.then_some(has)
    }
}

impl World {
    /// Nodes of a class with room for an address, ordered by name.
    pub(crate) fn vacant(&self, class: ClassId, family: Family) -> impl Iterator<Item = &NodeName> {
        self.among(class, family, |side| &side.vacant)
    }

    /// Counts the nodes of a new class with room. Later changes of room or eligibility update the
    /// count.
    pub(crate) fn count_vacant(&mut self, class: ClassId) {
        for family in Family::ALL {
            let count = self.vacant(class, family).count();
            self.candidates.set_vacant(class, family, count);
        }
    }

    /// Updates the count after a node's eligibility in a class changed.
    pub(crate) fn recount_vacant(&mut self, class: ClassId, node: &NodeName) {
        let Some((cloud, eligible)) = self.candidates.class(class) else {
            return;
        };
        let is_eligible = eligible.contains(node);
        let has_room = |family: &Family| {
            let side = self.free_nodes.sides.get(&(cloud.clone(), *family));
            side.is_some_and(|side| side.vacant.contains(node))
        };
        let families: Vec<_> = Family::ALL.into_iter().filter(has_room).collect();
        for family in families {
            let count = self.candidates.vacant_count(class, family);
            let count = if is_eligible { count + 1 } else { count.saturating_sub(1) };
            self.candidates.set_vacant(class, family, count);
        }
    }

    /// Removes a node that left its machine.
    pub(crate) fn forget_room(&mut self, node: &Node, machine: &Machine) {
        for family in Family::ALL {
            if self.free_nodes.set(&machine.cloud, family, &node.name, Room::Taken).is_some() {
                self.candidates.room_changed(node, &machine.cloud, family, false);
            }
        }
    }

    /// Whether a node of a class has room for an address.
    pub(crate) fn is_vacant(&self, class: ClassId, family: Family, node: &NodeName) -> bool {
        let Some((cloud, eligible)) = self.candidates.class(class) else {
            return false;
        };
        let side = self.free_nodes.sides.get(&(cloud.clone(), family));
        side.is_some_and(|side| side.vacant.contains(node)) && eligible.contains(node)
    }

    /// Nodes of a class that are full because of a stranger.
    pub(crate) fn foreign(
        &self,
        class: ClassId,
        family: Family,
    ) -> impl Iterator<Item = &NodeName> {
        self.among(class, family, |side| &side.foreign)
    }

    /// The nodes of a class that are in a set too, ordered by name. The search goes through the smaller
    /// of both: the first node with room of a nearly full class may be its last.
    fn among<'w>(
        &'w self,
        class: ClassId,
        family: Family,
        which: impl Fn(&'w Side) -> &'w BTreeSet<NodeName>,
    ) -> impl Iterator<Item = &'w NodeName> {
        let class = self.candidates.class(class);
        let side = class.and_then(|(cloud, _)| self.free_nodes.sides.get(&(cloud.clone(), family)));
        let both = class.zip(side.map(which));
        both.into_iter().flat_map(|((_, eligible), side)| {
            let smaller_first = eligible.len() <= side.len();
            let (few, many) = if smaller_first { (eligible, side) } else { (side, eligible) };
            few.iter().filter(move |name| many.contains(*name))
        })
    }

    /// The addresses of a family a machine holds, may hold, or is about to hold, in all accounts of
    /// its cloud.
    pub(crate) fn occupants(
        &self,
        cloud: &str,
        machine: &MachineId,
        family: Family,
    ) -> Vec<IpAddr> {
        let accounts = self.accounts_at(cloud);
        let mut all: Vec<_> = accounts.flat_map(|one| one.occupants(machine, family)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a machine has room for one more address. `except` does not count as an occupant.
    pub(crate) fn has_room(
        &self,
        cloud: &str,
        machine: &MachineId,
        family: Family,
        except: Option<IpAddr>,
    ) -> bool {
        let occupants = self.occupants(cloud, machine, family);
        let others = occupants.into_iter().filter(|ip| Some(*ip) != except).count();
        others < self.capacity(cloud)
    }

    /// Maximum number of addresses of a family on a machine of this cloud.
    pub(crate) fn capacity(&self, cloud: &str) -> usize {
        let setups = self.accounts_at(cloud).filter_map(|account| account.setup.as_ref().ok());
        setups.map(|setup| setup.abilities.per_machine).min().unwrap_or(0)
    }

    fn accounts_at<'w>(&'w self, cloud: &'w str) -> impl Iterator<Item = &'w Account> {
        let here = move |account: &&Account| account.cloud().is_some_and(|one| **one == *cloud);
        self.accounts.values().filter(here)
    }

    fn room(&self, machine: &Machine, family: Family) -> Room {
        let occupants = self.occupants(&machine.cloud, &machine.id, family);
        if occupants.len() < self.capacity(&machine.cloud) {
            Room::Vacant
        } else if occupants.iter().all(|ip| self.claims.any(*ip)) {
            Room::Taken
        } else {
            Room::Foreign
        }
    }

    /// Updates the occupancy of the nodes on a machine.
    pub(crate) fn reoccupy(&mut self, machine: &Machine) {
        let Some(nodes) = self.machines.get(machine) else {
            return;
        };
        for family in Family::ALL {
            let room = self.room(machine, family);
            for node in nodes {
                let Some(has) = self.free_nodes.set(&machine.cloud, family, node, room) else {
                    continue;
                };
                if let Some(node) = self.nodes.get(node) {
                    self.candidates.room_changed(node, &machine.cloud, family, has);
                }
                if has {
                    self.opened.insert(node.clone());
                }
            }
        }
    }

    /// Updates the occupancy of all nodes.
    pub(crate) fn reoccupy_all(&mut self) {
        let machines: Vec<_> = self.machines.keys().cloned().collect();
        for machine in machines {
            self.reoccupy(&machine);
        }
    }

    /// Updates the occupancy of machines whose occupants changed in an account.
    pub(crate) fn reoccupy_touched(&mut self, id: &AccountId) {
        let Some(account) = self.accounts.get_mut(id) else {
            return;
        };
        let touched = std::mem::take(&mut account.touched);
        let Some(cloud) = account.cloud().cloned() else {
            return;
        };
        for id in touched {
            let machine = Machine { cloud: cloud.clone(), id };
            self.reoccupy(&machine);
            // A node may still be full, but hold fewer addresses than before, and the rest may be
            // displaceable.
            self.opened.extend(self.machines.get(&machine).into_iter().flatten().cloned());
        }
    }

    /// The machines an address is on or may be on, and the machines of nodes whose mark names it.
    pub(crate) fn machines_of(&self, ip: IpAddr) -> BTreeSet<Machine> {
        let marked = self.marked(ip).filter_map(|name| self.nodes.get(name)?.machine.clone());
        let mut machines: BTreeSet<Machine> = marked.collect();
        for account in self.accounts.values() {
            if let (Some(cloud), Some(address)) = (account.cloud(), account.address(ip)) {
                let on = address.machines().into_iter().flatten();
                machines.extend(on.map(|id| Machine { cloud: cloud.clone(), id: id.clone() }));
            }
        }
        machines
    }
}
