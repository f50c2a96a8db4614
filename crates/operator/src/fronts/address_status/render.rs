//! Verdicts on addresses into statuses.

use std::collections::BTreeMap;

use pontoon_core::Time;
use pontoon_core::addresses::verdict::{AddressVerdict, State, Verdict};
use pontoon_core::model::MachineId;
use pontoon_providers::address_vendors;

use super::types::{DriftStatus, IpState, IpStatus};
use crate::fronts::conditions::micro_time;

/// The status of every address of a verdict. `before` is what is stored.
pub fn of_all(
    provider: &str,
    before: &BTreeMap<String, IpStatus>,
    verdict: &Verdict,
) -> BTreeMap<String, IpStatus> {
    verdict.addresses.iter().filter_map(|one| address(provider, before, one)).collect()
}

/// Adds the time since which each address has its state, and its node.
pub fn since(
    mut ips: BTreeMap<String, IpStatus>,
    before: &BTreeMap<String, IpStatus>,
    now: Time,
) -> BTreeMap<String, IpStatus> {
    for (ip, status) in &mut ips {
        let same = |stored: &&IpStatus| {
            (&stored.state, &stored.node_name) == (&status.state, &status.node_name)
        };
        let stored = before.get(ip).filter(same).and_then(|stored| stored.since.clone());
        status.since = stored.or_else(|| micro_time(now));
    }
    ips
}

/// The status of an address. An unknown address keeps its stored status.
fn address(
    provider: &str,
    before: &BTreeMap<String, IpStatus>,
    one: &AddressVerdict,
) -> Option<(String, IpStatus)> {
    let ip = one.ip.to_string();
    let state = match one.state {
        State::Active => IpState::Active,
        State::InProgress => IpState::InProgress,
        State::Error => IpState::Error,
        State::NoMatch => IpState::NoMatch,
        State::Unassigned => IpState::Unassigned,
        State::Disabled | State::Leaving => IpState::Disabled,
        State::Unknown => {
            let said = before.get(&ip).cloned();
            return said.map(|said| (ip, said));
        }
    };
    // `error` is for errors alone, because the predecessor's consumers alert on it.
    let note = one.note.as_ref().map(ToString::to_string).unwrap_or_default();
    let (error, message) = match state {
        IpState::Error => (note, String::new()),
        _ => (String::new(), note),
    };
    let status = IpStatus {
        state: state.to_string(),
        since: None,
        node_name: one.node.as_ref().map(ToString::to_string).unwrap_or_default(),
        provider_id: provider_id(provider, one),
        error,
        message,
        last_assignment_time: one.memory.assigned_at.and_then(micro_time),
        ineligible_since: one.memory.ineligible_since.and_then(micro_time),
        drift: one.memory.drift.as_ref().map(|drift| DriftStatus {
            times: drift.times,
            last_found_time: micro_time(drift.at),
            from: drift.from.as_ref().map(|id| shown(provider, id)).unwrap_or_default(),
        }),
    };
    Some((ip, status))
}

/// The provider ID of an address's node, or its machine in that form if no node names it: the
/// status is read back after a restart, and must name the machine then too.
pub fn provider_id(provider: &str, one: &AddressVerdict) -> String {
    let named = one.provider_id.as_ref().map(ToString::to_string);
    let machine = || one.machine.as_ref().map(|machine| shown(provider, machine));
    named.or_else(machine).unwrap_or_default()
}

/// A machine in the form of a provider ID.
fn shown(provider: &str, machine: &MachineId) -> String {
    let vendor = address_vendors().find(|(vendor, _)| vendor.name == provider);
    let id = pontoon_providers::MachineId(machine.to_string());
    vendor.map(|(_, machines)| (machines.shown)(&id)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pontoon_core::model::Remembered;

    use super::*;

    #[test]
    fn a_node_is_shown_as_it_names_itself_and_a_machine_without_one_as_the_provider_does() {
        let mut one = AddressVerdict {
            ip: [192, 0, 2, 1].into(),
            state: State::NoMatch,
            node: None,
            machine: Some("7".into()),
            cordoned: false,
            provider_id: None,
            note: None,
            memory: Remembered::default(),
        };
        assert_eq!(provider_id("digitalocean", &one), "digitalocean://7");
        one.provider_id = Some("digitalocean://007".into());
        assert_eq!(provider_id("digitalocean", &one), "digitalocean://007");
        (one.provider_id, one.machine) = (None, None);
        assert_eq!(provider_id("digitalocean", &one), "");
    }
}
