//! Plans the records of each name: the wanted addresses, and the calls that lead there.
//!
//! | addresses to list | addresses in doubt | the name |
//! |---|---|---|
//! | some | | lists the first column, and keeps records of the second |
//! | none | some | stays as it is |
//! | none | none | stays as it is, or is emptied if the policy says so |
//!
//! Actions for addresses come before actions for DNS.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::diff::{Wanted, difference, lists};
use super::routine::{opens, read_again};
use super::verdict::{RecordReason, RecordVerdict};
use super::{KnownSet, RecordEntry};
use crate::Time;
use crate::action::{Action, FailureKind, RecordAction};
use crate::addresses::plan::view::{Place, PoolView};
use crate::addresses::plan::{delisted, drift, release};
use crate::addresses::verdict::Precedence;
use crate::model::{
    EmptyPolicy, Family, Finding, Held, MachineId, NodeAddress, ObjectKey, Record, RecordRequest,
    RecordSource, Request,
};
use crate::plan::Draft;
use crate::world::{Work, World};

/// Plans the records of every object in scope, and the next routine read.
pub(crate) fn plan(
    world: &World,
    scope: &BTreeSet<ObjectKey>,
    views: &[PoolView<'_>],
    draft: &mut Draft,
) {
    if !world.may_plan_records() {
        return;
    }
    let entries: Vec<_> = scope.iter().filter_map(|key| world.record_set(key)).collect();
    if !entries.is_empty() {
        let moving = draft.brought().clone();
        let views: BTreeMap<_, _> = views.iter().map(|view| (view.key, view)).collect();
        for entry in entries {
            let view = views.get(&entry.set.key).copied();
            let verdict = Case { world, entry, view, moving: &moving }.plan(draft);
            draft.say_of_records(&entry.set.key, verdict);
        }
    }
    read_again(world, draft);
}

/// An object that asks for records.
struct Case<'a, 'w> {
    world: &'w World,
    entry: &'w RecordEntry,
    /// The pool of the same key, if the object is a pool.
    view: Option<&'a PoolView<'w>>,
    /// Addresses whose move is decided.
    moving: &'a BTreeSet<IpAddr>,
}

/// The next step for the records of one family.
enum Step {
    /// Nothing to do: the name lists the wanted addresses, or waits for addresses.
    Rest,
    /// Read the set first. Meanwhile report the given reason.
    Read(RecordReason),
    /// Change the set.
    Change(Action),
    /// Wait until a rival is located: the owner of the name is not known yet.
    Await,
    /// Hold the change until the given time, for the given reason.
    Hold(RecordReason, Time),
}

impl Case<'_, '_> {
    fn plan(&self, draft: &mut Draft) -> RecordVerdict {
        let request = self.entry.set.request.as_ref().ok();
        let wanted = request.and_then(|request| self.wanted(request));
        let (reason, held) = match &self.entry.set.request {
            Err(finding) => (RecordReason::Invalid(finding.clone()), self.entry.held.clone()),
            Ok(request) => match self.cannot_start(request) {
                Some(reason) => (reason, self.entry.held.clone()),
                None => {
                    let (reason, held) = self.pursue(request, wanted.as_ref(), draft);
                    (self.refused_ttl(request).map_or(reason, RecordReason::Invalid), held)
                }
            },
        };
        let known =
            Family::ALL.into_iter().filter_map(|one| self.entry.known(one).records.as_ref());
        let known: Vec<_> = known.map(Vec::len).collect();
        RecordVerdict {
            reason,
            site: self.entry.site.clone(),
            listed: (!known.is_empty()).then(|| known.iter().sum()),
            wanted: wanted.map(|wanted| wanted.iter().map(|one| one.sure.len()).sum()),
            held,
            withheld: None,
            names: self.entry.set.names,
        }
    }

    /// The reason not to plan the object at all.
    fn cannot_start(&self, request: &RecordRequest) -> Option<RecordReason> {
        match self.world.record_account(&request.account).map(|account| &account.setup) {
            Some(Ok(_)) => {}
            Some(Err(finding)) => return Some(RecordReason::NoAccount(finding.clone())),
            None => {
                let message = format!("there is no DNS provider \"{}\"", request.account);
                let finding = Finding { reason: "UnknownProvider", message: message.into() };
                return Some(RecordReason::NoAccount(finding));
            }
        }
        let site = self.entry.site.as_ref()?;
        let owner = self.world.record_owner(site).filter(|owner| **owner != self.entry.set.key)?;
        let rank = |one: &RecordEntry| {
            (one.held.as_ref().is_some_and(|held| held.site == *site), one.set.created_at)
        };
        let theirs = self.world.record_set(owner).map_or_else(Default::default, rank);
        let why = Precedence::of(theirs, rank(self.entry));
        Some(RecordReason::Conflict(site.clone(), owner.clone(), why))
    }

    /// The finding about a time to live that the DNS host refuses. The name is located all the same,
    /// because the owner depends on every object that asks for the name.
    fn refused_ttl(&self, request: &RecordRequest) -> Option<Finding> {
        let host = self.world.record_account(&request.account)?.setup.as_ref().ok()?;
        host.refuse_ttl(request, self.entry.set.names.ttl)
    }

    fn pursue(
        &self,
        request: &RecordRequest,
        wanted: Option<&[Wanted; 2]>,
        draft: &mut Draft,
    ) -> (RecordReason, Option<Held>) {
        let Some(wanted) = wanted else {
            // The site decides the owner among all objects that ask for the same name.
            if self.entry.site.is_none() {
                self.take(request, Family::V4, Step::Read(RecordReason::Reading), draft);
            }
            return (RecordReason::PoolUnplanned, self.entry.held.clone());
        };
        let held = self.held(request, wanted);
        let mut reasons = Vec::new();
        let steps = self.steps(request, wanted, held.as_ref(), draft.now);
        for (family, step) in Family::ALL.into_iter().zip(steps) {
            reasons.extend(self.take(request, family, step, draft));
        }
        let settled = || self.settled(request, wanted, held.as_ref());
        let reason = reasons.into_iter().min_by_key(gravity).unwrap_or_else(settled);
        (reason, held)
    }

    /// The reason to report when no step is due.
    fn settled(
        &self,
        request: &RecordRequest,
        wanted: &[Wanted; 2],
        held: Option<&Held>,
    ) -> RecordReason {
        if wanted.iter().any(|one| !one.sure.is_empty()) {
            return RecordReason::Current;
        }
        let is_listed = |(family, wanted): (Family, &Wanted)| {
            let records = self.entry.known(family).records.iter().flatten();
            records.into_iter().any(|record| wanted.doubtful.contains(&record.value))
        };
        if Family::ALL.into_iter().zip(wanted).any(is_listed) {
            return RecordReason::Current;
        }
        if wanted.iter().any(|one| !one.doubtful.is_empty()) {
            return RecordReason::Reading;
        }
        match request.empty {
            // Only a set that the object once had counts as removed.
            EmptyPolicy::Remove if held.is_some_and(|held| held.families.is_empty()) => {
                RecordReason::Removed
            }
            EmptyPolicy::Remove | EmptyPolicy::Keep => RecordReason::NothingToList,
        }
    }

    /// The next step for each family. An object with nothing to list locates its name too, because
    /// the owner depends on every object that asks for the name.
    fn steps(
        &self,
        request: &RecordRequest,
        wanted: &[Wanted; 2],
        held: Option<&Held>,
        now: Time,
    ) -> [Step; 2] {
        let holds = held.is_some_and(|held| Some(&held.site) == self.entry.site.as_ref());
        let step = |family, wanted| match self.step(request, family, wanted, now) {
            Step::Change(_) if !holds && self.world.awaits_rival(self.entry, family) => Step::Await,
            step => step,
        };
        let ([v4, v6], [four, six]) = (Family::ALL, wanted);
        match [step(v4, four), step(v6, six)] {
            [Step::Rest, Step::Rest] if self.entry.site.is_none() => {
                [Step::Read(RecordReason::Reading), Step::Rest]
            }
            steps => steps,
        }
    }

    /// The next step for the records of one family.
    fn step(&self, request: &RecordRequest, family: Family, wanted: &Wanted, now: Time) -> Step {
        let empty = wanted.sure.is_empty();
        // At another name, records that were there before are not the object's.
        let site = self.entry.site.as_ref();
        let had = |held: &Held| Some(&held.site) == site && held.families.contains(&family);
        let may_empty = wanted.doubtful.is_empty()
            && request.empty == EmptyPolicy::Remove
            && self.entry.held.as_ref().is_some_and(had);
        if empty && !may_empty {
            return Step::Rest;
        }
        let known = self.entry.known(family);
        let (Some(site), Some(records)) = (&self.entry.site, &known.records) else {
            return Step::Read(RecordReason::Reading);
        };
        let change = difference(records, wanted, request.ttl, request.mark.as_ref());
        if change.is_empty() || change.writes() && self.refused_ttl(request).is_some() {
            return Step::Rest;
        }
        if let Some(step) = hold(request, known, records, wanted, now) {
            return step;
        }
        let (owner, site) = (self.entry.set.key.clone(), site.clone());
        Step::Change(Action::Record(RecordAction::Change { owner, site, family, change }))
    }

    /// Takes a step if its time has come. Returns the reason to report.
    fn take(
        &self,
        request: &RecordRequest,
        family: Family,
        step: Step,
        draft: &mut Draft,
    ) -> Option<RecordReason> {
        let known = self.entry.known(family);
        let write = self.entry.site.as_ref().and_then(|site| self.world.record_write(site, family));
        if write.is_some_and(|write| write.in_flight) {
            return Some(RecordReason::Updating);
        }
        let lasting = failed(&known.read_work).is_some_and(|reason| is_lasting(&reason));
        let step = match step {
            // A missing zone or a refused credential is reported, and read again until found, even
            // with nothing to change.
            Step::Rest if lasting => Step::Read(RecordReason::Reading),
            step => step,
        };
        let (action, from, reason) = match step {
            Step::Rest => {
                if known.records.is_some() && known.is_burdened() {
                    draft.rests(&self.entry.set.key, family);
                }
                return None;
            }
            Step::Read(reason) if known.reading => return Some(told(known).unwrap_or(reason)),
            Step::Read(reason) => {
                let (owner, request) = (self.entry.set.key.clone(), request.clone());
                let from = known.readable_from().max(write.map_or(Time::default(), |w| w.until));
                (Action::Record(RecordAction::Read { owner, request, family }), from, reason)
            }
            Step::Await => return Some(told(known).unwrap_or(RecordReason::Reading)),
            Step::Hold(reason, until) => {
                draft.wake_for(&self.entry.set.key, until);
                return Some(reason);
            }
            Step::Change(action) => (action, known.change_work.not_before, RecordReason::Updating),
        };
        let opens = from.max(opens(self.world, request));
        if draft.now < opens {
            draft.wake_for(&self.entry.set.key, opens);
            return Some(self.waits(request, known, draft.now).unwrap_or(reason));
        }
        draft.act(action);
        // The last failure is reported until a call succeeds.
        Some(told(known).unwrap_or(reason))
    }

    /// The reason why a step waits.
    fn waits(&self, request: &RecordRequest, known: &KnownSet, now: Time) -> Option<RecordReason> {
        let account = self.world.record_account(&request.account)?;
        if account.closed_until > now {
            let until = account.closed_until;
            return Some(match account.pacing {
                true => RecordReason::Pacing(until),
                false => RecordReason::Throttled(until),
            });
        }
        told(known)
    }

    /// The records that the object has. A family is added once its records are as wanted, and
    /// removed once nothing is wanted and no record is left.
    fn held(&self, request: &RecordRequest, wanted: &[Wanted; 2]) -> Option<Held> {
        let Some(site) = &self.entry.site else { return self.entry.held.clone() };
        let before = self.entry.held.as_ref().filter(|held| held.site == *site);
        let mut families = before.map(|held| held.families.clone()).unwrap_or_default();
        for (family, wanted) in Family::ALL.into_iter().zip(wanted) {
            let Some(records) = &self.entry.known(family).records else { continue };
            if !wanted.sure.is_empty() {
                let change = difference(records, wanted, request.ttl, None);
                if change.is_empty() {
                    families.insert(family);
                }
            } else if records.is_empty() {
                families.remove(&family);
            }
        }
        if families.is_empty() && before.is_none() {
            // The object has no records at the new site yet, so the old site is kept.
            return self.entry.held.clone();
        }
        Some(Held { site: site.clone(), families })
    }

    /// Whether an address stays on its eligible node when its pool is deleted.
    fn outlives(&self, view: &PoolView<'_>, ip: IpAddr, machine: &MachineId) -> bool {
        let stays = |request: &Request| release::outlives(self.world, view.entry, request, ip);
        view.request.is_some_and(stays) && view.may_keep(self.world, machine)
    }

    /// The wanted addresses by family; `None` if unknown.
    fn wanted(&self, request: &RecordRequest) -> Option<[Wanted; 2]> {
        let mut all = Wanted::default();
        match &request.source {
            RecordSource::Pool => {
                let view = self.view.filter(|view| view.request.is_some())?;
                for one in &view.leaving {
                    if view.keeping.contains(&one.ip) {
                        let serves = view.serves(self.world, one);
                        (if serves { &mut all.sure } else { &mut all.doubtful }).insert(one.ip);
                    } else if is_unsure(&one.place)
                        || delisted::awaits_replacement(self.world, view, one)
                    {
                        // The user removed the address, so it is not added.
                        all.doubtful.insert(one.ip);
                    }
                }
                for one in &view.addresses {
                    match one.place {
                        Place::Home(..) => drop(all.sure.insert(one.ip)),
                        Place::Unknown | Place::Missing | Place::Busy(_) | Place::Moving(_) => {
                            all.doubtful.insert(one.ip);
                        }
                        Place::Stranded(..) | Place::Free if self.moving.contains(&one.ip) => {
                            all.doubtful.insert(one.ip);
                        }
                        // An address that is not released with its pool goes on serving.
                        Place::Disabled(Some(machine)) if self.outlives(view, one.ip, machine) => {
                            all.sure.insert(one.ip);
                        }
                        Place::Stranded(..)
                        | Place::Free
                        | Place::Conflict(_)
                        | Place::Disabled(_)
                        | Place::Gone
                        | Place::Unsupported => {}
                    }
                }
            }
            RecordSource::Nodes { addresses, .. } => {
                let class = self.entry.class?;
                let names = self.world.candidates().eligible(class);
                for node in names.filter_map(|name| self.world.node(name)) {
                    match addresses {
                        NodeAddress::External => all.sure.extend(&node.addresses.external),
                        NodeAddress::Internal => all.sure.extend(&node.addresses.internal),
                        NodeAddress::Marked(mark) => {
                            let value = node.marks.get(mark);
                            all.sure
                                .extend(value.map(|value| mark.named(value)).unwrap_or_default());
                        }
                    }
                }
            }
        }
        Some(Family::ALL.map(|family| {
            let of = |ips: &BTreeSet<IpAddr>| {
                ips.iter().copied().filter(|ip| Family::of(*ip) == family).collect()
            };
            Wanted { sure: of(&all.sure), doubtful: of(&all.doubtful) }
        }))
    }
}

/// Whether an address may still be where it was.
fn is_unsure(place: &Place) -> bool {
    matches!(place, Place::Unknown | Place::Missing | Place::Busy(_))
}

/// The step before a change that is held. Held are the undoing of drift, and settings that the DNS
/// host did not store as asked. A change of the wanted addresses is never held.
fn hold(
    request: &RecordRequest,
    known: &KnownSet,
    records: &[Record],
    wanted: &Wanted,
    now: Time,
) -> Option<Step> {
    if let Some(stubborn) = known.stubborn.as_ref().filter(|one| one.until > now)
        && lists(records, wanted)
    {
        let reason = RecordReason::Rejected(stubborn.message.clone(), stubborn.until);
        return Some(Step::Hold(reason, stubborn.until));
    }
    let drift = known.drift.as_ref()?;
    let ours = drift.ours.as_ref()?;
    let until = drift.at + drift::hold(drift.times);
    // A TTL that the host never stored as asked is no change of the wanted addresses.
    let was_right = match known.stubborn {
        Some(_) => lists(ours, wanted),
        None => difference(ours, wanted, request.ttl, None).is_empty(),
    };
    if !was_right {
        return None;
    }
    let reason = RecordReason::Drift(drift.times, until);
    if until > now {
        return Some(Step::Hold(reason, until));
    }
    // Another writer may have changed the name again. Of two equal records it may have deleted the
    // one that we would keep.
    (known.at < until).then_some(Step::Read(reason))
}

/// Whether a failure is reported although nothing has to be changed.
fn is_lasting(reason: &RecordReason) -> bool {
    matches!(reason, RecordReason::ZoneNotFound(..) | RecordReason::CredentialsRefused(..))
}

/// The failure of the last change, else of the last read.
fn told(known: &KnownSet) -> Option<RecordReason> {
    failed(&known.change_work).or_else(|| failed(&known.read_work))
}

fn failed(work: &Work) -> Option<RecordReason> {
    let failure = work.failure.as_ref()?;
    let (message, next) = (failure.message.clone(), work.not_before);
    Some(match failure.kind {
        FailureKind::NotFound => RecordReason::ZoneNotFound(message, next),
        FailureKind::Rejected => RecordReason::Rejected(message, next),
        FailureKind::Quota => RecordReason::ZoneFull(message, next),
        FailureKind::Refused => RecordReason::CredentialsRefused(message, next),
        FailureKind::NotSent
        | FailureKind::Throttled { .. }
        | FailureKind::HeldBack { .. }
        | FailureKind::NoAnswer
        | FailureKind::Unavailable
        | FailureKind::Busy
        | FailureKind::Conflict => RecordReason::Failed(message, next),
    })
}

/// Rank of a reason. The lowest rank is reported.
fn gravity(reason: &RecordReason) -> u8 {
    match reason {
        RecordReason::Invalid(_) | RecordReason::NoAccount(_) | RecordReason::Conflict(..) => 0,
        RecordReason::ZoneNotFound(..)
        | RecordReason::Rejected(..)
        | RecordReason::ZoneFull(..)
        | RecordReason::CredentialsRefused(..) => 1,
        RecordReason::Throttled(_) | RecordReason::Failed(..) | RecordReason::Drift(..) => 2,
        RecordReason::Pacing(_) | RecordReason::Updating => 3,
        RecordReason::Reading => 4,
        RecordReason::Current
        | RecordReason::NothingToList
        | RecordReason::Removed
        | RecordReason::PoolUnplanned => 5,
    }
}
