//! Google's HTTP API for computing. The only file with URLs.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use http::{Method, Response};
use serde_json::{Value, json};

use super::config::Config;
use super::error::{exists_already, failure, refusal, unreadable};
use super::place::{Place, Scope};
use super::wire::{AddressObject, AddressPage, Fact, Found, Instance, MARK, Operation, parse};
use crate::address::OperationId;
use crate::effect::Effect;
use crate::error::{Error, Result};
use crate::layers::Priority;
use crate::rest::{Body, JSON, Rest};
use crate::transport::Transport;
use crate::vendor::Clock;

const API: &str = "/compute/v1/";

/// The largest page Google allows.
const PER_PAGE: usize = 500;

/// Typed calls, one request each.
#[derive(Debug)]
pub(super) struct Client {
    rest: Rest,
    clock: Clock,
    /// The number of changes sent, so that no two have one identifier.
    changes: AtomicU64,
}

/// A page of an address listing, and the token of the next one.
pub(super) struct Page {
    pub found: Vec<Found>,
    pub next: Option<String>,
}

/// The answer to a new address.
pub(super) enum Inserted {
    Started(Started),
    /// There is an address with this name already.
    Exists,
}

/// A change that Google has taken.
pub(super) struct Started {
    pub id: OperationId,
    pub progress: Progress,
}

/// How far an operation is.
#[derive(Debug)]
pub(super) enum Progress {
    Running,
    Done,
    /// Ended without an effect.
    Failed(Error),
}

/// An access config to add. Without an address, Google chooses an ephemeral one.
#[derive(Clone, Debug)]
pub(super) struct NewConfig {
    pub nic: String,
    pub name: String,
    pub ip: Option<IpAddr>,
    pub tier: Option<String>,
}

impl Client {
    pub fn new(config: Config, transport: Transport) -> Self {
        let clock = config.access.clock.clone();
        let rest = Rest::new(config.access, JSON, transport);
        Self { rest, clock, changes: AtomicU64::default() }
    }

    /// A page of the addresses of a project in all regions, or of those with an IP.
    pub async fn page(
        &self,
        project: &str,
        only: Option<IpAddr>,
        token: Option<&str>,
        priority: Priority,
    ) -> Result<Page> {
        let mut path = format!("projects/{project}/aggregated/addresses?maxResults={PER_PAGE}");
        if let Some(ip) = only {
            path += &format!("&filter={}", encoded(&format!("address=\"{ip}\"")));
        }
        if let Some(token) = token {
            path += &format!("&pageToken={}", encoded(token));
        }
        let page: AddressPage = parse(&self.get(&path, priority).await?)?;
        let next = page.next_page_token.clone().filter(|token| !token.is_empty());
        Ok(Page { found: page.into_found(project)?, next })
    }

    /// An address by its name. `None` while it has no IP.
    pub async fn address(
        &self,
        project: &str,
        region: &str,
        name: &str,
        priority: Priority,
    ) -> Result<Option<Found>> {
        let path = format!("projects/{project}/regions/{region}/addresses/{name}");
        let found = parse::<AddressObject>(&self.get(&path, priority).await?)?;
        let found = found.into_found(project)?;
        match &found {
            Some(other) if other.fact.name != name => {
                Err(unreadable("it is about another address"))
            }
            _ => Ok(found),
        }
    }

    pub async fn insert(&self, project: &str, region: &str, name: &str) -> Result<Inserted> {
        let path = format!("projects/{project}/regions/{region}/addresses");
        let body = json!({ "name": name, "addressType": "EXTERNAL", "networkTier": "PREMIUM" });
        // Housekeeping: a new address can wait, while a failover cannot.
        let sent = self.send_change(Method::POST, &path, Some(&body), Priority::Housekeeping);
        let answer = sent.await?;
        if exists_already(&answer) {
            return Ok(Inserted::Exists);
        }
        self.started(&answer, &Scope::region(project, region)).map(Inserted::Started)
    }

    /// A name for an address without a mark.
    pub fn unused_name(&self, region: &str) -> String {
        format!("{MARK}{}", self.request_id(region, None))
    }

    pub async fn delete(&self, fact: &Fact) -> Result<Started> {
        let Fact { project, region, name, .. } = fact;
        let path = format!("projects/{project}/regions/{region}/addresses/{name}");
        let sent = self.send_change(Method::DELETE, &path, None, Priority::Housekeeping);
        self.started(&sent.await?, &Scope::region(project, region))
    }

    pub async fn instance(&self, place: &Place, priority: Priority) -> Result<Instance> {
        let instance: Instance = parse(&self.get(&instance_path(place), priority).await?)?;
        match instance.name == place.instance {
            true => Ok(instance),
            false => Err(unreadable("it is about another instance")),
        }
    }

    pub async fn add(
        &self,
        place: &Place,
        config: &NewConfig,
        priority: Priority,
    ) -> Result<Started> {
        let NewConfig { nic, name, ip, tier } = config;
        let nic = encoded(nic);
        let path = format!("{}/addAccessConfig?networkInterface={nic}", instance_path(place));
        let mut body = json!({ "name": name, "type": "ONE_TO_ONE_NAT" });
        if let Some(ip) = ip {
            body["natIP"] = json!(ip);
        }
        if let Some(tier) = tier {
            body["networkTier"] = json!(tier);
        }
        let sent = self.send_change(Method::POST, &path, Some(&body), priority);
        self.started(&sent.await?, &Scope::zone(place))
    }

    pub async fn remove(&self, place: &Place, nic: &str, name: &str) -> Result<Started> {
        let (nic, name) = (encoded(nic), encoded(name));
        let query = format!("networkInterface={nic}&accessConfig={name}");
        let path = format!("{}/deleteAccessConfig?{query}", instance_path(place));
        let sent = self.send_change(Method::POST, &path, None, Priority::Failover);
        self.started(&sent.await?, &Scope::zone(place))
    }

    pub async fn operation(&self, id: &OperationId, priority: Priority) -> Result<Progress> {
        let operation: Operation = parse(&self.get(&id.0, priority).await?)?;
        match id.0.ends_with(&format!("/{}", operation.name)) {
            true => self.progress(operation),
            false => Err(unreadable("it is about another operation")),
        }
    }

    /// Reads. An answer without success is an error.
    async fn get(&self, path: &str, priority: Priority) -> Result<Response<Bytes>> {
        let path = format!("{API}{path}");
        let sent = self.rest.send(Method::GET, &path, None, Effect::Read, priority);
        self.succeeded(sent.await?)
    }

    /// Sends one change, with an identifier by which Google knows a request that it has seen.
    async fn send_change(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        priority: Priority,
    ) -> Result<Response<Bytes>> {
        let id = self.request_id(path, body);
        let mark = if path.contains('?') { '&' } else { '?' };
        let path = format!("{API}{path}{mark}requestId={id}");
        let body = body.map(Body::json);
        self.rest.send(method, &path, body, Effect::Change, priority).await
    }

    fn started(&self, answer: &Response<Bytes>, scope: &Scope) -> Result<Started> {
        if !answer.status().is_success() {
            return Err(refusal(answer, self.rest.credential()));
        }
        let operation: Operation = parse(answer)?;
        let id = scope.operation(&operation.name);
        let id = id.ok_or_else(|| unreadable("an operation without a name"))?;
        Ok(Started { id, progress: self.progress(operation)? })
    }

    fn progress(&self, operation: Operation) -> Result<Progress> {
        match (operation.status.as_str(), operation.error) {
            ("DONE", Some(error)) => {
                Ok(Progress::Failed(failure(&error.errors, self.rest.credential())))
            }
            ("DONE", None) => Ok(Progress::Done),
            ("PENDING" | "RUNNING", _) => Ok(Progress::Running),
            _ => Err(unreadable("an operation in no known state")),
        }
    }

    fn succeeded(&self, answer: Response<Bytes>) -> Result<Response<Bytes>> {
        match answer.status().is_success() {
            true => Ok(answer),
            false => Err(refusal(&answer, self.rest.credential())),
        }
    }

    /// A UUID of the request, of the time and of the number of changes before: no two requests have
    /// the same, and a simulation that runs again has the same again.
    fn request_id(&self, path: &str, body: Option<&Value>) -> String {
        let number = self.changes.fetch_add(1, Ordering::SeqCst);
        let now = self.clock.now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let body = body.map(ToString::to_string);
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, number, now, path, &body).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        let bits = half(0) << 64 | half(1);
        // Version 4 and the usual variant, which other readers of a UUID expect.
        let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
        let text = format!("{bits:032x}");
        [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
    }
}

fn instance_path(place: &Place) -> String {
    let Place { project, zone, instance } = place;
    format!("projects/{project}/zones/{zone}/instances/{instance}")
}

/// A value of a query.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                encoded.push(char::from(byte));
            }
            // Writing to a string never fails.
            byte => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}
