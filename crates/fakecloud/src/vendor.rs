//! Which vendor a path belongs to, and what each vendor module must be able to do.
//!
//! All vendors live in one router: their paths begin differently. A new vendor is a folder, a variant, and the arms
//! that the compiler then asks for.

use http::StatusCode;

use crate::call::{Call, Reply};
use crate::clock::Clock;
use crate::knobs::Knobs;
use crate::limit::{RateLimit, Usage};
use crate::turn::Turn;
use crate::{cloudflare, digitalocean};

/// A vendor that is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Vendor {
    /// `/client/v4/...`
    Cloudflare,
    /// `/v2/...`
    DigitalOcean,
}

impl Vendor {
    /// Whose path it is.
    pub(crate) fn of(call: &Call) -> Option<Self> {
        let mut segments = call.segments.iter().map(String::as_str);
        match (segments.next(), segments.next()) {
            (Some("client"), Some("v4")) => Some(Self::Cloudflare),
            (Some("v2"), _) => Some(Self::DigitalOcean),
            _ => None,
        }
    }

    /// Whether the call means to change something.
    pub(crate) fn mutates(self, call: &Call) -> bool {
        match self {
            Self::Cloudflare | Self::DigitalOcean => !call.method.is_safe(),
        }
    }

    /// The credential of the call if it is good; budgets are kept per credential.
    pub(crate) fn credential<'a>(self, call: &'a Call, knobs: &Knobs) -> Option<&'a str> {
        match self {
            Self::Cloudflare | Self::DigitalOcean => call.bearer().filter(|token| {
                !knobs.token_expired && knobs.token.as_ref().is_none_or(|good| good == token)
            }),
        }
    }

    /// The answer to a call whose credential is missing or not good.
    pub(crate) fn unknown_credential(self, call: &Call, request_id: &str) -> Reply {
        match self {
            Self::Cloudflare => cloudflare::unknown_credential(call),
            Self::DigitalOcean => digitalocean::error(StatusCode::UNAUTHORIZED, None, request_id),
        }
    }

    /// Carries out the call.
    pub(crate) fn answer(self, turn: &mut Turn<'_>, call: &Call) -> Reply {
        match self {
            Self::Cloudflare => cloudflare::answer(turn, call),
            Self::DigitalOcean => digitalocean::answer(turn, call),
        }
    }

    /// An error as this vendor words it.
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

    /// The budget that a token has unless a knob says otherwise.
    pub(crate) fn usual_rate(self) -> RateLimit {
        match self {
            Self::Cloudflare => RateLimit::cloudflare(),
            Self::DigitalOcean => RateLimit::default(),
        }
    }

    /// The budget as this vendor shows it in headers.
    pub(crate) fn show_budget(self, usage: &Usage, clock: &Clock, reply: &mut Reply) {
        match self {
            Self::Cloudflare => cloudflare::show_budget(usage, clock, reply),
            Self::DigitalOcean => digitalocean::show_budget(usage, clock, reply),
        }
    }
}
