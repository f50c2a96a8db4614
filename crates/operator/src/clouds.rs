//! The accounts at providers and DNS hosts, opened from the process environment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pontoon_core::addresses::{Abilities, AccountSetup};
use pontoon_core::model::{AccountId, Families, Finding};
use pontoon_providers::{
    AddressProvider, ConfigError, DNS_VENDORS, RecordProvider, Settings, Transport, VENDORS,
    Vendor, unencrypted,
};

/// The client of every account, or the finding that explains why the account is unusable.
#[derive(Debug, Clone)]
pub struct Clouds {
    accounts: BTreeMap<AccountId, (&'static Vendor, Client)>,
    /// The accounts that host DNS.
    hosts: BTreeMap<AccountId, Host>,
}

/// The client of an account, or why the account is unusable.
type Client = Result<Arc<dyn AddressProvider>, Finding>;

/// The DNS client of an account, or why the account is unusable.
type Host = Result<Arc<dyn RecordProvider>, Finding>;

impl Clouds {
    /// Opens the account of every provider. A missing credential is no error: only objects that
    /// name the provider report the finding.
    pub fn open(
        variable: &dyn Fn(&str) -> Option<String>,
        timeout: Duration,
        transport: &Transport,
    ) -> Self {
        let open = |vendor: &'static Vendor| {
            let settings = Settings { variable, timeout };
            let opened = (vendor.open)(&settings, transport.clone());
            let account = AccountId::from(vendor.name);
            (account, (vendor, opened.map_err(|error| unusable(vendor.name, &error))))
        };
        for variable in unencrypted(&Settings { variable, timeout }) {
            tracing::warn!(variable, "plain http: the access token travels unencrypted");
        }
        let accounts: BTreeMap<_, _> = VENDORS.iter().map(|vendor| open(vendor)).collect();
        // A provider of both addresses and DNS shares a client, so that all calls share its rate
        // limit.
        let mut hosts = BTreeMap::new();
        for (account, (_, client)) in &accounts {
            if let Some(host) = dns_of(client) {
                hosts.insert(account.clone(), host);
            }
        }
        for vendor in DNS_VENDORS {
            let opened = (vendor.open)(&Settings { variable, timeout }, transport.clone());
            let host = opened.map_err(|error| unusable(vendor.name, &error));
            hosts.insert(vendor.name.into(), host);
        }
        Self { accounts, hosts }
    }

    /// The DNS client of an account, if usable.
    pub fn host(&self, account: &AccountId) -> Option<&Arc<dyn RecordProvider>> {
        self.hosts.get(account)?.as_ref().ok()
    }

    /// Every account that hosts DNS: usable, or a finding.
    pub fn hosts(&self) -> impl Iterator<Item = (AccountId, Result<(), Finding>)> {
        let setup = |host: &Host| host.as_ref().map(|_| ()).map_err(Clone::clone);
        self.hosts.iter().map(move |(account, host)| (account.clone(), setup(host)))
    }

    /// The client of an account, if usable.
    pub fn client(&self, account: &AccountId) -> Option<&Arc<dyn AddressProvider>> {
        self.accounts.get(account)?.1.as_ref().ok()
    }

    /// Every account with its setup for planning, or a finding.
    pub fn setups(&self) -> impl Iterator<Item = (AccountId, Result<AccountSetup, Finding>)> {
        self.accounts.iter().map(|(account, (vendor, client))| {
            let setup = client.as_ref().map_err(Clone::clone).map(|client| {
                let capabilities = client.capabilities();
                AccountSetup {
                    cloud: vendor.name.into(),
                    project: client.dedicated_project().map(Into::into),
                    abilities: Abilities {
                        moves_at_once: capabilities.atomic_move,
                        families: Families { v4: true, v6: capabilities.ipv6 },
                        per_machine: capabilities.addresses_per_machine,
                        places_new: families(capabilities.places_created),
                        marks_new: capabilities.marks_created,
                        region_required: vendor.region_required,
                    },
                }
            });
            (account.clone(), setup)
        })
    }
}

fn families(families: pontoon_providers::Families) -> Families {
    Families { v4: families.v4, v6: families.v6 }
}

/// The DNS client of an address provider, if the provider hosts DNS. An unusable account passes its
/// finding on.
fn dns_of(client: &Client) -> Option<Host> {
    match client {
        Ok(client) => client.records().map(Ok),
        Err(finding) => Some(Err(finding.clone())),
    }
}

fn unusable(vendor: &str, error: &ConfigError) -> Finding {
    let reason = match error {
        ConfigError::Missing(_) => "CredentialsMissing",
        ConfigError::Unusable { .. } => "CredentialsUnusable",
    };
    let message = format!(
        "{error}; the provider \"{vendor}\" cannot be used until that is put right in the operator's \
         environment"
    );
    Finding { reason, message: message.into() }
}
