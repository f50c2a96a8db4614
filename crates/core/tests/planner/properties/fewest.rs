//! Fewest moves: compares the operator's moves with a brute-force search over all placements,
//! computed from the objects alone.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use pontoon_core::action::{Action, AddressAction};
use pontoon_core::model::{Family, MachineId, Node, Pool};
use pontoon_core::nodes::PodsOnNode;
use proptest::prelude::*;

use super::super::fixture::*;
use super::super::scene::Scene;
use super::small::{Small, small};

/// The machine of each address.
type Places = BTreeMap<IpAddr, Option<MachineId>>;

/// A movable address with its pool and its possible machines.
struct Movable {
    ip: IpAddr,
    /// The pool that uses the address; `None` for an address beyond the pool's wanted number.
    pool: Option<usize>,
    /// Machines on which the address serves its pool.
    homes: Vec<MachineId>,
}

/// A small world, independent of the planner.
struct Puzzle {
    pools: Vec<Pool>,
    movable: Vec<Movable>,
    before: Places,
}

impl Puzzle {
    fn of(small: &Small) -> Self {
        let pools: BTreeMap<_, _> = small.pools.iter().map(|pool| (&pool.key, pool)).collect();
        let mut pools: Vec<Pool> = pools.into_values().cloned().collect();
        pools.sort_by_key(|pool| (pool.created_at, pool.uid.clone()));
        let mut movable: BTreeMap<IpAddr, Movable> = BTreeMap::new();
        for (index, pool) in pools.iter().enumerate() {
            let request = pool.request.as_ref().unwrap();
            let used = request.wanted.unwrap_or(usize::MAX);
            let homes: Vec<_> =
                small.nodes.iter().filter(|node| fits(small, pool, node)).map(machine_of).collect();
            for (place, ip) in request.listed.iter().enumerate() {
                let pool = (place < used).then_some(index);
                let homes = if pool.is_some() { homes.clone() } else { vec![] };
                // The older pool owns the address.
                movable.entry(*ip).or_insert(Movable { ip: *ip, pool, homes });
            }
        }
        let before = small.addresses.iter().map(|(ip, seen)| (*ip, seen.holder.clone())).collect();
        let exists = |one: &Movable| small.addresses.get(&one.ip).is_some_and(|seen| !seen.busy);
        let movable = movable.into_values().filter(exists).collect();
        Self { pools, movable, before }
    }

    /// Number of serving addresses of each pool, oldest pool first.
    fn served(&self, places: &Places) -> Vec<usize> {
        let mut served = vec![0; self.pools.len()];
        for one in &self.movable {
            let at_home = places[&one.ip].as_ref().is_some_and(|on| one.homes.contains(on));
            if let Some(pool) = one.pool.filter(|_| at_home) {
                served[pool] += 1;
            }
        }
        served
    }

    /// Number of actions that move a wanted address.
    fn moves(&self, done: &[Action]) -> usize {
        let wanted =
            |moved: IpAddr| self.movable.iter().any(|one| one.ip == moved && one.pool.is_some());
        let counts = |action: &&Action| match action {
            Action::Address(AddressAction::Assign { ip, .. })
            | Action::Address(AddressAction::Unassign { ip, .. }) => wanted(*ip),
            _ => false,
        };
        done.iter().filter(counts).count()
    }

    /// Whether at most `moves` moves in sequence can serve each pool at least as well as `enough`.
    /// Unassigning an unwanted address does not count as a move.
    fn can_do(&self, enough: &[usize], moves: usize) -> bool {
        let mut reached = BTreeSet::new();
        let mut front = vec![self.before.clone()];
        for left in (0..=moves).rev() {
            while let Some(places) = front.pop() {
                if reached.insert(places.clone()) {
                    front.extend(self.steps(&places, false));
                }
            }
            if left > 0 {
                front = reached.iter().flat_map(|places| self.steps(places, true)).collect();
            }
        }
        let will_do = |places: &Places| {
            self.served(places).iter().zip(enough).all(|(has, wants)| has >= wants)
        };
        reached.iter().any(will_do)
    }

    /// Whether a pool prefers to assign `first` over `other`: unassigned addresses go before
    /// assigned addresses, which may still be of use, then the order of the list decides. Gains of
    /// other pools are not considered.
    fn goes_before(&self, first: &Movable, other: &Movable, places: &Places) -> bool {
        let rank = |one: &Movable| {
            let listed = &self.pools[one.pool?].request.as_ref().unwrap().listed;
            Some((places[&one.ip].is_some(), listed.iter().position(|ip| *ip == one.ip)))
        };
        let at_home = places[&first.ip].as_ref().is_some_and(|on| first.homes.contains(on));
        first.pool == other.pool
            && Family::of(first.ip) == Family::of(other.ip)
            && !at_home
            && rank(first) < rank(other)
    }

    /// All moves of a single wanted (or unwanted) address: off its machine, or to a machine with
    /// room on which the address serves.
    fn steps(&self, places: &Places, wanted: bool) -> Vec<Places> {
        let mut steps = vec![];
        for one in self.movable.iter().filter(|one| one.pool.is_some() == wanted) {
            let family = Family::of(one.ip);
            let taken = |to: &MachineId| holders(places, family).any(|on| on == to);
            let waits = self.movable.iter().any(|other| self.goes_before(other, one, places));
            let homes = one.homes.iter().filter(|to| !waits && !taken(to)).cloned().map(Some);
            for to in homes.chain([None]).filter(|to| *to != places[&one.ip]) {
                let mut step = places.clone();
                step.insert(one.ip, to);
                steps.push(step);
            }
        }
        steps
    }
}

/// The machines with an address of a family.
fn holders(places: &Places, family: Family) -> impl Iterator<Item = &MachineId> {
    let of_family = places.iter().filter(move |(ip, _)| Family::of(**ip) == family);
    of_family.filter_map(|(_, on)| on.as_ref())
}

fn machine_of(node: &Node) -> MachineId {
    node.machine.clone().unwrap().id
}

fn fits(small: &Small, pool: &Pool, node: &Node) -> bool {
    let matching = &pool.request.as_ref().unwrap().matching;
    let pods: BTreeMap<_, _> = small.pods.iter().map(|pod| (&pod.id, pod)).collect();
    let here = pods.values().filter(|pod| pod.node == node.name);
    let wanted = matching.pods.as_ref();
    let such = here.filter(|pod| wanted.is_none_or(|one| one.accepts(pod)));
    let pods = PodsOnNode { required: such.count(), ..PodsOnNode::default() };
    matching.judge(CLOUD, node, pods).is_eligible()
}

fn places(scene: &Scene) -> Places {
    let all = scene.cloud.addresses.iter();
    all.map(|(ip, seen)| (*ip, seen.holder.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nobody_could_serve_as_many_with_fewer_moves(small in small().prop_map(Small::without_new)) {
        let puzzle = Puzzle::of(&small);
        let mut scene = small.scene();
        let done = scene.settle();
        let after = places(&scene);
        let moves = puzzle.moves(&done);
        // An older pool makes room for itself, even where the other way round would take a move
        // less.
        let least = moves.saturating_sub(usize::from(done.iter().any(is_unassign)));
        let fewer = least > 0 && puzzle.can_do(&puzzle.served(&after), least - 1);
        prop_assert!(!fewer, "less than {} moves would do: {:#?}", least, done);
        for one in &puzzle.movable {
            let (before, after_all) = (&puzzle.before[&one.ip], &after[&one.ip]);
            let home = before.as_ref().is_some_and(|on| one.homes.contains(on));
            prop_assert!(!home || before == after_all, "{} served, and was moved", one.ip);
            // An unassigned address made room for another address.
            if let (Some(left), None) = (before, after_all) {
                let mut moved = after.iter().filter(|(ip, on)| puzzle.before[ip] != **on);
                let room = moved.any(|(_, on)| on.as_ref() == Some(left));
                prop_assert!(room, "{} left for nobody", one.ip);
            }
        }
    }
}
