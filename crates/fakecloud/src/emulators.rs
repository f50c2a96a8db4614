//! The registry of emulated vendors, and what each registers: its calls and answers, its limits,
//! the variables of an operator that is to reach it, and the meaning of its calls.
//!
//! A new vendor is a folder and a line in [`EMULATORS`]. All vendors share a router, because their
//! paths begin differently.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use fakehttp::Clock;
use http::{Request, StatusCode};
use jiff::Timestamp;

use crate::asked::Asked;
use crate::call::{Call, Reply};
use crate::knobs::Knobs;
use crate::limit::{RateLimit, Usage};
use crate::request_context::Turn;
use crate::store::{Machine, MachineId, State};

/// All emulated vendors, each with its names: most have one.
static EMULATORS: &[&[&dyn Emulator]] = &[
    &[&crate::digitalocean::DigitalOcean],
    &[&crate::cloudflare::Cloudflare],
    &[&crate::gcp::Gcp],
    #[cfg(feature = "acme")]
    crate::acme::NAMES,
];

fn all() -> impl Iterator<Item = &'static dyn Emulator> {
    EMULATORS.iter().copied().flatten().copied()
}

fn of_name(vendor: &str) -> Option<&'static dyn Emulator> {
    all().find(|emulator| emulator.name() == vendor)
}

/// An emulated vendor.
pub(crate) trait Emulator: Sync + fmt::Debug {
    /// The name in `spec.provider`.
    fn name(&self) -> &'static str;

    /// Whether the call is one of the vendor's.
    fn owns(&self, call: &Call) -> bool;

    /// Whether the call may change the state.
    fn changes(&self, call: &Call) -> bool;

    /// The credential of the call, if valid. Budgets are kept per credential.
    fn credential(&self, call: &Call, knobs: &Knobs, wall: Timestamp) -> Option<String>;

    /// The answer to a call with a missing or invalid credential.
    fn unknown_credential(&self, call: &Call, request_id: &str) -> Reply;

    /// Executes the call.
    fn answer(&self, turn: &mut Turn<'_>, call: &Call) -> Reply;

    /// An error in the vendor's format.
    fn error(&self, status: StatusCode, message: Option<&str>, request_id: &str) -> Reply;

    /// The default budget of a credential.
    fn usual_rate(&self) -> RateLimit {
        RateLimit::default()
    }

    /// Adds the vendor's budget headers. Some vendors have none.
    fn show_budget(&self, usage: &Usage, clock: &Clock, reply: &mut Reply);

    /// The purpose and subject of a call.
    fn asked(&self, call: &Call) -> Asked;

    /// The same with what the state tells, at vendors whose calls tell too little.
    fn asked_in(&self, call: &Call, _: &State) -> Asked {
        self.asked(call)
    }

    /// The variables of an operator that is to reach the emulator.
    fn environment(&self, access: &Access<'_>) -> Vec<(&'static str, String)>;

    /// The `spec.providerID` of the node on a machine, if the vendor has machines.
    fn provider_id(&self, machine: MachineId) -> Option<String>;

    /// The same with what is known of the machine, at vendors whose provider IDs name the place.
    fn provider_id_of(&self, machine: &Machine) -> Option<String> {
        self.provider_id(machine.id)
    }

    /// The machine of a node with this `spec.providerID`, if it is one of the vendor's.
    fn machine(&self, provider_id: &str) -> Option<MachineId>;

    /// The place that a `spec.providerID` names, at vendors whose provider IDs do.
    fn site(&self, _provider_id: &str) -> Option<String> {
        None
    }

    /// Places for machines: in the named zones, or else in the region, or else where the vendor's
    /// machines usually are. Empty for a vendor without machines.
    fn places(&self, _region: Option<&str>, _zones: &[String]) -> Vec<Place> {
        Vec::new()
    }

    /// The external address that the node of a machine shows, at vendors where a reserved address
    /// takes the place of the machine's own.
    fn external(&self, _state: &State, _machine: MachineId) -> Option<IpAddr> {
        None
    }
}

/// A place for machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The region of a machine there, or its zone at vendors with zones: see
    /// [`FakeCloud::machine`](crate::FakeCloud::machine).
    pub site: String,
    /// The region of the addresses that a machine there can hold.
    pub region: String,
    /// The labels of a node there.
    pub labels: BTreeMap<String, String>,
}

/// The vendor of a call.
pub(crate) fn of(call: &Call) -> Option<&'static dyn Emulator> {
    all().find(|emulator| emulator.owns(call))
}

/// A cloud as an operator is to reach it.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The URL of the cloud, without a path.
    pub url: &'a str,
    /// The secret of the credential.
    pub secret: &'a str,
    /// The project for new addresses, at vendors with projects.
    pub project: Option<&'a str>,
    /// The name by which the operator is to introduce itself, if not by its own.
    pub user_agent: Option<&'a str>,
}

/// The variables of an operator that is to reach every emulated vendor.
#[must_use]
pub fn environment(access: &Access<'_>) -> Vec<(&'static str, String)> {
    all().flat_map(|emulator| emulator.environment(access)).collect()
}

/// The `spec.providerID` of the node on a vendor's machine. Empty for a vendor without machines.
#[must_use]
pub fn provider_id(vendor: &str, machine: MachineId) -> String {
    of_name(vendor).and_then(|emulator| emulator.provider_id(machine)).unwrap_or_default()
}

/// The same with what the cloud knows of the machine.
pub(crate) fn provider_id_in(vendor: &str, state: &State, machine: MachineId) -> String {
    let known = state.machine(machine);
    of_name(vendor)
        .zip(known)
        .and_then(|(one, known)| one.provider_id_of(known))
        .unwrap_or_default()
}

/// The machine of a node with this `spec.providerID`.
#[must_use]
pub fn machine_of(provider_id: &str) -> Option<MachineId> {
    all().find_map(|emulator| emulator.machine(provider_id))
}

/// The place of the machine of a node with this `spec.providerID`, if the provider ID names it.
#[must_use]
pub fn site_of(provider_id: &str) -> Option<String> {
    all().find_map(|emulator| emulator.site(provider_id))
}

/// Places for a vendor's machines: in the named zones, or else in the region, or else where they
/// usually are. Empty for a vendor without machines.
#[must_use]
pub fn places(vendor: &str, region: Option<&str>, zones: &[String]) -> Vec<Place> {
    of_name(vendor).map(|emulator| emulator.places(region, zones)).unwrap_or_default()
}

/// The external address that the node with this `spec.providerID` shows, at vendors where a reserved
/// address takes the place of the machine's own.
pub(crate) fn external_in(provider_id: &str, state: &State) -> Option<IpAddr> {
    all().find_map(|emulator| emulator.external(state, emulator.machine(provider_id)?))
}

/// The purpose and subject of a request to an emulated vendor.
#[must_use]
pub fn asked(request: &Request<Bytes>) -> Asked {
    let call = copy(request);
    of(&call).map_or_else(Asked::default, |emulator| emulator.asked(&call))
}

/// The same with what the state tells.
pub(crate) fn asked_in(request: &Request<Bytes>, state: &State) -> Asked {
    let call = copy(request);
    of(&call).map_or_else(Asked::default, |emulator| emulator.asked_in(&call, state))
}

fn copy(request: &Request<Bytes>) -> Call {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let mut copy = Request::new(request.body().clone());
    (*copy.method_mut(), *copy.uri_mut()) = (method, uri);
    Call::new(copy)
}
