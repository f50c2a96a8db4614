//! The clouds.
//!
//! Two small traits ([`AddressProvider`], [`RecordProvider`]), one folder per vendor, one
//! HTTP seam ([`Transport`]) that all of them share, and layers that wrap that seam: the rate
//! budget of a credential, the hard deadline of a call, the gate that keeps a replica which
//! does not lead from changing anything.
//!
//! This crate knows nothing of Kubernetes and of no other crate of ours. It reports what a
//! vendor said; what follows from it is the planner's business. Nothing in here repeats a
//! call by itself: a retry is a decision, and decisions are made on a fresh world.

pub mod cloudflare;
pub mod digitalocean;
pub mod layers;

mod access;
mod address;
#[cfg(test)]
mod contract;
mod error;
mod names;
mod proxy;
mod record;
#[cfg(test)]
mod record_contract;
#[cfg(test)]
mod record_properties;
mod rest;
#[cfg(test)]
mod script;
mod transport;
mod vendor;

pub use address::{
    Accepted, Address, AddressProvider, Capabilities, CreateRequest, Created, Families, Family,
    MachineId, OperationId, OperationState,
};
pub use error::{Error, ErrorKind, Result};
pub use record::{
    Changed, Record, RecordCapabilities, RecordChange, RecordId, RecordKind, RecordName,
    RecordProvider, WantedRecord,
};
pub use transport::{Transport, TransportError, https};
pub use vendor::{
    ConfigError, DNS_VENDORS, DnsVendor, Opened, OpenedDns, Settings, VENDORS, Vendor, dns_names,
    machine_of, unencrypted,
};
