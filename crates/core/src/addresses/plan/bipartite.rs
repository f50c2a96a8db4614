//! The largest assignment of nodes to demands.
//!
//! Uses augmenting paths, as in bipartite matching. Pools with equal rules have equal candidates,
//! so paths run over groups of pools instead of pools. Demands are served in order: a later demand
//! never reduces the number of nodes of an earlier one, but may exchange them for equivalent nodes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::{Family, MachineId, NodeName, Text};
use crate::nodes::ClassId;

/// Pools with the same candidates, and the family of the wanted seats.
pub(crate) type Group = (ClassId, Family);

/// A [`Seat`](crate::addresses::Seat), borrowed from the offers.
type SeatRef<'a> = (&'a Text, &'a MachineId, Family);

/// The nodes of a group in order of preference, and their cloud.
pub(crate) struct Offer {
    pub cloud: Text,
    pub nodes: Vec<(NodeName, MachineId)>,
}

/// Gives each demand (a group and a number of nodes) as many nodes as possible.
pub(crate) fn pair(
    offers: &BTreeMap<Group, Offer>,
    demands: &[(Group, usize)],
) -> Vec<Vec<(NodeName, MachineId)>> {
    let mut pairing = Pairing {
        offers,
        taken: BTreeMap::new(),
        dead: BTreeSet::new(),
        first_untaken: BTreeMap::new(),
    };
    let grow =
        |(group, count): &(Group, usize)| (0..*count).take_while(|_| pairing.grow(*group)).count();
    let granted: Vec<usize> = demands.iter().map(grow).collect();
    let mut nodes = pairing.by_group();
    let hand_out = |((group, _), count): (&(Group, usize), usize)| {
        let queue = nodes.entry(*group).or_default();
        queue.drain(..count.min(queue.len())).collect()
    };
    demands.iter().zip(granted).map(hand_out).collect()
}

struct Pairing<'a> {
    offers: &'a BTreeMap<Group, Offer>,
    /// The current group of each seat.
    taken: BTreeMap<SeatRef<'a>, Group>,
    /// Groups without a path to a free seat, now or later.
    dead: BTreeSet<Group>,
    /// Every node of a group before this index is taken, and stays taken.
    first_untaken: BTreeMap<Group, usize>,
}

impl<'a> Pairing<'a> {
    /// The nodes of each group at the end.
    fn by_group(&self) -> BTreeMap<Group, VecDeque<(NodeName, MachineId)>> {
        let mut nodes: BTreeMap<Group, VecDeque<_>> = BTreeMap::new();
        for (group, offer) in self.offers {
            // Of two nodes with the same machine, the first is used.
            let mut seen = BTreeSet::new();
            let of_group = offer.nodes.iter().zip(seats(self.offers, *group));
            let of_group = of_group.filter(|(_, seat)| self.taken.get(seat) == Some(group));
            let of_group = of_group.filter(|(_, seat)| seen.insert(*seat));
            nodes.insert(*group, of_group.map(|(node, _)| node.clone()).collect());
        }
        nodes
    }

    /// Finds one more node for a group, along the shortest path from the group to a free seat.
    /// Groups on the path exchange their seats.
    fn grow(&mut self, start: Group) -> bool {
        if self.dead.contains(&start) {
            return false;
        }
        let mut reached: BTreeMap<Group, Option<(SeatRef<'a>, Group)>> = [(start, None)].into();
        let mut queue = VecDeque::from([start]);
        while let Some(group) = queue.pop_front() {
            if let Some(seat) = self.untaken(group) {
                self.shift(&reached, group, seat);
                return true;
            }
            for seat in seats(self.offers, group) {
                let Some(holder) = self.taken.get(&seat) else {
                    continue;
                };
                if !reached.contains_key(holder) && !self.dead.contains(holder) {
                    reached.insert(*holder, Some((seat, group)));
                    queue.push_back(*holder);
                }
            }
        }
        self.dead.extend(reached.into_keys());
        false
    }

    /// The next free seat of the group. The caller must take the seat.
    fn untaken(&mut self, group: Group) -> Option<SeatRef<'a>> {
        let next = self.first_untaken.entry(group).or_default();
        for seat in seats(self.offers, group).skip(*next) {
            *next += 1;
            if !self.taken.contains_key(&seat) {
                return Some(seat);
            }
        }
        None
    }

    /// Gives `seat` to `group`, and the previous seat of `group` to the group before on the path,
    /// and so on.
    fn shift(
        &mut self,
        reached: &BTreeMap<Group, Option<(SeatRef<'a>, Group)>>,
        group: Group,
        seat: SeatRef<'a>,
    ) {
        let (mut group, mut seat) = (group, seat);
        loop {
            self.taken.insert(seat, group);
            match reached.get(&group) {
                Some(Some((left, next))) => (seat, group) = (*left, *next),
                Some(None) | None => return,
            }
        }
    }
}

/// The seats of a group, in order of preference.
fn seats(offers: &BTreeMap<Group, Offer>, group: Group) -> impl Iterator<Item = SeatRef<'_>> {
    let offer = offers.get(&group).into_iter();
    offer.flat_map(move |offer| {
        offer.nodes.iter().map(move |(_, machine)| (&offer.cloud, machine, group.1))
    })
}
