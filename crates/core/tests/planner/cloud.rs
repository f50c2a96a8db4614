//! A cloud that does at once what it is told, unless it is told to misbehave.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use pontoon_core::action::{Action, Done, Failure, FailureKind, OperationState};
use pontoon_core::model::{Family, Intent, MachineId, OperationId, Sighting};

use super::fixture::REGION;

/// What goes wrong with a call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Answered by this failure; nothing happens.
    Answer(FailureKind),
    /// It happens, and the answer is lost.
    Lost,
    /// It happens, and is answered by this failure all the same.
    Although(FailureKind),
    /// It is lost on its way there.
    Dropped,
    /// It is taken, and happens when the cloud is told to work.
    Slow,
    /// The same, and nothing shows that the cloud works on it.
    Quiet,
    /// It is taken, and fails when the cloud is told to work.
    Broken,
    /// It is taken and forgotten.
    Forgotten,
    /// So many records are changed, and we keep the rest back for so long.
    Part(usize, Duration),
}

#[derive(Debug, Default)]
pub struct Cloud {
    pub addresses: BTreeMap<IpAddr, Sighting>,
    /// Actions that are refused for as long as this lasts.
    pub refuses: Vec<(Such, FailureKind)>,
    /// Faults that wait for an action that they are for.
    pub faults: VecDeque<(Such, Fault)>,
    /// Project of new addresses.
    pub project: Option<&'static str>,
    /// How many addresses were reserved.
    pub made: u8,
    /// How often something was to be put where there is no room.
    pub refused: usize,
    /// What listings leave out, though it exists.
    pub hidden: Vec<IpAddr>,
    open: BTreeMap<OperationId, (IpAddr, Option<MachineId>)>,
    over: BTreeMap<OperationId, OperationState>,
    per_machine: usize,
}

/// Actions of a kind.
pub type Such = fn(&Action) -> bool;

type Answer = Result<Done, Failure>;

impl Cloud {
    pub fn new(per_machine: usize) -> Self {
        Self { per_machine, ..Self::default() }
    }

    /// Puts an address there, or moves it.
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
            return Err(Failure::plain(*kind, "refused for good"));
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
        }
    }

    /// The fault that waits for such an action.
    pub fn fault_for(&mut self, action: &Action) -> Option<Fault> {
        let index = self.faults.iter().position(|(concerns, _)| concerns(action))?;
        self.faults.remove(index).map(|(_, fault)| fault)
    }

    /// Finishes whatever it has taken on.
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
                let (Action::Assign { ip, .. } | Action::Unassign { ip, .. }) = action else {
                    panic!("only moves are slow: {action:?}");
                };
                let to = match action {
                    Action::Assign { machine, .. } => Some(machine.clone()),
                    _ => None,
                };
                self.open.insert(id.clone(), (*ip, to));
            }
            over => drop(self.over.insert(id.clone(), over)),
        }
        Ok(Done::Accepted(id))
    }

    /// Shows that it works on what a move is about.
    fn lock(&mut self, action: &Action) {
        if let Action::Assign { ip, .. } | Action::Unassign { ip, .. } = action
            && let Some(seen) = self.addresses.get_mut(ip)
        {
            seen.busy = true;
        }
    }

    fn obey(&mut self, action: &Action) -> Answer {
        match action {
            Action::List { families, .. } => {
                let shown =
                    |ip: &IpAddr| families.contains(&Family::of(*ip)) && !self.hidden.contains(ip);
                let listed = self.addresses.iter().filter(|(ip, _)| shown(ip));
                Ok(Done::Listed(listed.map(|(ip, seen)| (*ip, seen.clone())).collect()))
            }
            Action::ReadAddress { ip, .. } => Ok(Done::Read(self.addresses.get(ip).cloned())),
            Action::ReadOperation { operation, .. } => {
                let running = self.open.contains_key(operation);
                let over = self.over.get(operation).copied();
                let state = if running { Some(OperationState::Running) } else { over };
                Ok(Done::Operation(state.unwrap_or(OperationState::Unheard)))
            }
            Action::Assign { ip, machine, .. } => self.change(*ip, Some(machine.clone())),
            Action::Unassign { ip, .. } => self.change(*ip, None),
            Action::Create { intent, .. } => Ok(self.make(intent)),
            Action::Release { ip, .. } => {
                let seen = self.addresses.remove(ip);
                assert!(seen.is_none_or(|seen| seen.holder.is_none()), "released from a machine");
                Ok(Done::Released)
            }
            Action::WriteLedger { .. }
            | Action::Mark { .. }
            | Action::ReadRecords { .. }
            | Action::ChangeRecords { .. } => {
                panic!("not a call to a cloud: {action:?}")
            }
        }
    }

    fn change(&mut self, ip: IpAddr, to: Option<MachineId>) -> Answer {
        if !self.addresses.contains_key(&ip) {
            return Err(Failure::plain(FailureKind::NotFound, "no such address"));
        }
        if self.put(ip, to) {
            Ok(Done::Effective)
        } else {
            self.refused += 1;
            Err(Failure::plain(FailureKind::Rejected, "the machine is full"))
        }
    }

    /// Returns whether there was room.
    fn put(&mut self, ip: IpAddr, to: Option<MachineId>) -> bool {
        let on_it = |(other, seen): &(&IpAddr, &Sighting)| {
            seen.holder == to && **other != ip && Family::of(**other) == Family::of(ip)
        };
        let others = self.addresses.iter().filter(on_it).count();
        let room = to.is_none() || others < self.per_machine;
        if let Some(seen) = self.addresses.get_mut(&ip) {
            seen.busy = false;
            if room {
                seen.holder = to;
            }
        }
        room
    }

    fn make(&mut self, intent: &Intent) -> Done {
        self.made += 1;
        let ip = match intent.family {
            Family::V4 => IpAddr::from(Ipv4Addr::new(198, 51, 100, self.made)),
            Family::V6 => {
                let made = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, self.made.into());
                self.addresses.insert(made.into(), in_region(intent));
                return Done::CreatedLoose { ip: made.into() };
            }
        };
        let seen = Sighting {
            // Where a machine is named, a project cannot be.
            project: self.project.filter(|_| intent.target.is_none()).map(Into::into),
            ..in_region(intent)
        };
        self.addresses.insert(ip, seen);
        if self.put(ip, intent.target.clone()) {
            Done::Created { ip, pending: None }
        } else {
            self.refused += 1;
            Done::CreatedLoose { ip }
        }
    }
}

fn in_region(intent: &Intent) -> Sighting {
    Sighting { region: Some(intent.region.clone()), ..Sighting::default() }
}

/// We keep it back ourselves for so long.
pub fn held_back(seconds: u64) -> Fault {
    Fault::Answer(FailureKind::HeldBack { wait: Duration::from_secs(seconds), pacing: false })
}

/// A change of records is held back for so long after so many records.
pub fn held_back_after(records: usize, seconds: u64) -> Fault {
    Fault::Part(records, Duration::from_secs(seconds))
}

/// The rate limit is used up for so long.
pub fn throttled(seconds: u64) -> Fault {
    Fault::Answer(FailureKind::Throttled { wait: Duration::from_secs(seconds) })
}
