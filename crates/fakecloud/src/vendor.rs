//! Which vendor a path belongs to, and what each vendor module must be able to do.
//!
//! All vendors live in one router: their paths begin differently. A new vendor is a folder, a variant, and the arms
//! that the compiler then asks for.

use http::StatusCode;

use crate::call::{Call, Reply};
use crate::clock::Clock;
use crate::digitalocean;
use crate::knobs::Knobs;
use crate::limit::Usage;
use crate::turn::Turn;

/// A vendor that is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    /// `/v2/...`
    DigitalOcean,
}

impl Vendor {
    /// Whose path it is.
    pub(crate) fn of(call: &Call) -> Option<Self> {
        match call.segments.first().map(String::as_str) {
            Some("v2") => Some(Self::DigitalOcean),
            _ => None,
        }
    }

    /// Whether the call means to change something.
    pub(crate) fn mutates(self, call: &Call) -> bool {
        match self {
            Self::DigitalOcean => !call.method.is_safe(),
        }
    }

    /// The credential of the call if it is good; budgets are kept per credential.
    pub(crate) fn credential<'a>(self, call: &'a Call, knobs: &Knobs) -> Option<&'a str> {
        match self {
            Self::DigitalOcean => call.bearer().filter(|token| {
                !knobs.token_expired && knobs.token.as_ref().is_none_or(|good| good == token)
            }),
        }
    }

    /// Carries out the call.
    pub(crate) fn answer(self, turn: &mut Turn<'_>, call: &Call) -> Reply {
        match self {
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
            Self::DigitalOcean => digitalocean::error(status, message, request_id),
        }
    }

    /// The budget as this vendor shows it in headers.
    pub(crate) fn show_budget(self, usage: &Usage, clock: &Clock, reply: &mut Reply) {
        match self {
            Self::DigitalOcean => digitalocean::show_budget(usage, clock, reply),
        }
    }
}
