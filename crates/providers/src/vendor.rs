//! The registry of providers: their names, their settings, and the mapping of nodes to machines.

use std::sync::Arc;
use std::time::Duration;

use crate::access::{is_exposed, value};
use crate::address::{AddressProvider, MachineId};
use crate::record::RecordProvider;
use crate::transport::Transport;

/// A provider of addresses, and optionally of DNS. Plain data: adding a provider takes a folder and
/// a line in [`VENDORS`].
#[derive(Debug)]
pub struct Vendor {
    /// The name in `spec.provider`.
    pub name: &'static str,
    /// The machine named by a node's `spec.providerID`, or `None` for another provider's machine.
    pub machine: fn(provider_id: &str) -> Option<MachineId>,
    /// The `spec.providerID` of a machine: the inverse of `machine`.
    pub provider_id: fn(&MachineId) -> String,
    /// Opens the account given by the settings.
    pub open: fn(&Settings<'_>, Transport) -> Opened,
    /// The variable with the token.
    pub token: &'static str,
    /// The variable with an alternative endpoint.
    pub api_url: &'static str,
    /// New addresses need `spec.region`.
    pub region_required: bool,
    /// The provider also hosts DNS: an opened account has
    /// [`records`](crate::AddressProvider::records).
    pub dns: bool,
}

/// A provider of DNS alone.
#[derive(Debug)]
pub struct DnsVendor {
    /// The name in `spec.dnsRecordSet.provider`.
    pub name: &'static str,
    /// Opens the account given by the settings.
    pub open: fn(&Settings<'_>, Transport) -> OpenedDns,
    /// The variable with the token.
    pub token: &'static str,
    /// The variable with an alternative endpoint.
    pub api_url: &'static str,
}

/// An opened account, or the reason for failure.
pub type Opened = Result<Arc<dyn AddressProvider>, ConfigError>;

/// An opened DNS account, or the reason for failure.
pub type OpenedDns = Result<Arc<dyn RecordProvider>, ConfigError>;

/// All providers of addresses, in display order.
pub static VENDORS: &[&Vendor] = &[&crate::digitalocean::VENDOR];

/// All providers of DNS alone, in display order.
pub static DNS_VENDORS: &[&DnsVendor] = &[&crate::cloudflare::VENDOR];

/// The names of all DNS hosts.
pub fn dns_names() -> impl Iterator<Item = &'static str> {
    let beside = VENDORS.iter().filter(|vendor| vendor.dns).map(|vendor| vendor.name);
    beside.chain(DNS_VENDORS.iter().map(|vendor| vendor.name))
}

/// The variables with endpoints that receive a token over plain HTTP on another machine. Legitimate
/// for an emulator or a local proxy, and worth a warning to the administrator.
pub fn unencrypted(settings: &Settings<'_>) -> Vec<&'static str> {
    let of_addresses = VENDORS.iter().map(|vendor| vendor.api_url);
    let all = of_addresses.chain(DNS_VENDORS.iter().map(|vendor| vendor.api_url));
    all.filter(|name| value(settings, name).is_some_and(|url| is_exposed(&url))).collect()
}

/// The provider and machine named by a node's `spec.providerID`.
pub fn machine_of(provider_id: &str) -> Option<(&'static Vendor, MachineId)> {
    VENDORS.iter().find_map(|vendor| Some((*vendor, (vendor.machine)(provider_id)?)))
}

/// The source of a provider's settings: the process environment, or a test's map.
pub struct Settings<'a> {
    /// Reads a variable. An empty value counts as unset.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The deadline of each request.
    pub timeout: Duration,
}

/// The reason for failing to open an account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A required variable is not set.
    #[error("{0} is not set")]
    Missing(&'static str),
    /// A variable has an unusable value.
    #[error("{variable} {problem}")]
    Unusable {
        /// The variable's name, never its value.
        variable: &'static str,
        /// The problem with the value.
        problem: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::script::{Script, with_variables};

    #[test]
    fn a_token_that_travels_unencrypted_to_another_machine_is_told() {
        let told = |url| with_variables(&[("CLOUDFLARE_API_URL", url)], unencrypted);
        for url in ["http://10.0.0.5:8080", " http://emulator/client/v4 "] {
            assert_eq!(told(url), ["CLOUDFLARE_API_URL"], "{url}");
        }
        for url in ["", "https://10.0.0.5", "http://localhost:1", "http://[::1]:1", "no url"] {
            assert!(told(url).is_empty(), "{url}");
        }
    }

    #[test]
    fn every_vendor_that_hosts_dns_opens_it_and_has_a_name_of_its_own() {
        let names: Vec<_> = dns_names().collect();
        assert_eq!(names, ["digitalocean", "cloudflare"]);
        let variables = [("DIGITALOCEAN_ACCESS_TOKEN", "a"), ("CLOUDFLARE_TOKEN", "b")];
        with_variables(&variables, |settings| {
            for vendor in VENDORS {
                let account = (vendor.open)(settings, Script::default().transport()).unwrap();
                assert_eq!(account.records().is_some(), vendor.dns, "{}", vendor.name);
            }
            for vendor in DNS_VENDORS {
                (vendor.open)(settings, Script::default().transport()).unwrap();
            }
        });
    }
}
