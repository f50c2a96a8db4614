//! Names: of machines in provider IDs and links, of regions and of operations.

use crate::address::{MachineId, OperationId};
use crate::error::{Error, ErrorKind, Result};

const SCHEME: &str = "gce://";

/// Where a machine is: `<project>/<zone>/<instance>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub project: String,
    pub zone: String,
    pub instance: String,
}

impl Place {
    /// # Errors
    /// The machine is not one of Google Cloud: `Rejected`.
    pub fn of(machine: &MachineId) -> Result<Self> {
        let parts: Vec<_> = machine.0.split('/').collect();
        let [project, zone, instance] = parts[..] else { return Err(stranger(machine)) };
        Self::from_parts(project, zone, instance).ok_or_else(|| stranger(machine))
    }

    fn from_parts(project: &str, zone: &str, instance: &str) -> Option<Self> {
        let fits = is_project(project) && is_name(zone) && is_name(instance);
        let [project, zone, instance] = [project, zone, instance].map(str::to_owned);
        fits.then_some(Self { project, zone, instance })
    }

    /// The machine that a link names: `.../projects/p/zones/z/instances/i`.
    fn in_link(link: &str) -> Option<Self> {
        let (_, path) = link.split_once("projects/")?;
        let parts: Vec<_> = path.split('/').collect();
        let [project, "zones", zone, "instances", instance] = parts[..] else { return None };
        Self::from_parts(project, zone, instance)
    }

    pub fn machine(&self) -> MachineId {
        MachineId(format!("{}/{}/{}", self.project, self.zone, self.instance))
    }

    /// The region of the zone: `us-central1` of `us-central1-a`.
    pub fn region(&self) -> &str {
        self.zone.rsplit_once('-').map_or(&self.zone, |(region, _)| region)
    }
}

/// The machine named by `gce://<project>/<zone>/<instance>`.
pub(super) fn named(provider_id: &str) -> Option<MachineId> {
    let machine = MachineId(provider_id.strip_prefix(SCHEME)?.to_owned());
    Place::of(&machine).ok().map(|place| place.machine())
}

/// The instance with a node's name. `None` for a zone of another provider.
pub(super) fn by_name(project: &str, zone: &str, node: &str) -> Option<MachineId> {
    Place::from_parts(project, zone, node).filter(|_| is_zone(zone)).map(|place| place.machine())
}

/// The provider ID says what the API says.
pub(super) fn shown(machine: &MachineId) -> String {
    format!("{SCHEME}{machine}")
}

/// The user of an address as a machine. A user of another sort (a forwarding rule, a router) is
/// named by its path: no node has such a name, and the address is not free.
pub(super) fn user(link: &str) -> MachineId {
    match Place::in_link(link) {
        Some(place) => place.machine(),
        None => MachineId(link.split_once("projects/").map_or(link, |(_, path)| path).to_owned()),
    }
}

/// Where an operation runs: `projects/<p>/zones/<z>` or `projects/<p>/regions/<r>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope(String);

impl Scope {
    pub fn zone(place: &Place) -> Self {
        Self(format!("projects/{}/zones/{}", place.project, place.zone))
    }

    pub fn region(project: &str, region: &str) -> Self {
        Self(format!("projects/{project}/regions/{region}"))
    }

    /// An operation here. `None` for a name that no operation has.
    pub fn operation(&self, name: &str) -> Option<OperationId> {
        is_name(name).then(|| OperationId(format!("{}/operations/{name}", self.0)))
    }
}

/// Whether an identifier is one of [`Scope::operation`].
pub(super) fn is_operation(id: &OperationId) -> bool {
    let parts: Vec<_> = id.0.split('/').collect();
    let ["projects", project, "zones" | "regions", here, "operations", name] = parts[..] else {
        return false;
    };
    is_project(project) && is_name(here) && is_name(name)
}

/// The last part of a link: the region's name of its URL.
pub(super) fn last(link: &str) -> &str {
    link.rsplit('/').next().unwrap_or(link)
}

/// A project's ID, with its domain if it has one: `example.com:project`.
pub(super) fn is_project(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.:".contains(&b);
    !text.is_empty() && text.bytes().all(allowed) && text.bytes().any(|b| b.is_ascii_alphanumeric())
}

/// A name of a zone, region, instance, address or operation.
pub(super) fn is_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}

/// Whether a zone has the form of Google's, `us-central1-a`. Other providers write `us-east-1a`,
/// `westeurope-1` or `nyc3`.
fn is_zone(text: &str) -> bool {
    let letters = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase());
    let Some((region, zone)) = text.rsplit_once('-') else { return false };
    let Some((continent, place)) = region.split_once('-') else { return false };
    let name = place.trim_end_matches(|c: char| c.is_ascii_digit());
    letters(continent) && letters(name) && name.len() < place.len() && is_name(zone)
}

fn stranger(machine: &MachineId) -> Error {
    Error::new(ErrorKind::Rejected, format!("{machine} is not an instance of Google Cloud"))
}
