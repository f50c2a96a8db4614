//! A DNS record of an object, as several kinds have it: its fields, what it asks for, and its part
//! of the status.

mod request;
mod rules;
mod status;
mod types;

pub(super) use request::{full_name, held, provider_for, remark, request};
pub(super) use rules::dns_provider_or_default;
pub(super) use status::{Bearing, bearing, condition, ready, remarked, said, status_of};
pub use types::{DEFAULT_DNS_PROVIDER, DnsRecordSet, DnsRecordStatus, NAMES};
