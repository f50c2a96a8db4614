//! DigitalOcean's API v2: reserved (floating) IPs, their actions, droplets, domains and the
//! account.
//!
//! Unknown requests get 501, never a guess. "Not verified" in a comment marks behaviour that has
//! not been checked against the vendor.

mod account;
mod actions;
mod asked;
mod assign;
mod domain_records;
mod domains;
mod droplets;
mod page;
mod refusal;
mod region;
mod reserved_ips;
mod reserved_ipv6;

use fakehttp::Clock;
use http::{HeaderName, StatusCode};
use jiff::Timestamp;
use serde_json::Value;

use crate::asked::Asked;
use crate::call::{Call, Reply};
use crate::emulators::{Access, Emulator, Place};
use crate::knobs::Knobs;
use crate::limit::Usage;
use crate::request_context::Turn;
use crate::store::MachineId;
use refusal::Refusal;

/// The reply of an endpoint, or its refusal.
type Answer = Result<Reply, Refusal>;

/// The default project of addresses.
const DEFAULT_PROJECT: &str = "00000000-0000-4000-8000-00000000d0d0";

/// The beginning of a provider ID.
const SCHEME: &str = "digitalocean://";

/// The region of machines without a wish.
const USUAL_REGION: &str = "nyc3";

/// DigitalOcean's entry in the registry.
#[derive(Debug)]
pub(crate) struct DigitalOcean;

impl Emulator for DigitalOcean {
    fn name(&self) -> &'static str {
        "digitalocean"
    }

    fn owns(&self, call: &Call) -> bool {
        call.segments.first().is_some_and(|first| first == "v2")
    }

    fn changes(&self, call: &Call) -> bool {
        !call.method.is_safe()
    }

    fn credential(&self, call: &Call, knobs: &Knobs, _: Timestamp) -> Option<String> {
        call.accepted_bearer(knobs)
    }

    fn unknown_credential(&self, _: &Call, request_id: &str) -> Reply {
        self.error(StatusCode::UNAUTHORIZED, None, request_id)
    }

    fn answer(&self, turn: &mut Turn<'_>, call: &Call) -> Reply {
        let path: Vec<&str> = call.segments.iter().skip(1).map(String::as_str).collect();
        let mut reply =
            route(turn, call, &path).unwrap_or_else(|refusal| refusal.reply(&turn.request_id));
        reply.set(HeaderName::from_static("x-request-id"), &turn.request_id);
        reply
    }

    fn error(&self, status: StatusCode, message: Option<&str>, request_id: &str) -> Reply {
        Refusal::new(status, message.unwrap_or(refusal::usual_message(status))).reply(request_id)
    }

    fn show_budget(&self, usage: &Usage, clock: &Clock, reply: &mut Reply) {
        let reset = clock.epoch_rounded_up(usage.reset);
        reply.set(HeaderName::from_static("ratelimit-limit"), &usage.limit.to_string());
        reply.set(HeaderName::from_static("ratelimit-remaining"), &usage.remaining.to_string());
        reply.set(HeaderName::from_static("ratelimit-reset"), &reset.to_string());
    }

    fn asked(&self, call: &Call) -> Asked {
        asked::asked(call)
    }

    fn environment(&self, access: &Access<'_>) -> Vec<(&'static str, String)> {
        let variables = [
            ("DIGITALOCEAN_ACCESS_TOKEN", Some(access.secret)),
            ("DIGITALOCEAN_API_URL", Some(access.url)),
            ("DIGITALOCEAN_PROJECT_ID", access.project),
            ("DIGITALOCEAN_USER_AGENT", access.user_agent),
        ];
        let given = |(name, value): (_, Option<&str>)| Some((name, value?.to_owned()));
        variables.into_iter().filter_map(given).collect()
    }

    fn provider_id(&self, machine: MachineId) -> Option<String> {
        Some(format!("{SCHEME}{machine}"))
    }

    fn machine(&self, provider_id: &str) -> Option<MachineId> {
        provider_id.strip_prefix(SCHEME)?.parse().ok()
    }

    fn places(&self, region: Option<&str>, _: &[String]) -> Vec<Place> {
        let region = region.unwrap_or(USUAL_REGION).to_owned();
        let labels = [("doks.digitalocean.com/node-pool", "work")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        vec![Place { site: region.clone(), region, labels }]
    }
}

fn route(turn: &mut Turn<'_>, call: &Call, path: &[&str]) -> Answer {
    match (call.method.as_str(), path) {
        ("GET", ["account"]) => Ok(account::get(turn)),
        ("GET", ["actions"]) => Ok(actions::list(turn, call)),
        ("GET", ["actions", id]) => actions::get(turn, id),
        (_, ["droplets", rest @ ..]) => droplets::route(turn, call, rest),
        (_, ["reserved_ips", rest @ ..]) => {
            reserved_ips::route(turn, call, &reserved_ips::RESERVED, rest)
        }
        (_, ["floating_ips", rest @ ..]) => {
            reserved_ips::route(turn, call, &reserved_ips::FLOATING, rest)
        }
        (_, ["reserved_ipv6", rest @ ..]) => reserved_ipv6::route(turn, call, rest),
        (_, ["domains", rest @ ..]) => domains::route(turn, call, rest),
        _ => Err(Refusal::not_emulated(call)),
    }
}

/// The body as a JSON object.
fn object(call: &Call) -> Result<serde_json::Map<String, Value>, Refusal> {
    match serde_json::from_slice(&call.body) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(Refusal::new(StatusCode::BAD_REQUEST, "The request body is not a JSON object.")),
    }
}
