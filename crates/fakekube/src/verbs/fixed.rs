//! Paths without resources: discovery, OpenAPI, health, version.

use http::Method;
use serde_json::{Value, json};

use crate::accept::Form;
use crate::call::Call;
use crate::kubectl;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::state::State;

/// Answers a request to a path without a resource; `None` for all other paths.
pub(crate) fn answer(state: &State, call: &Call, form: Form) -> Result<Option<Reply>, Refusal> {
    let parts: Vec<&str> = call.path().split('/').filter(|part| !part.is_empty()).collect();
    let reply = match parts.as_slice() {
        ["version"] => Some(Reply::json(200, version())),
        ["healthz" | "livez" | "readyz", ..] => Some(Reply::text(200, "ok")),
        [] => return Err(Refusal::unsupported("the list of all paths")),
        path => kubectl::answer(&state.registry, path, form)?,
    };
    if reply.is_some() && call.method != Method::GET && call.method != Method::HEAD {
        return Err(Refusal::method_not_allowed());
    }
    Ok(reply)
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
