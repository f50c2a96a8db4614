//! The purpose of each call.

use std::net::IpAddr;

use serde_json::Value;

use super::filter::{self, Filter};
use super::{links, place};
use crate::asked::{Asked, Purpose};
use crate::call::Call;
use crate::store::State;

/// What a call asks for, as far as the call alone tells. A deleted access config counts as
/// unassigned: the call does not tell whether its address is reserved.
pub(super) fn asked(call: &Call) -> Asked {
    let (_, path) = place(call);
    match (call.method.as_str(), path.as_slice()) {
        ("GET", ["aggregated", "addresses"] | ["regions", _, "addresses"]) => listing(call),
        ("POST", ["regions", _, "addresses"]) => Purpose::CreateIn.into(),
        ("GET", ["regions", _, "addresses", name]) => about(Purpose::ReadAddress, name),
        ("DELETE", ["regions", _, "addresses", name]) => about(Purpose::Release, name),
        ("GET", _) if path.contains(&"operations") => Purpose::ReadOperation.into(),
        ("POST", [_, _, "operations", _, "wait"]) => Purpose::ReadOperation.into(),
        ("GET", _) => Purpose::SeeMachines.into(),
        ("POST", ["zones", _, "instances", name, "addAccessConfig"]) => {
            let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
            let ip = body["natIP"].as_str().and_then(|ip| ip.parse().ok());
            let purpose = if ip.is_some() { Purpose::Assign } else { Purpose::RestoreOwn };
            Asked { ip, machine: links::number(name), ..purpose.into() }
        }
        ("POST", ["zones", _, "instances", _, "deleteAccessConfig"]) => Purpose::Unassign.into(),
        _ => Purpose::Other.into(),
    }
}

/// The same, with what the state tells of machines and their addresses.
pub(super) fn asked_in(call: &Call, state: &State) -> Asked {
    let told = asked(call);
    let (_, path) = place(call);
    if let ["regions", _, "addresses", name] = path.as_slice() {
        let named = state.addresses().find(|address| links::address_name(address) == *name);
        return Asked { ip: named.map(|address| address.ip).or(told.ip), ..told };
    }
    let ["zones", _, "instances", name, change] = path.as_slice() else { return told };
    let number = links::number(name);
    let named = || state.machines().find(|machine| machine.name == *name).map(|m| m.id);
    let machine = number.filter(|id| state.machine(*id).is_some()).or_else(named);
    if *change != "deleteAccessConfig" {
        return Asked { machine, ..told };
    }
    let nic = call.parameter("networkInterface").and_then(|nic| nic.strip_prefix("nic"));
    let interface = nic.and_then(|number| number.parse().ok()).unwrap_or_default();
    let held = machine.and_then(|machine| state.held_on(machine, interface));
    match held {
        Some(address) => Asked { ip: Some(address.ip), ..told },
        None => Asked { machine, ..Purpose::DropOwn.into() },
    }
}

/// A listing for a single address reads that address.
fn listing(call: &Call) -> Asked {
    let filter = filter::parse(call.parameter("filter").unwrap_or_default());
    let wanted = |field: &str| filter.as_ref().and_then(|filter: &Filter| filter.value(field));
    let ip: Option<IpAddr> = wanted("address").and_then(|ip| ip.parse().ok());
    match (ip, wanted("name")) {
        (Some(ip), _) => Asked { ip: Some(ip), ..Purpose::ReadAddress.into() },
        (None, Some(name)) => about(Purpose::ReadAddress, name),
        (None, None) => Purpose::List.into(),
    }
}

fn about(purpose: Purpose, name: &str) -> Asked {
    Asked { ip: links::ip_of_name(name), ..purpose.into() }
}
