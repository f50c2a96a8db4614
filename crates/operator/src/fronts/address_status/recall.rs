//! Stored statuses and lists of addresses into what planning reads.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use pontoon_core::Time;
use pontoon_core::model::{Drift, Finding, MachineId, NodeName, Pool, Remembered};

use super::types::{DriftStatus, IpStatus};
use crate::fronts::observed::finding;

/// The memory of each address. `ours` says whether an acting replica wrote the status.
pub fn memories(ips: &BTreeMap<String, IpStatus>, ours: bool) -> BTreeMap<IpAddr, Remembered> {
    let memory = |status: &IpStatus| Remembered {
        had: ours && !matches!(status.state.as_str(), "" | "error"),
        held: matches!(status.state.as_str(), "active" | "in-progress" | "no-match")
            || !status.node_name.is_empty(),
        machine: seen_on(status),
        free: status.state == "unassigned",
        ineligible_since: status.ineligible_since.as_ref().map(time),
        assigned_at: status.last_assignment_time.as_ref().map(time),
        drift: status.drift.as_ref().and_then(drift),
    };
    let entry = |(ip, status): (&String, &IpStatus)| Some((ip.parse().ok()?, memory(status)));
    ips.iter().filter_map(entry).collect()
}

fn drift(status: &DriftStatus) -> Option<Drift> {
    let at = time(status.last_found_time.as_ref()?);
    Some(Drift { times: status.times, at, from: machine(&status.from) })
}

fn machine(provider_id: &str) -> Option<MachineId> {
    pontoon_providers::machine_of(provider_id).map(|(_, id)| id.0.as_str().into())
}

/// The machine that holds an address according to a status. `None` while the address is in
/// progress, because the address may be elsewhere.
fn seen_on(status: &IpStatus) -> Option<MachineId> {
    let there = matches!(status.state.as_str(), "active" | "no-match" | "disabled");
    machine(&status.provider_id).filter(|_| there)
}

/// A time of a status.
pub fn time(time: &MicroTime) -> Time {
    Time::from_micros(time.0.as_microsecond())
}

/// The node of each address, as far as the status says.
pub fn homes(
    pool: &Pool,
    ips: &BTreeMap<String, IpStatus>,
) -> BTreeMap<IpAddr, (MachineId, NodeName)> {
    let home = |(ip, status): (&String, &IpStatus)| {
        let ip: IpAddr = ip.parse().ok()?;
        let machine = pool.remembered.get(&ip)?.machine.clone()?;
        let node = Some(status.node_name.as_str()).filter(|name| !name.is_empty())?;
        Some((ip, (machine, node.into())))
    };
    ips.iter().filter_map(home).collect()
}

/// The valid addresses of a list, and findings for the invalid entries. A definition less strict
/// than ours may have let those in; the valid addresses are served anyway.
pub fn addresses(field: &str, texts: &[String]) -> (Vec<IpAddr>, Vec<Finding>) {
    let (mut addresses, mut unreadable) = (Vec::with_capacity(texts.len()), Vec::new());
    for text in texts {
        match text.trim().parse::<IpAddr>() {
            Ok(ip) if addresses.contains(&ip) => {}
            Ok(ip) => addresses.push(ip),
            Err(_) => {
                let problem = format!("{field}: \"{text}\" is not an IPv4 or IPv6 address");
                unreadable.push(finding("InvalidAddress", problem));
            }
        }
    }
    (addresses, unreadable)
}

/// The addresses that an undecodable object lists in a field of its spec, or has.
pub fn salvaged(data: &serde_json::Value, field: &str) -> Option<Vec<IpAddr>> {
    let listed = data["spec"][field].as_array().into_iter().flatten().filter_map(|ip| ip.as_str());
    let held = data["status"]["ips"].as_object().into_iter().flatten().map(|(ip, _)| ip.as_str());
    let mut named: Vec<IpAddr> =
        listed.chain(held).filter_map(|ip| ip.trim().parse().ok()).collect();
    named.sort_unstable();
    named.dedup();
    (!named.is_empty()).then_some(named)
}
