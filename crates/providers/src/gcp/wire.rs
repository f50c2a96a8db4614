//! The JSON of Google's answers.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use http::Response;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::{VENDOR, unreadable};
use super::place::{is_name, last, user};
use crate::address::{Address, MachineId};
use crate::error::{Error, ErrorKind, Result};
use crate::rest;

/// Names of addresses begin with a letter, and marks need not.
pub(super) const MARK: &str = "ip-";

/// The body of an answer.
pub(super) fn parse<T: DeserializeOwned>(answer: &Response<Bytes>) -> Result<T> {
    rest::parse(VENDOR, answer)
}

/// A page of the addresses of all regions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AddressPage {
    kind: Option<String>,
    items: Option<BTreeMap<String, ScopedAddresses>>,
    pub next_page_token: Option<String>,
    warning: Option<Warning>,
}

#[derive(Deserialize)]
struct ScopedAddresses {
    addresses: Option<Vec<AddressObject>>,
    warning: Option<Warning>,
}

#[derive(Deserialize)]
struct Warning {
    code: Option<String>,
}

impl AddressPage {
    /// The addresses that a machine can have. A region that could not be reached makes the page an
    /// error: its addresses are unknown, and not absent.
    pub fn into_found(self, project: &str) -> Result<Vec<Found>> {
        let mut warnings: Vec<_> = self.warning.into_iter().collect();
        let mut found = Vec::new();
        if self.items.is_none() && self.kind.as_deref() != Some("compute#addressAggregatedList") {
            return Err(unreadable("a listing without its list"));
        }
        for scope in self.items.into_iter().flat_map(BTreeMap::into_values) {
            warnings.extend(scope.warning);
            for object in scope.addresses.unwrap_or_default() {
                found.extend(object.into_found(project)?);
            }
        }
        let unreached = |code: &String| ["UNREACHABLE", "PARTIAL_SUCCESS"].contains(&&**code);
        match warnings.iter().filter_map(|warning| warning.code.as_ref()).any(unreached) {
            true => Err(Error::new(ErrorKind::Unavailable, "a region could not be reached")),
            false => Ok(found),
        }
    }
}

/// An address as the provider shows it, and what never changes about it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub address: Address,
    pub fact: Fact,
}

/// What never changes about an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub project: String,
    pub region: String,
    pub name: String,
    pub tier: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AddressObject {
    name: String,
    address: Option<String>,
    address_type: Option<String>,
    ip_version: Option<String>,
    region: Option<String>,
    status: Option<String>,
    #[serde(default)]
    users: Vec<String>,
    network_tier: Option<String>,
}

impl AddressObject {
    /// `None` for an address that no machine can have: an internal, global or IPv6 one, or one that
    /// has no IP yet.
    pub fn into_found(self, project: &str) -> Result<Option<Found>> {
        let external = self.address_type.as_deref().is_none_or(|kind| kind == "EXTERNAL");
        let six = self.ip_version.as_deref() == Some("IPV6");
        let (Some(ip), Some(region), true) = (self.address, self.region, external && !six) else {
            return Ok(None);
        };
        let ip: IpAddr = ip.parse().map_err(|_| unreadable("an address that is none"))?;
        let region = last(&region).to_owned();
        if ip.is_ipv6() {
            return Ok(None);
        }
        if !is_name(&region) || !is_name(&self.name) {
            return Err(unreadable("a name that is none"));
        }
        let status = self.status.as_deref();
        let user = self.users.first().map(|link| user(link));
        // Google may hide the user. The address is not free all the same.
        let hidden = || (status == Some("IN_USE")).then(|| MachineId(format!("{project}/unknown")));
        let address = Address {
            ip,
            holder: user.or_else(hidden),
            region: Some(region.clone()),
            project: Some(project.to_owned()),
            mark: self.name.strip_prefix(MARK).map(str::to_owned),
            busy: status == Some("RESERVING"),
        };
        let (project, name) = (project.to_owned(), self.name);
        let fact = Fact { project, region, name, tier: self.network_tier };
        Ok(Some(Found { address, fact }))
    }
}

/// A machine, as far as its external addresses go.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Instance {
    pub name: String,
    pub network_interfaces: Vec<Nic>,
}

/// A network interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Nic {
    pub name: String,
    #[serde(default)]
    pub access_configs: Vec<AccessConfig>,
}

/// An external address of a network interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessConfig {
    pub name: String,
    /// A machine that is stopped has no ephemeral address.
    #[serde(rename = "natIP")]
    pub nat_ip: Option<Ipv4Addr>,
    pub network_tier: Option<String>,
}

impl Instance {
    /// The interface and the access config with `ip`.
    pub fn with(&self, ip: IpAddr) -> Option<(&Nic, &AccessConfig)> {
        let all = self.network_interfaces.iter();
        let mut all = all.flat_map(|nic| nic.access_configs.iter().map(move |one| (nic, one)));
        all.find(|(_, config)| config.nat_ip.map(IpAddr::from) == Some(ip))
    }

    /// The first interface, which receives addresses.
    pub fn first(&self) -> Result<&Nic> {
        let words = "an instance without a network interface";
        self.network_interfaces.first().ok_or_else(|| unreadable(words))
    }
}

/// A change that Google carries out after its answer.
#[derive(Deserialize)]
pub(super) struct Operation {
    pub name: String,
    pub status: String,
    pub error: Option<OperationErrors>,
}

#[derive(Deserialize)]
pub(super) struct OperationErrors {
    #[serde(default)]
    pub errors: Vec<OperationError>,
}

#[derive(Deserialize)]
pub(super) struct OperationError {
    pub code: Option<String>,
    pub message: Option<String>,
}
