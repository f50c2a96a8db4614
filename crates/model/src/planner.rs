//! The decisions open to a leader (`plan/placement.rs`, `plan/creation.rs`, `plan/recognise.rs`).
//!
//! The real planner decides on one action. The model allows every action within the rules: any move
//! of our addresses to any node with room, regardless of eligibility. The result therefore holds
//! for every planner that keeps the rules, and for nodes that come and go, observed in time or not.

use crate::cloud::{Place, Request, STRANGER};
use crate::cluster::{INTENTS, Intents, Ledger};
use crate::protections::{Mark, Protection};
use crate::replica::{Memory, Operation, Progress};
use crate::set::Set;
use crate::{Protocol, State};

/// The basis of a leader's decisions.
pub struct Desk<'a> {
    protocol: &'a Protocol,
    memory: &'a Memory,
    /// The ledger as the leader sees it.
    ledger: Ledger,
    /// Changes at the provider are allowed (`plan/mod.rs` `may_change`).
    open: bool,
}

/// The state of a pool's reservations.
pub struct Creation {
    /// The ledger to write, with no intent added, adopted or dropped.
    pub next: Ledger,
    /// The possible results of each intent.
    pub results: [Set; INTENTS],
    /// Intents without a result, or with results that may belong to other intents.
    pub idle: Set,
    /// Idle intents that may be sent.
    pub ready: Set,
    /// Intents that may be added.
    pub new: Intents,
}

impl<'a> Desk<'a> {
    /// The view of a replica.
    pub fn of(replica: usize, protocol: &'a Protocol, state: &'a State) -> Self {
        let one = &state.replicas[replica];
        let open = one.memory.listed && !one.settling;
        Self { protocol, memory: &one.memory, ledger: state.ledger_seen_by(replica), open }
    }

    fn has(&self, protection: Protection) -> bool {
        self.protocol.has(protection)
    }

    /// Every move possible now, without addresses under way and nodes with a possible collision
    /// (`PoolView::movable`, `World::has_room`).
    pub fn moves(&self) -> impl Iterator<Item = Request> {
        let unrecorded = if self.has(Protection::RecordedBeforeMoved) {
            self.memory.made().minus(self.ledger.created)
        } else {
            Set::default()
        };
        let ours = if self.open { self.claimed().minus(unrecorded) } else { Set::default() };
        let movable = ours.iter().filter(|address| {
            self.memory.operations[*address] == Operation::None
                && self.memory.places[*address] != Place::ABSENT
        });
        let nodes = self.vacant();
        movable.flat_map(move |address| {
            let from = self.memory.places[address];
            nodes.iter().map(move |to| Request::Assign {
                address: address as u8,
                to: to as u8,
                from,
            })
        })
    }

    /// The state of the pool's reservations.
    pub fn creation(&self) -> Creation {
        let intents = self.intents();
        let told = self.told(&intents);
        let results = std::array::from_fn(|one| match intents[one] {
            Some(strangers) if told.contains(one) => self.results(one, strangers),
            _ => Set::default(),
        });
        let unclear = |one: usize| results[one].is_empty() && self.is_unclear(one, &intents);
        let idle: Set = (0..INTENTS)
            .filter(|one| intents[*one].is_some())
            .filter(|one| match self.memory.progress[*one] {
                Progress::Ready => true,
                _ => told.contains(*one) && !unclear(*one) && may_be_others(*one, told, &results),
            })
            .collect();
        let unmade = (0..INTENTS).filter(|one| !self.is_made(*one));
        let mut next = Ledger { created: self.ledger.created.or(self.memory.made()), intents };
        (0..INTENTS).filter(|one| self.is_made(*one)).for_each(|one| next.intents[one] = None);
        let open = unmade
            .filter(|one| intents[*one].is_some() && self.memory.progress[*one] != Progress::Ready)
            .filter(|one| !told.contains(*one) || unclear(*one));
        let open = open.count() + found(&results);
        let ready = idle.iter().filter(|one| self.may_send(*one, open)).collect();
        let new = self.new_intents(&intents);
        if !self.has(Protection::CreationIntent) {
            next.intents = Intents::default();
        }
        Creation { next, results, idle, ready, new }
    }

    /// Intents of the ledger, and unwritten ones if a protection is left out.
    fn intents(&self) -> Intents {
        std::array::from_fn(|one| self.ledger.intents[one].or(self.memory.unwritten[one]))
    }

    /// The pool's addresses (`PoolEntry::addresses`).
    fn claimed(&self) -> Set {
        let listed = Set::below(self.protocol.scale.listed);
        listed.or(self.ledger.created).or(self.memory.made())
    }

    fn is_made(&self, intent: usize) -> bool {
        matches!(self.memory.progress[intent], Progress::Made(_))
    }

    /// Nodes with room and without a reservation under way (`Placement::search`).
    fn vacant(&self) -> Set {
        let writing = self.memory.writing.unwrap_or_default().intents;
        let intents = self.intents();
        let open = (0..INTENTS).filter(|one| intents[*one].or(writing[*one]).is_some());
        let reserved = match self.protocol.mark {
            Mark::TargetMachine if self.has(Protection::TargetsReserved) => open.collect(),
            Mark::TargetMachine | Mark::Tag => Set::default(),
        };
        Set::below(self.protocol.scale.nodes).minus(self.memory.occupied()).minus(reserved)
    }

    /// Intents with no further effect possible, and a later listing (`resolve`: `Doubtful` with a
    /// listing from `until` on).
    fn told(&self, intents: &Intents) -> Set {
        let creating = self.memory.progress.contains(&Progress::Sent);
        let waits = creating && self.has(Protection::AdoptionWaitsForAnswers);
        if waits && self.protocol.mark == Mark::Tag {
            return Set::default();
        }
        let told = |one: &usize| match self.memory.progress[*one] {
            Progress::Told => true,
            Progress::Found => self.open,
            Progress::Made(_) | Progress::Ready | Progress::Sent | Progress::Doubtful => false,
        };
        (0..INTENTS).filter(|one| intents[*one].is_some()).filter(told).collect()
    }

    /// Unclaimed addresses not among `strangers` (`resolve`: `is_new`).
    fn unclaimed(&self, strangers: Set) -> Set {
        self.memory.seen().minus(self.claimed()).minus(strangers)
    }

    /// Whether an address carries the mark of an intent (`judge`).
    fn is_marked(&self, intent: usize, address: usize) -> bool {
        let place = self.memory.places[address];
        match self.protocol.mark {
            Mark::TargetMachine => place == Place::on(intent),
            Mark::Tag => place == Place::LOOSE && address != STRANGER,
        }
    }

    /// The possible results of an intent.
    fn results(&self, intent: usize, strangers: Set) -> Set {
        self.unclaimed(strangers).iter().filter(|one| self.is_marked(intent, *one)).collect()
    }

    /// Whether a loose address may be the result of an intent with a target machine (`judge`:
    /// `may_be`, `Resolved::Unclear`).
    fn is_unclear(&self, intent: usize, intents: &Intents) -> bool {
        let new = self.unclaimed(intents[intent].unwrap_or_default());
        let loose = |one: usize| self.memory.places[one] == Place::LOOSE;
        self.protocol.mark == Mark::TargetMachine && new.iter().any(loose)
    }

    /// Whether an intent without a result may be sent while `open` other intents have, or may yet
    /// get, a result (`keep`, `send`).
    fn may_send(&self, intent: usize, open: usize) -> bool {
        let open = if self.has(Protection::IntentsCount) { open } else { 0 };
        let foreign = self.memory.progress[intent] == Progress::Found;
        self.open
            && !self.memory.in_doubt
            && self.claimed().len() + open < self.protocol.scale.wanted
            && !(foreign && self.has(Protection::OwnIntentsOnly))
    }

    /// Intents that may be added, singly (`missing`, `intents`).
    fn new_intents(&self, intents: &Intents) -> Intents {
        let mut new = Intents::default();
        let unmade = (0..INTENTS).filter(|one| intents[*one].is_some() && !self.is_made(*one));
        let counted = if self.has(Protection::IntentsCount) { unmade.count() } else { 0 };
        if !self.open || self.protocol.scale.wanted <= self.claimed().len() + counted {
            return new;
        }
        // With target machines, intents are numbered by node; with tags, by the count of wanted
        // addresses.
        let names = match self.protocol.mark {
            Mark::TargetMachine => self.vacant(),
            Mark::Tag if self.has(Protection::IntentsCount) => {
                Set::below(self.protocol.scale.wanted)
            }
            Mark::Tag => Set::below(INTENTS),
        };
        let free = names.iter().filter(|one| intents[*one].is_none());
        free.for_each(|one| new[one] = Some(self.strangers(intents)));
        new
    }

    /// The addresses that cannot be the result of a new intent (`intents`: `strangers`). Addresses
    /// without the mark of any intent need not be named.
    fn strangers(&self, intents: &Intents) -> Set {
        if !self.has(Protection::StrangersNamed) {
            return Set::default();
        }
        let writing = self.memory.writing.unwrap_or_default().created;
        let unclaimed = self.unclaimed(writing);
        let made_by = |address: usize, one: usize| {
            self.is_marked(one, address)
                && intents[one].is_some_and(|strangers| !strangers.contains(address))
        };
        let result = |address: &usize| (0..INTENTS).any(|one| made_by(*address, one));
        let mut named = unclaimed;
        if self.has(Protection::ResultsAreNoStrangers) {
            named = named.minus(unclaimed.iter().filter(result).collect());
        }
        if self.protocol.mark == Mark::Tag {
            named.remove(STRANGER);
        }
        named
    }
}

/// The number of addresses found for the resolved intents.
fn found(results: &[Set; INTENTS]) -> usize {
    let mut taken = Set::default();
    for all in results {
        if let Some(first) = all.minus(taken).first() {
            taken.insert(first);
        }
    }
    taken.len()
}

/// Whether all possible results of an intent can be attributed to other intents: the code visits
/// intents and addresses in an arbitrary order.
fn may_be_others(intent: usize, told: Set, results: &[Set; INTENTS]) -> bool {
    let mut others = told;
    others.remove(intent);
    may_be_shared_out(results[intent], others, results)
}

fn may_be_shared_out(addresses: Set, among: Set, results: &[Set; INTENTS]) -> bool {
    let Some(first) = addresses.first() else { return true };
    let mut rest = addresses;
    rest.remove(first);
    let mut takers = among.iter().filter(|one| results[*one].contains(first));
    takers.any(|taker| {
        let mut left = among;
        left.remove(taker);
        may_be_shared_out(rest, left, results)
    })
}
