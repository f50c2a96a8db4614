//! ACME, a vendor that exists for tests alone: everything is a POST of a form to `/acme`, also
//! reading; answers are XML; requests are signed with a token that expires; an address is detached
//! before it is attached elsewhere; there are no budget headers, and a rate limit answers 503.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use fakehttp::Clock;
use http::{HeaderName, StatusCode, header};
use jiff::Timestamp;

use crate::asked::{Asked, Purpose};
use crate::call::{Call, Reply};
use crate::emulators::{Access, Emulator};
use crate::knobs::Knobs;
use crate::limit::Usage;
use crate::request_context::Turn;
use crate::store::{Address, MachineId, State};

/// The time that a token is valid, and the longest time that a signature may be old, in seconds.
const TOKEN_LASTS: i64 = 3_600;
const SIGNATURE_LASTS: i64 = 300;

/// ACME's entry in the registry.
#[derive(Debug)]
pub(crate) struct Acme;

impl Emulator for Acme {
    fn name(&self) -> &'static str {
        "acme"
    }

    fn owns(&self, call: &Call) -> bool {
        call.segments == ["acme"]
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
        match act(turn, call) {
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
            Some("Attach") => Purpose::Assign,
            Some("Detach") => Purpose::Unassign,
            Some("Reserve") => Purpose::CreateIn,
            Some("Release") => Purpose::Release,
            _ => Purpose::Other,
        };
        let ip = field(call, "Ip").and_then(|ip| ip.parse().ok());
        let machine = field(call, "Machine").as_deref().and_then(number);
        Asked { ip, machine, ..purpose.into() }
    }

    fn environment(&self, access: &Access<'_>) -> Vec<(&'static str, String)> {
        vec![("ACME_KEY", access.secret.to_owned()), ("ACME_API_URL", access.url.to_owned())]
    }

    /// The provider ID names a zone, which the API does not.
    fn provider_id(&self, machine: MachineId) -> Option<String> {
        Some(format!("acme:///zone-1/m-{machine}"))
    }

    fn machine(&self, provider_id: &str) -> Option<MachineId> {
        number(provider_id.strip_prefix("acme:///")?.rsplit('/').next()?)
    }
}

/// Executes an action; the error is its code.
fn act(turn: &mut Turn<'_>, call: &Call) -> Result<String, &'static str> {
    let Asked { purpose, ip, machine, .. } = Acme.asked(call);
    match purpose {
        Purpose::Authenticate => {
            let token = token(&field(call, "Key").unwrap_or_default());
            Ok(format!("<Session><Token>{token}</Token><Seconds>{TOKEN_LASTS}</Seconds></Session>"))
        }
        Purpose::List => {
            let state = turn.seen();
            let all: String = state.addresses().map(|address| show(state, address)).collect();
            Ok(format!("<List>{all}</List>"))
        }
        Purpose::CreateIn => {
            if turn.truth().addresses().count() as u64 >= turn.knobs.address_limit {
                return Err("LimitExceeded");
            }
            let (region, now) = (field(call, "Region").unwrap_or_default(), turn.now);
            let state = turn.change();
            let ip = state.take_fresh(false);
            let made = Address::free(ip, &region, now);
            state.put_address(made.clone());
            Ok(show(state, &made))
        }
        _ => {
            let ip = ip.filter(|ip| turn.truth().address(*ip).is_some()).ok_or("NoSuchAddress")?;
            on_address(turn, purpose, ip, machine)
        }
    }
}

fn on_address(
    turn: &mut Turn<'_>,
    purpose: Purpose,
    ip: IpAddr,
    machine: Option<MachineId>,
) -> Result<String, &'static str> {
    if purpose == Purpose::ReadAddress {
        let state = turn.seen();
        return state.address(ip).map(|address| show(state, address)).ok_or("NoSuchAddress");
    }
    let state = turn.change();
    let target = machine.filter(|id| state.machine(*id).is_some());
    if state.address_busy(ip) || target.is_some_and(|id| state.machine_busy(id)) {
        return Err("InProgress");
    }
    match (purpose, state.holder(ip), target) {
        (Purpose::Assign, _, None) => return Err("NoSuchMachine"),
        (Purpose::Assign, Some(_), Some(_)) => return Err("Attached"),
        (Purpose::Assign, None, Some(id)) if state.family_held_by(id, false).is_some() => {
            return Err("Occupied");
        }
        (Purpose::Assign, None, Some(_)) => state.set_holder(ip, target),
        (Purpose::Unassign, None, _) => return Err("NotAttached"),
        (Purpose::Unassign, Some(_), _) => state.set_holder(ip, None),
        (Purpose::Release, ..) => drop(state.remove_address(ip)),
        _ => return Err("UnknownAction"),
    }
    Ok("<Done/>".to_owned())
}

fn show(state: &State, address: &Address) -> String {
    let Address { ip, region, holder, .. } = address;
    let machine = holder.map(|id| format!("<Machine>m-{id}</Machine>")).unwrap_or_default();
    let busy = if state.address_busy(*ip) { "<InProgress/>" } else { "" };
    format!("<Address><Ip>{ip}</Ip><Region>{region}</Region>{machine}{busy}</Address>")
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
