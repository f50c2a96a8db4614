//! The actual state of the cloud: machines, addresses, operations and zones, common to all vendors.
//!
//! Input: changes by vendor modules and by tests. Output: the current state, and past states (read
//! lag). Operations take effect when due, in the order (due, id), however late the state is read.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::interface::Interface;
use crate::next_address::Handout;
use crate::operation::{Failure, Fate, Operation, OperationKind, OperationStatus};
use crate::zone::Zone;

/// Initial ids, as large as vendors' ids are today, to catch clients with 32-bit ids.
const BEFORE_FIRST_OPERATION: u64 = 2_500_000_000;
const BEFORE_FIRST_RECORD: u64 = 4_800_000_000;

/// The id of a machine. Vendors with textual ids derive them from this number.
pub type MachineId = u64;

/// A virtual machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Unique among the machines of a cloud.
    pub id: MachineId,
    /// The user's name for the machine; not unique.
    pub name: String,
    /// The region slug, or a zone at vendors with zones. A machine can hold only addresses of its
    /// region.
    pub region: String,
    /// Tags for the vendor's list filters.
    pub tags: Vec<String>,
    /// Hidden by the vendor from ordinary listings.
    pub gpu: bool,
    /// Has no external address of its own by design.
    pub private: bool,
    /// The network interfaces, at vendors that show them. Never empty.
    pub interfaces: Vec<Interface>,
    /// Time of creation.
    pub created: Instant,
}

/// A reserved, floating, static or elastic address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address, also its identity.
    pub ip: IpAddr,
    /// The region slug of the address.
    pub region: String,
    /// The vendor's project, if the vendor has projects.
    pub project: Option<String>,
    /// The machine that receives the address's traffic.
    pub holder: Option<MachineId>,
    /// The interface of the holder, by number.
    pub interface: usize,
    /// Time of the reservation.
    pub reserved: Instant,
    /// The user's name for the address, at vendors with named addresses.
    pub name: Option<String>,
    /// The user's note on the address, at vendors with notes.
    pub description: Option<String>,
}

impl Address {
    /// A free address without a project, name or note.
    #[must_use]
    pub fn free(ip: IpAddr, region: &str, reserved: Instant) -> Self {
        Self {
            ip,
            region: region.to_owned(),
            project: None,
            holder: None,
            interface: 0,
            reserved,
            name: None,
            description: None,
        }
    }
}

/// The state at a moment. Shared cheaply, and cloned only for a read lag.
#[derive(Clone, Debug, Default)]
pub struct State {
    machines: BTreeMap<MachineId, Machine>,
    addresses: BTreeMap<IpAddr, Address>,
    /// Index of `addresses` by holder.
    held: BTreeSet<(MachineId, IpAddr)>,
    operations: BTreeMap<u64, Operation>,
    /// Index of `operations` by the caller's id of the request.
    requests: BTreeMap<String, u64>,
    open: BTreeSet<(Instant, u64)>,
    zones: BTreeMap<String, Zone>,
    operations_started: u64,
    records_made: u64,
    /// Number of external addresses that machines got for their own.
    pub(crate) owns_made: u32,
    pub(crate) handout: Handout,
}

impl State {
    /// The machine that holds the address; `None` if free or unknown.
    #[must_use]
    pub fn holder(&self, ip: IpAddr) -> Option<MachineId> {
        self.addresses.get(&ip)?.holder
    }

    /// The addresses of a machine in numerical order.
    pub fn held_by(&self, machine: MachineId) -> impl Iterator<Item = &Address> {
        let lowest = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        self.held
            .range((machine, lowest)..)
            .take_while(move |(holder, _)| *holder == machine)
            .filter_map(|(_, ip)| self.addresses.get(ip))
    }

    /// The first address of a family on the machine. Vendors that allow a single address per
    /// machine have no other.
    #[must_use]
    pub fn family_held_by(&self, machine: MachineId, v6: bool) -> Option<&Address> {
        self.held_by(machine).find(|a| a.ip.is_ipv6() == v6)
    }

    /// An address of the cloud, if reserved.
    #[must_use]
    pub fn address(&self, ip: IpAddr) -> Option<&Address> {
        self.addresses.get(&ip)
    }

    /// All addresses in numerical order.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.values()
    }

    /// A machine by id.
    #[must_use]
    pub fn machine(&self, id: MachineId) -> Option<&Machine> {
        self.machines.get(&id)
    }

    /// All machines, by id.
    pub fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.machines.values()
    }

    /// An operation by id, finished or not.
    #[must_use]
    pub fn operation(&self, id: u64) -> Option<&Operation> {
        self.operations.get(&id)
    }

    /// The operation of an idempotent request, by the caller's id of the request.
    #[must_use]
    pub fn operation_of_request(&self, request: &str) -> Option<&Operation> {
        self.operation(*self.requests.get(request)?)
    }

    /// All operations, oldest first.
    pub fn operations(&self) -> impl DoubleEndedIterator<Item = &Operation> {
        self.operations.values()
    }

    /// The unfinished operations, earliest due first.
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

    /// A zone by name.
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
    /// Adds or replaces a machine. It has an external address of its own, unless it holds one.
    pub(crate) fn put_machine(&mut self, machine: Machine) {
        let id = machine.id;
        self.machines.insert(id, machine);
        self.restore_own(id);
    }

    pub(crate) fn machine_mut(&mut self, id: MachineId) -> Option<&mut Machine> {
        self.machines.get_mut(&id)
    }

    /// Destroys a machine: its addresses become free, and open assigns to the machine fail when
    /// due.
    pub(crate) fn remove_machine(&mut self, id: MachineId) -> Option<Machine> {
        let held: Vec<IpAddr> = self.held_by(id).map(|a| a.ip).collect();
        for ip in held {
            self.set_holder(ip, None);
        }
        self.machines.remove(&id)
    }

    /// Adds or replaces an address.
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

    /// Assigns an address to a machine, or frees it.
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
        address.interface = 0;
    }

    /// Assigns a held address to another interface of its holder.
    pub(crate) fn set_interface(&mut self, ip: IpAddr, interface: usize) {
        if let Some(address) = self.addresses.get_mut(&ip) {
            address.interface = interface;
        }
    }

    /// The next new address: never a reserved address.
    pub(crate) fn take_fresh(&mut self, v6: bool) -> IpAddr {
        loop {
            let ip = self.handout.next(v6);
            if !self.addresses.contains_key(&ip) {
                return ip;
            }
        }
    }

    /// Registers an operation that ends `takes` after `started`; returns its id.
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
                failure: None,
                request: None,
                hidden_until: started,
                fate,
            },
        );
        self.open.insert((due, id));
        id
    }

    /// Hides the operation from reads until the given time.
    pub(crate) fn hide_operation(&mut self, id: u64, until: Instant) {
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.hidden_until = until;
        }
    }

    /// Remembers the request that started the operation: the caller's id, and the target.
    pub(crate) fn remember_request(&mut self, operation: u64, id: &str, target: &str) {
        if let Some(operation) = self.operations.get_mut(&operation) {
            operation.request = Some((id.to_owned(), target.to_owned()));
            self.requests.insert(id.to_owned(), operation.id);
        }
    }

    fn finish(&mut self, due: Instant, id: u64) {
        self.open.remove(&(due, id));
        let Some(operation) = self.operations.get(&id) else {
            return;
        };
        let (kind, fate) = (operation.kind.clone(), operation.fate);
        let failure = match fate {
            Fate::Succeeds => self.apply(&kind).err(),
            Fate::Ignored => None,
            Fate::Errors => Some(Failure::Unexplained),
        };
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.completed = Some(due);
            operation.failure = failure;
            operation.status = match failure {
                None => OperationStatus::Completed,
                Some(_) => OperationStatus::Errored,
            };
        }
    }

    fn apply(&mut self, kind: &OperationKind) -> Result<(), Failure> {
        match kind {
            OperationKind::Attach { ip: Some(ip), machine, interface, name } => {
                self.attach(*ip, (*machine, *interface), name)
            }
            OperationKind::Attach { ip: None, machine, interface, name } => {
                self.attach_own((*machine, *interface), name)
            }
            OperationKind::Detach { machine, interface, .. } => {
                self.detach((*machine, *interface));
                Ok(())
            }
            OperationKind::Create { address } => {
                self.put_address((**address).clone());
                Ok(())
            }
            OperationKind::Release { address } => match self.holder(address.ip) {
                Some(_) => Err(Failure::InUse),
                None => self.remove_address(address.ip).map(drop).ok_or(Failure::Gone),
            },
            _ if self.apply_simple(kind) => Ok(()),
            _ => Err(Failure::Gone),
        }
    }

    fn apply_simple(&mut self, kind: &OperationKind) -> bool {
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
            _ => true,
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

    /// The id of the next record.
    pub(crate) fn upcoming_record_id(&self) -> u64 {
        BEFORE_FIRST_RECORD + self.records_made + 1
    }

    pub(crate) fn next_record_id(&mut self) -> u64 {
        self.records_made += 1;
        BEFORE_FIRST_RECORD + self.records_made
    }
}

/// The current state and, while a read lag is set, past states.
#[derive(Debug, Default)]
pub(crate) struct Store {
    present: Arc<State>,
    /// Past states with the time of their replacement, oldest first.
    past: VecDeque<(Instant, Arc<State>)>,
    lag: Duration,
    revision: u64,
}

impl Store {
    pub(crate) fn present(&self) -> &State {
        &self.present
    }

    /// Increases with every change; equal revisions mean equal states.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Makes reads show the state of `lag` ago. States before this call are not known: reads then
    /// show the state at this call.
    pub(crate) fn set_lag(&mut self, lag: Duration) {
        self.lag = lag;
        if lag.is_zero() {
            self.past.clear();
        }
    }

    /// The state that reads show.
    pub(crate) fn seen(&self, now: Instant) -> &State {
        let Some(then) = now.checked_sub(self.lag) else {
            return &self.present;
        };
        self.past
            .iter()
            .find(|(replaced, _)| *replaced > then)
            .map_or(&self.present, |(_, state)| state)
    }

    /// The state for changes. Lagging reads still see the previous state.
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

    /// Lets all due operations take effect, each at its due time.
    pub(crate) fn settle(&mut self, now: Instant) {
        while let Some(&(due, id)) = self.present.open.first() {
            if due > now {
                return;
            }
            self.change(due).finish(due, id);
        }
    }

    /// The due time of the next operation.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.present.open.first().map(|(due, _)| *due)
    }
}
