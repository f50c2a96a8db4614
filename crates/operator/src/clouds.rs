//! The cloud accounts that this process can reach, opened from its environment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pontoon_core::model::{AccountId, Finding};
use pontoon_core::world::AccountSetup;
use pontoon_providers::{AddressProvider, ConfigError, Settings, Transport, VENDORS, Vendor};

/// Every vendor's account, or why it cannot be used.
#[derive(Debug, Clone)]
pub struct Clouds {
    accounts: BTreeMap<AccountId, (&'static Vendor, Client)>,
}

/// The client of an account, or why there is none.
type Client = Result<Arc<dyn AddressProvider>, Finding>;

impl Clouds {
    /// Opens the account of every vendor. One that is not configured is no error: only the
    /// objects that name it are told.
    pub fn open(
        variable: &dyn Fn(&str) -> Option<String>,
        timeout: Duration,
        transport: &Transport,
    ) -> Self {
        let open = |vendor: &'static Vendor| {
            let settings = Settings { variable, timeout };
            let opened = (vendor.open)(&settings, transport.clone());
            let account = AccountId::from(vendor.name);
            (account, (vendor, opened.map_err(|error| unusable(vendor, &error))))
        };
        Self { accounts: VENDORS.iter().map(|vendor| open(vendor)).collect() }
    }

    /// The client of an account.
    pub fn client(&self, account: &AccountId) -> Option<&Arc<dyn AddressProvider>> {
        self.accounts.get(account)?.1.as_ref().ok()
    }

    /// What planning knows of each account.
    pub fn setups(&self) -> impl Iterator<Item = (AccountId, Result<AccountSetup, Finding>)> {
        self.accounts.iter().map(|(account, (vendor, client))| {
            let setup = client.as_ref().map_err(Clone::clone).map(|client| {
                let capabilities = client.capabilities();
                AccountSetup {
                    cloud: vendor.name.into(),
                    per_machine: capabilities.addresses_per_machine,
                    project: client.dedicated_project().map(Into::into),
                    places_new_v6: capabilities.places_created.v6,
                    region_required: vendor.region_required,
                }
            });
            (account.clone(), setup)
        })
    }
}

fn unusable(vendor: &Vendor, error: &ConfigError) -> Finding {
    let reason = match error {
        ConfigError::Missing(_) => "CredentialsMissing",
        ConfigError::Unusable { .. } => "CredentialsUnusable",
    };
    let message = format!(
        "{error}; the provider \"{}\" cannot be used until that is put right in the operator's \
         environment",
        vendor.name
    );
    Finding { reason, message: message.into() }
}
