//! DigitalOcean: reserved IPs of both families, and DNS (in `records.rs`).
//!
//! Scopes of the token: `reserved_ip:read`, `reserved_ip:update`, `droplet:read`. Reserving and
//! releasing need `reserved_ip:create` and `reserved_ip:delete`. IPv6 needs `actions:read`: without
//! this scope, only listings confirm a slow move.
//!
//! A droplet carries one address of each family. Assigning an address held by another droplet moves
//! the address. DigitalOcean answers 422 to nearly every refused request, with undocumented
//! messages, so every refused change is followed by one read of the address. An address already in
//! the wanted state is success; otherwise the error carries the address as read.

mod client;
mod config;
mod error;
mod limits;
mod records;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;

use crate::address::{
    Accepted, Address, AddressProvider, Capabilities, CreateRequest, Created, Families, Family,
    ListRequest, Listing, MachineId, OperationId, OperationState,
};
use crate::error::{Error, ErrorKind, Result};
use crate::layers::{Budget, Priority, within};
use crate::transport::Transport;
use crate::vendor::{Account, CredentialFrom, Machines, Opened, Settings, Vendor};

use client::Client;
use config::Config;
use records::Records;
use wire::Action;

/// DigitalOcean's entry in the registry.
pub static VENDOR: Vendor = Vendor {
    name: "digitalocean",
    credential: CredentialFrom::Token(config::TOKEN),
    api_url: config::API_URL,
    open,
    addresses: Some(Machines { named, shown, by_name: None, region_required: true }),
    dns: true,
};

const SCHEME: &str = "digitalocean://";

/// A listing with more pages (100,000 addresses) is treated as endless and fails.
const MOST_PAGES: usize = 500;

fn named(provider_id: &str) -> Option<MachineId> {
    let digits = provider_id.strip_prefix(SCHEME)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(MachineId(digits.parse::<u64>().ok()?.to_string()))
}

/// A droplet's provider ID says nothing but its number.
fn shown(machine: &MachineId) -> String {
    format!("{SCHEME}{machine}")
}

fn droplet(machine: &MachineId) -> Result<u64> {
    let words = || format!("{machine} is not the number of a droplet");
    machine.0.parse().map_err(|_| Error::new(ErrorKind::Rejected, words()))
}

fn open(settings: &Settings<'_>, transport: Transport) -> Opened {
    let config = Config::read(settings)?;
    let transport = Budget::new(limits::RULES).around(within(transport, settings.timeout));
    let credential = config.access.credential.clone();
    let client = Arc::new(Client::new(config, transport));
    Ok(Account {
        credential,
        records: Some(Arc::new(Records { client: client.clone() })),
        addresses: Some(Arc::new(DigitalOcean { client })),
    })
}

/// A DigitalOcean account.
#[derive(Debug)]
struct DigitalOcean {
    client: Arc<Client>,
}

#[async_trait]
impl AddressProvider for DigitalOcean {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            atomic_move: true,
            addresses_per_machine: 1,
            ipv6: true,
            marks_created: false,
            places_created: Families { v4: true, v6: false },
            lists_by_machine: false,
            displaces_own: false,
        }
    }

    fn dedicated_project(&self) -> Option<&str> {
        self.client.project()
    }

    async fn list(&self, request: &ListRequest) -> Result<Listing> {
        self.list_families(request.families, Priority::Housekeeping).await.map(Listing::of)
    }

    async fn confirm(&self, request: &ListRequest) -> Result<Listing> {
        self.list_families(request.families, Priority::Following).await.map(Listing::of)
    }

    async fn read(&self, ip: IpAddr) -> Result<Option<Address>> {
        known(self.client.read(ip, Priority::Housekeeping).await)
    }

    async fn assign(&self, ip: IpAddr, machine: &MachineId) -> Result<Accepted> {
        let droplet = droplet(machine)?;
        match self.client.assign(ip, droplet).await.and_then(accepted) {
            Err(refusal) if is_refusal(&refusal) => self.settle(ip, Some(machine), refusal).await,
            result => result,
        }
    }

    async fn unassign(&self, ip: IpAddr) -> Result<Accepted> {
        match self.client.unassign(ip).await.and_then(accepted) {
            Err(refusal) if is_refusal(&refusal) => self.settle(ip, None, refusal).await,
            result => result,
        }
    }

    async fn create(&self, request: &CreateRequest) -> Result<Created> {
        let CreateRequest { family, region, machine, mark: _ } = request;
        let reserved = match (family, machine) {
            (Family::V4, Some(machine)) => self.client.reserve_on(droplet(machine)?).await,
            (Family::V4 | Family::V6, _) => self.client.reserve_in(*family, region).await,
        };
        let reserved = reserved.map_err(|mut error| {
            if error.kind == ErrorKind::Rejected && error::speaks_of_quota(&error.message) {
                error.kind = ErrorKind::QuotaExceeded;
            }
            error
        })?;
        let placed = machine.is_some() && reserved.holder == *machine;
        let placement = match reserved.action {
            _ if placed => Some(Accepted::Done),
            Some(action) => Some(Accepted::Pending(OperationId(action.to_string()))),
            None => None,
        };
        Ok(Created { ip: reserved.ip, placement })
    }

    async fn release(&self, ip: IpAddr) -> Result<()> {
        let refusal = match self.client.release(ip).await {
            Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
            Err(error) if is_refusal(&error) => error,
            result => return result,
        };
        match self.client.read(ip, Priority::Housekeeping).await {
            Ok(seen) => Err(told_with(seen, refusal)),
            Err(unread) if unread.kind == ErrorKind::NotFound => Ok(()),
            Err(unread) => Err(refusal.unsettled(&unread)),
        }
    }

    async fn operation(&self, ip: IpAddr, operation: &OperationId) -> Result<OperationState> {
        // Action identifiers are numbers, so DigitalOcean cannot know any other identifier.
        let Ok(id) = operation.0.parse() else { return Ok(OperationState::Unheard) };
        let action = match known(self.client.action(ip, id).await) {
            Ok(Some(action)) => action,
            // A token without `actions:read` is otherwise sufficient: listings confirm the move.
            Err(error) if error.kind == ErrorKind::Forbidden => return Ok(OperationState::Unheard),
            Ok(None) => return Ok(OperationState::Unheard),
            Err(error) => return Err(error),
        };
        Ok(match action.status.as_str() {
            "in-progress" => OperationState::Running,
            "completed" => OperationState::Done,
            "errored" => OperationState::Failed,
            _ => OperationState::Unheard,
        })
    }
}

impl DigitalOcean {
    async fn list_families(
        &self,
        families: Families,
        mut priority: Priority,
    ) -> Result<Vec<Address>> {
        let Families { v4, v6 } = families;
        let mut found = BTreeMap::new();
        for family in [v4.then_some(Family::V4), v6.then_some(Family::V6)].into_iter().flatten() {
            self.list_family(family, &mut priority, &mut found).await?;
        }
        Ok(found.into_values().collect())
    }

    /// Requests pages by number, never by the URL in an answer. Pages shift while they are read;
    /// for an address on two pages, the later page counts.
    async fn list_family(
        &self,
        family: Family,
        priority: &mut Priority,
        found: &mut BTreeMap<IpAddr, Address>,
    ) -> Result<()> {
        for number in 1..=MOST_PAGES {
            let page = self.client.page(family, number, *priority).await;
            let page = page.map_err(|error| further(*priority, error))?;
            // Once begun, a listing is finished: half a listing is useless.
            *priority = Priority::Begun;
            let before = found.len();
            found.extend(page.addresses.into_iter().map(|address| (address.ip, address)));
            if !page.more {
                return Ok(());
            }
            if found.len() == before {
                return Err(error::unreadable("a listing that repeats itself"));
            }
        }
        Err(error::unreadable("a listing that does not end"))
    }

    /// Reads the address after a refused change. `wanted` is the intended holder.
    async fn settle(
        &self,
        ip: IpAddr,
        wanted: Option<&MachineId>,
        refusal: Error,
    ) -> Result<Accepted> {
        // IPv6 addresses have no `locked` field, so the holder shown now may be about to change.
        if ip.is_ipv6() && refusal.kind == ErrorKind::Busy {
            return Err(refusal);
        }
        let seen = match self.client.read(ip, Priority::Failover).await {
            Ok(seen) => seen,
            Err(unread) if unread.kind == ErrorKind::NotFound => return Err(unread),
            Err(unread) => return Err(refusal.unsettled(&unread)),
        };
        if !seen.busy && seen.holder.as_ref() == wanted {
            return Ok(Accepted::Done);
        }
        Err(told_with(seen, refusal))
    }
}

/// Maps the error of a page. After the first page, DigitalOcean has already seen part of the
/// listing.
fn further(priority: Priority, error: Error) -> Error {
    if priority == Priority::Begun { error.after_others() } else { error }
}

/// Turns `NotFound` into `None`.
fn known<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The result of an accepted action. An action with an unknown status counts as pending.
fn accepted(action: Action) -> Result<Accepted> {
    match action.status.as_str() {
        "completed" => Ok(Accepted::Done),
        "errored" => {
            Err(Error::new(ErrorKind::Rejected, "DigitalOcean took the action and it failed"))
        }
        _ => Ok(Accepted::Pending(OperationId(action.id.to_string()))),
    }
}

/// A refusal without effect, to be followed by a read of the address.
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Rejected | ErrorKind::Busy | ErrorKind::NotFound)
}

fn told_with(seen: Address, refusal: Error) -> Error {
    let kind = if seen.busy { ErrorKind::Busy } else { refusal.kind };
    Error { kind, seen: Some(Box::new(seen)), ..refusal }
}
