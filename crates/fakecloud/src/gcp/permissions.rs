//! Single permissions, which a token may lack.

use http::StatusCode;

use super::links::Project;
use super::refusal::Refusal;
use crate::call::Call;
use crate::knobs::Knobs;

/// Refuses a call whose permission the token lacks.
pub(super) fn check(
    knobs: &Knobs,
    call: &Call,
    project: Project<'_>,
    path: &[&str],
) -> Result<(), Refusal> {
    let Some((permission, resource)) = needed(call.method.as_str(), path) else {
        return Ok(());
    };
    let sees_machines = matches!(permission, "compute.instances.get" | "compute.instances.list");
    if !knobs.denied.contains(permission) && (knobs.machine_read || !sees_machines) {
        return Ok(());
    }
    let resource = match resource {
        [] => format!("projects/{}", project.0),
        resource => project.path(&resource.join("/")),
    };
    let message = format!("Required '{permission}' permission for '{resource}'");
    Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden", message))
}

/// The permission for a call, and the resource on which it is needed.
fn needed<'a>(method: &str, path: &'a [&'a str]) -> Option<(&'static str, &'a [&'a str])> {
    let permission = match (method, path) {
        ("GET", ["aggregated", "instances"] | ["zones", _, "instances"]) => {
            return Some(("compute.instances.list", &[]));
        }
        ("GET", ["aggregated", "addresses"] | ["regions", _, "addresses"]) => {
            return Some(("compute.addresses.list", &[]));
        }
        ("GET", ["zones", _, "instances", _]) => "compute.instances.get",
        ("POST", ["zones", _, "instances", _, change]) => {
            let permission = match *change {
                "addAccessConfig" => "compute.instances.addAccessConfig",
                "deleteAccessConfig" => "compute.instances.deleteAccessConfig",
                _ => "compute.instances.updateAccessConfig",
            };
            return Some((permission, &path[..4]));
        }
        ("GET", ["regions", _, "addresses", _]) => "compute.addresses.get",
        ("POST", ["regions", _, "addresses"]) => "compute.addresses.create",
        ("DELETE", ["regions", _, "addresses", _]) => "compute.addresses.delete",
        (_, ["zones", _, "operations", _, ..]) => "compute.zoneOperations.get",
        (_, ["regions", _, "operations", _, ..]) => "compute.regionOperations.get",
        ("GET", ["zones", _]) => "compute.zones.get",
        ("GET", ["regions", _]) => "compute.regions.get",
        _ => return None,
    };
    Some((permission, path))
}
