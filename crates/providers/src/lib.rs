//! The providers: clients for the APIs of vendors.
//!
//! Two small traits ([`AddressProvider`], [`RecordProvider`]), one folder per provider, one shared
//! HTTP interface ([`Transport`]), and layers around the transport: the rate budget of a
//! credential, the deadline of a request, and the gate against changes by a replica without
//! leadership.
//!
//! This crate depends neither on Kubernetes nor on any other crate of ours. Calls report the
//! provider's answer; the planner draws the conclusions. No call is retried here: a retry is a
//! decision, and decisions need fresh observations.

#[cfg(any(test, feature = "profiles"))]
pub mod acme;
pub mod cloudflare;
pub mod digitalocean;
pub mod gcp;
pub mod layers;

mod access;
mod address;
mod by_name;
#[cfg(test)]
mod contract;
mod credential;
mod effect;
mod error;
mod names;
mod proxy;
mod record;
mod rest;
#[cfg(test)]
mod tests;
mod transport;
mod vendor;

pub use address::{
    Accepted, Address, AddressProvider, Capabilities, CreateRequest, Created, Families, Family,
    ListRequest, Listing, MachineId, OperationId, OperationState,
};
pub use by_name::{ByName, MachineNames, Unnamed, ZONE_LABEL};
pub use credential::{
    Bearer, Credential, Fresh, Line, Looked, Refreshed, Secret, TokenFile, TokenSource,
};
pub use effect::Effect;
pub use error::{Error, ErrorKind, Result};
pub use record::{
    Changed, Record, RecordCapabilities, RecordChange, RecordId, RecordKind, RecordName,
    RecordProvider, WantedRecord,
};
pub use rest::Body;
pub use transport::{Transport, TransportError, https};
#[cfg(feature = "profiles")]
pub use vendor::admit;
pub use vendor::{
    Account, Clock, ConfigError, CredentialFrom, Machines, Opened, Settings, TokenVariables,
    Vendor, address_vendors, dns_vendors, doubled, machine_of, unencrypted, vendors,
};

/// The providers, in display order. [`vendors`] are these and admitted ones.
pub static VENDORS: &[&Vendor] = &[
    &digitalocean::VENDOR,
    &cloudflare::VENDOR,
    &gcp::VENDOR,
    #[cfg(test)]
    &acme::VENDOR,
];
