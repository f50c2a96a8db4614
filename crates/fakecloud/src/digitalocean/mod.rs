//! DigitalOcean's API v2: reserved (floating) IPs, their actions, droplets, domains and the
//! account.
//!
//! Unknown requests get 501, never a guess. "Not verified" in a comment marks behaviour that has
//! not been checked against the vendor.

mod account;
mod actions;
mod assign;
mod domain_records;
mod domains;
mod droplets;
mod page;
mod refusal;
mod region;
mod reserved_ips;
mod reserved_ipv6;

use http::{HeaderName, StatusCode};
use serde_json::Value;

use crate::call::{Call, Reply};
use crate::clock::Clock;
use crate::limit::Usage;
use crate::turn::Turn;
use refusal::Refusal;

/// The reply of an endpoint, or its refusal.
type Answer = Result<Reply, Refusal>;

/// The default project of addresses.
const DEFAULT_PROJECT: &str = "00000000-0000-4000-8000-00000000d0d0";

/// Executes a call.
pub(crate) fn answer(turn: &mut Turn<'_>, call: &Call) -> Reply {
    let path: Vec<&str> = call.segments.iter().skip(1).map(String::as_str).collect();
    let mut reply =
        route(turn, call, &path).unwrap_or_else(|refusal| refusal.reply(&turn.request_id));
    reply.set(HeaderName::from_static("x-request-id"), &turn.request_id);
    reply
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

/// An error in DigitalOcean's format.
pub(crate) fn error(status: StatusCode, message: Option<&str>, request_id: &str) -> Reply {
    Refusal::new(status, message.unwrap_or(refusal::usual_message(status))).reply(request_id)
}

/// The three budget headers.
pub(crate) fn show_budget(usage: &Usage, clock: &Clock, reply: &mut Reply) {
    let reset = clock.epoch_rounded_up(usage.reset);
    reply.set(HeaderName::from_static("ratelimit-limit"), &usage.limit.to_string());
    reply.set(HeaderName::from_static("ratelimit-remaining"), &usage.remaining.to_string());
    reply.set(HeaderName::from_static("ratelimit-reset"), &reset.to_string());
}

/// The body as a JSON object.
fn object(call: &Call) -> Result<serde_json::Map<String, Value>, Refusal> {
    match serde_json::from_slice(&call.body) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(Refusal::new(StatusCode::BAD_REQUEST, "The request body is not a JSON object.")),
    }
}
