//! Mutants that read the provider more often than they need.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use pontoon_providers::Transport;
use tokio::time::{Instant, sleep};
use tower::{ServiceExt, service_fn};

use super::{action, spreading::is_locked};
use crate::wire::CloudAction;

/// Repeats the read of a missing address at network speed, for five seconds.
pub(super) fn at_network_speed(wire: Transport) -> Transport {
    const WHILE: Duration = Duration::from_secs(5);
    const ROUND_TRIP: Duration = Duration::from_millis(20);
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let wire = wire.clone();
        async move {
            let reads = action(&request) == CloudAction::ReadAddress;
            let since = Instant::now();
            loop {
                let answer = wire.clone().oneshot(request.clone()).await?;
                let again = reads && answer.status() == StatusCode::NOT_FOUND;
                if !again || since.elapsed() > WHILE {
                    return Ok(answer);
                }
                sleep(ROUND_TRIP).await;
            }
        }
    }))
}

/// From the first locked address on, lists the account every two seconds, without end.
pub(super) fn without_end(wire: Transport) -> Transport {
    const INTERVAL: Duration = Duration::from_secs(2);
    let begun = Arc::new(AtomicBool::new(false));
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let (wire, begun) = (wire.clone(), Arc::clone(&begun));
        async move {
            let lists = action(&request) == CloudAction::List;
            let answer = wire.clone().oneshot(request.clone()).await?;
            if lists && is_locked(&answer) && !begun.swap(true, Ordering::Relaxed) {
                tokio::spawn(async move {
                    loop {
                        sleep(INTERVAL).await;
                        drop(wire.clone().oneshot(request.clone()).await);
                    }
                });
            }
            Ok(answer)
        }
    }))
}
