//! Listings and reads, with all permissions and with a part of them.
//!
//! The predecessor's users grant `compute.instances.get`, `addAccessConfig` and
//! `deleteAccessConfig` alone. If the listing of addresses is refused for want of a permission, the
//! machines that the request names are read instead, and the addresses that it asks about are shown
//! where they were found. A listing says so in [`Listing::limited`].

use std::collections::BTreeMap;
use std::net::IpAddr;

use futures::stream::{self, StreamExt, TryStreamExt};

use super::Gcp;
use super::error::unreadable;
use super::place::Place;
use super::wire::{Found, Instance};
use crate::address::{Address, ListRequest, Listing, MachineId};
use crate::error::{Error, ErrorKind, Result};
use crate::layers::Priority;

/// A listing with more pages (100,000 addresses) is treated as endless and fails.
const MOST_PAGES: usize = 200;

/// So many machines are read at once.
const AT_ONCE: usize = 8;

impl Gcp {
    pub(super) async fn listing(
        &self,
        request: &ListRequest,
        mut priority: Priority,
    ) -> Result<Listing> {
        if !request.families.v4 {
            return Ok(Listing::default());
        }
        self.known.request(request);
        if self.known.blind().is_none() {
            match self.pages(None, &mut priority).await {
                Err(error) if error.kind == ErrorKind::Forbidden => {
                    self.known.refused(&error.message);
                }
                found => {
                    let found = found?;
                    self.known.found(found.values(), true);
                    let addresses = found.into_values().map(|one| one.address);
                    return Ok(Listing::of(addresses.collect()));
                }
            }
        }
        self.on_machines(request, priority).await
    }

    /// One address, or `None` if the project does not have it.
    pub(super) async fn look(&self, ip: IpAddr, mut priority: Priority) -> Result<Option<Address>> {
        if self.known.blind().is_none() {
            match self.find(ip, &mut priority).await {
                Err(error) if error.kind == ErrorKind::Forbidden => {
                    self.known.refused(&error.message);
                }
                found => return Ok(found?.map(|found| found.address)),
            }
        }
        self.search(ip, priority).await.map(Some)
    }

    /// One address as the listing of addresses has it, whatever is known of permissions.
    pub(super) async fn find(&self, ip: IpAddr, priority: &mut Priority) -> Result<Option<Found>> {
        if ip.is_ipv6() {
            return Ok(None);
        }
        let found = self.pages(Some(ip), priority).await?.remove(&ip);
        self.known.found(found.iter(), false);
        Ok(found)
    }

    /// Every address, or one, of every project.
    async fn pages(
        &self,
        only: Option<IpAddr>,
        priority: &mut Priority,
    ) -> Result<BTreeMap<IpAddr, Found>> {
        let mut all = BTreeMap::new();
        for project in self.projects()? {
            all.extend(self.pages_of(&project, only, priority).await?);
        }
        Ok(all)
    }

    /// Every address, or one, of a project. Pages shift while they are read; for an address on two pages,
    /// the later page counts. A page without addresses may be followed by others.
    pub(super) async fn pages_of(
        &self,
        project: &str,
        only: Option<IpAddr>,
        priority: &mut Priority,
    ) -> Result<BTreeMap<IpAddr, Found>> {
        let mut all = BTreeMap::new();
        let mut token = None;
        for number in 1..=MOST_PAGES {
            let page = self.client.page(project, only, token.as_deref(), *priority).await;
            let page = page.map_err(|error| further(*priority, error))?;
            // Once begun, a listing is finished: half a listing is useless.
            *priority = Priority::Begun;
            all.extend(page.found.into_iter().map(|one| (one.address.ip, one)));
            match page.next {
                None => break,
                next if next == token => {
                    return Err(unreadable("a listing that repeats itself"));
                }
                _ if number == MOST_PAGES => {
                    return Err(unreadable("a listing that does not end"));
                }
                next => token = next,
            }
        }
        Ok(all)
    }

    /// The addresses that are asked about, as the machines show them.
    async fn on_machines(&self, request: &ListRequest, priority: Priority) -> Result<Listing> {
        let read = self.read_machines(&request.machines, priority).await?;
        let mut addresses = BTreeMap::new();
        for ip in request.addresses.iter().copied().filter(IpAddr::is_ipv4) {
            let holder = read.iter().find(|(_, instance)| instance.with(ip).is_some());
            let holder = holder.map(|(place, _)| place);
            addresses.insert(ip, self.sighted(ip, holder));
        }
        let addresses = addresses.into_values().collect();
        Ok(Listing { addresses, limited: Some(self.limits()) })
    }

    /// Looks for one address on the machines known by the last listing. The last known holder is
    /// read first, and alone.
    async fn search(&self, ip: IpAddr, priority: Priority) -> Result<Address> {
        if !self.known.is_reserved(ip) {
            return Err(Error::new(ErrorKind::Forbidden, self.limits()));
        }
        let machines = self.known.machines(ip);
        let first = usize::from(self.known.holder(ip).is_some());
        let (likely, others) = machines.split_at(first);
        for machines in [likely, others] {
            let read = self.read_machines(machines, priority).await?;
            let holder = read.iter().find(|(_, instance)| instance.with(ip).is_some());
            if let Some((place, _)) = holder {
                return Ok(self.sighted(ip, Some(place)));
            }
        }
        Ok(self.sighted(ip, None))
    }

    /// An address as found on a machine, or on none.
    pub(super) fn sighted(&self, ip: IpAddr, holder: Option<&Place>) -> Address {
        let machine = holder.map(Place::machine);
        self.known.held(ip, machine.as_ref());
        let fact = self.known.fact(ip);
        let region = fact.as_ref().map(|fact| fact.region.clone());
        Address {
            ip,
            holder: machine,
            region: region.or_else(|| holder.map(|place| place.region().to_owned())),
            project: fact.map(|fact| fact.project),
            mark: None,
            busy: false,
        }
    }

    /// Reads machines, a few at a time. A machine that does not exist holds nothing; any other
    /// failure fails all, because what was not read is unknown.
    async fn read_machines(
        &self,
        machines: &[MachineId],
        priority: Priority,
    ) -> Result<Vec<(Place, Instance)>> {
        let places: BTreeMap<_, _> = machines
            .iter()
            .filter_map(|machine| Some((machine, Place::of(machine).ok()?)))
            .collect();
        let reads = places.into_values().enumerate().map(|(number, place)| {
            // As with pages: once begun, all are read.
            let priority = if number == 0 { priority } else { Priority::Begun };
            async move {
                match self.client.instance(&place, priority).await {
                    Ok(instance) => Ok(Some((place, instance))),
                    Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(further(priority, error)),
                }
            }
        });
        let read: Vec<_> = stream::iter(reads).buffered(AT_ONCE).try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    /// What a person should know about a listing without the permission to list.
    fn limits(&self) -> String {
        let words = self.known.blind().unwrap_or_default();
        format!(
            "addresses are looked for on the machines of nodes only, and an address on any other \
             machine looks free: the permission compute.addresses.list is missing ({words})"
        )
    }
}

/// Maps the error of a request. After the first one, Google has already seen part of the listing.
fn further(priority: Priority, error: Error) -> Error {
    if priority == Priority::Begun { error.after_others() } else { error }
}
