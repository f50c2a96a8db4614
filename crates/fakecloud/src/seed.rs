//! Seeding a cloud, and changes by people outside the API.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::emulators;
use crate::handle::FakeCloud;
use crate::interface::Interface;
use crate::operation::{Fate, OperationKind};
use crate::store::{Address, Machine, MachineId, State};
use crate::zone::{Record, Zone};

/// Machines and addresses. Seeding and human changes act at once, regardless of quota, region or
/// open operations.
impl FakeCloud {
    /// Adds or replaces a machine, in a region, or in a zone at vendors with zones.
    pub fn machine(&self, id: MachineId, name: &str, region: &str) -> &Self {
        self.shared.act(|world, now| {
            world.store.change(now).put_machine(Machine {
                id,
                name: name.to_owned(),
                region: region.to_owned(),
                tags: Vec::new(),
                gpu: false,
                private: false,
                interfaces: vec![Interface::default()],
                created: now,
            });
        });
        self
    }

    /// Sets the tags of a machine.
    pub fn tags(&self, id: MachineId, tags: &[&str]) -> &Self {
        self.edit_machine(id, |m| m.tags = tags.iter().map(|&t| t.to_owned()).collect())
    }

    /// Hides a machine from ordinary listings, as the vendor does with GPU machines.
    pub fn gpu(&self, id: MachineId) -> &Self {
        self.edit_machine(id, |m| m.gpu = true)
    }

    fn edit_machine(&self, id: MachineId, edit: impl FnOnce(&mut Machine)) -> &Self {
        self.shared.act(|world, now| {
            if let Some(machine) = world.store.change(now).machine_mut(id) {
                edit(machine);
            }
        });
        self
    }

    /// Makes a machine private by design: without an external address of its own.
    pub fn without_own_address(&self, id: MachineId) -> &Self {
        self.shared.act(|world, now| {
            let state = world.store.change(now);
            if let Some(machine) = state.machine_mut(id) {
                machine.private = true;
                machine.interfaces.iter_mut().for_each(|interface| interface.own = None);
            }
        });
        self
    }

    /// Sets the number of network interfaces of a machine, one or more. Further interfaces begin
    /// without an external address, and the addresses of lost interfaces become free.
    pub fn nics(&self, id: MachineId, count: usize) -> &Self {
        self.shared.act(|world, now| {
            let (state, count) = (world.store.change(now), count.max(1));
            let lost: Vec<IpAddr> =
                state.held_by(id).filter(|a| a.interface >= count).map(|a| a.ip).collect();
            lost.into_iter().for_each(|ip| state.set_holder(ip, None));
            if let Some(machine) = state.machine_mut(id) {
                machine.interfaces.resize_with(count, Interface::default);
            }
        });
        self
    }

    /// The external address by which the machine reaches the Internet, reserved or its own, at
    /// vendors where the one takes the place of the other. The first interface counts.
    #[must_use]
    pub fn egress(&self, id: MachineId) -> Option<IpAddr> {
        self.look(|state| state.external(id, 0))
    }

    /// The external address of the machine's own, if it has one now.
    #[must_use]
    pub fn own_address(&self, id: MachineId) -> Option<IpAddr> {
        self.look(|state| state.machine(id)?.interfaces.first()?.own)
    }

    /// The `spec.providerID` of the node on a machine, with what the cloud knows of the machine.
    /// Empty for a vendor without machines.
    #[must_use]
    pub fn provider_id(&self, vendor: &str, id: MachineId) -> String {
        self.look(|state| emulators::provider_id_in(vendor, state, id))
    }

    /// The external address that the node with this `spec.providerID` shows, at vendors where a
    /// reserved address takes the place of the machine's own.
    #[must_use]
    pub fn external(&self, provider_id: &str) -> Option<IpAddr> {
        self.look(|state| emulators::external_in(provider_id, state))
    }

    /// Destroys a machine and frees its addresses. False if the machine did not exist.
    pub fn destroy_machine(&self, id: MachineId) -> bool {
        self.shared.act(|world, now| world.store.change(now).remove_machine(id).is_some())
    }

    /// Reserves a free address.
    pub fn reserve(&self, ip: impl Into<IpAddr>, region: &str) -> &Self {
        self.put(ip.into(), region.to_owned(), None, None)
    }

    /// Reserves a free address in a project.
    pub fn reserve_in_project(&self, ip: impl Into<IpAddr>, region: &str, project: &str) -> &Self {
        self.put(ip.into(), region.to_owned(), Some(project.to_owned()), None)
    }

    /// Reserves an address on a machine, in the machine's region. If the machine does not exist,
    /// the address is free, in the region `nyc3`.
    pub fn reserve_on(&self, ip: impl Into<IpAddr>, machine: MachineId) -> &Self {
        let region = self.look(|state| state.machine(machine).map(|m| m.region.clone()));
        let holder = region.as_ref().map(|_| machine);
        self.put(ip.into(), region.unwrap_or_else(|| "nyc3".to_owned()), None, holder)
    }

    fn put(
        &self,
        ip: IpAddr,
        region: String,
        project: Option<String>,
        holder: Option<MachineId>,
    ) -> &Self {
        self.shared.act(|world, now| {
            let most = world.knobs.addresses_per_machine;
            let state = world.store.change(now);
            state.put_address(Address { project, ..Address::free(ip, &region, now) });
            place(state, ip, holder, most);
        });
        self
    }

    /// The machine that holds the address; `None` if free or unknown.
    #[must_use]
    pub fn holder(&self, ip: impl Into<IpAddr>) -> Option<MachineId> {
        let ip = ip.into();
        self.look(|state| state.holder(ip))
    }

    /// All addresses in numerical order.
    #[must_use]
    pub fn addresses(&self) -> Vec<Address> {
        self.look(|state| state.addresses().cloned().collect())
    }

    /// Moves or frees an address as a person would, outside the emulated API: at once, even while
    /// an action is open (which still takes effect when due). Other addresses of the machine in the
    /// family become free. Appears as a finished action. A machine that does not exist gets nothing.
    /// A machine that is left without an external address gets one of its own again, unless it is
    /// private.
    pub fn human_moves(&self, ip: impl Into<IpAddr>, to: Option<MachineId>) {
        let ip = ip.into();
        self.shared.act(|world, now| {
            let most = world.knobs.addresses_per_machine;
            let state = world.store.change(now);
            let Some(address) = state.address(ip) else {
                return;
            };
            let (region, from) = (address.region.clone(), address.holder);
            if to.is_some_and(|machine| state.machine(machine).is_none()) {
                return;
            }
            place(state, ip, to, most);
            let kind = match to {
                Some(machine) => OperationKind::Assign { ip, machine, alone: true },
                None => OperationKind::Unassign { ip, machine: from },
            };
            state.start(kind, &region, now, Duration::ZERO, Fate::Ignored);
        });
    }

    /// Releases an address as a person would. False if the address did not exist.
    pub fn human_deletes(&self, ip: impl Into<IpAddr>) -> bool {
        let ip = ip.into();
        self.shared.act(|world, now| world.store.change(now).remove_address(ip).is_some())
    }

    /// Keeps an address busy for a while.
    pub fn busy_address(&self, ip: impl Into<IpAddr>, time: Duration) {
        self.busy(OperationKind::AddressEvent { ip: ip.into() }, time);
    }

    /// Keeps a machine busy for a while with an event: `resize`, `snapshot`, ...
    pub fn busy_machine(&self, machine: MachineId, what: &str, time: Duration) {
        let what = what.to_owned();
        self.busy(OperationKind::MachineEvent { machine, what }, time);
    }

    fn busy(&self, kind: OperationKind, time: Duration) {
        self.shared.act(|world, now| {
            let state = world.store.change(now);
            let region = match (kind.ip(), kind.machine()) {
                (Some(ip), _) => state.address(ip).map(|a| a.region.clone()),
                (None, Some(machine)) => state.machine(machine).map(|m| m.region.clone()),
                (None, None) => None,
            };
            let region = region.unwrap_or_else(|| "nyc3".to_owned());
            state.start(kind, &region, now, time, Fate::Succeeds);
        });
    }

    /// Queues the next address of its family to hand out, as if another customer had just released
    /// it.
    pub fn next_address(&self, ip: impl Into<IpAddr>) {
        let ip = ip.into();
        self.shared.act(|world, now| world.store.change(now).handout.choose(ip));
    }
}

/// Zones and records.
impl FakeCloud {
    /// Adds an empty zone.
    pub fn domain(&self, name: &str) -> &Self {
        self.shared.act(|world, now| {
            world.store.change(now).put_zone(Zone {
                name: name.to_owned(),
                ttl: 1800,
                records: BTreeMap::new(),
            });
        });
        self
    }

    /// Adds a record (name relative, `@` for the apex) and returns its id. Creates a missing zone.
    pub fn record(&self, domain: &str, kind: &str, name: &str, data: &str, ttl: u32) -> u64 {
        if self.look(|state| state.zone(domain).is_none()) {
            self.domain(domain);
        }
        self.shared.act(|world, now| {
            let state = world.store.change(now);
            let id = state.next_record_id();
            let record = Record {
                id,
                kind: kind.to_owned(),
                name: name.to_owned(),
                data: data.to_owned(),
                ttl,
                created: Some(now),
                modified: Some(now),
                ..Record::default()
            };
            if let Some(zone) = state.zone_mut(domain) {
                zone.records.insert(id, record);
            }
            id
        })
    }

    /// Edits a record as a person would, outside the emulated API. False if the record did not
    /// exist.
    pub fn human_edits_record(
        &self,
        domain: &str,
        id: u64,
        edit: impl FnOnce(&mut Record),
    ) -> bool {
        self.shared.act(|world, now| {
            let zone = world.store.change(now).zone_mut(domain);
            let record = zone.and_then(|zone| zone.records.get_mut(&id));
            record.map(edit).is_some()
        })
    }

    /// Deletes a record as a person would. False if the record did not exist.
    pub fn human_deletes_record(&self, domain: &str, id: u64) -> bool {
        self.shared.act(|world, now| {
            let zone = world.store.change(now).zone_mut(domain);
            zone.is_some_and(|zone| zone.records.remove(&id).is_some())
        })
    }

    /// Deletes a zone as a person would. Returns the deleted zone.
    pub fn human_deletes_zone(&self, domain: &str) -> Option<Zone> {
        self.shared.act(|world, now| world.store.change(now).remove_zone(domain))
    }

    /// Restores or replaces a zone as a person would.
    pub fn human_restores_zone(&self, zone: Zone) {
        self.shared.act(|world, now| world.store.change(now).put_zone(zone));
    }

    /// The records of a zone, oldest first.
    #[must_use]
    pub fn records(&self, domain: &str) -> Vec<Record> {
        self.look(|state| {
            state
                .zone(domain)
                .map(|zone| zone.records.values().cloned().collect())
                .unwrap_or_default()
        })
    }

    /// The values of a name (relative) and type, sorted.
    #[must_use]
    pub fn values(&self, domain: &str, name: &str, kind: &str) -> Vec<String> {
        self.look(|state| {
            state.zone(domain).map(|zone| zone.values(name, kind)).unwrap_or_default()
        })
    }
}

/// Assigns an address to a machine, or frees it. Another address of the machine in the family
/// becomes free. The machine loses its own external address, and the one before gets its own back.
fn place(state: &mut State, ip: IpAddr, holder: Option<MachineId>, most: usize) {
    let before = state.holder(ip);
    let held = holder.into_iter().flat_map(|machine| state.held_by(machine));
    let held: Vec<IpAddr> =
        held.map(|a| a.ip).filter(|one| one.is_ipv6() == ip.is_ipv6() && *one != ip).collect();
    if let Some(displaced) = held.first().copied().filter(|_| held.len() >= most) {
        state.set_holder(displaced, None);
    }
    state.set_holder(ip, holder);
    if ip.is_ipv4() {
        holder.into_iter().for_each(|machine| state.drop_own(machine));
        before.into_iter().for_each(|machine| state.restore_own(machine));
    }
}
