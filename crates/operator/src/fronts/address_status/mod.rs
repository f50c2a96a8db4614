//! The status of addresses, as the kinds that ask for addresses show and recall it.

pub mod recall;
mod render;
pub(super) mod rules;
mod types;

pub use render::{of_all, provider_id, since};
pub use types::{DriftStatus, IpState, IpStatus};
