//! Query parameters. The vendor refuses parameters that it does not know.

use super::refusal::Refusal;
use crate::call::Call;

/// The parameters that every method takes.
const COMMON: [&str; 13] = [
    "$.xgafv",
    "$alt",
    "access_token",
    "alt",
    "callback",
    "fields",
    "key",
    "oauth_token",
    "prettyPrint",
    "quotaUser",
    "uploadType",
    "upload_protocol",
    "userIp",
];

/// Refuses parameters other than the given and the common ones.
pub(super) fn only(call: &Call, known: &[&str]) -> Result<(), Refusal> {
    let unknown = call.query.iter().map(|(name, _)| name.as_str());
    match unknown.into_iter().find(|name| !known.contains(name) && !COMMON.contains(name)) {
        Some(name) => Err(Refusal::bad(&format!(
            "Invalid JSON payload received. Unknown name \"{name}\": Cannot bind query parameter. \
             Field '{name}' could not be found in request message."
        ))),
        None => Ok(()),
    }
}

/// A parameter that must be there.
pub(super) fn required<'a>(call: &'a Call, name: &str) -> Result<&'a str, Refusal> {
    let given = call.parameter(name).filter(|value| !value.is_empty());
    given.ok_or_else(|| Refusal::required(name))
}
