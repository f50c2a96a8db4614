//! Reports events, metrics and log lines about pools and their addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pontoon_core::Time;
use pontoon_core::action::{Action, Done, Failure, FailureKind, OperationState, Removal};
use pontoon_core::addresses::verdict::{AddressVerdict, Note, Reason, State, Verdict};
use pontoon_core::model::{
    AccountId, Drift, Intent, Machine, MachineId, NodeName, ObjectKey, Text,
};
use pontoon_core::plan::Plan;
use pontoon_core::verdict::{Outlook, Restraint};
use pontoon_core::world::World;

use super::events::{Events, Weight, about, about_node};
use super::journey::{Departure, Homes, Origin};
use super::metrics::{Metrics, PoolLabels};
use super::record_narrator::ToldRecords;
use super::reminders::Reminders;
use super::{log, would};
use crate::api::{CONDITION_READY, DNS_NOT_READY};
use crate::env::Env;
use crate::execute::Finished;
use crate::fronts::floating_ip_pool::ObservedPool;

/// Reports plans and finished actions as events, metrics and log lines.
pub struct Narrator {
    pub(super) env: Env,
    pub(super) events: Events,
    pub(super) metrics: Metrics,
    pools: BTreeMap<ObjectKey, Told>,
    pub(super) records: BTreeMap<ObjectKey, ToldRecords>,
    /// Each address in the course of a move: when it was sent, and from where.
    departures: BTreeMap<IpAddr, Departure>,
    /// Failed attempts, reported with the next plan, which knows the time of the next attempt.
    failed: Vec<Attempt>,
    /// Withheld actions that were already reported.
    pub(super) would: BTreeMap<ObjectKey, BTreeSet<Text>>,
    pub(super) reminders: Reminders,
}

/// The last report about a pool.
struct Told {
    uid: String,
    provider: String,
    dns: String,
    verdict: Option<Verdict>,
    reason: Option<&'static str>,
    /// The conditions in the stored status.
    conditions: Vec<Condition>,
    /// When each address was last found moved by somebody else.
    drifts: BTreeMap<IpAddr, Time>,
    /// The node on which each address was last seen.
    homes: Homes,
}

/// A failed attempt.
struct Attempt {
    pool: ObjectKey,
    ip: IpAddr,
    event: &'static str,
    note: String,
}

impl Narrator {
    /// A narrator without pools.
    pub fn new(env: Env, events: Events, metrics: Metrics) -> Self {
        let (pools, records, departures) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (would, failed, reminders) = (BTreeMap::new(), Vec::new(), Reminders::default());
        Self { env, events, metrics, pools, records, departures, failed, would, reminders }
    }

    /// Handles a pool that appeared or changed.
    pub fn see_pool(&mut self, observed: &ObservedPool) {
        let told = self.pools.entry(observed.pool.key.clone()).or_insert_with(|| Told {
            uid: String::new(),
            provider: String::new(),
            dns: String::new(),
            verdict: None,
            reason: None,
            conditions: Vec::new(),
            drifts: BTreeMap::new(),
            homes: Homes::default(),
        });
        if *told.uid != *observed.pool.uid {
            told.uid = observed.pool.uid.to_string();
            told.verdict = None;
            told.reason = told_by_status(observed);
            told.drifts.clear();
            told.homes = Homes::recall(observed);
        }
        // A drift in the stored status was already reported.
        let known = &observed.pool.remembered;
        let known = known.iter().filter_map(|(ip, memory)| Some((*ip, memory.drift.as_ref()?.at)));
        told.drifts.extend(known);
        let dns = observed.dns.clone().unwrap_or_default();
        if (&told.provider, &told.dns) != (&observed.provider, &dns) {
            // Report the same verdict again, under the new labels.
            told.verdict = None;
        }
        (told.provider, told.dns) = (observed.provider.clone(), dns);
        told.conditions.clone_from(&observed.status.conditions);
        self.metrics.see(&observed.pool.key, &observed.pool.uid);
        self.metrics.conditions(&observed.pool.key, &observed.status.conditions);
        self.see_records_of_pool(observed);
    }

    /// Removes an object.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.pools.remove(key);
        self.records.remove(key);
        self.would.remove(key);
        self.metrics.forget(key);
    }

    /// Handles the start or end of leadership.
    pub fn set_leads(&mut self, leads: bool) {
        self.metrics.leads(leads);
        self.departures.clear();
        self.failed.clear();
        for told in self.pools.values_mut() {
            told.verdict = None;
        }
        self.records.values_mut().for_each(ToldRecords::forget_verdict);
    }

    /// Reports the verdicts of a plan.
    pub fn take(&mut self, plan: &Plan, world: &World) {
        self.take_records(plan);
        self.tell_failed(plan);
        for (key, verdict) in &plan.verdicts {
            self.arrivals(world, key, verdict);
            self.drifts(world, key, verdict);
            let Some(told) = self.pools.get_mut(key) else { continue };
            if told.verdict.as_ref() == Some(verdict) {
                continue;
            }
            self.metrics.conditions(key, &told.conditions);
            // A gauge cannot express unknown, so an unknown state leaves the gauges as they are.
            if is_known(verdict) {
                self.metrics.pool(told.labels(key), verdict);
            }
            told.verdict = Some(verdict.clone());
            told.homes.see(verdict);
            let word = verdict.word();
            if told.reason != Some(word) && is_news(verdict) {
                told.reason = Some(word);
                let (weight, note) = (weight(verdict), verdict.to_string());
                tracing::info!(pool = %key, reason = word, "{note}");
                self.events.tell(about(key, &told.uid), weight, word, &note);
            }
        }
    }

    /// Notes the start of an action.
    pub fn begins(&mut self, world: &World, action: &Action, now: Time) {
        if let Action::Assign { account, pool, ip, .. } = action
            && let Some(told) = self.pools.get(pool)
        {
            let departure = Departure::of(world, &told.homes, (account, pool, *ip), now);
            self.departures.insert(*ip, departure);
        }
    }

    /// Reports a reserved address. The arrival on its node is reported separately.
    fn created(&mut self, pool: &ObjectKey, intent: &Intent, finished: &Finished) {
        let Ok(Done::Created { ip, .. } | Done::CreatedLoose { ip }) = finished.outcome.result
        else {
            return;
        };
        let Some(told) = self.pools.get(pool) else { return };
        // Reserved directly on its machine: an assignment without a separate call.
        let placed = matches!(finished.outcome.result, Ok(Done::Created { .. }));
        if placed && intent.target.is_some() {
            self.metrics.assigned(told.labels(pool), &ip.to_string(), true);
        }
        let note = format!("{ip} reserved for this pool in {} ms", millis(finished.took));
        self.events.tell(about(pool, &told.uid), Weight::Normal, "Created", &note);
        let at = finished.outcome.sent_at;
        self.departures.insert(ip, Departure::of_new(at));
    }

    /// Reports a finished action.
    pub fn ended(&mut self, world: &World, finished: &Finished) {
        let repeated = self.unwritten(finished);
        log::ended(finished, repeated);
        if let Action::Create { pool, intent, .. } = &finished.outcome.action {
            return self.created(pool, intent, finished);
        }
        if let Action::ChangeRecords { .. } = &finished.outcome.action {
            return self.changed_records(finished);
        }
        if let Action::ReadOperation { ip, .. } = &finished.outcome.action {
            return self.given_up(world, *ip, finished);
        }
        if let Action::Unassign { account, pool, ip, why } = &finished.outcome.action {
            if finished.outcome.result.is_ok() {
                self.taken_off(world, account, (pool, *ip), why);
            }
            return;
        }
        if let Action::Release { pool, ip, .. } = &finished.outcome.action {
            return self.given_back(pool, *ip, finished);
        }
        let Action::Assign { pool, ip, node, .. } = &finished.outcome.action else { return };
        let Some(told) = self.pools.get(pool) else { return };
        match &finished.outcome.result {
            Ok(_) => self.metrics.assigned(told.labels(pool), &ip.to_string(), true),
            // Nothing happened; the pool's status says what the account waits for.
            Err(Failure {
                kind:
                    FailureKind::NotSent | FailureKind::Throttled { .. } | FailureKind::HeldBack { .. },
                ..
            }) => {}
            Err(failure) => {
                self.metrics.assigned(told.labels(pool), &ip.to_string(), false);
                let note = format!("assigning {ip} to {node} failed: {}", failure.message);
                let (pool, ip, event) = (pool.clone(), *ip, "AssignFailed");
                self.failed.push(Attempt { pool, ip, event, note });
            }
        }
        if matches!(finished.outcome.result, Ok(Done::Effective)) {
            self.arrived(world, pool, *ip, node);
        }
    }

    /// Reports an operation that the provider accepted and then did not carry out.
    fn given_up(&mut self, world: &World, ip: IpAddr, finished: &Finished) {
        if !matches!(finished.outcome.result, Ok(Done::Operation(OperationState::Failed))) {
            return;
        }
        for pool in world.claimants(ip) {
            let Some(told) = self.pools.get(pool) else { continue };
            self.metrics.assigned(told.labels(pool), &ip.to_string(), false);
            let note = format!("assigning {ip} failed: the cloud accepted it and then gave it up");
            tracing::warn!(%pool, %ip, "the cloud accepted an assignment and then gave it up");
            let (pool, event) = (pool.clone(), "AssignFailed");
            self.failed.push(Attempt { pool, ip, event, note });
        }
    }

    /// Reports failed attempts, each with the time of the next attempt.
    fn tell_failed(&mut self, plan: &Plan) {
        for Attempt { pool, ip, event, mut note } in std::mem::take(&mut self.failed) {
            let Some(told) = self.pools.get(&pool) else { continue };
            if let Some(next) = plan.verdicts.get(&pool).and_then(|one| next_attempt(one, ip)) {
                note.push_str(&format!("; next attempt at {next}"));
            }
            self.events.tell(about(&pool, &told.uid), Weight::Warning, event, &note);
        }
    }

    /// Reports an unassigned address, while the world still knows its machine.
    fn taken_off(
        &mut self,
        world: &World,
        account: &AccountId,
        (pool, ip): (&ObjectKey, IpAddr),
        why: &Removal,
    ) {
        let Some(told) = self.pools.get(pool) else { return };
        let origin = Origin::of(world, &told.homes, account, ip);
        let from = origin.as_ref().map_or("its machine", |origin| &origin.name);
        let note = format!("{ip} taken off {from}: {why}");
        tracing::info!(%pool, %ip, from, "taken off: {why}");
        self.events.tell(about(pool, &told.uid), Weight::Normal, "Unassigned", &note);
        self.lost(world, origin.and_then(|origin| origin.node).as_ref(), &note);
    }

    /// Reports on a node that an address has left.
    fn lost(&mut self, world: &World, node: Option<&NodeName>, note: &str) {
        if let Some(node) = node.and_then(|name| world.node(name)) {
            self.events.tell(about_node(node), Weight::Normal, "AddressLeft", note);
        }
    }

    /// Reports a release, successful or failed.
    fn given_back(&mut self, pool: &ObjectKey, ip: IpAddr, finished: &Finished) {
        let Some(told) = self.pools.get(pool) else { return };
        match &finished.outcome.result {
            Ok(_) => {
                let note = format!("{ip} given back to the cloud");
                self.events.tell(about(pool, &told.uid), Weight::Normal, "Released", &note);
            }
            Err(failure) => {
                let note = format!("giving back {ip} failed: {}", failure.message);
                let (pool, event) = (pool.clone(), "ReleaseFailed");
                self.failed.push(Attempt { pool, ip, event, note });
            }
        }
    }

    /// Reports the addresses that a listing shows at their destination.
    fn arrivals(&mut self, world: &World, key: &ObjectKey, verdict: &Verdict) {
        if self.departures.is_empty() {
            return;
        }
        for one in verdict.addresses.iter().filter(|one| one.state == State::Active) {
            if let Some(node) = &one.node {
                self.arrived(world, key, one.ip, node);
            }
        }
    }

    /// Reports the addresses that somebody else moved.
    fn drifts(&mut self, world: &World, key: &ObjectKey, verdict: &Verdict) {
        let Some(told) = self.pools.get_mut(key) else { return };
        for one in &verdict.addresses {
            let Some(drift) = &one.memory.drift else { continue };
            // A drift with an earlier time is not new: a time that lay ahead was corrected since.
            if told.drifts.insert(one.ip, drift.at).is_some_and(|before| before >= drift.at) {
                continue;
            }
            let note = drift_note(world, key, one, drift);
            tracing::warn!(pool = %key, ip = %one.ip, times = drift.times, "{note}");
            self.events.tell(about(key, &told.uid), Weight::Warning, "Drift", &note);
            let lost = drift.from.as_ref().and_then(|from| node_of(world, key, from));
            if let Some(node) = lost.and_then(|name| world.node(name)) {
                self.events.tell(about_node(node), Weight::Warning, "Drift", &note);
            }
        }
    }

    fn arrived(&mut self, world: &World, pool: &ObjectKey, ip: IpAddr, node: &NodeName) {
        let Some(departure) = self.departures.remove(&ip) else { return };
        let Some(told) = self.pools.get(pool) else { return };
        let took = millis(self.env.now().since(departure.at));
        let note = departure.told(ip, node, took);
        tracing::info!(%pool, %ip, %node, took_ms = took, "{note}");
        self.events.tell(about(pool, &told.uid), Weight::Normal, "Assigned", &note);
        if let Some(node) = world.node(node) {
            self.events.tell(about_node(node), Weight::Normal, "Assigned", &note);
        }
        let before = departure.from.and_then(|from| from.node);
        self.lost(world, before.as_ref().filter(|before| *before != node), &note);
    }
}

impl Narrator {
    /// The UID of a known object.
    pub(super) fn uid_of(&self, key: &ObjectKey) -> Option<String> {
        let pool = self.pools.get(key).map(|told| told.uid.clone());
        pool.or_else(|| self.records.get(key).map(|told| told.uid.clone()))
    }
}

impl Told {
    fn labels<'a>(&'a self, key: &'a ObjectKey) -> PoolLabels<'a> {
        PoolLabels { key, provider: &self.provider, dns: &self.dns }
    }
}

/// Time of the next attempt on an address, as far as a pool's verdict says.
fn next_attempt(verdict: &Verdict, ip: IpAddr) -> Option<Time> {
    let one = verdict.addresses.iter().find(|one| one.ip == ip)?;
    match (&one.note, &verdict.reason) {
        (Some(Note::Failed(_, next)), _) | (_, Reason::ReleaseFailed(_, next)) => Some(*next),
        (_, Reason::AssignFailed(of, _, next)) if *of == ip => Some(*next),
        _ => None,
    }
}

/// A machine at a pool's provider.
fn machine_of(world: &World, key: &ObjectKey, id: &MachineId) -> Option<Machine> {
    let request = world.pool(key)?.pool.request.as_ref().ok()?;
    let cloud = world.account(&request.account)?.cloud()?.clone();
    Some(Machine { cloud, id: id.clone() })
}

/// The node that runs on a machine of a pool's provider.
fn node_of<'w>(world: &'w World, key: &ObjectKey, id: &MachineId) -> Option<&'w NodeName> {
    world.node_on(&machine_of(world, key, id)?)
}

/// Describes a drift and its consequence.
fn drift_note(world: &World, key: &ObjectKey, one: &AddressVerdict, drift: &Drift) -> String {
    let words = |id: &MachineId| {
        let node = node_of(world, key, id).map(ToString::to_string);
        node.unwrap_or_else(|| format!("machine {id}"))
    };
    let found = one.machine.as_ref().map_or_else(|| "no machine".to_owned(), words);
    let ip = one.ip;
    match (&drift.from, &one.note) {
        (Some(from), Some(Note::Drift(until))) => format!(
            "somebody else took {ip} from {}: found on {found}; it is put back at {until}",
            words(from)
        ),
        (Some(from), _) => {
            format!("somebody else took {ip} from {}: found on {found}", words(from))
        }
        (None, _) => format!("somebody else moved {ip}: found on {found}, where it stays"),
    }
}

/// The reason in the stored status, which a new leader does not report again.
fn told_by_status(observed: &ObservedPool) -> Option<&'static str> {
    let ready = observed.status.conditions.iter().find(|one| one.type_ == CONDITION_READY)?;
    // The addresses are in place, in spite of the DNS record.
    if ready.reason == DNS_NOT_READY {
        return Some(Reason::AllAssigned.word());
    }
    let mut lasting = Restraint::WORDS.into_iter().chain([Reason::AllAssigned.word()]);
    lasting.find(|word| ready.reason == *word)
}

/// Whether a verdict says where each address is. An invalid object leaves everything as it is, and
/// the metrics keep the last known state, as the status does.
fn is_known(verdict: &Verdict) -> bool {
    verdict.is_heard() && !matches!(verdict.reason, Reason::Invalid(_) | Reason::NoAccount(_))
}

/// Whether a verdict deserves an event. Passing states do not; drifts are reported address by
/// address.
fn is_news(verdict: &Verdict) -> bool {
    if verdict.withheld.is_some() {
        return verdict.reason != Reason::Reading;
    }
    !matches!(
        verdict.reason,
        Reason::Reading
            | Reason::Assigning
            | Reason::Creating
            | Reason::Pacing(_)
            | Reason::AssignFailed(..)
            | Reason::Drift(..)
            | Reason::ReleaseFailed(..)
    )
}

fn weight(verdict: &Verdict) -> Weight {
    if let Some(withheld) = &verdict.withheld {
        return would::weight(withheld);
    }
    match verdict.reason.outlook() {
        Outlook::Well => Weight::Normal,
        Outlook::Working
            if matches!(verdict.reason, Reason::CoolingOff(_) | Reason::Releasing(_)) =>
        {
            Weight::Normal
        }
        Outlook::Working | Outlook::Waiting | Outlook::Stuck => Weight::Warning,
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
