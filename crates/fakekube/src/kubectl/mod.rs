//! The answers that only stock `kubectl` asks for: Tables, discovery, OpenAPI documents; and its
//! bodies in protobuf.

mod custom;
mod description;
pub mod discovery;
pub mod documents;
mod protobuf;
pub mod table;

pub(crate) use protobuf::as_json;

use jiff::Timestamp;
use serde_json::Value;

use crate::accept::Form;
use crate::refusal::Refusal;
use crate::registry::{Kind, Registry};
use crate::reply::Reply;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Proof that the server has Tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tables;

impl Tables {
    pub(crate) fn served() -> Option<Self> {
        Some(Self)
    }

    /// The Table of a kind's objects.
    pub(crate) fn render(
        self,
        kind: &Kind,
        objects: &[Value],
        list_meta: Value,
        include_object: &str,
        now: Timestamp,
    ) -> Value {
        table::render(kind, objects, list_meta, include_object, now)
    }
}

/// Answers a request for discovery or OpenAPI; `None` for all other paths.
pub(crate) fn answer(
    registry: &Registry,
    path: &[&str],
    form: Form,
) -> Result<Option<Reply>, Refusal> {
    let found = match path {
        ["api"] if form == Form::Discovery => return Ok(Some(aggregated(registry, true))),
        ["apis"] if form == Form::Discovery => return Ok(Some(aggregated(registry, false))),
        ["api"] => Some(discovery::api_versions(registry)),
        ["apis"] => Some(discovery::api_group_list(registry)),
        ["api", version] => {
            let list = discovery::resource_list(registry, "", version);
            Some(list.ok_or_else(Refusal::no_such_resource)?)
        }
        ["apis", group] => discovery::api_group(registry, group),
        ["apis", group, version] => discovery::resource_list(registry, group, version),
        ["openapi", "v2"] => return Err(Refusal::unsupported("OpenAPI v2; use /openapi/v3")),
        ["openapi", "v3"] => Some(documents::paths(registry)),
        ["openapi", "v3", "api", version] => documents::document(registry, "", version),
        ["openapi", "v3", "apis", group, version] => documents::document(registry, group, version),
        _ => return Ok(None),
    };
    let document = found.ok_or_else(Refusal::page_not_found)?;
    Ok(Some(Reply::json(200, document)))
}

fn aggregated(registry: &Registry, core: bool) -> Reply {
    Reply::json(200, discovery::aggregated(registry, core)).typed(AGGREGATED)
}
