//! Dispatch to vendors, and the functions of each vendor module.
//!
//! All vendors share a router, because their paths begin differently. A new vendor is a folder, a
//! variant, and the match arms that the compiler then asks for.

use http::StatusCode;

use crate::call::{Call, Reply};
use crate::clock::Clock;
use crate::knobs::Knobs;
use crate::limit::{RateLimit, Usage};
use crate::turn::Turn;
use crate::{cloudflare, digitalocean};

/// An emulated vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Vendor {
    /// `/client/v4/...`
    Cloudflare,
    /// `/v2/...`
    DigitalOcean,
}

impl Vendor {
    /// The vendor of a path.
    pub(crate) fn of(call: &Call) -> Option<Self> {
        let mut segments = call.segments.iter().map(String::as_str);
        match (segments.next(), segments.next()) {
            (Some("client"), Some("v4")) => Some(Self::Cloudflare),
            (Some("v2"), _) => Some(Self::DigitalOcean),
            _ => None,
        }
    }

    /// Whether the call may change the state.
    pub(crate) fn mutates(self, call: &Call) -> bool {
        match self {
            Self::Cloudflare | Self::DigitalOcean => !call.method.is_safe(),
        }
    }

    /// The credential of the call, if valid. Budgets are kept per credential.
    pub(crate) fn credential<'a>(self, call: &'a Call, knobs: &Knobs) -> Option<&'a str> {
        match self {
            Self::Cloudflare | Self::DigitalOcean => call.bearer().filter(|token| {
                !knobs.token_expired && knobs.token.as_ref().is_none_or(|good| good == token)
            }),
        }
    }

    /// The answer to a call with a missing or invalid credential.
    pub(crate) fn unknown_credential(self, call: &Call, request_id: &str) -> Reply {
        match self {
            Self::Cloudflare => cloudflare::unknown_credential(call),
            Self::DigitalOcean => digitalocean::error(StatusCode::UNAUTHORIZED, None, request_id),
        }
    }

    /// Executes the call.
    pub(crate) fn answer(self, turn: &mut Turn<'_>, call: &Call) -> Reply {
        match self {
            Self::Cloudflare => cloudflare::answer(turn, call),
            Self::DigitalOcean => digitalocean::answer(turn, call),
        }
    }

    /// An error in the vendor's format.
    pub(crate) fn error(
        self,
        status: StatusCode,
        message: Option<&str>,
        request_id: &str,
    ) -> Reply {
        match self {
            Self::Cloudflare => cloudflare::error(status, message),
            Self::DigitalOcean => digitalocean::error(status, message, request_id),
        }
    }

    /// The default budget of a token.
    pub(crate) fn usual_rate(self) -> RateLimit {
        match self {
            Self::Cloudflare => RateLimit::cloudflare(),
            Self::DigitalOcean => RateLimit::default(),
        }
    }

    /// Adds the vendor's budget headers.
    pub(crate) fn show_budget(self, usage: &Usage, clock: &Clock, reply: &mut Reply) {
        match self {
            Self::Cloudflare => cloudflare::show_budget(usage, clock, reply),
            Self::DigitalOcean => digitalocean::show_budget(usage, clock, reply),
        }
    }
}
