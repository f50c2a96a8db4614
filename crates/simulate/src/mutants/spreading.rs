//! Mutants in which one fault keeps other addresses from a usable node, or in which old or foreign
//! information counts as the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fakecloud::Asked;
use http::{Request, Response, StatusCode};
use pontoon_providers::{Transport, TransportError};
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::{ServiceExt, service_fn};

use super::{answer, refused};
use crate::vendor::Vendor;
use crate::wire::CloudAction;

/// Locks the memory of a mutant.
fn lock<T>(memory: &Mutex<T>) -> MutexGuard<'_, T> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The action, address and machine of a call.
fn about(request: &Request<Bytes>) -> (CloudAction, String, Option<u64>) {
    let Asked { purpose, ip, machine, .. } = fakecloud::asked(request);
    (purpose, ip.map(|ip| ip.to_string()).unwrap_or_default(), machine)
}

fn status(result: &Result<Response<Bytes>, TransportError>) -> u16 {
    result.as_ref().map_or(0, |answer| answer.status().as_u16())
}

/// Whether a provider refuses a call as impossible, and not as too early.
fn is_refusal(result: &Result<Response<Bytes>, TransportError>) -> bool {
    const TOO_EARLY: &[u8] = b"resourceNotReady";
    let early = |answer: &Response<Bytes>| {
        answer.body().windows(TOO_EARLY.len()).any(|one| one == TOO_EARLY)
    };
    let refusals = [Vendor::DigitalOcean, Vendor::Google].map(Vendor::refusal);
    refusals.contains(&status(result)) && !result.as_ref().is_ok_and(early)
}

/// After refusing one address, a machine is refused for all, as long as the longest back-off.
pub(super) fn blames_machines(wire: Transport) -> Transport {
    const WHILE: Duration = Duration::from_secs(300);
    let blamed: Arc<Mutex<BTreeMap<u64, Instant>>> = Arc::default();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (wire, blamed) = (wire.clone(), Arc::clone(&blamed));
        async move {
            let (action, _, machine) = about(&request);
            let machine = machine.filter(|_| action == CloudAction::Assign);
            let Some(machine) = machine else { return wire.oneshot(request).await };
            if lock(&blamed).get(&machine).is_some_and(|since| since.elapsed() < WHILE) {
                return Ok(refused());
            }
            let result = wire.oneshot(request).await;
            if is_refusal(&result) {
                lock(&blamed).insert(machine, Instant::now());
            }
            result
        }
    }))
}

/// After a failed reservation, the machine is kept for that reservation.
pub(super) fn keeps_for_reservations(wire: Transport) -> Transport {
    let kept: Arc<Mutex<BTreeSet<u64>>> = Arc::default();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (wire, kept) = (wire.clone(), Arc::clone(&kept));
        async move {
            let (action, _, machine) = about(&request);
            let Some(machine) = machine else { return wire.oneshot(request).await };
            if action == CloudAction::Assign && lock(&kept).contains(&machine) {
                return Ok(refused());
            }
            let result = wire.oneshot(request).await;
            if action == CloudAction::CreateOn {
                match status(&result) {
                    200..300 => drop(lock(&kept).remove(&machine)),
                    _ => drop(lock(&kept).insert(machine)),
                }
            }
            result
        }
    }))
}

/// After a dropped reservation, the machine is kept for ever.
pub(super) fn keeps_abandoned(wire: Transport) -> Transport {
    struct Open(Arc<Mutex<BTreeSet<u64>>>, u64, bool);
    impl Drop for Open {
        fn drop(&mut self) {
            if self.2 {
                lock(&self.0).insert(self.1);
            }
        }
    }
    let kept: Arc<Mutex<BTreeSet<u64>>> = Arc::default();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (wire, kept) = (wire.clone(), Arc::clone(&kept));
        async move {
            let (action, _, machine) = about(&request);
            let Some(machine) = machine else { return wire.oneshot(request).await };
            if lock(&kept).contains(&machine) {
                return Ok(refused());
            }
            let mut open = Open(Arc::clone(&kept), machine, action == CloudAction::CreateOn);
            let result = wire.oneshot(request).await;
            open.2 = false;
            result
        }
    }))
}

/// After a 500 or 503, the machine is kept for the failed address.
pub(super) fn keeps_failed_targets(wire: Transport) -> Transport {
    let kept: Arc<Mutex<BTreeMap<u64, String>>> = Arc::default();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (wire, kept) = (wire.clone(), Arc::clone(&kept));
        async move {
            let (action, address, machine) = about(&request);
            let machine = machine.filter(|_| action == CloudAction::Assign);
            let Some(machine) = machine else { return wire.oneshot(request).await };
            if lock(&kept).get(&machine).is_some_and(|one| *one != address) {
                return Ok(refused());
            }
            let result = wire.oneshot(request).await;
            match status(&result) {
                500 | 503 => drop(lock(&kept).insert(machine, address)),
                200..300 => lock(&kept).retain(|_, one| *one != address),
                _ => {}
            }
            result
        }
    }))
}

/// A reservation answered with 500 or 503 counts as not made.
pub(super) fn breakdown_is_no(wire: Transport) -> Transport {
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let wire = wire.clone();
        async move {
            let reserves = about(&request).0.creates();
            let result = wire.oneshot(request).await;
            match status(&result) {
                500 | 503 if reserves => Ok(refused()),
                _ => result,
            }
        }
    }))
}

/// Answers with a listing up to three minutes old, unless a call of this process changed something.
pub(super) fn old_sightings(wire: Transport) -> Transport {
    const WHILE: Duration = Duration::from_secs(180);
    type Listing = Option<(Instant, Response<Bytes>)>;
    let seen: Arc<Mutex<Listing>> = Arc::default();
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (wire, seen) = (wire.clone(), Arc::clone(&seen));
        async move {
            let (action, address, _) = about(&request);
            if action.changes() {
                *lock(&seen) = None;
            }
            let fresh = lock(&seen).clone().filter(|(since, _)| since.elapsed() < WHILE);
            match (action, fresh) {
                (CloudAction::List, Some((_, listing))) => return Ok(listing),
                (CloudAction::ReadAddress, Some((_, listing))) => {
                    if let Some(one) = listed(&listing, &address) {
                        return Ok(one);
                    }
                }
                _ => {}
            }
            let result = wire.oneshot(request).await;
            if let (CloudAction::List, Ok(listing)) = (action, &result) {
                let quiet = listing.status().is_success() && !is_locked(listing);
                *lock(&seen) = quiet.then(|| (Instant::now(), listing.clone()));
            }
            result
        }
    }))
}

/// An address of the listing in the form of a single read.
fn listed(listing: &Response<Bytes>, address: &str) -> Option<Response<Bytes>> {
    let body: Value = serde_json::from_slice(listing.body()).ok()?;
    let one = body["reserved_ips"].as_array()?.iter().find(|one| one["ip"] == address)?;
    Some(answer(StatusCode::OK, &json!({"reserved_ip": one}).to_string()))
}

/// Whether an operation is under way.
pub(super) fn is_locked(listing: &Response<Bytes>) -> bool {
    String::from_utf8_lossy(listing.body()).contains("\"locked\":true")
}
