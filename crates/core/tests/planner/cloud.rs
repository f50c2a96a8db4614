//! A provider that carries out every call at once, unless a fault is scripted.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use pontoon_core::action::{
    Action, AddressAction, Done, Failure, FailureKind, LedgerWrite, MarkWrite, OperationState,
    RecordAction,
};
use pontoon_core::addresses::Abilities;
use pontoon_core::model::{Family, Intent, MachineId, OperationId, Sighting, Text};

use super::fixture::REGION;

/// The failure of a scripted call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Answers with the failure, without effect.
    Answer(FailureKind),
    /// Takes effect, but the answer is lost.
    Lost,
    /// Takes effect, but answers with the failure.
    Although(FailureKind),
    /// The call is lost, without effect.
    Dropped,
    /// Accepts an operation that takes effect when [`Cloud::work`] is called.
    Slow,
    /// As `Slow`, but the address does not show as busy.
    Quiet,
    /// Accepts an operation that fails.
    Broken,
    /// Accepts an operation and forgets it.
    Forgotten,
    /// Answers as if done, without effect.
    Ignored,
    /// Changes the given number of records; the operator holds the rest back for the given time.
    Part(usize, Duration),
}

#[derive(Debug, Default)]
pub struct Cloud {
    pub addresses: BTreeMap<IpAddr, Sighting>,
    /// Actions at the provider, the DNS host or the API server that always fail, with their
    /// failures.
    pub refuses: Vec<(Such, FailureKind)>,
    /// Scripted faults, each for the next matching action.
    pub faults: VecDeque<(Such, Fault)>,
    /// Project of new addresses.
    pub project: Option<&'static str>,
    /// Number of reserved addresses.
    pub made: u8,
    /// Number of attempts to assign an address to a full machine.
    pub refused: usize,
    /// Listings show only the addresses that they are asked about.
    pub limited: bool,
    /// Existing addresses that listings omit.
    pub hidden: Vec<IpAddr>,
    open: BTreeMap<OperationId, (IpAddr, Option<MachineId>)>,
    over: BTreeMap<OperationId, OperationState>,
    abilities: Option<Abilities>,
}

/// Predicate of actions.
pub type Such = fn(&Action) -> bool;

type Answer = Result<Done, Failure>;

impl Cloud {
    pub fn new(abilities: Abilities) -> Self {
        Self { abilities: Some(abilities), ..Self::default() }
    }

    /// Creates an address on a machine, or moves it there.
    pub fn place(&mut self, ip: IpAddr, machine: Option<&str>) {
        let seen = self.addresses.entry(ip).or_default();
        seen.region = Some(REGION.into());
        seen.holder = machine.map(Into::into);
    }

    pub fn holder(&self, ip: IpAddr) -> Option<&str> {
        self.addresses.get(&ip)?.holder.as_ref().map(|machine| &*machine.0)
    }

    /// Carries out an action, or fails at it.
    pub fn carry_out(&mut self, action: &Action) -> Answer {
        if let Some((_, kind)) = self.refuses.iter().find(|(concerns, _)| concerns(action)) {
            // The client of such a provider reads the address first, and a busy machine loses nothing.
            let displaced = self.displaces(action);
            let seen = displaced.and_then(|ip| self.addresses.get(&ip)).cloned();
            let displaced = displaced.is_some() && *kind != FailureKind::Busy;
            return Err(Failure { displaced, seen, ..Failure::plain(*kind, "refused for good") });
        }
        match self.fault_for(action) {
            None => self.obey(action),
            Some(Fault::Answer(kind)) => Err(Failure::plain(kind, "scripted")),
            Some(Fault::Lost) => {
                drop(self.obey(action));
                Err(Failure::plain(FailureKind::NoAnswer, "timed out"))
            }
            Some(Fault::Although(kind)) => {
                drop(self.obey(action));
                Err(Failure::plain(kind, "scripted"))
            }
            Some(Fault::Dropped) => Err(Failure::plain(FailureKind::NoAnswer, "timed out")),
            Some(Fault::Slow) => {
                let taken = self.take(action, OperationState::Running);
                self.lock(action);
                taken
            }
            Some(Fault::Quiet) => self.take(action, OperationState::Running),
            Some(Fault::Broken) => self.take(action, OperationState::Failed),
            Some(Fault::Part(..)) => panic!("only changes of records have parts: {action:?}"),
            Some(Fault::Forgotten) => Ok(Done::Accepted("forgotten".into())),
            Some(Fault::Ignored) => {
                let before = self.addresses.clone();
                let answer = self.obey(action);
                self.addresses = before;
                answer
            }
        }
    }

    /// The address of an action that costs a machine its own address.
    fn displaces(&self, action: &Action) -> Option<IpAddr> {
        let Action::Address(AddressAction::Assign { ip, .. }) = action else { return None };
        self.abilities.filter(|abilities| abilities.displaces_own).map(|_| *ip)
    }

    /// The failure of an action that always fails, or else the first scripted fault that matches
    /// the action, which is taken.
    pub fn fault_for(&mut self, action: &Action) -> Option<Fault> {
        if let Some((_, kind)) = self.refuses.iter().find(|(concerns, _)| concerns(action)) {
            return Some(Fault::Answer(*kind));
        }
        let index = self.faults.iter().position(|(concerns, _)| concerns(action))?;
        self.faults.remove(index).map(|(_, fault)| fault)
    }

    /// Finishes all open operations.
    pub fn work(&mut self) {
        for (id, (ip, to)) in std::mem::take(&mut self.open) {
            let room = self.put(ip, to);
            let state = if room { OperationState::Done } else { OperationState::Failed };
            self.over.insert(id, state);
        }
    }

    fn take(&mut self, action: &Action, state: OperationState) -> Answer {
        let number = self.open.len() + self.over.len();
        let id = OperationId::from(format!("op-{number}").as_str());
        match state {
            OperationState::Running => {
                let (Action::Address(AddressAction::Assign { ip, .. })
                | Action::Address(AddressAction::Unassign { ip, .. })) = action
                else {
                    panic!("only moves are slow: {action:?}");
                };
                let to = match action {
                    Action::Address(AddressAction::Assign { machine, .. }) => Some(machine.clone()),
                    _ => None,
                };
                self.open.insert(id.clone(), (*ip, to));
            }
            over => drop(self.over.insert(id.clone(), over)),
        }
        Ok(Done::Accepted(id))
    }

    /// Marks the address of an assign or unassign as busy.
    fn lock(&mut self, action: &Action) {
        if let Action::Address(AddressAction::Assign { ip, .. })
        | Action::Address(AddressAction::Unassign { ip, .. }) = action
            && let Some(seen) = self.addresses.get_mut(ip)
        {
            seen.busy = true;
        }
    }

    fn obey(&mut self, action: &Action) -> Answer {
        match action {
            Action::Address(AddressAction::List { families, scope, .. }) => {
                let shown =
                    |ip: &IpAddr| families.contains(&Family::of(*ip)) && !self.hidden.contains(ip);
                let listed = self.addresses.iter().filter(|(ip, _)| shown(ip));
                let asked = |ip: &IpAddr| !self.limited || scope.addresses.contains(ip);
                let listed = listed.filter(|(ip, _)| asked(ip));
                let listed = listed.map(|(ip, seen)| (*ip, seen.clone())).collect();
                Ok(match self.limited {
                    true => Done::ListedInPart(listed, "a permission is missing".into()),
                    false => Done::Listed(listed),
                })
            }
            Action::Address(AddressAction::Read { ip, .. }) => {
                Ok(Done::Read(self.addresses.get(ip).cloned()))
            }
            Action::Address(AddressAction::ReadOperation { operation, .. }) => {
                let running = self.open.contains_key(operation);
                let over = self.over.get(operation).copied();
                let state = if running { Some(OperationState::Running) } else { over };
                Ok(Done::Operation(state.unwrap_or(OperationState::Unheard)))
            }
            Action::Address(AddressAction::Assign { ip, machine, .. }) => {
                self.change(*ip, Some(machine.clone()))
            }
            Action::Address(AddressAction::Unassign { ip, .. }) => self.change(*ip, None),
            Action::Address(AddressAction::Create { intent, mark, .. }) => {
                Ok(self.make(intent, mark.clone()))
            }
            Action::Address(AddressAction::Release { ip, .. }) => {
                let seen = self.addresses.remove(ip);
                assert!(seen.is_none_or(|seen| seen.holder.is_none()), "released from a machine");
                Ok(Done::Released)
            }
            Action::Address(AddressAction::RestoreEgress { .. }) => Ok(Done::Effective),
            Action::Ledger(LedgerWrite { .. })
            | Action::Mark(MarkWrite { .. })
            | Action::Evict(_)
            | Action::Vip(_)
            | Action::Record(RecordAction::Read { .. })
            | Action::Record(RecordAction::Change { .. }) => {
                panic!("not a call to a cloud: {action:?}")
            }
        }
    }

    fn change(&mut self, ip: IpAddr, to: Option<MachineId>) -> Answer {
        if !self.addresses.contains_key(&ip) {
            return Err(Failure::plain(FailureKind::NotFound, "no such address"));
        }
        let elsewhere = self.addresses.get(&ip).and_then(|seen| seen.holder.as_ref());
        let moves = to.is_some() && elsewhere.is_some_and(|holder| Some(holder) != to.as_ref());
        if moves && !self.abilities().moves_at_once {
            self.refused += 1;
            return Err(Failure::plain(FailureKind::Rejected, "it is on another machine"));
        }
        if self.put(ip, to) {
            Ok(Done::Effective)
        } else {
            self.refused += 1;
            Err(Failure::plain(FailureKind::Rejected, "the machine is full"))
        }
    }

    /// Assigns or unassigns an address; false if the machine is full.
    fn put(&mut self, ip: IpAddr, to: Option<MachineId>) -> bool {
        let on_it = |(other, seen): &(&IpAddr, &Sighting)| {
            seen.holder == to && **other != ip && Family::of(**other) == Family::of(ip)
        };
        let others = self.addresses.iter().filter(on_it).count();
        let room = to.is_none() || others < self.abilities().per_machine;
        if let Some(seen) = self.addresses.get_mut(&ip) {
            seen.busy = false;
            if room {
                seen.holder = to;
            }
        }
        room
    }

    fn make(&mut self, intent: &Intent, mark: Option<Text>) -> Done {
        self.made += 1;
        let ip = match intent.family {
            Family::V4 => IpAddr::from(Ipv4Addr::new(198, 51, 100, self.made)),
            Family::V6 => Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, self.made.into()).into(),
        };
        // A request that names a machine cannot name a project, and IPv6 addresses have none.
        let in_project = intent.target.is_none() && intent.family == Family::V4;
        let project = self.project.filter(|_| in_project).map(Into::into);
        self.addresses.insert(ip, Sighting { project, mark, ..in_region(intent) });
        if !self.abilities().places_new.has(intent.family) {
            return Done::CreatedLoose { ip };
        }
        if self.put(ip, intent.target.clone()) {
            Done::Created { ip, pending: None }
        } else {
            self.refused += 1;
            Done::CreatedLoose { ip }
        }
    }

    fn abilities(&self) -> Abilities {
        self.abilities.expect("a provider with abilities")
    }
}

fn in_region(intent: &Intent) -> Sighting {
    Sighting { region: Some(intent.region.clone()), ..Sighting::default() }
}

/// The operator holds the call back for the given time.
pub fn held_back(seconds: u64) -> Fault {
    Fault::Answer(FailureKind::HeldBack { wait: Duration::from_secs(seconds), pacing: false })
}

/// The operator holds a change of records back for a time, after the given number of records.
pub fn held_back_after(records: usize, seconds: u64) -> Fault {
    Fault::Part(records, Duration::from_secs(seconds))
}

/// The provider's rate limit is used up for the given time.
pub fn throttled(seconds: u64) -> Fault {
    Fault::Answer(FailureKind::Throttled { wait: Duration::from_secs(seconds) })
}
