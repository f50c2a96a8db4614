//! What a leader may decide (`plan/placement.rs`, `plan/creation.rs`, `plan/outcome.rs`).
//!
//! The planner of the code decides one thing; this one may decide anything that the rules
//! allow: any move of an address of ours to any node with room, whatever nodes are eligible.
//! What holds here holds for every planner that keeps the rules, and for every node that
//! comes and goes, seen in time or not.

use crate::cloud::{Place, Request, STRANGER};
use crate::cluster::{INTENTS, Intents, Ledger};
use crate::design::{Mark, Protection};
use crate::replica::{Memory, Operation, Progress};
use crate::set::Set;
use crate::{Protocol, State};

/// A leader at its desk: what it decides by.
pub struct Desk<'a> {
    protocol: &'a Protocol,
    memory: &'a Memory,
    /// The ledger, as it sees it.
    ledger: Ledger,
    /// It may change things at the cloud (`plan/mod.rs` `may_change`).
    open: bool,
}

/// How a pool's reservations stand.
pub struct Creation {
    /// What the ledger should say, with no intent added, adopted or dropped.
    pub next: Ledger,
    /// What each intent may have made.
    pub results: [Set; INTENTS],
    /// Intents that made nothing, or whose results may be another's.
    pub idle: Set,
    /// Those of them that may be sent.
    pub ready: Set,
    /// Intents that may be added.
    pub new: Intents,
}

impl<'a> Desk<'a> {
    /// A replica's desk.
    pub fn of(replica: usize, protocol: &'a Protocol, state: &'a State) -> Self {
        let one = &state.replicas[replica];
        let open = one.memory.listed && !one.settling;
        Self { protocol, memory: &one.memory, ledger: state.ledger_seen_by(replica), open }
    }

    fn has(&self, protection: Protection) -> bool {
        self.protocol.has(protection)
    }

    /// Every move that may be decided now. What is under way, and what it may collide with,
    /// stays out (`PoolView::movable`, `World::has_room`).
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

    /// How the reservations stand.
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

    /// The intents that it goes by.
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

    /// Nodes with room that nothing is being made on (`Placement::search`).
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

    /// Intents that can make nothing any more, and of which a listing since then tells
    /// (`resolve`: `Doubtful` with a listing from `until` on).
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

    /// Addresses that nobody claims and that were not there before (`resolve`: `is_new`).
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

    /// What an intent may have made.
    fn results(&self, intent: usize, strangers: Set) -> Set {
        self.unclaimed(strangers).iter().filter(|one| self.is_marked(intent, *one)).collect()
    }

    /// Whether an address that is on no machine yet may be what an intent made on one
    /// (`judge`: `may_be`, `Resolved::Unclear`).
    fn is_unclear(&self, intent: usize, intents: &Intents) -> bool {
        let new = self.unclaimed(intents[intent].unwrap_or_default());
        let loose = |one: usize| self.memory.places[one] == Place::LOOSE;
        self.protocol.mark == Mark::TargetMachine && new.iter().any(loose)
    }

    /// Whether an intent that made nothing may be sent, with `open` others that may yet make
    /// an address or have made one (`keep`, `send`).
    fn may_send(&self, intent: usize, open: usize) -> bool {
        let open = if self.has(Protection::IntentsCount) { open } else { 0 };
        let foreign = self.memory.progress[intent] == Progress::Found;
        self.open
            && !self.memory.in_doubt
            && self.claimed().len() + open < self.protocol.scale.wanted
            && !(foreign && self.has(Protection::OwnIntentsOnly))
    }

    /// Intents that may be added, one at a time (`missing`, `intents`).
    fn new_intents(&self, intents: &Intents) -> Intents {
        let mut new = Intents::default();
        let unmade = (0..INTENTS).filter(|one| intents[*one].is_some() && !self.is_made(*one));
        let counted = if self.has(Protection::IntentsCount) { unmade.count() } else { 0 };
        if !self.open || self.protocol.scale.wanted <= self.claimed().len() + counted {
            return new;
        }
        // On machines, names are those of the nodes; else there are enough for what is wanted.
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

    /// The addresses that a new intent did not make (`intents`: `strangers`). Those that do
    /// not carry the mark of any intent need no naming.
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

/// How many addresses are found for the intents that are told.
fn found(results: &[Set; INTENTS]) -> usize {
    let mut taken = Set::default();
    for all in results {
        if let Some(first) = all.minus(taken).first() {
            taken.insert(first);
        }
    }
    taken.len()
}

/// Whether everything that an intent may have made can be taken for what others made: the
/// code goes through intents and addresses in an order that means nothing.
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
