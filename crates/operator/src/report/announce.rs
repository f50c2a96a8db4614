//! Reports events, metrics and log lines about pools and their addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use pontoon_core::Time;
use pontoon_core::action::{
    Action, AddressAction, Done, Failure, FailureKind, Finished, OperationState, Removal,
};
use pontoon_core::addresses::verdict::{AddressVerdict, Note, Reason, State, Verdict};
use pontoon_core::model::{
    AccountId, Drift, Intent, Machine, MachineId, NodeName, ObjectKey, Remembered,
};
use pontoon_core::plan::Plan;
use pontoon_core::verdict::Outlook;
use pontoon_core::world::World;

use super::events::{Events, Weight, about, about_node};
use super::journey::{Departure, Homes, Origin};
use super::metrics::Metrics;
use super::move_metrics::Drifted;
use super::objects::{Object, Objects};
use super::reminders::Reminders;
use super::{announce_withheld, log};
use crate::env::Env;
use crate::fronts::Observed;

/// Reports plans and finished actions as events, metrics and log lines.
pub struct Announcer {
    pub(super) env: Env,
    pub(super) events: Events,
    pub(super) metrics: Metrics,
    /// Each address in the course of a move: when it was sent, and from where.
    departures: BTreeMap<IpAddr, Departure>,
    /// Failed attempts, reported with the next plan, which knows the time of the next attempt.
    failed: Vec<Attempt>,
    pub(super) reminders: Reminders,
}

/// The last report about an object's addresses.
#[derive(Debug)]
pub(super) struct Told {
    /// Whether the warning of the object's face was told.
    pub warned: bool,
    /// Whether the next verdict is reported even if it is the same again.
    pub again: bool,
    reason: Option<&'static str>,
    /// When each address was last found moved by somebody else.
    drifts: BTreeMap<IpAddr, Time>,
    /// The node on which each address was last seen.
    homes: Homes,
}

impl Told {
    /// The report in a stored status.
    pub fn new(
        said: Option<&'static str>,
        homes: BTreeMap<IpAddr, (MachineId, NodeName)>,
        remembered: &BTreeMap<IpAddr, Remembered>,
    ) -> Self {
        let (drifts, homes) = (BTreeMap::new(), Homes(homes));
        let mut told = Self { warned: false, again: true, reason: said, drifts, homes };
        told.see(remembered);
        told
    }

    /// Takes the drifts in a stored status, which were already reported.
    pub fn see(&mut self, remembered: &BTreeMap<IpAddr, Remembered>) {
        let known = |(ip, memory): (&IpAddr, &Remembered)| Some((*ip, memory.drift.as_ref()?.at));
        self.drifts.extend(remembered.iter().filter_map(known));
    }
}

/// A failed attempt.
struct Attempt {
    pool: ObjectKey,
    ip: IpAddr,
    event: &'static str,
    note: String,
}

impl Announcer {
    /// An announcer that has reported nothing.
    pub fn new(env: Env, events: Events, metrics: Metrics) -> Self {
        let (departures, failed, reminders) = (BTreeMap::new(), Vec::new(), Reminders::default());
        Self { env, events, metrics, departures, failed, reminders }
    }

    /// Handles an object that appeared or changed.
    pub fn see(&mut self, objects: &mut Objects, observed: Observed) {
        let (key, uid) = (observed.key.clone(), observed.uid.clone());
        self.metrics.see(&key, &uid);
        if let Some(site) = objects.see(observed) {
            self.left(&key, &uid, &site);
        }
        if let Some(object) = objects.get(&key) {
            self.metrics.conditions(&key, object.face.conditions());
        }
    }

    /// Removes an object.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.metrics.forget(key);
    }

    /// Handles the start or end of leadership.
    pub fn set_leads(&mut self, leads: bool) {
        self.metrics.leads(leads);
        self.departures.clear();
        self.failed.clear();
    }

    /// Reports the verdicts of a plan.
    pub fn take(&mut self, objects: &mut Objects, plan: &Plan, world: &World, took: Duration) {
        self.take_records(objects, plan);
        self.take_vips(objects, plan, world, took);
        self.tell_failed(objects, plan);
        for (key, verdict) in &plan.verdicts {
            let Some(object) = objects.get_mut(key) else { continue };
            self.metrics.considered(object.series(key), took, is_well(verdict));
            self.arrivals(world, (key, object), verdict);
            self.drifts(world, (key, object), verdict);
            let again = std::mem::take(&mut object.told.again);
            if object.verdict.as_deref() == Some(verdict) && !again {
                continue;
            }
            self.metrics.conditions(key, object.face.conditions());
            if let Some((reason, note)) = object.face.warning().filter(|_| !object.told.warned) {
                object.told.warned = true;
                self.events.tell(about(key, &object.uid), Weight::Warning, reason, note);
            }
            // A gauge cannot express unknown, so an unknown state leaves the gauges as they are.
            if is_known(verdict) {
                self.metrics.addresses(object.series(key), verdict);
            }
            object.told.homes.see(verdict);
            let word = verdict.word();
            if object.told.reason != Some(word) && is_news(verdict) {
                object.told.reason = Some(word);
                let (weight, note) = (weight(verdict), verdict.to_string());
                tracing::info!(pool = %key, reason = word, "{note}");
                self.events.tell(about(key, &object.uid), weight, word, &note);
            }
        }
    }

    /// Notes the start of an action.
    pub fn begins(&mut self, objects: &Objects, world: &World, action: &Action, now: Time) {
        let (account, pool, ip, halfway) = match action {
            Action::Address(AddressAction::Assign { account, pool, ip, .. }) => {
                (account, pool, *ip, false)
            }
            Action::Address(AddressAction::Unassign { account, pool, ip, why: Removal::Moves }) => {
                (account, pool, *ip, true)
            }
            _ => return,
        };
        // The second of two calls ends the departure that the first began.
        if let Some(begun) = self.departures.get_mut(&ip).filter(|begun| begun.halfway) {
            begun.halfway = halfway;
        } else if let Some(object) = objects.get(pool) {
            let mut departure = Departure::of(world, &object.told.homes, (account, pool, ip), now);
            departure.halfway = halfway;
            self.departures.insert(ip, departure);
        }
    }

    /// Reports a reserved address. The arrival on its node is reported separately.
    fn created(
        &mut self,
        objects: &Objects,
        pool: &ObjectKey,
        intent: &Intent,
        finished: &Finished,
    ) {
        let Ok(Done::Created { ip, .. } | Done::CreatedLoose { ip }) = finished.outcome.result
        else {
            return;
        };
        let Some(object) = objects.get(pool) else { return };
        // Reserved directly on its machine: an assignment without a separate call.
        let placed = matches!(finished.outcome.result, Ok(Done::Created { .. }));
        if placed && intent.target.is_some() {
            self.metrics.assigned(object.series(pool), ip, true);
        }
        let note = format!("{ip} reserved for this pool in {} ms", millis(finished.took));
        self.events.tell(about(pool, &object.uid), Weight::Normal, "Created", &note);
        let at = finished.outcome.sent_at;
        self.departures.insert(ip, Departure::of_new(at));
    }

    /// Reports a finished action.
    pub fn ended(&mut self, objects: &mut Objects, world: &World, finished: &Finished) {
        let repeated = self.unwritten(finished);
        log::ended(finished, repeated);
        match &finished.outcome.action {
            Action::Address(call) => self.call_ended(objects, world, call, finished),
            Action::Record(_) => self.changed_records(objects, finished),
            Action::Evict(eviction) => self.evicted(objects, eviction, finished),
            Action::Vip(action) => self.vip_written(objects, world, action, finished),
            Action::Ledger(_) | Action::Mark(_) => {}
        }
    }

    fn call_ended(
        &mut self,
        objects: &Objects,
        world: &World,
        call: &AddressAction,
        finished: &Finished,
    ) {
        match call {
            AddressAction::Assign { pool, ip, node, .. } => {
                self.assign_ended(objects, world, (pool, *ip, node), finished);
            }
            AddressAction::Unassign { account, pool, ip, why } => {
                if let Some(object) = objects.get(pool) {
                    let worked = finished.outcome.result.is_ok();
                    self.metrics.unassigned(object.series(pool), worked);
                }
                if finished.outcome.result.is_ok() && *why != Removal::Moves {
                    self.taken_off(objects, world, account, (pool, *ip), why);
                }
            }
            AddressAction::Release { pool, ip, .. } => {
                self.given_back(objects, pool, *ip, finished);
            }
            AddressAction::Create { pool, intent, .. } => {
                self.created(objects, pool, intent, finished);
            }
            AddressAction::ReadOperation { ip, .. } => {
                self.given_up(objects, world, *ip, finished);
            }
            AddressAction::List { .. }
            | AddressAction::Read { .. }
            | AddressAction::RestoreEgress { .. } => {}
        }
    }

    /// Reports an assignment, successful or failed.
    fn assign_ended(
        &mut self,
        objects: &Objects,
        world: &World,
        (pool, ip, node): (&ObjectKey, IpAddr, &NodeName),
        finished: &Finished,
    ) {
        let Some(object) = objects.get(pool) else { return };
        match &finished.outcome.result {
            Ok(_) => self.metrics.assigned(object.series(pool), ip, true),
            // Nothing happened; the pool's status says what the account waits for.
            Err(Failure {
                kind:
                    FailureKind::NotSent | FailureKind::Throttled { .. } | FailureKind::HeldBack { .. },
                ..
            }) => {}
            Err(failure) => {
                self.metrics.assigned(object.series(pool), ip, false);
                let note = format!("assigning {ip} to {node} failed: {}", failure.message);
                let (pool, event) = (pool.clone(), "AssignFailed");
                self.failed.push(Attempt { pool, ip, event, note });
            }
        }
        if matches!(finished.outcome.result, Ok(Done::Effective)) {
            self.arrived(world, (pool, object), ip, node);
        }
    }

    /// Reports an operation that the provider accepted and then did not carry out.
    fn given_up(&mut self, objects: &Objects, world: &World, ip: IpAddr, finished: &Finished) {
        if !matches!(finished.outcome.result, Ok(Done::Operation(OperationState::Failed))) {
            return;
        }
        for pool in world.claimants(ip) {
            let Some(object) = objects.get(pool) else { continue };
            self.metrics.assigned(object.series(pool), ip, false);
            let note = format!(
                "assigning {ip} failed: the provider accepted the call and then gave it up"
            );
            tracing::warn!(%pool, %ip, "the provider accepted an assignment and then gave it up");
            let (pool, event) = (pool.clone(), "AssignFailed");
            self.failed.push(Attempt { pool, ip, event, note });
        }
    }

    /// Reports failed attempts, each with the time of the next attempt.
    fn tell_failed(&mut self, objects: &Objects, plan: &Plan) {
        for Attempt { pool, ip, event, mut note } in std::mem::take(&mut self.failed) {
            let Some(object) = objects.get(&pool) else { continue };
            if let Some(next) = plan.verdicts.get(&pool).and_then(|one| next_attempt(one, ip)) {
                note.push_str(&format!("; next attempt at {next}"));
            }
            self.events.tell(about(&pool, &object.uid), Weight::Warning, event, &note);
        }
    }

    /// Reports an unassigned address, while the world still knows its machine.
    fn taken_off(
        &mut self,
        objects: &Objects,
        world: &World,
        account: &AccountId,
        (pool, ip): (&ObjectKey, IpAddr),
        why: &Removal,
    ) {
        let Some(object) = objects.get(pool) else { return };
        let origin = Origin::of(world, &object.told.homes, account, ip);
        let from = origin.as_ref().map_or("its machine", |origin| &origin.name);
        let note = format!("{ip} taken off {from}: {why}");
        tracing::info!(%pool, %ip, from, "taken off: {why}");
        self.events.tell(about(pool, &object.uid), Weight::Normal, "Unassigned", &note);
        self.lost(world, origin.and_then(|origin| origin.node).as_ref(), &note);
    }

    /// Reports on a node that an address has left.
    fn lost(&mut self, world: &World, node: Option<&NodeName>, note: &str) {
        if let Some(node) = node.and_then(|name| world.node(name)) {
            self.events.tell(about_node(node), Weight::Normal, "AddressLeft", note);
        }
    }

    /// Reports a release, successful or failed.
    fn given_back(&mut self, objects: &Objects, pool: &ObjectKey, ip: IpAddr, finished: &Finished) {
        let Some(object) = objects.get(pool) else { return };
        match &finished.outcome.result {
            Ok(_) => {
                let note = format!("{ip} released");
                self.events.tell(about(pool, &object.uid), Weight::Normal, "Released", &note);
            }
            Err(failure) => {
                let note = format!("releasing {ip} failed: {}", failure.message);
                let (pool, event) = (pool.clone(), "ReleaseFailed");
                self.failed.push(Attempt { pool, ip, event, note });
            }
        }
    }

    /// Reports the addresses that a listing shows at their destination.
    fn arrivals(&mut self, world: &World, of: (&ObjectKey, &Object), verdict: &Verdict) {
        if self.departures.is_empty() {
            return;
        }
        for one in verdict.addresses.iter().filter(|one| one.state == State::Active) {
            if let Some(node) = &one.node {
                self.arrived(world, of, one.ip, node);
            }
        }
    }

    /// Reports the addresses that somebody else moved.
    fn drifts(
        &mut self,
        world: &World,
        (key, object): (&ObjectKey, &mut Object),
        verdict: &Verdict,
    ) {
        for one in &verdict.addresses {
            let Some(drift) = &one.memory.drift else { continue };
            // A drift with an earlier time is not new: a time that lay ahead was corrected since.
            if object.told.drifts.insert(one.ip, drift.at).is_some_and(|before| before >= drift.at)
            {
                continue;
            }
            self.metrics.drifted(key, Drifted::Address);
            let note = drift_note(world, key, one, drift);
            tracing::warn!(pool = %key, ip = %one.ip, times = drift.times, "{note}");
            self.events.tell(about(key, &object.uid), Weight::Warning, "Drift", &note);
            let lost = drift.from.as_ref().and_then(|from| node_of(world, key, from));
            if let Some(node) = lost.and_then(|name| world.node(name)) {
                self.events.tell(about_node(node), Weight::Warning, "Drift", &note);
            }
        }
    }

    fn arrived(
        &mut self,
        world: &World,
        (pool, object): (&ObjectKey, &Object),
        ip: IpAddr,
        node: &NodeName,
    ) {
        let Some(departure) = self.departures.remove(&ip) else { return };
        let took = self.env.now().since(departure.at);
        self.metrics.moved(pool, departure.cause, took);
        let took = millis(took);
        let note = departure.told(ip, node, took);
        tracing::info!(%pool, %ip, %node, took_ms = took, "{note}");
        self.events.tell(about(pool, &object.uid), Weight::Normal, "Assigned", &note);
        if let Some(node) = world.node(node) {
            self.events.tell(about_node(node), Weight::Normal, "Assigned", &note);
        }
        let before = departure.from.and_then(|from| from.node);
        self.lost(world, before.as_ref().filter(|before| *before != node), &note);
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
            "somebody else took {ip} from {}: found on {found}; the address is put back at {until}",
            words(from)
        ),
        (Some(from), _) => {
            format!("somebody else took {ip} from {}: found on {found}", words(from))
        }
        (None, _) => format!("somebody else moved {ip}: found on {found}, where it stays"),
    }
}

/// Whether a verdict says where each address is. An invalid object leaves everything as it is, and
/// the metrics keep the last known state, as the status does.
fn is_known(verdict: &Verdict) -> bool {
    verdict.is_heard() && !matches!(verdict.reason, Reason::Invalid(_) | Reason::NoAccount(_))
}

/// Whether a plan found no failure: the predecessor's word for a pass is `success` then.
fn is_well(verdict: &Verdict) -> bool {
    !matches!(verdict.reason, Reason::AssignFailed(..))
        && !verdict.reason.is_of_account()
        && verdict.outlook() != Outlook::Stuck
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
        return announce_withheld::weight(withheld);
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
