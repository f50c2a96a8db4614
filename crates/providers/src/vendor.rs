//! The registry of providers: their names, their settings, and the mapping of nodes to machines.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::access::{is_exposed, value};
use crate::address::{AddressProvider, MachineId};
use crate::by_name::ByName;
use crate::credential::Credential;
use crate::record::RecordProvider;
use crate::transport::Transport;

/// A provider of addresses, of DNS, or of both. Plain data: adding a provider takes a folder and
/// two lines in `lib.rs`.
#[derive(Debug)]
pub struct Vendor {
    /// The name in `spec.provider` and `spec.dnsRecordSet.provider`.
    pub name: &'static str,
    /// Where the credential of the account is named.
    pub credential: CredentialFrom,
    /// The variable with an alternative endpoint.
    pub api_url: &'static str,
    /// Opens the account given by the settings: what [`addresses`](Self::addresses) and
    /// [`dns`](Self::dns) promise, and nothing else.
    pub open: fn(&Settings<'_>, Transport) -> Opened,
    /// The provider has addresses.
    pub addresses: Option<Machines>,
    /// The provider hosts DNS.
    pub dns: bool,
}

/// Where the credential of an account is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialFrom {
    /// A token, without which the account cannot be opened.
    Token(TokenVariables),
    /// The variable without which the account cannot be opened.
    Variable(&'static str),
    /// Several sources, of which some need no variable: the account opens without any, and the
    /// first call tells if no source has a credential.
    Chain {
        /// The token that comes before all other sources.
        token: TokenVariables,
        /// Other variables that name a credential.
        others: &'static [&'static str],
    },
}

/// The two variables of a token, of which one at most may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenVariables {
    /// Holds the token.
    pub value: &'static str,
    /// Holds the path of a file with the token.
    pub file: &'static str,
}

impl CredentialFrom {
    /// The variables that hold or name a credential.
    pub fn variables(&self) -> Vec<&'static str> {
        match self {
            Self::Token(token) => vec![token.value, token.file],
            Self::Variable(name) => vec![name],
            Self::Chain { token, others } => {
                [token.value, token.file].into_iter().chain(others.iter().copied()).collect()
            }
        }
    }

    /// The variable without which the account cannot be opened, if there is one.
    pub fn required(self) -> Option<&'static str> {
        match self {
            Self::Token(token) => Some(token.value),
            Self::Variable(name) => Some(name),
            Self::Chain { .. } => None,
        }
    }

    /// The variables of the token, if the credential may be one.
    pub fn token(self) -> Option<TokenVariables> {
        match self {
            Self::Token(token) | Self::Chain { token, .. } => Some(token),
            Self::Variable(_) => None,
        }
    }
}

/// The tokens for which both variables are set, of which one must go.
pub fn doubled(settings: &Settings<'_>) -> Vec<TokenVariables> {
    let tokens = vendors().filter_map(|vendor| vendor.credential.token());
    let set = |name| value(settings, name).is_some();
    tokens.filter(|token| set(token.value) && set(token.file)).collect()
}

/// Facts about a provider of addresses that need no account.
#[derive(Debug)]
pub struct Machines {
    /// The machine named by a node's `spec.providerID`, or `None` for another provider's machine.
    pub named: fn(provider_id: &str) -> Option<MachineId>,
    /// The machine in the form of a provider ID, as far as the provider's API tells: not
    /// necessarily the node's own, which may say more. It stands in a status for a machine that no
    /// node names, and [`named`](Self::named) reads it back.
    pub shown: fn(&MachineId) -> String,
    /// How the machine of a node without a provider ID is told, if it can be.
    pub by_name: Option<ByName>,
    /// New addresses need `spec.region`.
    pub region_required: bool,
}

/// An opened account. Its parts share one credential and one rate budget.
#[derive(Clone, Debug)]
pub struct Account {
    /// The credential of all parts.
    pub credential: Arc<dyn Credential>,
    /// The addresses, if the provider has any.
    pub addresses: Option<Arc<dyn AddressProvider>>,
    /// The DNS records, if the provider hosts DNS.
    pub records: Option<Arc<dyn RecordProvider>>,
}

/// An opened account, or the reason for failure.
pub type Opened = Result<Account, ConfigError>;

/// The providers, in display order.
pub fn vendors() -> impl Iterator<Item = &'static Vendor> {
    crate::VENDORS.iter().chain(admitted()).copied()
}

/// The providers that a test has admitted.
#[cfg(feature = "profiles")]
static ADMITTED: std::sync::OnceLock<&[&Vendor]> = std::sync::OnceLock::new();

/// Adds providers to those of this process, for tests alone. The first call counts, and comes before
/// every use of [`vendors`].
#[cfg(feature = "profiles")]
pub fn admit(vendors: &'static [&'static Vendor]) {
    ADMITTED.get_or_init(|| vendors);
}

#[cfg(feature = "profiles")]
fn admitted() -> &'static [&'static Vendor] {
    ADMITTED.get().copied().unwrap_or_default()
}

#[cfg(not(feature = "profiles"))]
fn admitted() -> &'static [&'static Vendor] {
    &[]
}

/// The providers of addresses, in display order.
pub fn address_vendors() -> impl Iterator<Item = (&'static Vendor, &'static Machines)> {
    vendors().filter_map(|vendor| Some((vendor, vendor.addresses.as_ref()?)))
}

/// The providers of DNS, in display order.
pub fn dns_vendors() -> impl Iterator<Item = &'static Vendor> {
    vendors().filter(|vendor| vendor.dns)
}

/// The variables with endpoints that receive a credential over plain HTTP on another machine.
/// Legitimate for an emulator or a local proxy, and worth a warning to the administrator.
pub fn unencrypted(settings: &Settings<'_>) -> Vec<&'static str> {
    let all = vendors().map(|vendor| vendor.api_url);
    all.filter(|name| value(settings, name).is_some_and(|url| is_exposed(&url))).collect()
}

/// The provider and machine named by a node's `spec.providerID`.
pub fn machine_of(provider_id: &str) -> Option<(&'static Vendor, MachineId)> {
    address_vendors().find_map(|(vendor, machines)| Some((vendor, (machines.named)(provider_id)?)))
}

/// The source of a provider's settings: the process environment, or a test's map.
pub struct Settings<'a> {
    /// Reads a variable. An empty value counts as unset.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The deadline of each request.
    pub timeout: Duration,
    /// The time of day, for signatures.
    pub clock: Clock,
}

/// A source of the time of day. Deadlines and budgets use tokio's clock instead.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// A clock that reads `now`.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time.
    pub fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The reason for failing to open an account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A required variable is not set.
    #[error("{0} is not set")]
    Missing(&'static str),
    /// The file with the token is missing or empty, or cannot be read.
    #[error("the file {path}, which {variable} names, {problem}")]
    NoToken {
        /// The variable's name.
        variable: &'static str,
        /// The path of the file.
        path: String,
        /// The problem with the file.
        problem: String,
    },
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::VENDORS;
    use crate::contract::script::{Script, with_variables};

    #[test]
    fn a_token_that_travels_unencrypted_to_another_machine_is_told() {
        for variable in VENDORS.iter().map(|vendor| vendor.api_url) {
            let told = |url| with_variables(&[(variable, url)], unencrypted);
            for url in ["http://10.0.0.5:8080", " http://emulator/client/v4 "] {
                assert_eq!(told(url), [variable], "{url}");
            }
            for url in ["", "https://10.0.0.5", "http://localhost:1", "http://[::1]:1", "no url"] {
                assert!(told(url).is_empty(), "{url}");
            }
        }
    }

    #[test]
    fn every_vendor_opens_what_it_promises_and_has_a_name_of_its_own() {
        let names: BTreeSet<_> = VENDORS.iter().map(|vendor| vendor.name).collect();
        assert_eq!(names.len(), VENDORS.len());
        for vendor in VENDORS {
            let open =
                |settings: &Settings<'_>| (vendor.open)(settings, Script::default().transport());
            let secret = vendor.credential.variables()[0];
            let account = with_variables(&[(secret, "secret")], open).unwrap();
            assert_eq!(account.addresses.is_some(), vendor.addresses.is_some(), "{}", vendor.name);
            assert_eq!(account.records.is_some(), vendor.dns, "{}", vendor.name);
            let missing = with_variables(&[], open).err();
            assert_eq!(missing, vendor.credential.required().map(ConfigError::Missing));
        }
    }
}
