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
mod rest;
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
