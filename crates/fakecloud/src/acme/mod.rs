//! ACME, a vendor that exists for tests alone: everything is a POST of a form to `/acme`, also
//! reading; answers are XML; requests are signed with a token that expires; an address is detached
//! before it is attached elsewhere; there are no budget headers, and a rate limit answers 503.
//!
//! Under further names, each with a path of its own, ACME has the abilities of a vendor without an
//! emulator. Refusals beyond these abilities are ACME's own: a busy address, machine or holder of an
//! address, a held address that is to be released.

mod act;
#[allow(dead_code)] // Vendors with an emulator of their own have rows too.
#[path = "../../../providers/src/acme/profiles.rs"]
mod profiles;

use std::hash::{DefaultHasher, Hash, Hasher};

use fakehttp::Clock;
use http::{HeaderName, StatusCode, header};
use jiff::Timestamp;

use crate::asked::{Asked, Purpose};
use crate::call::{Call, Reply};
use crate::emulators::{Access, Emulator};
use crate::knobs::Knobs;
use crate::limit::Usage;
use crate::request_context::Turn;
use crate::store::MachineId;
use profiles::{ACME, AWS, AZURE, HETZNER, Profile};

/// The time that a token is valid, and the longest time that a signature may be old, in seconds.
const TOKEN_LASTS: i64 = 3_600;
const SIGNATURE_LASTS: i64 = 300;

/// ACME under one of its names, which is also the path of its calls.
#[derive(Debug)]
pub(crate) struct Acme {
    name: &'static str,
    profile: &'static Profile,
    variables: [&'static str; 2],
}

/// ACME's entries in the registry.
pub(crate) static NAMES: &[&dyn Emulator] = &[
    &Acme { name: "acme", profile: &ACME, variables: ["ACME_KEY", "ACME_API_URL"] },
    &Acme { name: "acme-aws", profile: &AWS, variables: ["ACME_AWS_KEY", "ACME_AWS_API_URL"] },
    &Acme {
        name: "acme-azure",
        profile: &AZURE,
        variables: ["ACME_AZURE_KEY", "ACME_AZURE_API_URL"],
    },
    &Acme {
        name: "acme-hetzner",
        profile: &HETZNER,
        variables: ["ACME_HETZNER_KEY", "ACME_HETZNER_API_URL"],
    },
];

impl Emulator for Acme {
    fn name(&self) -> &'static str {
        self.name
    }

    fn owns(&self, call: &Call) -> bool {
        call.segments == [self.name]
    }

    fn changes(&self, call: &Call) -> bool {
        self.asked(call).purpose.changes()
    }

    fn credential(&self, call: &Call, knobs: &Knobs, wall: Timestamp) -> Option<String> {
        let secret = knobs.token.clone().filter(|_| !knobs.token_expired)?;
        if field(call, "Action")? == "Session" {
            return (field(call, "Key")? == secret).then_some(secret);
        }
        let date = call.header(HeaderName::from_static("x-acme-date"))?;
        let fresh = (wall.as_second() - date.parse::<i64>().ok()?).abs() <= SIGNATURE_LASTS;
        let signed = (token(&secret), call.method.as_str(), &*call.path, date, &call.body[..]);
        let given = call.header(HeaderName::from_static("x-acme-signature"))?;
        (fresh && given == hash(&signed)).then_some(secret)
    }

    fn unknown_credential(&self, _: &Call, request_id: &str) -> Reply {
        self.error(StatusCode::UNAUTHORIZED, None, request_id)
    }

    fn answer(&self, turn: &mut Turn<'_>, call: &Call) -> Reply {
        match act::act(turn, call, self.profile, &self.asked(call)) {
            Ok(body) => xml(StatusCode::OK, body),
            Err(code) => refusal(StatusCode::BAD_REQUEST, code, code),
        }
    }

    fn error(&self, status: StatusCode, message: Option<&str>, _: &str) -> Reply {
        let (status, code) = match status {
            StatusCode::TOO_MANY_REQUESTS => (StatusCode::SERVICE_UNAVAILABLE, "Throttling"),
            StatusCode::UNAUTHORIZED => (status, "BadSignature"),
            StatusCode::FORBIDDEN => (status, "Denied"),
            _ => (status, "Failed"),
        };
        refusal(status, code, message.unwrap_or(code))
    }

    fn show_budget(&self, _: &Usage, _: &Clock, _: &mut Reply) {}

    fn asked(&self, call: &Call) -> Asked {
        let purpose = match field(call, "Action").as_deref() {
            Some("Session") => Purpose::Authenticate,
            Some("List") => Purpose::List,
            Some("Describe") => Purpose::ReadAddress,
            Some("Operation") => Purpose::ReadOperation,
            Some("Attach") => Purpose::Assign,
            Some("Detach") => Purpose::Unassign,
            Some("Reserve") if field(call, "Family").is_some() => Purpose::CreateSix,
            Some("Reserve") if field(call, "Machine").is_some() => Purpose::CreateOn,
            Some("Reserve") => Purpose::CreateIn,
            Some("Release") => Purpose::Release,
            _ => Purpose::Other,
        };
        let ip = field(call, "Ip").and_then(|ip| ip.parse().ok());
        let machine = field(call, "Machine").as_deref().and_then(number);
        Asked { ip, machine, ..purpose.into() }
    }

    fn environment(&self, access: &Access<'_>) -> Vec<(&'static str, String)> {
        let [key, url] = self.variables;
        vec![(key, access.secret.to_owned()), (url, access.url.to_owned())]
    }

    /// The provider ID names a zone, which the API does not.
    fn provider_id(&self, machine: MachineId) -> Option<String> {
        Some(format!("{}:///zone-1/m-{machine}", self.name))
    }

    fn machine(&self, provider_id: &str) -> Option<MachineId> {
        let place = provider_id.strip_prefix(self.name)?.strip_prefix(":///")?;
        number(place.rsplit('/').next()?)
    }
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Reply {
    xml(status, format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>"))
}

fn xml(status: StatusCode, body: String) -> Reply {
    let mut reply = Reply::empty(status);
    reply.set(header::CONTENT_TYPE, "application/xml");
    reply.body = body.into();
    reply
}

/// A field of the form.
fn field(call: &Call, name: &str) -> Option<String> {
    let mut fields = form_urlencoded::parse(&call.body);
    fields.find(|(one, _)| one == name).map(|(_, value)| value.into_owned())
}

fn number(machine: &str) -> Option<MachineId> {
    machine.strip_prefix("m-")?.parse().ok()
}

/// The token of an account, derived from its secret.
fn token(secret: &str) -> String {
    format!("session-{}", hash(&secret))
}

/// The signature of `signed`. Nobody is to be kept out, so that any hash will do.
fn hash(signed: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    signed.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
