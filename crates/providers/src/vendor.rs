//! The registry: which vendors exist, how their settings are read, which machine a node is.

use std::sync::Arc;
use std::time::Duration;

use crate::access::{is_exposed, value};
use crate::address::{AddressProvider, MachineId};
use crate::record::RecordProvider;
use crate::transport::Transport;

/// One vendor of addresses, and perhaps of DNS: plain data, so that adding one is a folder
/// and a line in [`VENDORS`].
#[derive(Debug)]
pub struct Vendor {
    /// The name in `spec.provider`.
    pub name: &'static str,
    /// The machine that a node's `spec.providerID` names, if it is one of this vendor's.
    pub machine: fn(provider_id: &str) -> Option<MachineId>,
    /// The `spec.providerID` of a machine: the inverse of `machine`.
    pub provider_id: fn(&MachineId) -> String,
    /// Opens the account that the settings name.
    pub open: fn(&Settings<'_>, Transport) -> Opened,
    /// The variable that holds the token.
    pub token: &'static str,
    /// The variable that names another endpoint.
    pub api_url: &'static str,
    /// New addresses need `spec.region`.
    pub region_required: bool,
    /// It hosts DNS too: an opened account has
    /// [`records`](crate::AddressProvider::records).
    pub dns: bool,
}

/// One vendor of DNS alone.
#[derive(Debug)]
pub struct DnsVendor {
    /// The name in `spec.dnsRecordSet.provider`.
    pub name: &'static str,
    /// Opens the account that the settings name.
    pub open: fn(&Settings<'_>, Transport) -> OpenedDns,
    /// The variable that holds the token.
    pub token: &'static str,
    /// The variable that names another endpoint.
    pub api_url: &'static str,
}

/// An account, ready to be asked.
pub type Opened = Result<Arc<dyn AddressProvider>, ConfigError>;

/// A DNS account, ready to be asked.
pub type OpenedDns = Result<Arc<dyn RecordProvider>, ConfigError>;

/// Every vendor of addresses, in the order in which they are shown.
pub static VENDORS: &[&Vendor] = &[&crate::digitalocean::VENDOR];

/// Every vendor of DNS alone, in the order in which they are shown.
pub static DNS_VENDORS: &[&DnsVendor] = &[&crate::cloudflare::VENDOR];

/// The names of all vendors that host DNS.
pub fn dns_names() -> impl Iterator<Item = &'static str> {
    let beside = VENDORS.iter().filter(|vendor| vendor.dns).map(|vendor| vendor.name);
    beside.chain(DNS_VENDORS.iter().map(|vendor| vendor.name))
}

/// The variables whose endpoints get their token over plain HTTP from another machine. An
/// administrator may want that (an emulator, a proxy beside us), and should know.
pub fn unencrypted(settings: &Settings<'_>) -> Vec<&'static str> {
    let of_addresses = VENDORS.iter().map(|vendor| vendor.api_url);
    let all = of_addresses.chain(DNS_VENDORS.iter().map(|vendor| vendor.api_url));
    all.filter(|name| value(settings, name).is_some_and(|url| is_exposed(&url))).collect()
}

/// The vendor and machine that a node's `spec.providerID` names.
pub fn machine_of(provider_id: &str) -> Option<(&'static Vendor, MachineId)> {
    VENDORS.iter().find_map(|vendor| Some((*vendor, (vendor.machine)(provider_id)?)))
}

/// Where a vendor's settings come from: the process's environment, or a test's map.
pub struct Settings<'a> {
    /// Reads one variable; an empty one counts as unset.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Hard deadline of each call.
    pub timeout: Duration,
}

/// Why an account cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A required variable is not set.
    #[error("{0} is not set")]
    Missing(&'static str),
    /// A variable cannot be used as it is.
    #[error("{variable} {problem}")]
    Unusable {
        /// Its name (never its value).
        variable: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Script, with_variables};

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
