//! Faults planted at the interfaces of the operator; the oracle must find each. The first are
//! faults of the predecessors, the rest faults of Pontoon that were found from outside. Faults that
//! need thousands of nodes have planner tests and benchmarks instead.

mod distorting;
mod evicting;
mod ledgers;
mod memory;
mod names;
mod old_events;
mod reading;
mod spreading;
mod vips;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use fakecloud::Asked;
use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use pontoon_providers::layers::Gate;
use pontoon_providers::{Transport, TransportError};
use tokio::time::Instant;
use tower::{Service, ServiceExt, service_fn};

use crate::wire::{ApiAction, ApiWire, CloudAction, WireBody};
use distorting::{Distortion, Layer};
use memory::{ByName, Shown};
use names::Lists;
use old_events::OldEvents;
use vips::{ByClaimName, ShownClusters};

/// A fault in the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mutant {
    /// Row 1: no intent is written before a reservation.
    ForgetsIntents,
    /// Row 2: an unanswered reservation counts as not made.
    TakesSilenceForNo,
    /// Row 3: an old event about a pool counts as the newest.
    BelievesOldEvents,
    /// Row 5: a machine is not tried again after a failure.
    GivesUp,
    /// Row 6: a listing older than an assignment counts as newer.
    BelievesOldListings,
    /// Row 7: a failed read counts as an empty result.
    TakesErrorsForAbsence,
    /// Row 9: the first part of a list counts as the whole.
    BelievesHalfLists,
    /// Row 10: objects missing in a new list count as present.
    KeepsGhosts,
    /// Row 12: calls are sent without checking the Lease.
    Unfenced,
    /// The refusal of one address counts against the machine.
    BlamesMachines,
    /// An impossible reservation blocks its machine for existing addresses.
    KeepsForReservations,
    /// A dropped reservation blocks its machine for ever.
    KeepsAbandoned,
    /// A sighting from before an address was listed counts as current.
    BelievesOldSightings,
    /// An unreadable spec lists no addresses.
    ForgetsLists,
    /// A failed attempt blocks its machine for other addresses, whether repeated or not.
    KeepsFailedTargets,
    /// A recreated pool is taken for the former pool with the same name.
    RemembersByName,
    /// A reservation answered with 500 or 503 counts as not made.
    TakesBreakdownForNo,
    /// A pool reserves one address more than it wants.
    ReservesTooMany,
    /// Assignments follow each other without a cool-off.
    IgnoresCoolOff,
    /// A node that fails loses its address at once.
    IgnoresGrace,
    /// A machine's own address counts as restored without a call.
    DropsEgress,
    /// Pods are evicted before the address has left their node.
    EvictsEarly,
    /// Row 11: a claim with the right name is trusted, whoever owns it.
    TrustsNamesakes,
    /// The holder of a deleted Cluster is dropped while its machines are there.
    DropsHolders,
    /// A user's host counts as none.
    OverwritesUsers,
    /// An address from before a reservation passes for its result.
    AdoptsStrangers,
    /// Each reservation in the ledger has its own copy of the addresses from before.
    OutgrowsLedgers,
    /// A missing address is read again and again at network speed.
    RereadsAtOnce,
    /// A locked address has the account listed every two seconds, without end.
    ListsWithoutEnd,
}

impl Mutant {
    /// All mutants.
    pub const ALL: [Self; 29] = [
        Self::ForgetsIntents,
        Self::TakesSilenceForNo,
        Self::BelievesOldEvents,
        Self::GivesUp,
        Self::BelievesOldListings,
        Self::TakesErrorsForAbsence,
        Self::BelievesHalfLists,
        Self::KeepsGhosts,
        Self::Unfenced,
        Self::BlamesMachines,
        Self::KeepsForReservations,
        Self::KeepsAbandoned,
        Self::BelievesOldSightings,
        Self::ForgetsLists,
        Self::KeepsFailedTargets,
        Self::RemembersByName,
        Self::TakesBreakdownForNo,
        Self::ReservesTooMany,
        Self::IgnoresCoolOff,
        Self::IgnoresGrace,
        Self::DropsEgress,
        Self::EvictsEarly,
        Self::TrustsNamesakes,
        Self::DropsHolders,
        Self::OverwritesUsers,
        Self::AdoptsStrangers,
        Self::OutgrowsLedgers,
        Self::RereadsAtOnce,
        Self::ListsWithoutEnd,
    ];

    /// The transport to the provider, with the fault.
    pub fn cloud(self, gate: &Gate, wire: Transport) -> Transport {
        match self {
            Self::Unfenced => wire,
            Self::TakesSilenceForNo => gate.around(silence_is_no(wire)),
            Self::GivesUp => gate.around(gives_up(wire)),
            Self::BelievesOldListings => gate.around(old_listings(wire)),
            Self::TakesErrorsForAbsence => gate.around(names::errors_are_empty(wire)),
            Self::BlamesMachines => gate.around(spreading::blames_machines(wire)),
            Self::KeepsForReservations => gate.around(spreading::keeps_for_reservations(wire)),
            Self::KeepsAbandoned => gate.around(spreading::keeps_abandoned(wire)),
            Self::BelievesOldSightings => gate.around(spreading::old_sightings(wire)),
            Self::KeepsFailedTargets => gate.around(spreading::keeps_failed_targets(wire)),
            Self::TakesBreakdownForNo => gate.around(spreading::breakdown_is_no(wire)),
            Self::DropsEgress => gate.around(drops_egress(wire)),
            Self::RereadsAtOnce => gate.around(reading::at_network_speed(wire)),
            Self::ListsWithoutEnd => gate.around(reading::without_end(wire)),
            Self::ForgetsIntents
            | Self::BelievesOldEvents
            | Self::BelievesHalfLists
            | Self::KeepsGhosts
            | Self::ForgetsLists
            | Self::RemembersByName
            | Self::ReservesTooMany
            | Self::IgnoresCoolOff
            | Self::IgnoresGrace
            | Self::EvictsEarly
            | Self::TrustsNamesakes
            | Self::DropsHolders
            | Self::OverwritesUsers
            | Self::AdoptsStrangers
            | Self::OutgrowsLedgers => gate.around(wire),
        }
    }

    /// The client of the API server, with the fault.
    pub fn api(self, wire: ApiWire) -> Client {
        match self {
            Self::ForgetsIntents => Client::new(Forgetful(wire), "default"),
            Self::BelievesOldEvents => distorted(wire, OldEvents::default()),
            Self::BelievesHalfLists => distorted(wire, Lists::in_part()),
            Self::KeepsGhosts => distorted(wire, Lists::with_ghosts()),
            Self::ForgetsLists => distorted(wire, Shown(memory::without_unreadable_list)),
            Self::ReservesTooMany => distorted(wire, Shown(memory::with_one_more)),
            Self::IgnoresCoolOff => distorted(wire, Shown(memory::without_cool_off)),
            Self::IgnoresGrace => distorted(wire, Shown(memory::without_grace)),
            Self::AdoptsStrangers => {
                passing(wire, |wire, request| ledgers::write(wire, request, ledgers::adopt))
            }
            Self::OutgrowsLedgers => {
                passing(wire, |wire, request| ledgers::write(wire, request, ledgers::outgrow))
            }
            Self::RemembersByName => distorted(wire, ByName::default()),
            Self::EvictsEarly => passing(wire, evicting::pass),
            Self::TrustsNamesakes => distorted(wire, ByClaimName::default()),
            Self::DropsHolders => distorted(wire, ShownClusters(vips::without_machines)),
            Self::OverwritesUsers => distorted(wire, ShownClusters(vips::without_users_host)),
            _ => Client::new(wire, "default"),
        }
    }
}

fn distorted(wire: ApiWire, distortion: impl Distortion) -> Client {
    Client::new(Layer::new(wire, distortion), "default")
}

/// The client whose requests are sent by `pass`.
fn passing<A>(wire: ApiWire, pass: fn(ApiWire, Request<Body>) -> A) -> Client
where
    A: Future<Output = Result<Response<WireBody>, fakekube::Lost>> + Send + 'static,
{
    Client::new(service_fn(move |request| pass(wire.clone(), request)), "default")
}

fn answer(status: StatusCode, body: &str) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::from(body.to_owned()));
    *answer.status_mut() = status;
    answer
}

fn unavailable() -> Response<Bytes> {
    answer(StatusCode::SERVICE_UNAVAILABLE, r#"{"id":"unavailable","message":"try again"}"#)
}

fn refused() -> Response<Bytes> {
    let body = r#"{"id":"unprocessable_entity","message":"not now"}"#;
    answer(StatusCode::UNPROCESSABLE_ENTITY, body)
}

fn action(request: &Request<Bytes>) -> CloudAction {
    fakecloud::asked(request).purpose
}

/// Turns an unanswered reservation into a refusal.
fn silence_is_no(wire: Transport) -> Transport {
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let wire = wire.clone();
        async move {
            let reserves = action(&request).creates();
            match wire.oneshot(request).await {
                Err(TransportError::NoAnswer(_)) if reserves => Ok(refused()),
                other => other,
            }
        }
    }))
}

/// Answers calls that restore a machine's own address with success, without sending them.
fn drops_egress(wire: Transport) -> Transport {
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let wire = wire.clone();
        async move {
            match action(&request) {
                CloudAction::RestoreOwn => {
                    Ok(answer(StatusCode::OK, r#"{"name":"operation-1","status":"DONE"}"#))
                }
                _ => wire.oneshot(request).await,
            }
        }
    }))
}

/// After a single 503, refuses the machine without asking the provider.
fn gives_up(wire: Transport) -> Transport {
    let given_up: Arc<Mutex<BTreeSet<u64>>> = Arc::default();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (wire, given_up) = (wire.clone(), Arc::clone(&given_up));
        async move {
            let Asked { purpose, machine, .. } = fakecloud::asked(&request);
            let machine = machine.filter(|_| purpose == CloudAction::Assign);
            let Some(machine) = machine else { return wire.oneshot(request).await };
            if given_up.lock().unwrap_or_else(PoisonError::into_inner).contains(&machine) {
                return Ok(unavailable());
            }
            let result = wire.oneshot(request).await;
            if result.as_ref().is_ok_and(|one| one.status() == StatusCode::SERVICE_UNAVAILABLE) {
                given_up.lock().unwrap_or_else(PoisonError::into_inner).insert(machine);
            }
            result
        }
    }))
}

/// For a while after an assignment, answers with the listing from before.
fn old_listings(wire: Transport) -> Transport {
    const WHILE: Duration = Duration::from_secs(90);
    #[derive(Default)]
    struct Memory {
        listing: Option<Response<Bytes>>,
        assigned: Option<Instant>,
    }
    let memory: Arc<Mutex<Memory>> = Arc::default();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (wire, memory) = (wire.clone(), Arc::clone(&memory));
        async move {
            let action = action(&request);
            {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                if action == CloudAction::Assign {
                    memory.assigned.get_or_insert_with(Instant::now);
                }
                if memory.assigned.is_some_and(|at| at.elapsed() > WHILE) {
                    memory.assigned = None;
                }
                if action == CloudAction::List
                    && memory.assigned.is_some()
                    && let Some(listing) = &memory.listing
                {
                    return Ok(listing.clone());
                }
            }
            let result = wire.oneshot(request).await?;
            if action == CloudAction::List && result.status().is_success() {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                memory.listing = Some(result.clone());
            }
            Ok(result)
        }
    }))
}

/// Acknowledges writes of the ledger without writing.
#[derive(Clone)]
struct Forgetful(ApiWire);

impl Service<Request<Body>> for Forgetful {
    type Response = <ApiWire as Service<Request<Body>>>::Response;
    type Error = <ApiWire as Service<Request<Body>>>::Error;
    type Future = <ApiWire as Service<Request<Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let query = request.uri().query().unwrap_or_default();
        let action = ApiAction::of(request.method(), request.uri().path(), query);
        if action != ApiAction::WriteLedger {
            return self.0.call(request);
        }
        let (parts, _) = request.into_parts();
        let nothing = br#"{"metadata":{"annotations":{}}}"#.to_vec();
        self.0.call(Request::from_parts(parts, Body::from(nothing)))
    }
}
