//! Google Cloud: reserved external IPv4 addresses of instances.
//!
//! IPv6 is left out: an external IPv6 address is a range of 96 bits that belongs to the stack type of
//! an interface (`ipv6AccessConfigs`), and is changed by a patch of the interface with its
//! fingerprint.
//!
//! Permissions: `compute.addresses.list`, `compute.instances.get`, `addAccessConfig` and
//! `deleteAccessConfig` of `compute.instances`, `compute.addresses.use`,
//! `compute.subnetworks.useExternalIp`, `compute.zoneOperations.get`. Reserving and releasing need
//! `compute.addresses.get`, `create` and `delete`, and `compute.regionOperations.get`. What is lost
//! without which: `docs/gcp.md`.
//!
//! A move takes two steps, and each is several requests, because an interface has one external
//! address, and a machine usually has an ephemeral one of its own:
//!
//! | call | requests |
//! |---|---|
//! | assign | read the address and the machine; remove the machine's own address and wait; add the address |
//! | unassign | read the address and the machine; remove the address and wait; add an own address |
//!
//! Every change is answered by an operation. Those in the middle of a call are waited for, for a
//! bounded time; the last one is the caller's, where the address depends on it.

mod changes;
mod client;
mod config;
mod credential;
mod error;
mod known;
mod limits;
mod listing;
mod operations;
mod place;
mod reserving;
#[cfg(test)]
mod tests;
mod wire;

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;

use crate::address::{
    Accepted, Address, AddressProvider, Capabilities, CreateRequest, Created, Families,
    ListRequest, Listing, MachineId, OperationId, OperationState,
};
use crate::by_name::ByName;
use crate::error::{Error, ErrorKind, Result};
use crate::layers::{Budget, Priority, within};
use crate::transport::Transport;
use crate::vendor::{Account, CredentialFrom, Machines, Opened, Settings, Vendor};

use client::{Client, Progress};
use config::Config;
use known::Known;
use place::{by_name, is_operation, named, shown};

/// Google Cloud's entry in the registry.
pub static VENDOR: Vendor = Vendor {
    name: "gcp",
    credential: CredentialFrom::Chain {
        token: config::TOKEN,
        others: &["GOOGLE_APPLICATION_CREDENTIALS"],
    },
    api_url: config::API_URL,
    open,
    addresses: Some(Machines {
        named,
        shown,
        by_name: Some(ByName { project: &config::PROJECTS, machine: by_name }),
        region_required: true,
    }),
    dns: false,
};

fn open(settings: &Settings<'_>, transport: Transport) -> Opened {
    let config = Config::read(settings)?;
    let project = config.project.clone();
    let transport = Budget::new(limits::RULES).around(within(transport, settings.timeout));
    let credential = config.access.credential.clone();
    let client = Client::new(config, transport);
    let addresses = Arc::new(Gcp { client, project, known: Known::default() });
    Ok(Account { credential, addresses: Some(addresses), records: None })
}

/// A Google Cloud account.
#[derive(Debug)]
struct Gcp {
    client: Client,
    /// The project of the addresses, if configured.
    project: Option<String>,
    known: Known,
}

impl Gcp {
    /// The projects whose addresses are the account's.
    fn projects(&self) -> Result<Vec<String>> {
        let projects = match &self.project {
            Some(project) => vec![project.clone()],
            None => self.known.projects(),
        };
        let words = "no project is known: no node names one, and GOOGLE_CLOUD_PROJECT is not set";
        let unknown = || Error::new(ErrorKind::NotSent, words);
        if projects.is_empty() { Err(unknown()) } else { Ok(projects) }
    }
}

#[async_trait]
impl AddressProvider for Gcp {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            atomic_move: false,
            addresses_per_machine: 1,
            ipv6: false,
            marks_created: true,
            places_created: Families::default(),
            lists_by_machine: true,
            displaces_own: true,
        }
    }

    async fn list(&self, request: &ListRequest) -> Result<Listing> {
        self.listing(request, Priority::Housekeeping).await
    }

    async fn confirm(&self, request: &ListRequest) -> Result<Listing> {
        self.listing(request, Priority::Following).await
    }

    async fn read(&self, ip: IpAddr) -> Result<Option<Address>> {
        self.look(ip, Priority::Housekeeping).await
    }

    async fn assign(&self, ip: IpAddr, machine: &MachineId) -> Result<Accepted> {
        self.put(ip, machine).await
    }

    async fn unassign(&self, ip: IpAddr) -> Result<Accepted> {
        self.take(ip).await
    }

    async fn create(&self, request: &CreateRequest) -> Result<Created> {
        self.reserve(request).await
    }

    async fn release(&self, ip: IpAddr) -> Result<()> {
        self.give_up(ip).await
    }

    async fn operation(&self, _: IpAddr, operation: &OperationId) -> Result<OperationState> {
        if !is_operation(operation) {
            return Ok(OperationState::Unheard);
        }
        match self.client.operation(operation, Priority::Following).await {
            Ok(Progress::Running) => Ok(OperationState::Running),
            Ok(Progress::Done) => Ok(OperationState::Done),
            Ok(Progress::Failed(_)) => Ok(OperationState::Failed),
            // A credential without the permission is otherwise sufficient: listings confirm moves.
            Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Forbidden) => {
                Ok(OperationState::Unheard)
            }
            Err(error) => Err(error),
        }
    }

    async fn restore_egress(&self, machine: &MachineId) -> Result<Accepted> {
        self.restore(machine).await
    }
}
