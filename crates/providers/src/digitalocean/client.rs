//! DigitalOcean's HTTP API: the only file with URLs, and the shapes of its answers.

use std::net::IpAddr;

use bytes::Bytes;
use http::{Method, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::config::Config;
use super::error::{VENDOR, refusal, unreadable};
use crate::address::{Address, Family, MachineId};
use crate::error::{Error, ErrorKind, Result};
use crate::layers::Priority;
use crate::rest::{self, Rest};
use crate::transport::Transport;

/// The most that the vendor gives in one page.
const PER_PAGE: usize = 200;

/// Typed calls; each is one request (see [`Client::address`] for the one exception).
#[derive(Debug)]
pub(super) struct Client {
    rest: Rest,
    /// The project that addresses created by region go into.
    project: Option<String>,
    /// The token is known to be allowed to see droplets.
    sees_droplets: OnceCell<()>,
}

/// One page of a listing.
pub(super) struct Page {
    pub addresses: Vec<Address>,
    pub more: bool,
}

/// An action as the vendor reports it.
#[derive(Deserialize)]
pub(super) struct Action {
    pub id: u64,
    pub status: String,
}

/// A new address, and the action that places it.
pub(super) struct Reserved {
    pub ip: IpAddr,
    pub holder: Option<MachineId>,
    pub action: Option<u64>,
}

impl Client {
    pub fn new(config: Config, transport: Transport) -> Self {
        let Config { access, project } = config;
        Self { rest: Rest::new(access, transport), project, sees_droplets: OnceCell::new() }
    }

    pub async fn page(&self, family: Family, page: usize, priority: Priority) -> Result<Page> {
        let path = format!("{}?page={page}&per_page={PER_PAGE}", collection(family));
        let answer = self.send(Method::GET, &path, None, priority).await?;
        let listing: Listing = parse(&answer)?;
        let found = match family {
            Family::V4 => listing.reserved_ips,
            Family::V6 => listing.reserved_ipv6s,
        };
        let mut addresses = Vec::new();
        for ip in found.ok_or_else(|| unreadable("a listing without its list"))? {
            addresses.push(self.address(ip, priority).await?);
        }
        let next = listing.links.and_then(|links| links.pages).and_then(|pages| pages.next);
        Ok(Page { addresses, more: next.is_some_and(|next| !next.is_empty()) })
    }

    /// One address; an error of the kind `NotFound` if the account does not have it.
    pub async fn read(&self, ip: IpAddr, priority: Priority) -> Result<Address> {
        let answer = self.send(Method::GET, &member(ip), None, priority).await?;
        let object = single(&answer)?.into_object()?;
        if object.ip != ip {
            return Err(unreadable("it is about another address"));
        }
        self.address(object, priority).await
    }

    pub async fn assign(&self, ip: IpAddr, droplet: u64) -> Result<Action> {
        self.act(ip, json!({ "type": "assign", "droplet_id": droplet })).await
    }

    pub async fn unassign(&self, ip: IpAddr) -> Result<Action> {
        self.act(ip, json!({ "type": "unassign" })).await
    }

    async fn act(&self, ip: IpAddr, action: Value) -> Result<Action> {
        let path = format!("{}/actions", member(ip));
        let answer = self.send(Method::POST, &path, Some(action), Priority::Failover).await?;
        Ok(parse::<Acted>(&answer)?.action)
    }

    /// Reserves an IPv4 address on a droplet.
    pub async fn reserve_on(&self, droplet: u64) -> Result<Reserved> {
        self.reserve(Family::V4, json!({ "droplet_id": droplet })).await
    }

    /// The project that addresses created by region go into.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Reserves an address in a region, on no droplet. IPv6 has no projects.
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
        // An address more can wait; one that serves nobody cannot.
        let answer = self.send(Method::POST, path, Some(request), Priority::Housekeeping).await?;
        let mut single = single(&answer)?;
        let actions = single.links.take().and_then(|links| links.actions).unwrap_or_default();
        let object = single.into_object()?;
        Ok(Reserved {
            ip: object.ip,
            holder: object.droplet.flatten().map(Droplet::machine),
            action: actions.first().map(|action| action.id),
        })
    }

    pub async fn release(&self, ip: IpAddr) -> Result<()> {
        self.send(Method::DELETE, &member(ip), None, Priority::Housekeeping).await.map(drop)
    }

    /// An action on `ip`. IPv6 addresses have no list of actions of their own.
    pub async fn action(&self, ip: IpAddr, id: u64) -> Result<Action> {
        let path = match ip {
            IpAddr::V4(_) => format!("{}/actions/{id}", member(ip)),
            IpAddr::V6(_) => format!("/v2/actions/{id}"),
        };
        let answer = self.send(Method::GET, &path, None, Priority::Housekeeping).await?;
        Ok(parse::<Acted>(&answer)?.action)
    }

    /// The address that `object` describes.
    ///
    /// A token that may not read droplets gets objects without the key `droplet`: such an
    /// address looks free and is not. Free IPv4 addresses say `"droplet": null`, so that
    /// the missing key is proof. Free IPv6 addresses have no such key either; with the first
    /// of them the vendor is asked, once, whether this token sees droplets.
    async fn address(&self, object: Object, priority: Priority) -> Result<Address> {
        if object.droplet.is_none() {
            if object.ip.is_ipv4() {
                return Err(blind());
            }
            self.sees_droplets.get_or_try_init(|| self.try_droplets(priority)).await?;
        }
        Ok(Address {
            ip: object.ip,
            holder: object.droplet.flatten().map(Droplet::machine),
            region: object.region.map(|region| region.slug).or(object.region_slug),
            project: object.project_id.filter(|id| !id.is_empty()),
            busy: object.locked.unwrap_or(false),
        })
    }

    async fn try_droplets(&self, priority: Priority) -> Result<()> {
        match self.send(Method::GET, "/v2/droplets?per_page=1", None, priority).await {
            Ok(_) => Ok(()),
            Err(error) if error.kind == ErrorKind::Forbidden => Err(blind()),
            Err(error) => Err(error),
        }
    }

    /// Sends one request; an answer without success is an error.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        priority: Priority,
    ) -> Result<Response<Bytes>> {
        let answer = self.rest.send(method, path, body.as_ref(), priority).await?;
        if answer.status().is_success() {
            Ok(answer)
        } else {
            Err(refusal(&answer, self.rest.token()))
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

fn blind() -> Error {
    let words = "the access token lacks the scope droplet:read, without which it is not shown \
                 which droplet has an address";
    Error::new(ErrorKind::Forbidden, words)
}

fn parse<T: DeserializeOwned>(answer: &Response<Bytes>) -> Result<T> {
    rest::parse(VENDOR, answer)
}

/// The answer about one address: in an envelope, or bare as IPv6 addresses came at first.
fn single(answer: &Response<Bytes>) -> Result<Single> {
    let single: Single = parse(answer)?;
    if single.reserved_ip.is_some() || single.reserved_ipv6.is_some() {
        return Ok(single);
    }
    Ok(Single { reserved_ip: Some(parse(answer)?), ..single })
}

#[derive(Deserialize)]
struct Listing {
    reserved_ips: Option<Vec<Object>>,
    reserved_ipv6s: Option<Vec<Object>>,
    links: Option<Links>,
}

#[derive(Deserialize)]
struct Single {
    reserved_ip: Option<Object>,
    reserved_ipv6: Option<Object>,
    links: Option<Links>,
}

impl Single {
    fn into_object(self) -> Result<Object> {
        self.reserved_ip.or(self.reserved_ipv6).ok_or_else(|| unreadable("no address in it"))
    }
}

#[derive(Deserialize)]
struct Links {
    pages: Option<Pages>,
    actions: Option<Vec<ActionLink>>,
}

#[derive(Deserialize)]
struct Pages {
    next: Option<String>,
}

#[derive(Deserialize)]
struct ActionLink {
    id: u64,
}

#[derive(Deserialize)]
struct Acted {
    action: Action,
}

/// A reserved address of either family.
#[derive(Deserialize)]
struct Object {
    ip: IpAddr,
    /// `None`: not said. `Some(None)`: free.
    #[serde(default, deserialize_with = "said")]
    droplet: Option<Option<Droplet>>,
    region: Option<Region>,
    region_slug: Option<String>,
    locked: Option<bool>,
    project_id: Option<String>,
}

#[derive(Deserialize)]
struct Droplet {
    id: u64,
}

impl Droplet {
    fn machine(self) -> MachineId {
        MachineId(self.id.to_string())
    }
}

#[derive(Deserialize)]
struct Region {
    slug: String,
}

fn said<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<Droplet>>, D::Error> {
    Option::deserialize(value).map(Some)
}
