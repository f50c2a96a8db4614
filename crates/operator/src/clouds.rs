//! The accounts at providers and DNS hosts, opened from the process environment, and the files with
//! their tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pontoon_core::addresses::{Abilities, AccountSetup, Unusable};
use pontoon_core::model::{AccountId, Families, Finding};
use pontoon_core::records::RecordAbilities;
use pontoon_providers::{
    AddressProvider, Clock, ConfigError, Credential, Looked, MachineNames, Machines,
    RecordProvider, Settings, Transport, Vendor, unencrypted, vendors,
};

use crate::run::Variable;

/// The client of every account, or the finding that explains why the account is unusable.
#[derive(Debug)]
pub struct Clouds {
    means: Means,
    accounts: BTreeMap<AccountId, (&'static Machines, Client)>,
    /// The accounts that host DNS.
    hosts: BTreeMap<AccountId, Host>,
    names: Arc<MachineNames>,
    /// The credential of each usable account.
    credentials: BTreeMap<AccountId, Arc<dyn Credential>>,
    /// Accounts that wait for the file with their token.
    awaiting: BTreeSet<AccountId>,
    /// Accounts whose token is gone from its file, and why.
    lost: BTreeMap<AccountId, String>,
}

/// The means to open an account.
pub struct Means {
    /// Reads an environment variable.
    pub variable: Variable,
    /// The deadline of each request.
    pub timeout: Duration,
    /// The time of day, for signatures.
    pub clock: Clock,
    /// The connection to the providers.
    pub transport: Transport,
}

impl Means {
    fn settings(&self) -> Settings<'_> {
        let Self { variable, timeout, clock, .. } = self;
        Settings { variable: &**variable, timeout: *timeout, clock: clock.clone() }
    }
}

impl fmt::Debug for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Means")
    }
}

/// A change of an account's credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// An account without a client got one, or has another reason for having none.
    Setup(AccountId),
    /// The account has another token.
    Renewed(AccountId),
}

/// The client of an account, or why the account is unusable.
type Client = Result<Arc<dyn AddressProvider>, Finding>;

/// The DNS client of an account, or why the account is unusable.
type Host = Result<Arc<dyn RecordProvider>, Finding>;

impl Clouds {
    /// Opens the account of every provider. A missing credential is no error: only objects that
    /// name the provider report the finding.
    pub fn open(means: Means) -> Self {
        let settings = means.settings();
        for variable in unencrypted(&settings) {
            tracing::warn!(variable, "plain http: the access token travels unencrypted");
        }
        let names = Arc::new(MachineNames::read(&settings));
        let mut clouds = Self {
            means,
            accounts: BTreeMap::new(),
            hosts: BTreeMap::new(),
            names,
            credentials: BTreeMap::new(),
            awaiting: BTreeSet::new(),
            lost: BTreeMap::new(),
        };
        for vendor in vendors() {
            clouds.take(vendor);
        }
        clouds
    }

    /// Opens the account of a provider. An account that cannot be opened has a finding for each of
    /// its parts.
    fn take(&mut self, vendor: &'static Vendor) {
        let opened = (vendor.open)(&self.means.settings(), self.means.transport.clone());
        let id: AccountId = vendor.name.into();
        let (addresses, records) = match opened {
            Ok(account) => {
                self.awaiting.remove(&id);
                self.credentials.insert(id, account.credential);
                (account.addresses.map(Ok), account.records.map(Ok))
            }
            Err(error) => {
                if self.names_a_file(vendor) {
                    self.awaiting.insert(id);
                }
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

    fn names_a_file(&self, vendor: &Vendor) -> bool {
        let token = vendor.credential.token();
        token.is_some_and(|token| (self.means.variable)(token.file).is_some())
    }

    /// Reads the files with tokens again: opens accounts whose file has appeared, and tells which
    /// accounts have another token.
    pub fn look(&mut self) -> Vec<News> {
        let mut news = Vec::new();
        for vendor in vendors() {
            let id: AccountId = vendor.name.into();
            if !self.awaiting.contains(&id) {
                continue;
            }
            let before = self.finding(&id).cloned();
            self.take(vendor);
            if self.finding(&id) != before.as_ref() {
                let usable = self.credentials.contains_key(&id);
                tracing::info!(
                    provider = vendor.name,
                    usable,
                    "the file with the token has changed"
                );
                news.push(News::Setup(id));
            }
        }
        for (id, credential) in &self.credentials {
            match credential.look() {
                Looked::Same => {
                    if self.lost.remove(id).is_some() {
                        tracing::info!(provider = %id, "the file with the token is back");
                    }
                }
                Looked::Renewed => {
                    self.lost.remove(id);
                    tracing::info!(provider = %id, "the file has another token, used from now on");
                    news.push(News::Renewed(id.clone()));
                }
                Looked::Lost(problem) => {
                    if self.lost.get(id) != Some(&problem) {
                        tracing::warn!(provider = %id, problem, "the file with the token cannot be used; the last token stays in use");
                        self.lost.insert(id.clone(), problem);
                    }
                }
            }
        }
        news
    }

    /// Why an account is unusable, if so.
    fn finding(&self, id: &AccountId) -> Option<&Finding> {
        let client = self.accounts.get(id).and_then(|(_, client)| client.as_ref().err());
        client.or_else(|| self.hosts.get(id)?.as_ref().err())
    }

    /// Tells the machines of nodes without a provider ID.
    pub fn machine_names(&self) -> Arc<MachineNames> {
        self.names.clone()
    }

    /// The DNS client of an account, if usable.
    pub fn host(&self, account: &AccountId) -> Option<&Arc<dyn RecordProvider>> {
        self.hosts.get(account)?.as_ref().ok()
    }

    /// Every account that hosts DNS, with the host's abilities for planning, or a finding.
    pub fn hosts(&self) -> impl Iterator<Item = (AccountId, Result<RecordAbilities, Finding>)> {
        self.hosts.iter().map(|(account, host)| {
            let setup = host.as_ref().map_err(Clone::clone).map(|client| {
                let capabilities = client.capabilities();
                RecordAbilities {
                    ttls: capabilities.ttls,
                    automatic_ttl: capabilities.automatic_ttl,
                }
            });
            (account.clone(), setup)
        })
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
        ConfigError::Missing(_) | ConfigError::NoToken { .. } => "CredentialsMissing",
        ConfigError::Unusable { .. } => "CredentialsUnusable",
    };
    let remedy = match error {
        ConfigError::NoToken { .. } => "until the file has a token, which needs no restart",
        ConfigError::Missing(_) | ConfigError::Unusable { .. } => {
            "until the variable has a usable value in the operator's environment"
        }
    };
    let message = format!("{error}; the provider \"{vendor}\" cannot be used {remedy}");
    Finding { reason, message: message.into() }
}
