//! Coverage: how often each fault met each action, and the required pairs.

use std::collections::BTreeMap;
use std::fmt;

use crate::active_faults::STALE;
use crate::clusters::{ClusterEvent, VipPoolEvent};
use crate::faults::{ApiFault, CloudFault};
use crate::oracle::Stuck;
use crate::schedule::{CloudState, Phase};
use crate::vendor::{AT_GOOGLE, Vendor};
use crate::wire::{ApiAction, CloudAction};

/// The names of a fault and an action.
pub type Pair = (&'static str, &'static str);

/// The number of occurrences of each pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    counts: BTreeMap<Pair, u64>,
}

impl Coverage {
    /// Counts a pair.
    pub fn count(&mut self, fault: &'static str, action: &'static str) {
        *self.counts.entry((fault, action)).or_default() += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (pair, count) in &other.counts {
            *self.counts.entry(*pair).or_default() += count;
        }
    }

    /// Required pairs without an occurrence.
    pub fn missing(&self) -> Vec<Pair> {
        possible().into_iter().filter(|pair| !self.counts.contains_key(pair)).collect()
    }
}

/// The name of a pause during a call, in the coverage table.
pub const PAUSED: &str = "paused meanwhile";

/// The name of a cut link, in the coverage table.
pub const CUT_OFF: &str = "cut off";

/// The first half of a pair about a user's change to a Cluster or VIP pool.
pub const CHANGED: &str = "changed by its user";

/// All pairs possible with pools and DNS at DigitalOcean, DNS at Cloudflare, and VIPs.
pub fn possible() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for action in CloudAction::ALL {
        let faults = CloudFault::ALL.into_iter().filter(|fault| fault.befalls(action));
        pairs.extend(faults.map(|fault| (fault.name(), action.name())));
        let states = [
            CloudState::Lagging(0),
            CloudState::Throttled,
            CloudState::TokenExpired,
            CloudState::Full,
            CloudState::Blind,
        ];
        let states = states.into_iter().filter(|state| state.concerns(action));
        pairs.extend(states.map(|state| (state.name(), action.name())));
        pairs.extend(process_faults().map(|name| (name, action.name())));
    }
    pairs.push(("refused as busy or impossible", CloudAction::Assign.name()));
    pairs.push(("refused as busy or impossible", CloudAction::Unassign.name()));
    pairs.push(("refused as busy or impossible", CloudAction::CreateOn.name()));
    pairs.push((Stuck::REFUSED, CloudAction::Assign.name()));
    pairs.push((Stuck::REFUSES, CloudAction::Assign.name()));
    let scoped = [
        CloudAction::CreateOn,
        CloudAction::Release,
        CloudAction::AddRecord,
        CloudAction::ChangeName,
    ];
    pairs.extend(scoped.map(|action| (Stuck::WITHOUT_SCOPE, action.name())));
    pairs.extend(of_api(ApiAction::all()));
    pairs.extend(of_vips());
    pairs.extend(ClusterEvent::ALL.map(|event| (CHANGED, event.name())));
    pairs.extend(VipPoolEvent::ALL.map(|event| (CHANGED, event.name())));
    pairs.extend(at_google());
    pairs.retain(|pair| !EXCLUDED.iter().any(|(excluded, _)| excluded == pair));
    pairs
}

/// The pairs required with VIPs. Pairs with the deletion of a claim, and with a link that is cut, are
/// counted and not required: no seed provokes them for certain.
fn of_vips() -> Vec<Pair> {
    let mut pairs = of_api(ApiAction::of_vips().filter(|one| *one != ApiAction::DeleteClaim));
    pairs.retain(|(fault, _)| *fault != CUT_OFF);
    pairs
}

/// All pairs possible with calls to the API server.
fn of_api(actions: impl Iterator<Item = ApiAction>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for action in actions {
        let faults = ApiFault::ALL.into_iter().filter(|fault| fault.befalls(action));
        pairs.extend(faults.map(|fault| (fault.name(), action.name())));
        pairs.extend(process_faults().map(|name| (name, action.name())));
        if action.watches() || matches!(action, ApiAction::List(_)) {
            pairs.push((STALE, action.name()));
        }
    }
    pairs
}

/// All pairs possible with pools at Google Cloud. The calls that only allocations and notes need meet
/// a part of the faults in CI's seeds, and are not required to meet any.
fn at_google() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for action in AT_GOOGLE {
        let name = Vendor::Google.called(action);
        let faults = CloudFault::ALL.into_iter().filter(|fault| fault.befalls(action));
        pairs.extend(faults.map(|fault| (fault.name(), name)));
        pairs.extend(process_faults().map(|fault| (fault, name)));
    }
    let name = |action| Vendor::Google.called(action);
    pairs.push((CloudState::Blind.name(), name(CloudAction::SeeMachines)));
    pairs.push((CloudState::Full.name(), name(CloudAction::CreateIn)));
    pairs.push((Stuck::REFUSED, name(CloudAction::Assign)));
    pairs.push((Stuck::REFUSES, name(CloudAction::DropOwn)));
    pairs
}

fn process_faults() -> impl Iterator<Item = &'static str> {
    Phase::ALL.into_iter().map(Phase::name).chain([PAUSED, CUT_OFF])
}

/// The reason of pairs that no seed is about.
const RARE: &str = "not met: by chance alone, and rare";

/// The reason why a replica that is cut off from Google Cloud changes nothing there.
const READ_BEFORE: &str = "the address or the machine is read before, and that fails then";

/// Pairs that are impossible, or not reached by CI's seeds, with reasons.
const EXCLUDED: &[(Pair, &str)] = &[
    ((CUT_OFF, "make the lease"), "the Lease is read before it is made, and that fails then"),
    ((CUT_OFF, "list IPv6 addresses"), "IPv4 ones are listed before, and that fails then"),
    (
        ("throttled", "read operation"),
        "not met: operations are read only where listings leave them open",
    ),
    (
        ("killed before the send", "list pods"),
        "not met: pods are listed only while a pool asks for them",
    ),
    (
        ("killed after the answer", "watch pods"),
        "not met: pods are watched only while a pool asks for them",
    ),
    (("throttled", "reserve in a region"), RARE),
    (("token expired", "reserve on a machine"), RARE),
    (("throttled", "reserve on a machine"), RARE),
    ((CUT_OFF, "reserve in a region"), RARE),
    ((CUT_OFF, "give back"), RARE),
    (("504 after the effect", "delete a record"), RARE),
    ((CUT_OFF, "add a record"), RARE),
    ((CUT_OFF, "write a ledger"), RARE),
    ((CUT_OFF, "gcp: add an access config with an address"), READ_BEFORE),
    ((CUT_OFF, "gcp: delete an access config with an address"), READ_BEFORE),
    ((CUT_OFF, "gcp: delete an ephemeral access config"), READ_BEFORE),
    ((CUT_OFF, "gcp: add an ephemeral access config"), READ_BEFORE),
    ((CUT_OFF, "gcp: delete address"), READ_BEFORE),
    (
        (CUT_OFF, "gcp: insert address"),
        "the address of the last attempt is looked for before, and that fails then",
    ),
];

impl fmt::Display for Coverage {
    /// A table with a line per fault: the actions met, with counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut faults: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
        for ((fault, action), count) in &self.counts {
            faults.entry(fault).or_default().push((action, *count));
        }
        writeln!(f, "| fault | met, and how often |\n|---|---|")?;
        for (fault, actions) in faults {
            let actions: Vec<_> =
                actions.iter().map(|(action, count)| format!("{action} {count}")).collect();
            writeln!(f, "| {fault} | {} |", actions.join(", "))?;
        }
        for ((fault, action), reason) in EXCLUDED {
            writeln!(f, "| {fault} × {action} | left out: {reason} |")?;
        }
        Ok(())
    }
}
