//! All calls of an address provider.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use pontoon_providers::digitalocean::VENDOR;
use pontoon_providers::{
    Accepted, Address, Clock, CreateRequest, Created, Families, Family, ListRequest, MachineId,
    OperationId, OperationState, Result, Settings, Transport,
};

pub const TOKEN: &str = "dop_v1_canary0123456789";

#[derive(Clone, Debug)]
pub enum Call {
    List(Families),
    Read(IpAddr),
    Assign(IpAddr, MachineId),
    Unassign(IpAddr),
    Create(CreateRequest),
    Release(IpAddr),
    Operation(IpAddr, OperationId),
}

/// The successful result of a call.
#[derive(Debug)]
pub enum Said {
    Listed(Vec<Address>),
    Read(Option<Address>),
    Accepted(Accepted),
    Created(Created),
    Released,
    Operation(OperationState),
}

/// Each call for both families, with the addresses, droplet (42) and action (7) of the corpus.
pub fn calls() -> Vec<Call> {
    let machine = || MachineId("42".into());
    let mut calls = vec![];
    for (v4, v6) in [(true, false), (false, true), (true, true)] {
        calls.push(Call::List(Families { v4, v6 }));
    }
    for (ip, family) in [("203.0.113.7", Family::V4), ("2001:db8:7::1", Family::V6)] {
        let ip: IpAddr = ip.parse().unwrap();
        let create = |machine| {
            Call::Create(CreateRequest { family, region: "nyc3".into(), machine, mark: None })
        };
        calls.extend([
            Call::Read(ip),
            Call::Assign(ip, machine()),
            Call::Unassign(ip),
            Call::Release(ip),
            Call::Operation(ip, OperationId("7".into())),
            create(None),
            create(Some(machine())),
        ]);
    }
    calls
}

impl Call {
    pub async fn run(&self, transport: Transport) -> Result<Said> {
        let variable = |name: &str| (name == "DIGITALOCEAN_ACCESS_TOKEN").then(|| TOKEN.to_owned());
        let clock = Clock::new(|| SystemTime::UNIX_EPOCH);
        let settings = Settings { variable: &variable, timeout: Duration::from_secs(5), clock };
        let provider = (VENDOR.open)(&settings, transport).unwrap().addresses.unwrap();
        match self {
            Self::List(families) => {
                let listing = provider.list(&ListRequest::of(*families)).await;
                listing.map(|listing| Said::Listed(listing.addresses))
            }
            Self::Read(ip) => provider.read(*ip).await.map(Said::Read),
            Self::Assign(ip, machine) => provider.assign(*ip, machine).await.map(Said::Accepted),
            Self::Unassign(ip) => provider.unassign(*ip).await.map(Said::Accepted),
            Self::Create(request) => provider.create(request).await.map(Said::Created),
            Self::Release(ip) => provider.release(*ip).await.map(|()| Said::Released),
            Self::Operation(ip, id) => provider.operation(*ip, id).await.map(Said::Operation),
        }
    }
}
