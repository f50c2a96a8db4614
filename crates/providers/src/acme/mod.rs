//! ACME, a vendor that exists for tests alone. It is what the others are not: reads by POST, forms
//! and XML, requests signed with a token that expires, moves in two steps, provider IDs that say
//! more than its API, a rate limit without headers. It proves that a folder and two lines suffice.

mod client;
mod session;
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;

use crate::access::{Access, Variables};
use crate::address::{
    Accepted, Address, AddressProvider, Capabilities, CreateRequest, Created, Families,
    ListRequest, Listing, MachineId, OperationId, OperationState,
};
use crate::credential::Secret;
use crate::error::{Error, ErrorKind, Result};
use crate::layers::{Budget, Priority, RateRules, within};
use crate::transport::Transport;
use crate::vendor::{Account, CredentialFrom, Machines, Opened, Settings, Vendor};

use client::Client;
use session::Session;

/// ACME's entry in the registry.
pub static VENDOR: Vendor = Vendor {
    name: "acme",
    credential: CredentialFrom::Variable(KEY),
    api_url: VARIABLES.api_url,
    open,
    addresses: Some(Machines { named, shown, by_name: None, region_required: true }),
    dns: false,
};

const KEY: &str = "ACME_KEY";
const VARIABLES: Variables = Variables {
    api_url: "ACME_API_URL",
    user_agent: "ACME_USER_AGENT",
    default_api_url: "https://api.acme.example",
};
const SCHEME: &str = "acme:///";

/// The last part of `acme:///zone/m-1`.
fn named(provider_id: &str) -> Option<MachineId> {
    let machine = provider_id.strip_prefix(SCHEME)?.rsplit('/').next()?;
    machine.starts_with("m-").then(|| MachineId(machine.to_owned()))
}

/// The API does not tell the zone.
fn shown(machine: &MachineId) -> String {
    format!("{SCHEME}{machine}")
}

fn open(settings: &Settings<'_>, transport: Transport) -> Opened {
    let key = Secret::read(settings, KEY)?;
    let session = Session::new(key, &VARIABLES.endpoint(settings)?);
    let access = Access::read(settings, &VARIABLES, Arc::new(session))?;
    let credential = access.credential.clone();
    let rules = RateRules { headroom: |_| None, burst: None, refuses: client::is_throttled };
    let transport = Budget::new(rules).around(within(transport, settings.timeout));
    let addresses = Arc::new(Acme { client: Client::new(access, transport) });
    Ok(Account { credential, addresses: Some(addresses), records: None })
}

/// An ACME account.
#[derive(Debug)]
struct Acme {
    client: Client,
}

#[async_trait]
impl AddressProvider for Acme {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            atomic_move: false,
            addresses_per_machine: 1,
            ipv6: false,
            marks_created: false,
            places_created: Families::default(),
            lists_by_machine: false,
            displaces_own: false,
        }
    }

    async fn list(&self, request: &ListRequest) -> Result<Listing> {
        if !request.families.v4 {
            return Ok(Listing::default());
        }
        self.client.list().await.map(Listing::of)
    }

    async fn read(&self, ip: IpAddr) -> Result<Option<Address>> {
        match self.client.describe(ip, Priority::Housekeeping).await {
            Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    async fn assign(&self, ip: IpAddr, machine: &MachineId) -> Result<Accepted> {
        let done = self.client.attach(ip, machine).await;
        self.settle(ip, Some(machine), done).await
    }

    async fn unassign(&self, ip: IpAddr) -> Result<Accepted> {
        let done = self.client.detach(ip).await;
        self.settle(ip, None, done).await
    }

    async fn create(&self, request: &CreateRequest) -> Result<Created> {
        let made = self.client.reserve(&request.region).await?;
        Ok(Created { ip: made.ip, placement: None })
    }

    async fn release(&self, ip: IpAddr) -> Result<()> {
        match self.client.release(ip).await {
            Err(error) if error.kind == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    /// Every answer is final.
    async fn operation(&self, _: IpAddr, _: &OperationId) -> Result<OperationState> {
        Ok(OperationState::Unheard)
    }
}

impl Acme {
    /// Reads the address after a refused change. `wanted` is the intended holder.
    async fn settle(
        &self,
        ip: IpAddr,
        wanted: Option<&MachineId>,
        done: Result<()>,
    ) -> Result<Accepted> {
        let refusal = match done {
            Ok(()) => return Ok(Accepted::Done),
            Err(error) => error,
        };
        if !matches!(refusal.kind, ErrorKind::Rejected | ErrorKind::Busy | ErrorKind::NotFound) {
            return Err(refusal);
        }
        let seen = self.client.describe(ip, Priority::Failover).await?;
        if !seen.busy && seen.holder.as_ref() == wanted {
            return Ok(Accepted::Done);
        }
        Err(Error { seen: Some(Box::new(seen)), ..refusal })
    }
}
