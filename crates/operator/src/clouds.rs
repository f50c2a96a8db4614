//! The accounts at providers and DNS hosts, opened from the process environment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pontoon_core::addresses::{Abilities, AccountSetup, Unusable};
use pontoon_core::model::{AccountId, Families, Finding};
use pontoon_providers::{
    AddressProvider, Clock, ConfigError, MachineNames, Machines, RecordProvider, Settings,
    Transport, VENDORS, Vendor, unencrypted,
};

/// The client of every account, or the finding that explains why the account is unusable.
#[derive(Debug, Clone)]
pub struct Clouds {
    accounts: BTreeMap<AccountId, (&'static Machines, Client)>,
    /// The accounts that host DNS.
    hosts: BTreeMap<AccountId, Host>,
    names: Arc<MachineNames>,
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
        clock: &Clock,
        transport: &Transport,
    ) -> Self {
        let settings = Settings { variable, timeout, clock: clock.clone() };
        for variable in unencrypted(&settings) {
            tracing::warn!(variable, "plain http: the access token travels unencrypted");
        }
        let names = Arc::new(MachineNames::read(&settings));
        let mut clouds = Self { accounts: BTreeMap::new(), hosts: BTreeMap::new(), names };
        for vendor in VENDORS {
            clouds.take(vendor, &settings, transport.clone());
        }
        clouds
    }

    /// Opens the account of a provider. An account that cannot be opened has a finding for each of
    /// its parts.
    fn take(&mut self, vendor: &'static Vendor, settings: &Settings<'_>, transport: Transport) {
        let opened = (vendor.open)(settings, transport);
        let (addresses, records) = match opened {
            Ok(account) => (account.addresses.map(Ok), account.records.map(Ok)),
            Err(error) => {
                let finding = unusable(vendor.name, &error);
                (Some(Err(finding.clone())), Some(Err(finding)))
            }
        };
        if let Some((machines, client)) = vendor.addresses.as_ref().zip(addresses) {
            self.accounts.insert(vendor.name.into(), (machines, client));
        }
        if let Some(host) = records.filter(|_| vendor.dns) {
            self.hosts.insert(vendor.name.into(), host);
        }
    }

    /// Tells the machines of nodes without a provider ID.
    pub fn machine_names(&self) -> Arc<MachineNames> {
        self.names.clone()
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
    pub fn setups(&self) -> impl Iterator<Item = (AccountId, Result<AccountSetup, Unusable>)> {
        self.accounts.iter().map(|(account, (machines, client))| {
            let cloud = account.0.clone();
            let unusable = |finding: &Finding| Unusable { cloud, finding: finding.clone() };
            let setup = client.as_ref().map_err(unusable).map(|client| {
                let capabilities = client.capabilities();
                AccountSetup {
                    cloud: account.0.clone(),
                    project: client.dedicated_project().map(Into::into),
                    abilities: Abilities {
                        moves_at_once: capabilities.atomic_move,
                        families: Families { v4: true, v6: capabilities.ipv6 },
                        per_machine: capabilities.addresses_per_machine,
                        places_new: families(capabilities.places_created),
                        marks_new: capabilities.marks_created,
                        region_required: machines.region_required,
                        lists_by_machine: capabilities.lists_by_machine,
                        displaces_own: capabilities.displaces_own,
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
