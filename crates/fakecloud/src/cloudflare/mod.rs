//! Cloudflare's API v4: zones and their DNS records, single and in batches.
//!
//! Unknown requests get 501, never a guess. "Not verified" in a comment marks behaviour that has
//! not been checked against the vendor.

mod batch;
mod draft;
mod envelope;
mod filter;
mod ids;
mod plan;
mod record_input;
mod records;
mod zones;

use std::time::Duration;

use fakehttp::Clock;
use http::{HeaderName, StatusCode, header};
use jiff::Timestamp;

use crate::asked::{Asked, Purpose};
use crate::call::{Call, Reply};
use crate::emulators::{Access, Emulator};
use crate::knobs::Knobs;
use crate::limit::{RateLimit, Usage};
use crate::request_context::Turn;
use crate::store::MachineId;
use envelope::Refusal;

/// The reply of an endpoint, or its refusal.
type Answer = Result<Reply, Refusal>;

/// The prefix of all paths.
const PREFIX: [&str; 2] = ["client", "v4"];

/// Cloudflare's entry in the registry.
#[derive(Debug)]
pub(crate) struct Cloudflare;

impl Emulator for Cloudflare {
    fn name(&self) -> &'static str {
        "cloudflare"
    }

    fn owns(&self, call: &Call) -> bool {
        call.segments.iter().take(2).eq(PREFIX)
    }

    fn changes(&self, call: &Call) -> bool {
        !call.method.is_safe()
    }

    fn credential(&self, call: &Call, knobs: &Knobs, _: Timestamp) -> Option<String> {
        call.accepted_bearer(knobs)
    }

    fn unknown_credential(&self, call: &Call, _: &str) -> Reply {
        unknown_credential(call)
    }

    fn answer(&self, turn: &mut Turn<'_>, call: &Call) -> Reply {
        let mut reply = route(turn, call, &path(call)).unwrap_or_else(|refusal| refusal.reply());
        reply.set(HeaderName::from_static("cf-ray"), &turn.request_id);
        reply
    }

    fn error(&self, status: StatusCode, message: Option<&str>, _: &str) -> Reply {
        Refusal::usual(status, message).reply()
    }

    fn usual_rate(&self) -> RateLimit {
        RateLimit::cloudflare()
    }

    /// Adds the two budget headers, and `retry-after` to a 429.
    fn show_budget(&self, usage: &Usage, clock: &Clock, reply: &mut Reply) {
        let Usage { limit, remaining, window, reset, .. } = usage;
        let left = fakehttp::whole_seconds(reset.saturating_duration_since(clock.now()));
        let window = fakehttp::whole_seconds(*window);
        let name = HeaderName::from_static("ratelimit");
        reply.set(name, &format!("\"default\";r={remaining};t={left}"));
        let name = HeaderName::from_static("ratelimit-policy");
        reply.set(name, &format!("\"default\";q={limit};w={window}"));
        let limited = reply.status == StatusCode::TOO_MANY_REQUESTS;
        if limited && !reply.headers.contains_key(header::RETRY_AFTER) {
            reply.set(header::RETRY_AFTER, &left.max(1).to_string());
        }
    }

    fn asked(&self, call: &Call) -> Asked {
        let purpose = match (call.method.as_str(), path(call).as_slice()) {
            ("GET", ["zones"] | ["zones", _]) => Purpose::FindZone,
            ("GET", ["zones", _, "dns_records"]) => Purpose::ReadName,
            ("POST", ["zones", _, "dns_records", "batch"]) => Purpose::ChangeName,
            _ => Purpose::Other,
        };
        let records = (purpose == Purpose::ChangeName).then(|| batch::asked(call));
        Asked { records, ..purpose.into() }
    }

    fn environment(&self, access: &Access<'_>) -> Vec<(&'static str, String)> {
        let agent = access.user_agent.map(|name| ("CLOUDFLARE_USER_AGENT", name.to_owned()));
        let always = [
            ("CLOUDFLARE_TOKEN", access.secret.to_owned()),
            ("CLOUDFLARE_API_URL", format!("{}/{}", access.url, PREFIX.join("/"))),
        ];
        always.into_iter().chain(agent).collect()
    }

    fn provider_id(&self, _: MachineId) -> Option<String> {
        None
    }

    fn machine(&self, _: &str) -> Option<MachineId> {
        None
    }
}

impl RateLimit {
    /// Cloudflare's: 1,200 in five minutes.
    #[must_use]
    pub fn cloudflare() -> Self {
        let (limit, window) = (1_200, Duration::from_secs(300));
        Self { limit, window, burst: limit, burst_window: window }
    }
}

/// The path without the prefix.
fn path(call: &Call) -> Vec<&str> {
    call.segments.iter().skip(PREFIX.len()).map(String::as_str).collect()
}

fn route(turn: &mut Turn<'_>, call: &Call, path: &[&str]) -> Answer {
    match (call.method.as_str(), path) {
        ("GET", ["zones"]) => zones::list(turn, call),
        ("GET", ["zones", id]) => zones::get(turn, call, id),
        (_, ["zones", id, "dns_records", rest @ ..]) => {
            let zone = zones::known(turn.truth(), call, id)?.name.clone();
            records::route(turn, call, &zone, rest)
        }
        _ => Err(Refusal::not_emulated(call)),
    }
}

/// The error for a missing, malformed or wrong token.
fn unknown_credential(call: &Call) -> Reply {
    let bad_request = StatusCode::BAD_REQUEST;
    let refusal = match call.header(header::AUTHORIZATION).map(str::trim) {
        None | Some("" | "Bearer") => {
            let words = "Missing X-Auth-Key, X-Auth-Email or Authorization headers";
            Refusal::new(bad_request, 9106, words)
        }
        Some(_) if call.bearer().is_none() => {
            Refusal::new(bad_request, 6003, "Invalid request headers")
                .because(6111, "Invalid format for Authorization header")
        }
        Some(_) => Refusal::new(StatusCode::FORBIDDEN, 9109, "Invalid access token"),
    };
    refusal.reply()
}
