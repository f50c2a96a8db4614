//! FLIPOP's series of pools.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pontoon_core::addresses::verdict::{AddressVerdict, Note, State, Verdict};
use prometheus::{GaugeVec, IntCounterVec, Opts, Registry};

use crate::fronts::address_status::{IpState, provider_id};
use crate::report::metrics::registered;
use crate::report::object_series::{Counting, ObjectSeries, Series, SeriesLabels, texts};

const POOL: &[&str] = &["namespace", "name", "provider", "dns"];
const IP: &[&str] = &["namespace", "name", "ip", "provider", "dns"];
/// Index of the address in [`IP`].
const IP_LABEL: usize = 2;
const PLACE: &[&str] = &["provider_id", "node"];
const ASSIGNMENTS: &str = "ip_assignments";
const ASSIGNMENT_ERRORS: &str = "ip_assignment_errors";

/// The series of pools.
#[derive(Debug)]
pub(super) struct PoolSeries {
    node_status: GaugeVec,
    ip_node: GaugeVec,
    ip_state: GaugeVec,
    unfulfilled_ips: GaugeVec,
    ip_assignments: IntCounterVec,
    ip_assignment_errors: IntCounterVec,
}

impl PoolSeries {
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let opts = |name: &str, help: &str| {
            Opts::new(format!("flipop_floatingippoolcontroller_{name}"), help)
        };
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            registered(registry, GaugeVec::new(opts(name, help), labels)?)
        };
        let counter = |name: &str, help: &str| {
            registered(registry, IntCounterVec::new(opts(name, help), IP)?)
        };
        Ok(Self {
            node_status: gauge("node_status", "Nodes by status.", &with(POOL, &["status"]))?,
            ip_node: gauge("ip_node", "The node that an IP is on.", &with(IP, PLACE))?,
            ip_state: gauge("ip_state", "The state of an IP.", &with(IP, &["state"]))?,
            unfulfilled_ips: gauge("unfulfilled_ips", "IPs wanted and not acquired yet.", POOL)?,
            ip_assignments: counter(ASSIGNMENTS, "Assignments that worked.")?,
            ip_assignment_errors: counter(ASSIGNMENT_ERRORS, "Assignments that failed.")?,
        })
    }

    /// Starts the counters of each address at zero, and removes counters of addresses that left.
    fn begin_counting(
        &self,
        labels: SeriesLabels<'_>,
        verdict: &Verdict,
        object: &mut ObjectSeries,
    ) {
        let managed = verdict.addresses.iter().filter(|one| is_managed(one));
        let managed: BTreeSet<_> = managed.map(|one| one.ip.to_string()).collect();
        for (name, family) in
            [(ASSIGNMENTS, &self.ip_assignments), (ASSIGNMENT_ERRORS, &self.ip_assignment_errors)]
        {
            object.keep(name, |labels| labels.get(IP_LABEL).is_some_and(|ip| managed.contains(ip)));
            for ip in &managed {
                let labels = of_ip(labels, ip);
                family.with_label_values(&texts(&labels));
                object.count(name, labels, Counting::Counter(family.clone()));
            }
        }
    }
}

impl Series for PoolSeries {
    fn addresses(&self, labels: SeriesLabels<'_>, verdict: &Verdict, object: &mut ObjectSeries) {
        let pool = of_pool(labels);
        let mut gauges =
            vec![(self.unfulfilled_ips.clone(), pool.clone(), lacking(verdict) as f64)];
        for (status, count) in
            [("available", verdict.available_count), ("assigned", assigned(verdict))]
        {
            gauges.push((self.node_status.clone(), join(&pool, &[status]), count as f64));
        }
        for one in &verdict.addresses {
            let ip = of_ip(labels, &one.ip.to_string());
            if let Some(state) = state(one.state) {
                gauges.push((self.ip_state.clone(), join(&ip, &[state.as_str()]), 1.0));
            }
            if one.machine.is_some() && is_managed(one) {
                let provider_id = provider_id(labels.provider, one);
                let place = [provider_id.as_str(), active_node(one)];
                gauges.push((self.ip_node.clone(), join(&ip, &place), 1.0));
            }
        }
        object.set(gauges);
        self.begin_counting(labels, verdict, object);
    }

    fn assigned(
        &self,
        labels: SeriesLabels<'_>,
        ip: IpAddr,
        worked: bool,
        object: &mut ObjectSeries,
    ) {
        let (name, family) = match worked {
            true => (ASSIGNMENTS, &self.ip_assignments),
            false => (ASSIGNMENT_ERRORS, &self.ip_assignment_errors),
        };
        let labels = of_ip(labels, &ip.to_string());
        family.with_label_values(&texts(&labels)).inc();
        object.count(name, labels, Counting::Counter(family.clone()));
    }
}

fn of_pool(labels: SeriesLabels<'_>) -> Vec<String> {
    let SeriesLabels { key, provider, dns } = labels;
    vec![key.namespace.to_string(), key.name.to_string(), provider.to_owned(), dns.to_owned()]
}

fn of_ip(labels: SeriesLabels<'_>, ip: &str) -> Vec<String> {
    let mut labels = of_pool(labels);
    labels.insert(IP_LABEL, ip.to_owned());
    labels
}

fn state(state: State) -> Option<IpState> {
    match state {
        State::Active => Some(IpState::Active),
        State::InProgress => Some(IpState::InProgress),
        State::Error => Some(IpState::Error),
        State::NoMatch => Some(IpState::NoMatch),
        State::Unassigned => Some(IpState::Unassigned),
        State::Disabled | State::Leaving => Some(IpState::Disabled),
        State::Unknown => None,
    }
}

/// Number of addresses on a machine or in progress, whether the node matches or not.
fn assigned(verdict: &Verdict) -> usize {
    verdict.addresses.iter().filter(|one| is_managed(one) && one.machine.is_some()).count()
}

/// Whether the predecessor would manage the address. For unused or unlisted addresses the
/// predecessor shows at most the state.
fn is_managed(one: &AddressVerdict) -> bool {
    !matches!(one.state, State::Disabled | State::Leaving)
}

/// The matching node that holds or receives an address; empty if the node does not match.
fn active_node(one: &AddressVerdict) -> &str {
    let active = matches!(one.state, State::Active | State::InProgress);
    one.node.as_ref().filter(|_| active).map_or("", |node| &node.0)
}

/// Number of wanted addresses that the pool lacks.
fn lacking(verdict: &Verdict) -> usize {
    let acquired = verdict.addresses.iter().filter(|one| is_acquired(one)).count();
    verdict.wanted.saturating_sub(acquired)
}

fn is_acquired(one: &AddressVerdict) -> bool {
    match (one.state, &one.note) {
        (_, Some(Note::Gone | Note::Conflict(_))) => false,
        (State::Leaving, note) => *note == Some(Note::Kept),
        (state, _) => state != State::Disabled,
    }
}

fn with<'a>(labels: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [labels, more].concat()
}

fn join(labels: &[String], more: &[&str]) -> Vec<String> {
    labels.iter().cloned().chain(more.iter().map(|text| (*text).to_owned())).collect()
}
