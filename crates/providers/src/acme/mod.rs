//! ACME, a vendor that exists for tests alone. It is what the others are not: reads by POST, forms
//! and XML, requests signed with a token that expires, moves in two steps, provider IDs that say
//! more than its API, a rate limit without headers. It proves that a folder and two lines suffice.
//!
//! Under further names ACME plays vendors without a client, each name with the abilities of one vendor.

mod client;
pub mod profiles;
mod session;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;

use crate::access::{Access, Variables};
use crate::address::{
    Accepted, Address, AddressProvider, Capabilities, CreateRequest, Created, Families, Family,
    ListRequest, Listing, MachineId, OperationId, OperationState,
};
use crate::credential::Secret;
use crate::error::{Error, ErrorKind, Result};
use crate::layers::{Budget, Priority, RateRules, within};
use crate::transport::Transport;
use crate::vendor::{Account, CredentialFrom, Machines, Opened, Settings, Vendor};

use client::Client;
use profiles::{ACME, AWS, AZURE, HETZNER, Profile};
use session::Session;

/// ACME's entry in the registry.
pub static VENDOR: Vendor = vendor::<0>();

/// ACME in the place of AWS, Azure and Hetzner. Not in the registry: a test admits them.
pub static PROFILES: &[&Vendor] =
    &[&const { vendor::<1>() }, &const { vendor::<2>() }, &const { vendor::<3>() }];

/// A name of ACME, and the abilities that it has under this name.
struct Played {
    profile: Profile,
    name: &'static str,
    path: &'static str,
    scheme: &'static str,
    key: &'static str,
    variables: Variables,
}

macro_rules! played {
    ($profile:expr, $name:literal, $prefix:literal) => {
        Played {
            profile: $profile,
            name: $name,
            path: concat!("/", $name),
            scheme: concat!($name, ":///"),
            key: concat!($prefix, "_KEY"),
            variables: Variables {
                api_url: concat!($prefix, "_API_URL"),
                user_agent: concat!($prefix, "_USER_AGENT"),
                default_api_url: "https://api.acme.example",
            },
        }
    };
}

static PLAYED: [Played; 4] = [
    played!(ACME, "acme", "ACME"),
    played!(AWS, "acme-aws", "ACME_AWS"),
    played!(AZURE, "acme-azure", "ACME_AZURE"),
    played!(HETZNER, "acme-hetzner", "ACME_HETZNER"),
];

const fn vendor<const N: usize>() -> Vendor {
    let played = &PLAYED[N];
    let region_required = played.profile.region_required;
    let machines =
        Machines { named: named::<N>, shown: shown::<N>, by_name: None, region_required };
    Vendor {
        name: played.name,
        credential: CredentialFrom::Variable(played.key),
        api_url: played.variables.api_url,
        open: open::<N>,
        addresses: Some(machines),
        dns: false,
    }
}

/// The last part of `acme:///zone/m-1`.
fn named<const N: usize>(provider_id: &str) -> Option<MachineId> {
    let machine = provider_id.strip_prefix(PLAYED[N].scheme)?.rsplit('/').next()?;
    machine.starts_with("m-").then(|| MachineId(machine.to_owned()))
}

/// The API does not tell the zone.
fn shown<const N: usize>(machine: &MachineId) -> String {
    format!("{}{machine}", PLAYED[N].scheme)
}

fn open<const N: usize>(settings: &Settings<'_>, transport: Transport) -> Opened {
    let Played { profile, path, key, variables, .. } = &PLAYED[N];
    let key = Secret::read(settings, key)?;
    let session = Session::new(key, &variables.endpoint(settings)?, path);
    let access = Access::read(settings, variables, Arc::new(session))?;
    let credential = access.credential.clone();
    let rules = RateRules { headroom: |_| None, burst: None, refuses: client::is_throttled };
    let transport = Budget::new(rules).around(within(transport, settings.timeout));
    let addresses = Arc::new(Acme { client: Client::new(access, path, transport), profile });
    Ok(Account { credential, addresses: Some(addresses), records: None })
}

fn abilities(profile: &Profile) -> Capabilities {
    Capabilities {
        atomic_move: profile.moves_at_once,
        addresses_per_machine: profile.per_machine,
        ipv6: profile.six,
        marks_created: profile.marks_new,
        places_created: Families { v4: profile.places_four, v6: profile.places_six },
        lists_by_machine: profile.lists_by_machine,
        displaces_own: profile.displaces_own,
    }
}

/// An ACME account.
#[derive(Debug)]
struct Acme {
    client: Client,
    profile: &'static Profile,
}

#[async_trait]
impl AddressProvider for Acme {
    fn capabilities(&self) -> Capabilities {
        abilities(self.profile)
    }

    async fn list(&self, request: &ListRequest) -> Result<Listing> {
        let Families { v4, v6 } = request.families;
        let v6 = v6 && self.profile.six;
        if !v4 && !v6 {
            return Ok(Listing::default());
        }
        let mut all = self.client.list().await?;
        all.retain(|one| if one.ip.is_ipv4() { v4 } else { v6 });
        Ok(Listing::of(all))
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
        let six = request.family == Family::V6;
        let Profile { places_four, places_six, marks_new, .. } = *self.profile;
        let places = if six { places_six } else { places_four };
        let machine = request.machine.as_ref().filter(|_| places);
        let mark = request.mark.as_deref().filter(|_| marks_new);
        let (made, done) = self.client.reserve(&request.region, six, machine, mark).await?;
        Ok(Created { ip: made.ip, placement: machine.map(|_| done) })
    }

    async fn release(&self, ip: IpAddr) -> Result<()> {
        match self.client.release(ip).await {
            Err(error) if error.kind == ErrorKind::NotFound => Ok(()),
            result => result.map(drop),
        }
    }

    async fn operation(&self, _: IpAddr, operation: &OperationId) -> Result<OperationState> {
        match self.client.operation(operation).await {
            Err(error) if error.kind == ErrorKind::NotFound => Ok(OperationState::Unheard),
            read => read,
        }
    }
}

impl Acme {
    /// Reads the address after a refused change. `wanted` is the intended holder.
    async fn settle(
        &self,
        ip: IpAddr,
        wanted: Option<&MachineId>,
        done: Result<Accepted>,
    ) -> Result<Accepted> {
        let refusal = match done {
            Ok(accepted) => return Ok(accepted),
            Err(error) => error,
        };
        if !matches!(refusal.kind, ErrorKind::Rejected | ErrorKind::Busy | ErrorKind::NotFound) {
            return Err(refusal);
        }
        let seen = match self.client.describe(ip, Priority::Failover).await {
            Ok(seen) => seen,
            Err(gone) if gone.kind == ErrorKind::NotFound => return Err(gone),
            Err(unread) => return Err(refusal.unsettled(&unread)),
        };
        if !seen.busy && seen.holder.as_ref() == wanted {
            return Ok(Accepted::Done);
        }
        Err(Error { seen: Some(Box::new(seen)), ..refusal })
    }
}
