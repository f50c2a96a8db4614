//! The place of the feature `kubectl` in a build without it: no Tables, no discovery, no OpenAPI.

use jiff::Timestamp;
use serde_json::Value;

use crate::accept::Form;
use crate::call::Call;
use crate::refusal::Refusal;
use crate::registry::{Kind, Registry};
use crate::reply::Reply;

/// Proof that the server has Tables: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {}

impl Tables {
    pub(crate) fn served() -> Option<Self> {
        None
    }

    pub(crate) fn render(self, _: &Kind, _: &[Value], _: Value, _: &str, _: Timestamp) -> Value {
        match self {}
    }
}

/// Refuses requests for discovery and OpenAPI; `None` for all other paths.
pub(crate) fn answer(_: &Registry, path: &[&str], _: Form) -> Result<Option<Reply>, Refusal> {
    match path {
        ["api", ..] if path.len() <= 2 => Err(Refusal::unsupported("discovery")),
        ["apis", ..] if path.len() <= 3 => Err(Refusal::unsupported("discovery")),
        ["openapi", ..] => Err(Refusal::unsupported("OpenAPI")),
        _ => Ok(None),
    }
}

/// Leaves bodies in protobuf to be refused as an unknown format.
pub(crate) fn as_json(_: &Call) -> Result<Option<Call>, Refusal> {
    Ok(None)
}
