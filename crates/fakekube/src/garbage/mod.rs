//! The garbage collector, which in a real cluster is part of kube-controller-manager: deletes
//! objects whose owners are gone, and carries out the policies `Foreground` and `Orphan`.
//!
//! Follows Kubernetes' collector, in rounds: a round judges each object that a write since the last
//! round concerns, once, in the order of their keys. Changes of the collector are requests to the
//! server like those of any client, but no fault rules apply, and the record omits them.

mod judge;
mod kinship;
mod requests;

pub(crate) use kinship::{FOREGROUND, Kinship, ORPHAN};

use std::sync::Arc;
use std::time::Duration;

use crate::state::{Shared, State};

/// A collector that is switched on.
#[derive(Debug)]
pub(crate) struct Collector {
    /// Time from a write to the round that follows it.
    lag: Duration,
    /// Whether a round is to come.
    waits: bool,
}

/// Switches the collector on. All objects are judged in the first round.
pub(crate) fn begin(state: &mut State, lag: Duration) {
    state.store.track_kinship();
    let waits = state.collector.as_ref().is_some_and(|collector| collector.waits);
    state.collector = Some(Collector { lag, waits });
}

/// Starts the rounds that the last write calls for, on a task of their own.
pub(crate) fn wake(shared: &Arc<Shared>) {
    let mut state = shared.lock();
    let due = state.store.kinship().is_some_and(Kinship::is_due);
    let Some(collector) = state.collector.as_mut().filter(|collector| due && !collector.waits)
    else {
        return;
    };
    collector.waits = true;
    let lag = collector.lag;
    tokio::spawn(collect(Arc::clone(shared), lag));
}

/// One round after another until nothing is left to judge.
async fn collect(shared: Arc<Shared>, lag: Duration) {
    loop {
        if lag.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(lag).await;
        }
        let mut state = shared.lock();
        round(&mut state);
        if !state.store.kinship().is_some_and(Kinship::is_due) {
            if let Some(collector) = &mut state.collector {
                collector.waits = false;
            }
            return;
        }
    }
}

fn round(state: &mut State) {
    for spot in state.store.kinship_mut().map(Kinship::take).unwrap_or_default() {
        let Some(case) = judge::case(state, &spot) else { continue };
        let verdict = judge::verdict(state, &case);
        if !requests::execute(state, &case, &verdict)
            && let Some(kinship) = state.store.kinship_mut()
        {
            kinship.put_off(spot);
        }
    }
}
