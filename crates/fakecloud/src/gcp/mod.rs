//! Google Compute Engine's API v1: instances with their access configs, regional external
//! addresses, and operations.
//!
//! An address moves in two steps: an interface has one access config or none, and an address that
//! is in use cannot be added elsewhere. A machine begins with an ephemeral external address of its
//! own, which must be deleted before a reserved one can be added.
//!
//! Unknown requests get 501, never a guess. "Not verified" in a comment marks behaviour that has
//! not been checked against the vendor.

mod access_configs;
mod addresses;
mod asked;
mod body;
mod filter;
mod fingerprint;
mod instances;
mod links;
mod operations;
mod page;
mod permissions;
mod places;
mod query;
mod refusal;

use std::net::IpAddr;

use fakehttp::Clock;
use http::{StatusCode, header};
use jiff::Timestamp;

use crate::asked::Asked;
use crate::call::{Call, Reply};
use crate::emulators::{Access, Emulator, Place};
use crate::knobs::Knobs;
use crate::limit::Usage;
use crate::request_context::Turn;
use crate::store::{Machine, MachineId, State};
use links::{DEFAULT_PROJECT, Project};
use refusal::Refusal;

/// The reply of an endpoint, or its refusal.
type Answer = Result<Reply, Refusal>;

/// The prefix of all paths.
const PREFIX: [&str; 3] = ["compute", "v1", "projects"];

/// The beginning of a provider ID.
const SCHEME: &str = "gce://";

/// The vendor's entry in the registry.
#[derive(Debug)]
pub(crate) struct Gcp;

impl Emulator for Gcp {
    fn name(&self) -> &'static str {
        "gcp"
    }

    fn owns(&self, call: &Call) -> bool {
        call.segments.len() > PREFIX.len() && call.segments.iter().zip(PREFIX).all(|(a, b)| a == b)
    }

    /// A wait is a POST that reads.
    fn changes(&self, call: &Call) -> bool {
        !call.method.is_safe() && call.segments.last().is_none_or(|last| last != "wait")
    }

    fn credential(&self, call: &Call, knobs: &Knobs, _: Timestamp) -> Option<String> {
        call.accepted_bearer(knobs)
    }

    fn unknown_credential(&self, _: &Call, request_id: &str) -> Reply {
        self.error(StatusCode::UNAUTHORIZED, None, request_id)
    }

    fn answer(&self, turn: &mut Turn<'_>, call: &Call) -> Reply {
        let (project, path) = place(call);
        let permitted = permissions::check(turn.knobs, call, project, &path);
        let answer = permitted.and_then(|()| route(turn, call, project, &path));
        answer.unwrap_or_else(|refusal| refusal.reply())
    }

    fn error(&self, status: StatusCode, message: Option<&str>, _: &str) -> Reply {
        Refusal::usual(status, message).reply()
    }

    /// The vendor tells no budget, and not when to come back either.
    fn show_budget(&self, _: &Usage, _: &Clock, reply: &mut Reply) {
        reply.headers.remove(header::RETRY_AFTER);
    }

    fn asked(&self, call: &Call) -> Asked {
        asked::asked(call)
    }

    fn asked_in(&self, call: &Call, state: &State) -> Asked {
        asked::asked_in(call, state)
    }

    fn environment(&self, access: &Access<'_>) -> Vec<(&'static str, String)> {
        vec![
            ("GCP_ACCESS_TOKEN", access.secret.to_owned()),
            ("GCP_API_URL", access.url.to_owned()),
            ("GOOGLE_CLOUD_PROJECT", DEFAULT_PROJECT.to_owned()),
        ]
    }

    /// The zone is the default region's. [`Emulator::provider_id_of`] knows the machine's own.
    fn provider_id(&self, machine: MachineId) -> Option<String> {
        Some(provider_id("", machine))
    }

    fn provider_id_of(&self, machine: &Machine) -> Option<String> {
        Some(provider_id(&machine.region, machine.id))
    }

    fn machine(&self, provider_id: &str) -> Option<MachineId> {
        let mut parts = provider_id.strip_prefix(SCHEME)?.split('/');
        let (_project, _zone) = (parts.next()?, parts.next()?);
        parts.next().filter(|_| parts.next().is_none()).and_then(links::number)
    }

    fn site(&self, provider_id: &str) -> Option<String> {
        provider_id.strip_prefix(SCHEME)?.split('/').nth(1).map(str::to_owned)
    }

    fn places(&self, region: Option<&str>, zones: &[String]) -> Vec<Place> {
        places::for_machines(region, zones)
    }

    fn external(&self, state: &State, machine: MachineId) -> Option<IpAddr> {
        state.external(machine, 0)
    }
}

fn provider_id(region: &str, machine: MachineId) -> String {
    let (zone, name) = (links::zone_in(region), links::instance_name(machine));
    format!("{SCHEME}{DEFAULT_PROJECT}/{zone}/{name}")
}

/// The project of a call, and the path below it.
fn place(call: &Call) -> (Project<'_>, Vec<&str>) {
    let mut path = call.segments.iter().skip(PREFIX.len()).map(String::as_str);
    (Project(path.next().unwrap_or_default()), path.collect())
}

fn route(turn: &mut Turn<'_>, call: &Call, project: Project<'_>, path: &[&str]) -> Answer {
    match (call.method.as_str(), path) {
        ("GET", ["aggregated", "instances"]) => instances::list_all(turn, call, project),
        ("GET", ["aggregated", "addresses"]) => addresses::list_all(turn, call, project),
        ("GET", ["zones", zone]) => places::zone(call, project, zone),
        ("GET", ["regions", region]) => places::region(turn, call, project, region),
        ("GET", ["zones", zone, "instances"]) => instances::list(turn, call, project, zone),
        ("GET", ["zones", zone, "instances", name]) => {
            instances::get(turn, call, project, zone, name)
        }
        ("POST", ["zones", zone, "instances", name, change]) => {
            access_configs::route(turn, call, project, (zone, name), change)
        }
        ("GET", [_, _, "operations", name]) | ("POST", [_, _, "operations", name, "wait"]) => {
            operations::get(turn, call, project, &path[..2], name)
        }
        (_, ["regions", region, "addresses", rest @ ..]) => {
            addresses::route(turn, call, project, region, rest)
        }
        _ => Err(Refusal::not_emulated(call)),
    }
}
