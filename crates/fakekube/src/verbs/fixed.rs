//! Paths without resources: discovery, OpenAPI, health, version.

use http::Method;
use serde_json::{Value, json};

use crate::accept::Form;
use crate::call::Call;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::state::State;
use crate::{discovery, openapi};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a request to a path without a resource; `None` for all other paths.
pub(crate) fn answer(state: &State, call: &Call, form: Form) -> Result<Option<Reply>, Refusal> {
    let parts: Vec<&str> = call.path().split('/').filter(|part| !part.is_empty()).collect();
    let registry = &state.registry;
    let reply = match parts.as_slice() {
        ["version"] => Reply::json(200, version()),
        ["healthz" | "livez" | "readyz", ..] => Reply::text(200, "ok"),
        ["api"] if form == Form::Discovery => {
            Reply::json(200, discovery::aggregated(registry, true)).typed(AGGREGATED)
        }
        ["apis"] if form == Form::Discovery => {
            Reply::json(200, discovery::aggregated(registry, false)).typed(AGGREGATED)
        }
        ["api"] => Reply::json(200, discovery::api_versions(registry)),
        ["apis"] => Reply::json(200, discovery::api_group_list(registry)),
        ["api", version] => found(discovery::resource_list(registry, "", version))
            .ok_or_else(Refusal::no_such_resource)?,
        ["apis", group] => {
            found(discovery::api_group(registry, group)).ok_or_else(Refusal::page_not_found)?
        }
        ["apis", group, version] => found(discovery::resource_list(registry, group, version))
            .ok_or_else(Refusal::page_not_found)?,
        ["openapi", "v2"] => return Err(Refusal::unsupported("OpenAPI v2; use /openapi/v3")),
        ["openapi", "v3"] => Reply::json(200, openapi::paths(registry)),
        ["openapi", "v3", "api", version] => {
            found(openapi::document(registry, "", version)).ok_or_else(Refusal::page_not_found)?
        }
        ["openapi", "v3", "apis", group, version] => {
            found(openapi::document(registry, group, version))
                .ok_or_else(Refusal::page_not_found)?
        }
        [] => return Err(Refusal::unsupported("the list of all paths")),
        _ => return Ok(None),
    };
    if call.method != Method::GET && call.method != Method::HEAD {
        return Err(Refusal::method_not_allowed());
    }
    Ok(Some(reply))
}

fn found(document: Option<Value>) -> Option<Reply> {
    document.map(|document| Reply::json(200, document))
}

/// The version of the real server in the control-plane folder, except for the platform.
fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.4",
        "gitCommit": "fakekube",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": "fakekube",
    })
}
