//! What the cloud really holds: machines, addresses, operations and zones, whatever vendor's API is used to change it.
//!
//! Input: changes by vendor modules and by tests. Output: the state now, and the state some time ago (read lag).
//! Operations take effect when they are due, in the order (due, id), however late somebody looks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::handout::Handout;
use crate::operation::{Fate, Operation, OperationKind, OperationStatus};
use crate::zone::Zone;

/// Ids are as large as vendors' are today, so that a client that keeps them in 32 bits is found out.
const BEFORE_FIRST_OPERATION: u64 = 2_500_000_000;
const BEFORE_FIRST_RECORD: u64 = 4_800_000_000;

/// The identity of a machine; vendors with textual ids derive theirs from it.
pub type MachineId = u64;

/// A virtual machine: droplet, instance, server.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Unique among the machines of a cloud.
    pub id: MachineId,
    /// As the user named it; not unique.
    pub name: String,
    /// The region slug; an address can only be held by a machine of its own region.
    pub region: String,
    /// As the vendor's list filters see them.
    pub tags: Vec<String>,
    /// A machine that the vendor hides from ordinary listings.
    pub gpu: bool,
    /// When it appeared.
    pub created: Instant,
}

/// A reserved, floating, static or elastic address.
#[derive(Clone, Debug)]
pub struct Address {
    /// The address is its own identity.
    pub ip: IpAddr,
    /// The region slug it is bound to.
    pub region: String,
    /// The vendor's project, where it has such a thing.
    pub project: Option<String>,
    /// The machine that traffic to it reaches.
    pub holder: Option<MachineId>,
    /// When it was reserved.
    pub reserved: Instant,
}

/// Everything at one moment. Cheap to share, cloned only where a read lag asks for the past.
#[derive(Clone, Debug, Default)]
pub struct State {
    machines: BTreeMap<MachineId, Machine>,
    addresses: BTreeMap<IpAddr, Address>,
    /// Who holds what, the other way round.
    held: BTreeSet<(MachineId, IpAddr)>,
    operations: BTreeMap<u64, Operation>,
    open: BTreeSet<(Instant, u64)>,
    zones: BTreeMap<String, Zone>,
    operations_started: u64,
    records_made: u64,
    pub(crate) handout: Handout,
}

impl State {
    /// The machine that holds the address; `None` where it is free or unknown.
    #[must_use]
    pub fn holder(&self, ip: IpAddr) -> Option<MachineId> {
        self.addresses.get(&ip)?.holder
    }

    /// The addresses that the machine holds, in the order of their numbers.
    pub fn held_by(&self, machine: MachineId) -> impl Iterator<Item = &Address> {
        let lowest = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        self.held
            .range((machine, lowest)..)
            .take_while(move |(holder, _)| *holder == machine)
            .filter_map(|(_, ip)| self.addresses.get(ip))
    }

    /// The first address of this family that the machine holds; vendors with one address per machine have no other.
    #[must_use]
    pub fn family_held_by(&self, machine: MachineId, v6: bool) -> Option<&Address> {
        self.held_by(machine).find(|a| a.ip.is_ipv6() == v6)
    }

    /// One address.
    #[must_use]
    pub fn address(&self, ip: IpAddr) -> Option<&Address> {
        self.addresses.get(&ip)
    }

    /// All addresses, in the order of their numbers.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.values()
    }

    /// One machine.
    #[must_use]
    pub fn machine(&self, id: MachineId) -> Option<&Machine> {
        self.machines.get(&id)
    }

    /// All machines, by id.
    pub fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.machines.values()
    }

    /// One operation, finished or not.
    #[must_use]
    pub fn operation(&self, id: u64) -> Option<&Operation> {
        self.operations.get(&id)
    }

    /// All operations, oldest first.
    pub fn operations(&self) -> impl DoubleEndedIterator<Item = &Operation> {
        self.operations.values()
    }

    /// The operations that have not finished, soonest due first.
    pub fn open_operations(&self) -> impl Iterator<Item = &Operation> {
        self.open.iter().filter_map(|(_, id)| self.operations.get(id))
    }

    /// Whether an unfinished operation concerns the address.
    #[must_use]
    pub fn address_busy(&self, ip: IpAddr) -> bool {
        self.open_operations().any(|o| o.kind.ip() == Some(ip))
    }

    /// Whether an unfinished operation concerns the machine.
    #[must_use]
    pub fn machine_busy(&self, id: MachineId) -> bool {
        self.open_operations().any(|o| o.kind.machine() == Some(id))
    }

    /// One zone (DigitalOcean: domain).
    #[must_use]
    pub fn zone(&self, name: &str) -> Option<&Zone> {
        self.zones.get(name)
    }

    /// All zones, by name.
    pub fn zones(&self) -> impl Iterator<Item = &Zone> {
        self.zones.values()
    }
}

impl State {
    pub(crate) fn put_machine(&mut self, machine: Machine) {
        self.machines.insert(machine.id, machine);
    }

    pub(crate) fn machine_mut(&mut self, id: MachineId) -> Option<&mut Machine> {
        self.machines.get_mut(&id)
    }

    /// Destroys a machine: what it held becomes free, what was on the way to it will fail when due.
    pub(crate) fn remove_machine(&mut self, id: MachineId) -> Option<Machine> {
        let held: Vec<IpAddr> = self.held_by(id).map(|a| a.ip).collect();
        for ip in held {
            self.set_holder(ip, None);
        }
        self.machines.remove(&id)
    }

    /// Adds an address, or replaces it.
    pub(crate) fn put_address(&mut self, address: Address) {
        self.remove_address(address.ip);
        if let Some(machine) = address.holder {
            self.held.insert((machine, address.ip));
        }
        self.addresses.insert(address.ip, address);
    }

    pub(crate) fn remove_address(&mut self, ip: IpAddr) -> Option<Address> {
        self.set_holder(ip, None);
        self.addresses.remove(&ip)
    }

    /// Puts an address on a machine, or frees it.
    pub(crate) fn set_holder(&mut self, ip: IpAddr, holder: Option<MachineId>) {
        let Some(address) = self.addresses.get_mut(&ip) else {
            return;
        };
        if let Some(before) = address.holder {
            self.held.remove(&(before, ip));
        }
        if let Some(machine) = holder {
            self.held.insert((machine, ip));
        }
        address.holder = holder;
    }

    /// The next address the vendor hands out: never one that is reserved now.
    pub(crate) fn take_fresh(&mut self, v6: bool) -> IpAddr {
        loop {
            let ip = self.handout.next(v6);
            if !self.addresses.contains_key(&ip) {
                return ip;
            }
        }
    }

    /// Registers an operation that finishes `takes` from `started` on, and returns its id.
    pub(crate) fn start(
        &mut self,
        kind: OperationKind,
        region: &str,
        started: Instant,
        takes: Duration,
        fate: Fate,
    ) -> u64 {
        self.operations_started += 1;
        let id = BEFORE_FIRST_OPERATION + self.operations_started;
        let due = started + takes;
        self.operations.insert(
            id,
            Operation {
                id,
                kind,
                region: region.to_owned(),
                status: OperationStatus::InProgress,
                started,
                due,
                completed: None,
                hidden_until: started,
                fate,
            },
        );
        self.open.insert((due, id));
        id
    }

    /// Lets reads answer that the operation does not exist until then.
    pub(crate) fn hide_operation(&mut self, id: u64, until: Instant) {
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.hidden_until = until;
        }
    }

    fn finish(&mut self, due: Instant, id: u64) {
        self.open.remove(&(due, id));
        let Some(operation) = self.operations.get(&id) else {
            return;
        };
        let (kind, fate) = (operation.kind.clone(), operation.fate);
        let succeeded = match fate {
            Fate::Succeeds => self.apply(&kind),
            Fate::Ignored => true,
            Fate::Errors => false,
        };
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.completed = Some(due);
            operation.status =
                if succeeded { OperationStatus::Completed } else { OperationStatus::Errored };
        }
    }

    fn apply(&mut self, kind: &OperationKind) -> bool {
        match *kind {
            OperationKind::Assign { ip, machine, alone } => {
                let other = self.family_held_by(machine, ip.is_ipv6()).filter(|a| a.ip != ip);
                let possible = self.addresses.contains_key(&ip)
                    && self.machines.contains_key(&machine)
                    && !(alone && other.is_some());
                if possible {
                    self.set_holder(ip, Some(machine));
                }
                possible
            }
            OperationKind::Unassign { ip, .. } => {
                let possible = self.addresses.contains_key(&ip);
                self.set_holder(ip, None);
                possible
            }
            OperationKind::Reserve { .. }
            | OperationKind::AddressEvent { .. }
            | OperationKind::MachineEvent { .. } => true,
        }
    }

    pub(crate) fn put_zone(&mut self, zone: Zone) {
        self.zones.insert(zone.name.clone(), zone);
    }

    pub(crate) fn zone_mut(&mut self, name: &str) -> Option<&mut Zone> {
        self.zones.get_mut(name)
    }

    pub(crate) fn remove_zone(&mut self, name: &str) -> Option<Zone> {
        self.zones.remove(name)
    }

    /// The id that the next record will get.
    pub(crate) fn upcoming_record_id(&self) -> u64 {
        BEFORE_FIRST_RECORD + self.records_made + 1
    }

    pub(crate) fn next_record_id(&mut self) -> u64 {
        self.records_made += 1;
        BEFORE_FIRST_RECORD + self.records_made
    }
}

/// The state now and, while a read lag is set, the states it replaced.
#[derive(Debug, Default)]
pub(crate) struct Store {
    present: Arc<State>,
    /// Each with the moment it was replaced, oldest first.
    past: VecDeque<(Instant, Arc<State>)>,
    lag: Duration,
    revision: u64,
}

impl Store {
    pub(crate) fn present(&self) -> &State {
        &self.present
    }

    /// Grows with every change; equal revisions mean equal states.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// From now on reads show the state of that long ago; the past before this call is not known and reads as it was
    /// at this call.
    pub(crate) fn set_lag(&mut self, lag: Duration) {
        self.lag = lag;
        if lag.is_zero() {
            self.past.clear();
        }
    }

    /// What a read is shown.
    pub(crate) fn seen(&self, now: Instant) -> &State {
        let Some(then) = now.checked_sub(self.lag) else {
            return &self.present;
        };
        self.past
            .iter()
            .find(|(replaced, _)| *replaced > then)
            .map_or(&self.present, |(_, state)| state)
    }

    /// The state to change; what it was stays visible to lagging reads.
    pub(crate) fn change(&mut self, now: Instant) -> &mut State {
        self.revision += 1;
        if !self.lag.is_zero() {
            let lag = self.lag;
            while self.past.front().is_some_and(|(replaced, _)| *replaced + lag <= now) {
                self.past.pop_front();
            }
            self.past.push_back((now, Arc::clone(&self.present)));
        }
        Arc::make_mut(&mut self.present)
    }

    /// Lets everything that is due take effect, as of the moment it was due.
    pub(crate) fn settle(&mut self, now: Instant) {
        while let Some(&(due, id)) = self.present.open.first() {
            if due > now {
                return;
            }
            self.change(due).finish(due, id);
        }
    }

    /// When the next operation is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.present.open.first().map(|(due, _)| *due)
    }
}
