//! Assigning, unassigning and the machines' own addresses.
//!
//! A network interface has one external IPv4 address. A machine usually has an ephemeral one, its
//! own, which is removed before a reserved one is added, and added again when that one goes.

use std::net::IpAddr;

use super::Gcp;
use super::client::{NewConfig, Progress, Started};
use super::operations::Sign;
use super::place::Place;
use super::wire::{AccessConfig, Instance, Nic};
use crate::address::{Accepted, Address, MachineId};
use crate::error::{Error, ErrorKind, Result};
use crate::layers::Priority;

/// The name that Google's own tools give to an access config.
const NAME: &str = "External NAT";

impl Gcp {
    /// Assigns a free address. What can be known to be refused is refused before the machine's own
    /// address is touched.
    pub(super) async fn put(&self, ip: IpAddr, machine: &MachineId) -> Result<Accepted> {
        let place = Place::of(machine)?;
        self.known.machine(&place);
        if ip.is_ipv6() {
            return Err(Error::new(ErrorKind::Rejected, "IPv6 addresses are not supported"));
        }
        let before = self.before(ip, &place).await?;
        if before.holder.as_ref() == Some(machine) {
            return Ok(Accepted::Done);
        }
        let instance = match self.client.instance(&place, Priority::Failover).await {
            Err(error) if error.kind == ErrorKind::NotFound => {
                return Err(told_with(before, error));
            }
            read => read?,
        };
        if instance.with(ip).is_some() {
            self.known.held(ip, Some(machine));
            return Ok(Accepted::Done);
        }
        let nic = instance.first()?;
        let own = nic.access_configs.first();
        if let Some(own) = own {
            self.make_room(&place, nic, own, &before).await?;
        }
        let tier = self.known.fact(ip).and_then(|fact| fact.tier);
        let wanted = NewConfig { nic: nic.name.clone(), name: NAME.into(), ip: Some(ip), tier };
        match self.add(&place, &wanted).await {
            Ok(accepted) => Ok(accepted),
            // Without an answer the address may be there, or still come.
            Err(error) if error.kind == ErrorKind::NoAnswer => {
                Err(Error { displaced: own.is_some(), ..error })
            }
            Err(error) => {
                if let Some(own) = own {
                    drop(self.give_back(&place, nic, own).await);
                }
                let error = Error { displaced: own.is_some(), ..error.after_others() };
                self.settle(before, machine, error).await
            }
        }
    }

    /// The address before it is assigned, free or on this machine.
    async fn before(&self, ip: IpAddr, place: &Place) -> Result<Address> {
        let seen = match self.known.blind() {
            None => self.look(ip, Priority::Failover).await?,
            Some(_) => Some(self.last_seen(ip).await?),
        };
        let words = || Error::new(ErrorKind::NotFound, format!("there is no address {ip}"));
        let seen = seen.ok_or_else(words)?;
        if seen.busy {
            let words = format!("{ip} is still being reserved");
            return Err(told_with(seen, Error::new(ErrorKind::Busy, words)));
        }
        let here = place.machine();
        if let Some(holder) = seen.holder.clone().filter(|holder| *holder != here) {
            return Err(rejected(seen, format!("{ip} is in use by {holder}")));
        }
        let away = seen.region.clone().filter(|region| region != place.region());
        if let Some(region) = away.filter(|_| seen.holder.is_none()) {
            let zone = &place.zone;
            let words = format!("{ip} is in the region {region}, and the machine in zone {zone}");
            return Err(rejected(seen, words));
        }
        Ok(seen)
    }

    /// The address on its last known holder, or nowhere: for a credential that may not list.
    async fn last_seen(&self, ip: IpAddr) -> Result<Address> {
        let holder = self.known.holder(ip).and_then(|machine| Place::of(&machine).ok());
        let Some(place) = holder else { return Ok(self.sighted(ip, None)) };
        match self.client.instance(&place, Priority::Failover).await {
            Ok(instance) => Ok(self.sighted(ip, instance.with(ip).map(|_| &place))),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(self.sighted(ip, None)),
            Err(error) => Err(error),
        }
    }

    /// Removes the machine's own address, and waits until that is done. A reserved address stays.
    async fn make_room(
        &self,
        place: &Place,
        nic: &Nic,
        own: &AccessConfig,
        before: &Address,
    ) -> Result<()> {
        if let Some(other) = own.nat_ip.map(IpAddr::from)
            && self.is_reserved(other, place).await?
        {
            let words = format!("{} has the reserved address {other}", place.instance);
            return Err(rejected(before.clone(), words));
        }
        // Without an answer the machine may have lost its address.
        let failed = |error: Error| {
            let displaced = error.displaced || error.kind == ErrorKind::NoAnswer;
            told_if_refused(before, Error { displaced, ..error })
        };
        let removed = self.client.remove(place, &nic.name, &own.name).await.map_err(failed)?;
        if self.is_removed(place, nic, own, &removed).await.map_err(failed)? {
            return Ok(());
        }
        let words = format!("the own address of {} is still being removed", place.instance);
        let error = Error { displaced: true, ..Error::new(ErrorKind::Busy, words) };
        Err(told_with(before.clone(), error))
    }

    async fn is_removed(
        &self,
        place: &Place,
        nic: &Nic,
        config: &AccessConfig,
        started: &Started,
    ) -> Result<bool> {
        let ip = config.nat_ip.map(IpAddr::from);
        let sign = Sign::Removed { place, nic: &nic.name, name: &config.name, ip };
        self.finish(started, &sign, Priority::Failover).await
    }

    /// Whether an address on a machine is a reserved one. A credential that may not list knows only
    /// the addresses that somebody asked about. The machine may be of a project whose addresses are not
    /// listed otherwise.
    async fn is_reserved(&self, ip: IpAddr, place: &Place) -> Result<bool> {
        if self.known.is_reserved(ip) {
            return Ok(true);
        }
        if self.known.blind().is_some() {
            return Ok(false);
        }
        let found = self.find(ip, &mut { Priority::Failover }).await;
        if let Ok(None) = found
            && !self.projects()?.contains(&place.project)
        {
            let mut priority = Priority::Failover;
            let found = self.pages_of(&place.project, Some(ip), &mut priority).await;
            return unless_forbidden(found.map(|found| !found.is_empty()));
        }
        unless_forbidden(found.map(|found| found.is_some()))
    }

    async fn add(&self, place: &Place, wanted: &NewConfig) -> Result<Accepted> {
        let Started { id, progress } = self.client.add(place, wanted, Priority::Failover).await?;
        match progress {
            Progress::Running => Ok(Accepted::Pending(id)),
            Progress::Done => Ok(Accepted::Done),
            Progress::Failed(error) => Err(error),
        }
    }

    /// Adds an ephemeral address where a config was. Whether the machine has one in the end is told by
    /// [`restore`](Self::restore).
    async fn give_back(&self, place: &Place, nic: &Nic, was: &AccessConfig) -> Result<Accepted> {
        let tier = was.network_tier.clone();
        let own = NewConfig { nic: nic.name.clone(), name: was.name.clone(), ip: None, tier };
        self.add(place, &own).await
    }

    /// Reads the address after a refused assignment. The machine is known to exist, so that what was
    /// not found is the address.
    async fn settle(
        &self,
        before: Address,
        machine: &MachineId,
        refusal: Error,
    ) -> Result<Accepted> {
        if !is_refusal(&refusal) {
            return Err(refusal);
        }
        let blind = self.known.blind().is_some();
        if blind && refusal.kind == ErrorKind::NotFound {
            return Err(refusal);
        }
        match self.look(before.ip, Priority::Failover).await {
            Ok(None) => Err(Error { kind: ErrorKind::NotFound, ..refusal }),
            Ok(Some(seen)) if !seen.busy && seen.holder.as_ref() == Some(machine) => {
                Ok(Accepted::Done)
            }
            Ok(Some(seen)) => {
                let not_found = refusal.kind == ErrorKind::NotFound;
                let kind = if not_found { ErrorKind::Rejected } else { refusal.kind };
                Err(told_with(seen, Error { kind, ..refusal }))
            }
            Err(unread) => Err(refusal.unsettled(&unread)),
        }
    }

    /// Unassigns an address. The machine gets an address of its own again, whose progress is not
    /// waited for: the address is free as soon as its access config is removed.
    pub(super) async fn take(&self, ip: IpAddr) -> Result<Accepted> {
        let seen = self.look(ip, Priority::Failover).await?;
        let words = || Error::new(ErrorKind::NotFound, format!("there is no address {ip}"));
        let seen = seen.ok_or_else(words)?;
        if seen.busy {
            let words = format!("{ip} is still being reserved");
            return Err(told_with(seen, Error::new(ErrorKind::Busy, words)));
        }
        let Some(holder) = seen.holder.clone() else { return Ok(Accepted::Done) };
        let Ok(place) = Place::of(&holder) else {
            return Err(rejected(seen, format!("{ip} is in use by {holder}, which is no machine")));
        };
        let instance = match self.client.instance(&place, Priority::Failover).await {
            // A machine that is gone holds nothing.
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(Accepted::Done),
            read => read?,
        };
        let Some((nic, config)) = instance.with(ip) else { return Ok(Accepted::Done) };
        let started = self.client.remove(&place, &nic.name, &config.name).await;
        let started = started.map_err(|error| told_if_refused(&seen, error))?;
        let removed = self.is_removed(&place, nic, config, &started).await;
        if !removed.map_err(|error| told_if_refused(&seen, error))? {
            return Ok(Accepted::Pending(started.id));
        }
        let own = self.give_back(&place, nic, config).await;
        // An interface has one access config: a refusal may mean that the address is still there,
        // whatever its operation says.
        if own.is_err() && !self.is_off(ip, &place, nic, config).await {
            return Ok(Accepted::Pending(started.id));
        }
        self.known.held(ip, None);
        Ok(Accepted::Done)
    }

    /// Whether a machine is seen without the access config of an address.
    async fn is_off(&self, ip: IpAddr, place: &Place, nic: &Nic, config: &AccessConfig) -> bool {
        let (nic, name) = (&nic.name, &config.name);
        let sign = Sign::Removed { place, nic, name, ip: Some(ip) };
        matches!(self.shows(&sign, Priority::Failover).await, Ok(true))
    }

    /// Adds an ephemeral address to a machine whose first interface has none.
    pub(super) async fn restore(&self, machine: &MachineId) -> Result<Accepted> {
        let place = Place::of(machine)?;
        let Some(nic) = self.bare_nic(&place).await? else { return Ok(Accepted::Done) };
        let own = NewConfig { nic, name: NAME.into(), ip: None, tier: None };
        match self.add(&place, &own).await {
            // Somebody else may have been faster.
            Err(error) if error.kind == ErrorKind::Rejected => match self.bare_nic(&place).await {
                Ok(None) => Ok(Accepted::Done),
                _ => Err(error),
            },
            result => result,
        }
    }

    /// The first interface of a machine, if the machine exists and that has no access config.
    async fn bare_nic(&self, place: &Place) -> Result<Option<String>> {
        let instance: Instance = match self.client.instance(place, Priority::Following).await {
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        let nic = instance.first()?;
        Ok(nic.access_configs.is_empty().then(|| nic.name.clone()))
    }
}

/// What was found; nothing, if the credential may not look.
fn unless_forbidden(found: Result<bool>) -> Result<bool> {
    match found {
        Err(error) if error.kind == ErrorKind::Forbidden => Ok(false),
        found => found,
    }
}

/// A refusal without effect.
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Rejected | ErrorKind::Busy | ErrorKind::NotFound)
}

fn rejected(seen: Address, words: String) -> Error {
    told_with(seen, Error::new(ErrorKind::Rejected, words))
}

fn told_with(seen: Address, error: Error) -> Error {
    Error { seen: Some(Box::new(seen)), ..error }
}

/// The refusal to remove an access config, with the address as it was read before.
fn told_if_refused(seen: &Address, error: Error) -> Error {
    if is_refusal(&error) { told_with(seen.clone(), error) } else { error }
}
