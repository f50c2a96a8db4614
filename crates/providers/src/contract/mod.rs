//! The contract of every provider, over the emulated cloud: one suite for addresses, one for
//! records, and properties of their clients.

pub(crate) mod addresses;
mod properties;
pub(crate) mod records;
pub(crate) mod script;

use fakecloud::FakeCloud;
use tower::ServiceExt;

use crate::error::{ErrorKind, Result};
use crate::transport::{Transport, TransportError};

/// The emulator as a transport. A lost request or answer becomes `NoAnswer`.
pub(crate) fn transport(cloud: &FakeCloud) -> Transport {
    let service = cloud.service();
    Transport::new(service.map_err(|lost| TransportError::NoAnswer(lost.to_string())))
}

pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind
}
