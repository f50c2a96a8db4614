//! Emulators of the vendors' HTTP APIs over a common store, with latency, faults, quotas and rate
//! limits; in process or over TCP.
//!
//! A [`FakeCloud`] holds machines, addresses and zones. [`FakeCloud::service`] is a tower service
//! that answers as the vendor does; [`FakeCloud::serve`] listens on a loopback port. Tests seed a
//! cloud, set its [`Knobs`], inject [`Rule`]s, and read the record of every [`Exchange`].
//!
//! Time is tokio's throughout: a paused clock pauses the cloud, and a seed makes runs repeatable.

#[cfg(feature = "acme")]
mod acme;
mod admin;
mod asked;
mod call;
mod cloud;
mod cloudflare;
mod digitalocean;
mod emulators;
mod faults;
mod gcp;
mod handle;
mod interface;
mod knobs;
mod limit;
mod next_address;
mod observer;
mod operation;
mod record;
mod request_context;
mod seed;
mod serve;
mod service;
mod store;
mod zone;

pub use asked::{Asked, AskedRecords, Purpose};
pub use emulators::{Access, Place, asked, environment, machine_of, places, provider_id, site_of};
pub use fakehttp::{Carried, Clock, DEFAULT_BASE, Loss, Lost, On, Recording, RuleId, Server};
pub use faults::{Answer, CloudFault, Fault, Rule};
pub use handle::FakeCloud;
pub use interface::Interface;
pub use knobs::Knobs;
pub use limit::RateLimit;
pub use observer::Happening;
pub use operation::{Failure, Operation, OperationKind, OperationStatus};
pub use record::{Answered, Exchange, Mark, read_dump};
pub use service::CloudService;
pub use store::{Address, Machine, MachineId, State};
pub use zone::{Record, Zone, ZonePlan};
