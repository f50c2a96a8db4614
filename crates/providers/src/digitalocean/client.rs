//! DigitalOcean's HTTP API. The only file with URLs.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{Method, Response};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::config::Config;
use super::error::{refusal, unreadable};
use super::wire::{
    Acted, Action, Droplet, Listing, Object, RecordListing, has_next, parse, relative, single,
    single_record,
};
use crate::address::{Address, Family, MachineId};
use crate::effect::Effect;
use crate::error::{Error, ErrorKind, Result};
use crate::layers::Priority;
use crate::record::{Record, RecordKind, RecordName, WantedRecord};
use crate::rest::{Body, JSON, Rest};
use crate::transport::Transport;

/// The largest page DigitalOcean allows.
const PER_PAGE: usize = 200;

/// Typed calls, one request each ([`Client::address`] is the exception).
#[derive(Debug)]
pub(super) struct Client {
    rest: Rest,
    /// The project for addresses reserved by region.
    project: Option<String>,
    /// Set once the token is known to have `droplet:read`.
    sees_droplets: OnceCell<()>,
    /// IPv6 addresses that were on a droplet when last read.
    held: Mutex<BTreeSet<IpAddr>>,
}

/// A page of an address listing.
pub(super) struct Page {
    pub addresses: Vec<Address>,
    pub more: bool,
}

/// A page of a record listing, keyed by number. `None` stands for a record outside the set,
/// returned in spite of the filter.
pub(super) struct RecordPage {
    pub records: Vec<(u64, Option<Record>)>,
    pub more: bool,
}

/// A new address, and the action assigning it.
pub(super) struct Reserved {
    pub ip: IpAddr,
    pub holder: Option<MachineId>,
    pub action: Option<u64>,
}

impl Client {
    pub fn new(config: Config, transport: Transport) -> Self {
        let Config { access, project } = config;
        let rest = Rest::new(access, JSON, transport);
        Self { rest, project, sees_droplets: OnceCell::new(), held: Mutex::default() }
    }

    pub async fn page(&self, family: Family, page: usize, priority: Priority) -> Result<Page> {
        let path = format!("{}?page={page}&per_page={PER_PAGE}", collection(family));
        let answer = self.get(&path, priority).await?;
        let listing: Listing = parse(&answer)?;
        let found = match family {
            Family::V4 => listing.reserved_ips,
            Family::V6 => listing.reserved_ipv6s,
        };
        let mut addresses = Vec::new();
        for object in found.ok_or_else(|| unreadable("a listing without its list"))? {
            addresses.push(self.address(object.of(family)?, priority).await?);
        }
        Ok(Page { addresses, more: has_next(listing.links) })
    }

    /// Reads a single address. `NotFound` if the account does not have the address.
    pub async fn read(&self, ip: IpAddr, priority: Priority) -> Result<Address> {
        let object = self.object(ip, priority).await?;
        self.address(object, priority).await
    }

    async fn object(&self, ip: IpAddr, priority: Priority) -> Result<Object> {
        let answer = self.get(&member(ip), priority).await?;
        let object = single(&answer)?.into_object()?;
        match object.ip == ip {
            true => Ok(object),
            false => Err(unreadable("it is about another address")),
        }
    }

    pub async fn assign(&self, ip: IpAddr, droplet: u64) -> Result<Action> {
        self.act(ip, json!({ "type": "assign", "droplet_id": droplet })).await
    }

    pub async fn unassign(&self, ip: IpAddr) -> Result<Action> {
        self.act(ip, json!({ "type": "unassign" })).await
    }

    async fn act(&self, ip: IpAddr, action: Value) -> Result<Action> {
        let path = format!("{}/actions", member(ip));
        let answer = self.change(Method::POST, &path, Some(action), Priority::Failover).await?;
        Ok(parse::<Acted>(&answer)?.action)
    }

    /// Reserves an IPv4 address on a droplet.
    pub async fn reserve_on(&self, droplet: u64) -> Result<Reserved> {
        self.reserve(Family::V4, json!({ "droplet_id": droplet })).await
    }

    /// The project for addresses reserved by region.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Reserves a free address in a region. IPv6 has no projects.
    pub async fn reserve_in(&self, family: Family, region: &str) -> Result<Reserved> {
        let request = match (family, &self.project) {
            (Family::V4, Some(project)) => json!({ "region": region, "project_id": project }),
            (Family::V4, None) => json!({ "region": region }),
            (Family::V6, _) => json!({ "region_slug": region }),
        };
        self.reserve(family, request).await
    }

    async fn reserve(&self, family: Family, request: Value) -> Result<Reserved> {
        let path = collection(family);
        // Housekeeping: a new address can wait, while a failover cannot.
        let answer = self.change(Method::POST, path, Some(request), Priority::Housekeeping).await?;
        let mut single = single(&answer)?;
        let actions = single.links.take().and_then(|links| links.actions).unwrap_or_default();
        let object = single.into_object()?.of(family)?;
        Ok(Reserved {
            ip: object.ip,
            holder: object.droplet.flatten().map(Droplet::machine),
            action: actions.first().map(|action| action.id),
        })
    }

    pub async fn release(&self, ip: IpAddr) -> Result<()> {
        let answer = self.change(Method::DELETE, &member(ip), None, Priority::Housekeeping).await?;
        if answer.body().is_empty() { Ok(()) } else { Err(unreadable("a body after a release")) }
    }

    /// An action on `ip`. IPv6 addresses have no action list of their own.
    pub async fn action(&self, ip: IpAddr, id: u64) -> Result<Action> {
        let path = match ip {
            IpAddr::V4(_) => format!("{}/actions/{id}", member(ip)),
            IpAddr::V6(_) => format!("/v2/actions/{id}"),
        };
        let answer = self.get(&path, Priority::Following).await?;
        let action = parse::<Acted>(&answer)?.action;
        if action.id == id { Ok(action) } else { Err(unreadable("it is about another action")) }
    }

    /// A page of the records of `kind` at `name`. The filter expects the full name.
    pub async fn record_page(
        &self,
        name: &RecordName,
        kind: RecordKind,
        page: usize,
        priority: Priority,
    ) -> Result<RecordPage> {
        let full = &name.name;
        let query = format!("name={full}&type={kind}&page={page}&per_page={PER_PAGE}");
        let path = format!("{}?{query}", records(name));
        let answer = self.get(&path, priority).await?;
        let listing: RecordListing = parse(&answer)?;
        let found =
            listing.domain_records.ok_or_else(|| unreadable("a listing without its list"))?;
        let records = found.into_iter().map(|object| object.of_set(name, kind));
        Ok(RecordPage { records: records.collect::<Result<_>>()?, more: has_next(listing.links) })
    }

    pub async fn create_record(
        &self,
        name: &RecordName,
        kind: RecordKind,
        wanted: &WantedRecord,
    ) -> Result<Record> {
        let WantedRecord { value, ttl, mark: _ } = wanted;
        let body = json!({
            "type": kind.to_string(), "name": relative(name), "data": value, "ttl": ttl,
        });
        let path = records(name);
        let answer = self.change(Method::POST, &path, Some(body), Priority::Following).await?;
        single_record(&answer, name, kind)
    }

    pub async fn update_record(
        &self,
        name: &RecordName,
        kind: RecordKind,
        id: u64,
        wanted: &WantedRecord,
    ) -> Result<Record> {
        let WantedRecord { value, ttl, mark: _ } = wanted;
        let body = json!({ "type": kind.to_string(), "data": value, "ttl": ttl });
        let path = format!("{}/{id}", records(name));
        let answer = self.change(Method::PATCH, &path, Some(body), Priority::Following).await?;
        single_record(&answer, name, kind)
    }

    pub async fn delete_record(&self, name: &RecordName, id: u64) -> Result<()> {
        let path = format!("{}/{id}", records(name));
        let answer = self.change(Method::DELETE, &path, None, Priority::Following).await?;
        if answer.body().is_empty() { Ok(()) } else { Err(unreadable("a body after a deletion")) }
    }

    /// Converts `object` to an address.
    ///
    /// A token without `droplet:read` gets objects without the key `droplet`, and every address
    /// would look free. A free IPv4 address has `"droplet": null`, so a missing key proves the
    /// missing scope. A free IPv6 address has no such key either: see
    /// [`without_droplet`](Self::without_droplet).
    async fn address(&self, mut object: Object, priority: Priority) -> Result<Address> {
        if object.droplet.is_none() {
            if object.ip.is_ipv4() {
                return Err(blind());
            }
            object = self.without_droplet(object, priority).await?;
        }
        if object.ip.is_ipv6() {
            self.note_held(object.ip, matches!(object.droplet, Some(Some(_))));
        }
        Ok(Address {
            ip: object.ip,
            holder: object.droplet.flatten().map(Droplet::machine),
            region: object.region.map(|region| region.slug).or(object.region_slug),
            project: object.project_id.filter(|id| !id.is_empty()),
            mark: None,
            busy: object.locked.unwrap_or(false),
        })
    }

    /// An IPv6 address without the key `droplet`. The first one triggers a request to check whether the
    /// token can read droplets. A token may lose that right later, so an address that was on a droplet
    /// before triggers the request again, and is read after it.
    async fn without_droplet(&self, object: Object, priority: Priority) -> Result<Object> {
        if !self.was_held(object.ip) {
            self.sees_droplets.get_or_try_init(|| self.try_droplets(priority)).await?;
            return Ok(object);
        }
        self.try_droplets(priority).await?;
        match self.object(object.ip, priority).await {
            Err(error) if error.kind == ErrorKind::NotFound => Ok(object),
            again => again,
        }
    }

    fn was_held(&self, ip: IpAddr) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).contains(&ip)
    }

    fn note_held(&self, ip: IpAddr, held: bool) {
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held {
            all.insert(ip)
        } else {
            all.remove(&ip)
        };
    }

    async fn try_droplets(&self, priority: Priority) -> Result<()> {
        match self.get("/v2/droplets?per_page=1", priority).await {
            Ok(_) => Ok(()),
            Err(error) if error.kind == ErrorKind::Forbidden => Err(blind()),
            // `NotFound` here would be mistaken for a missing address.
            Err(error) if error.kind == ErrorKind::NotFound => {
                Err(unreadable("it does not say whether this token sees droplets"))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads. An answer without success is an error.
    async fn get(&self, path: &str, priority: Priority) -> Result<Response<Bytes>> {
        let sent = self.rest.send(Method::GET, path, None, Effect::Read, priority);
        self.succeeded(sent.await?)
    }

    /// Sends one change. An answer without success is an error.
    async fn change(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        priority: Priority,
    ) -> Result<Response<Bytes>> {
        let body = body.as_ref().map(Body::json);
        let sent = self.rest.send(method, path, body, Effect::Change, priority);
        self.succeeded(sent.await?)
    }

    fn succeeded(&self, answer: Response<Bytes>) -> Result<Response<Bytes>> {
        match answer.status().is_success() {
            true => Ok(answer),
            false => Err(refusal(&answer, self.rest.credential())),
        }
    }
}

fn collection(family: Family) -> &'static str {
    match family {
        Family::V4 => "/v2/reserved_ips",
        Family::V6 => "/v2/reserved_ipv6",
    }
}

fn member(ip: IpAddr) -> String {
    let family = if ip.is_ipv4() { Family::V4 } else { Family::V6 };
    format!("{}/{ip}", collection(family))
}

fn records(name: &RecordName) -> String {
    format!("/v2/domains/{}/records", name.zone)
}

fn blind() -> Error {
    let words = "the access token lacks the scope droplet:read, without which it is not shown \
                 which droplet has an address";
    Error::new(ErrorKind::Forbidden, words)
}
