//! ACME's HTTP API. The only file with its actions and answers.

use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderValue, Method, Response, StatusCode};

use crate::access::Access;
use crate::address::{Accepted, Address, MachineId, OperationId, OperationState};
use crate::effect::Effect;
use crate::error::{Error, ErrorKind, Result};
use crate::layers::{Priority, retry_after};
use crate::rest::{Body, Rest, shown, unreadable};
use crate::transport::Transport;

const XML: HeaderValue = HeaderValue::from_static("application/xml");

/// Typed calls, one request each.
#[derive(Debug)]
pub(super) struct Client {
    rest: Rest,
    path: &'static str,
}

impl Client {
    pub fn new(access: Access, path: &'static str, transport: Transport) -> Self {
        Self { rest: Rest::new(access, XML, transport), path }
    }

    pub async fn list(&self) -> Result<Vec<Address>> {
        let answer = self.send("Action=List".into(), Effect::Read, Priority::Housekeeping).await?;
        let list = text(&answer, "List").ok_or_else(|| nonsense("no list"))?;
        let items = list.split("</Address>").filter(|item| !item.is_empty());
        items.map(|item| address(item).ok_or_else(|| nonsense("a list of something"))).collect()
    }

    pub async fn describe(&self, ip: IpAddr, priority: Priority) -> Result<Address> {
        let answer = self.send(format!("Action=Describe&Ip={ip}"), Effect::Read, priority).await?;
        let shown = address(&answer).filter(|address| address.ip == ip);
        shown.ok_or_else(|| nonsense("not the address"))
    }

    pub async fn attach(&self, ip: IpAddr, machine: &MachineId) -> Result<Accepted> {
        self.change(format!("Action=Attach&Ip={ip}&Machine={machine}")).await
    }

    pub async fn detach(&self, ip: IpAddr) -> Result<Accepted> {
        self.change(format!("Action=Detach&Ip={ip}")).await
    }

    pub async fn release(&self, ip: IpAddr) -> Result<Accepted> {
        self.change(format!("Action=Release&Ip={ip}")).await
    }

    /// Reserves an address. The second part tells how far its assignment to the machine is.
    pub async fn reserve(
        &self,
        region: &str,
        six: bool,
        machine: Option<&MachineId>,
        mark: Option<&str>,
    ) -> Result<(Address, Accepted)> {
        let machine = machine.map(ToString::to_string);
        let mut form = format!("Action=Reserve&Region={region}");
        if six {
            form.push_str("&Family=6");
        }
        for (name, value) in [("Machine", machine.as_deref()), ("Mark", mark)] {
            form.extend(value.map(|value| format!("&{name}={value}")));
        }
        let answer = self.send(form, Effect::Change, Priority::Housekeeping).await?;
        let made = address(&answer).filter(|made| made.ip.is_ipv6() == six);
        Ok((made.ok_or_else(|| nonsense("no address"))?, accepted(&answer)))
    }

    pub async fn operation(&self, operation: &OperationId) -> Result<OperationState> {
        let form = format!("Action=Operation&Id={}", operation.0);
        let answer = self.send(form, Effect::Read, Priority::Failover).await?;
        match text(&answer, "State") {
            Some("Running") => Ok(OperationState::Running),
            Some("Done") => Ok(OperationState::Done),
            Some("Failed") => Ok(OperationState::Failed),
            _ => Err(nonsense("no state")),
        }
    }

    async fn change(&self, form: String) -> Result<Accepted> {
        let answer = self.send(form, Effect::Change, Priority::Failover).await?;
        if answer.starts_with("<Done") { Ok(accepted(&answer)) } else { Err(nonsense("not done")) }
    }

    async fn send(&self, form: String, effect: Effect, priority: Priority) -> Result<String> {
        let body = Some(Body::form(form));
        let answer = self.rest.send(Method::POST, self.path, body, effect, priority).await?;
        let body = String::from_utf8_lossy(answer.body()).into_owned();
        if answer.status().is_success() {
            return Ok(body);
        }
        let message = shown(text(&body, "Message").unwrap_or_default(), self.rest.credential());
        Err(Error::new(kind(&answer), message))
    }
}

/// ACME's rate limit answers 503, like an outage.
pub(super) fn is_throttled(answer: &Response<Bytes>) -> bool {
    let unavailable = answer.status() == StatusCode::SERVICE_UNAVAILABLE;
    unavailable && code(answer).as_deref() == Some("Throttling")
}

/// The meaning of a refusal.
pub(super) fn kind(answer: &Response<Bytes>) -> ErrorKind {
    match (answer.status().as_u16(), code(answer).as_deref()) {
        (401, _) => ErrorKind::Unauthorized,
        (403, _) => ErrorKind::Forbidden,
        _ if is_throttled(answer) => ErrorKind::RateLimited { retry_after: retry_after(answer) },
        (500 | 503, _) => ErrorKind::Unavailable,
        (400, Some("NoSuchAddress" | "NoSuchMachine" | "NoSuchOperation")) => ErrorKind::NotFound,
        (400, Some("InProgress")) => ErrorKind::Busy,
        (400, Some("LimitExceeded")) => ErrorKind::QuotaExceeded,
        (400, Some(_)) => ErrorKind::Rejected,
        _ => ErrorKind::NoAnswer,
    }
}

fn code(answer: &Response<Bytes>) -> Option<String> {
    text(&String::from_utf8_lossy(answer.body()), "Code").map(str::to_owned)
}

fn address(xml: &str) -> Option<Address> {
    Some(Address {
        ip: text(xml, "Ip")?.parse().ok()?,
        holder: text(xml, "Machine").map(|machine| MachineId(machine.to_owned())),
        region: text(xml, "Region").map(str::to_owned),
        project: None,
        mark: text(xml, "Mark").map(str::to_owned),
        busy: xml.contains("<InProgress/>"),
    })
}

/// A change is an operation if the answer names one, and is done otherwise.
fn accepted(xml: &str) -> Accepted {
    let operation = text(xml, "Operation").map(|id| OperationId(id.to_owned()));
    operation.map_or(Accepted::Done, Accepted::Pending)
}

/// The text in the first element with this name.
pub(super) fn text<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

pub(super) fn nonsense(what: &str) -> Error {
    unreadable("ACME", what)
}
