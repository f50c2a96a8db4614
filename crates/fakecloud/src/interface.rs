//! The external addresses of a machine's interfaces, at vendors where a reserved address takes the
//! place of the machine's own: an interface has one address or none. Vendors with other rules
//! ignore all of this.

use std::net::{IpAddr, Ipv4Addr};

use crate::operation::Failure;
use crate::store::{Address, MachineId, State};

/// The machines' own external addresses: `198.19.0.0/16`, one after the other.
const OWN_V4: u32 = 0xc613_0000;
const OWN_V4_COUNT: u32 = 0x1_0000;

/// A network interface of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// The machine's own external address, if the interface has one: never a reserved address, and
    /// lost when detached.
    pub own: Option<IpAddr>,
    /// The name of the attachment of the external address; `None`: the vendor's usual name.
    pub attachment: Option<String>,
    /// The name to which the external address resolves.
    pub pointer: Option<String>,
}

/// A machine, and the number of an interface.
pub(crate) type Place = (MachineId, usize);

impl State {
    /// The reserved address on an interface.
    #[must_use]
    pub fn held_on(&self, machine: MachineId, interface: usize) -> Option<&Address> {
        self.held_by(machine).find(|a| a.ip.is_ipv4() && a.interface == interface)
    }

    /// The external address of an interface, reserved or the machine's own.
    #[must_use]
    pub fn external(&self, machine: MachineId, interface: usize) -> Option<IpAddr> {
        let own = self.machine(machine)?.interfaces.get(interface)?.own;
        self.held_on(machine, interface).map(|address| address.ip).or(own)
    }

    fn interface_mut(&mut self, (machine, interface): Place) -> Option<&mut Interface> {
        self.machine_mut(machine)?.interfaces.get_mut(interface)
    }

    /// Attaches a reserved address to an interface without an address.
    pub(crate) fn attach(&mut self, ip: IpAddr, place: Place, name: &str) -> Result<(), Failure> {
        let address = self.address(ip).ok_or(Failure::Gone)?;
        if address.holder.is_some() {
            return Err(Failure::InUse);
        }
        self.name_attachment(place, name)?;
        self.set_holder(ip, Some(place.0));
        self.set_interface(ip, place.1);
        Ok(())
    }

    /// Attaches a new address of the machine's own to an interface without an address.
    pub(crate) fn attach_own(&mut self, place: Place, name: &str) -> Result<(), Failure> {
        self.name_attachment(place, name)?;
        let own = self.take_own();
        if let Some(interface) = self.interface_mut(place) {
            interface.own = Some(own);
        }
        Ok(())
    }

    fn name_attachment(&mut self, place: Place, name: &str) -> Result<(), Failure> {
        let occupied = self.external(place.0, place.1).is_some();
        let interface = self.interface_mut(place).ok_or(Failure::Gone)?;
        if occupied {
            return Err(Failure::Occupied);
        }
        interface.attachment = Some(name.to_owned());
        Ok(())
    }

    /// Detaches the external address of an interface, if it has one.
    pub(crate) fn detach(&mut self, place: Place) {
        if let Some(held) = self.held_on(place.0, place.1).map(|address| address.ip) {
            self.set_holder(held, None);
        }
        if let Some(interface) = self.interface_mut(place) {
            *interface = Interface::default();
        }
    }

    /// Gives a machine an external address of its own, unless it has one or is private.
    pub(crate) fn restore_own(&mut self, machine: MachineId) {
        let wanted = self.machine(machine).is_some_and(|machine| !machine.private);
        if !wanted || self.external(machine, 0).is_some() {
            return;
        }
        let own = self.take_own();
        if let Some(interface) = self.interface_mut((machine, 0)) {
            *interface = Interface { own: Some(own), ..Interface::default() };
        }
    }

    /// Takes a machine's own external address from its first interface.
    pub(crate) fn drop_own(&mut self, machine: MachineId) {
        if let Some(interface) = self.interface_mut((machine, 0)) {
            *interface = Interface::default();
        }
    }

    /// A new address for a machine of its own: never a reserved address.
    fn take_own(&mut self) -> IpAddr {
        loop {
            self.owns_made += 1;
            let ip = IpAddr::V4(Ipv4Addr::from(OWN_V4 | (self.owns_made % OWN_V4_COUNT)));
            if self.address(ip).is_none() {
                return ip;
            }
        }
    }
}
