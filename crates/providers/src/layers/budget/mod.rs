//! One rate budget per credential, in which failover goes before housekeeping.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, Request, StatusCode};
use tokio::time::Instant;
use tower::{ServiceExt, service_fn};

use crate::transport::{Transport, TransportError};

/// How urgent a request is; it travels in the request's extensions, and a request without
/// one is housekeeping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Traffic is lost until it is done.
    Failover,
    /// A failover is not over without it: reads that confirm a move, names that follow it.
    Following,
    /// A further part of something that was admitted: the next page of a listing.
    Begun,
    /// It can wait: routine listings, new addresses, releases.
    #[default]
    Housekeeping,
}

/// What a vendor says is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Requests per window.
    pub limit: u64,
    /// Requests left of it.
    pub remaining: u64,
    /// When there will be more of them.
    pub resets_in: Duration,
}

/// A limit on short bursts that the vendor does not count down in its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// So many requests
    pub requests: usize,
    /// in any stretch of this length.
    pub per: Duration,
}

/// What is known of a vendor's rate limits.
#[derive(Clone, Copy, Debug)]
pub struct RateRules {
    /// Reads what is left from the headers of any answer, also of a 429.
    pub headroom: fn(&HeaderMap) -> Option<Headroom>,
    /// The vendor's limit on bursts.
    pub burst: Option<Burst>,
}

/// The requests that one credential may still make.
///
/// | what the vendor said | failover | what follows it | housekeeping |
/// |---|---|---|---|
/// | nothing yet, or more than the reserve is left | goes | goes | goes |
/// | four fifths of the burst limit were sent | goes | trickles | trickles |
/// | no more than the reserve is left | goes | trickles | one request after each reset, at most one per 10 s |
/// | no more than the last tenth of the reserve is left | goes | as housekeeping | the same |
/// | 429 | waits | waits | waits |
///
/// The reserve is a tenth of the limit, at least 10 requests, at most half of the limit; its
/// last tenth is at least 5 requests, at most half of it. To trickle is to go five at once and
/// then one per 2 s, so that moves are still confirmed.
/// Nothing queues here: what may not go now is answered at once with
/// [`RateLimited`](TransportError::RateLimited) and the time after which to decide again.
/// Time is tokio's, so that it can be paused.
#[derive(Clone)]
pub struct Budget {
    rules: RateRules,
    state: Arc<Mutex<State>>,
}

impl Budget {
    /// A budget of which nothing is known yet.
    pub fn new(rules: RateRules) -> Self {
        Self { rules, state: Arc::default() }
    }

    /// Makes every request of `transport` ask the budget first, and every answer tell it.
    pub fn around(&self, transport: Transport) -> Transport {
        let budget = self.clone();
        Transport::new(service_fn(move |request: Request<Bytes>| {
            let (budget, transport) = (budget.clone(), transport.clone());
            async move {
                let priority = request.extensions().get().copied().unwrap_or_default();
                let underway = budget.admit(priority)?;
                let result = transport.oneshot(request).await;
                underway.ends(result.as_ref().map(|answer| (answer.status(), answer.headers())));
                result
            }
        }))
    }

    fn admit(&self, priority: Priority) -> Result<Underway, TransportError> {
        self.state()
            .admit(priority, self.rules.burst, Instant::now())
            .map_err(|retry_after| TransportError::RateLimited { retry_after })?;
        Ok(Underway(self.clone()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state().fmt(f)
    }
}

/// How long a 429 asks to wait: its `retry-after`, else the reset that `headroom` tells,
/// else a minute; at least a second, and at most an hour, so that a vendor's slip does not
/// stop us for a day.
pub fn retry_after(headers: &HeaderMap, headroom: Option<Headroom>) -> Duration {
    asked_wait(headers)
        .or(headroom.map(|headroom| headroom.resets_in))
        .unwrap_or(DEFAULT_WAIT)
        .clamp(SHORTEST_WAIT, LONGEST_WAIT)
}

const DEFAULT_WAIT: Duration = Duration::from_secs(60);
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// While housekeeping is held back, one request goes this often to learn how things stand.
const PROBE: Duration = Duration::from_secs(10);

/// What trickles goes this often,
const TRICKLE: Duration = Duration::from_secs(2);

/// after so many at once.
const HANDFUL: u32 = 5;

fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    Some(until.duration_since(sent_at(headers)?).unwrap_or_default())
}

/// The vendor's clock when it answered: no wall clock of ours is compared with it.
pub(crate) fn sent_at(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()
}

/// A request that was admitted and has not ended; dropping it ends it too.
struct Underway(Budget);

impl Underway {
    fn ends(self, result: Result<(StatusCode, &HeaderMap), &TransportError>) {
        let Budget { rules, .. } = self.0;
        let now = Instant::now();
        let mut state = self.0.state();
        match result {
            Ok((status, headers)) => {
                let headroom = (rules.headroom)(headers);
                if let Some(headroom) = headroom {
                    state.learn(headroom, now);
                }
                if status == StatusCode::TOO_MANY_REQUESTS {
                    state.close(retry_after(headers, headroom), now);
                }
            }
            Err(TransportError::NotSent(_) | TransportError::RateLimited { .. }) => state.refund(),
            Err(TransportError::NoAnswer(_)) => {}
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.state().underway -= 1;
    }
}

#[derive(Debug, Default)]
struct State {
    /// After a 429, nothing goes before this.
    closed_until: Option<Instant>,
    /// What the vendor last said, less what was sent since.
    left: Option<Left>,
    /// When the requests of the burst limit's stretch were sent, oldest first.
    sent: VecDeque<Instant>,
    /// Admitted and not ended.
    underway: u64,
    /// Up to when the trickle is used up: each request takes [`TRICKLE`] of
    /// it, and it may run [`HANDFUL`] requests ahead.
    trickled_until: Option<Instant>,
}

#[derive(Debug)]
struct Left {
    reserve: u64,
    /// So many are kept for moves alone.
    last: u64,
    remaining: u64,
    /// When housekeeping may go although no more than the reserve is left.
    probe_at: Instant,
}

impl State {
    /// Counts the request as sent, or says how long it has to wait.
    fn admit(
        &mut self,
        priority: Priority,
        burst: Option<Burst>,
        now: Instant,
    ) -> Result<(), Duration> {
        if let Some(until) = self.closed_until.filter(|until| *until > now) {
            return Err(until - now);
        }
        if let Some(burst) = burst {
            while self.sent.front().is_some_and(|sent| *sent + burst.per <= now) {
                self.sent.pop_front();
            }
        }
        match priority {
            Priority::Failover | Priority::Begun => {}
            Priority::Following if self.reserve_is_touched() => self.trickle(now)?,
            Priority::Following | Priority::Housekeeping => {
                self.burst_allows(burst, now)?;
                self.reserve_allows(now)?;
            }
        }
        if let Some(left) = &mut self.left {
            left.remaining = left.remaining.saturating_sub(1);
        }
        if burst.is_some() {
            self.sent.push_back(now);
        }
        self.underway += 1;
        Ok(())
    }

    fn burst_allows(&mut self, burst: Option<Burst>, now: Instant) -> Result<(), Duration> {
        let share = burst.map_or(usize::MAX, |burst| (burst.requests * 4 / 5).max(1));
        if self.sent.len() < share { Ok(()) } else { self.trickle(now) }
    }

    /// No more than the reserve is left, and more than the last of it.
    fn reserve_is_touched(&self) -> bool {
        let Some(Left { reserve, last, remaining, .. }) = &self.left else { return false };
        remaining <= reserve && remaining > last
    }

    fn trickle(&mut self, now: Instant) -> Result<(), Duration> {
        let used = self.trickled_until.map_or(now, |until| until.max(now)) + TRICKLE;
        let ahead = used.saturating_duration_since(now);
        if ahead > TRICKLE * HANDFUL {
            return Err(ahead - TRICKLE * HANDFUL);
        }
        self.trickled_until = Some(used);
        Ok(())
    }

    fn reserve_allows(&mut self, now: Instant) -> Result<(), Duration> {
        let Some(left) = self.left.as_mut().filter(|left| left.remaining <= left.reserve) else {
            return Ok(());
        };
        if left.probe_at > now {
            return Err(left.probe_at - now);
        }
        left.probe_at = now + PROBE;
        Ok(())
    }

    fn learn(&mut self, headroom: Headroom, now: Instant) {
        // The vendor may not have counted yet what is still underway beside this answer.
        let others = self.underway.saturating_sub(1);
        let reserve = (headroom.limit / 10).max(10).min(headroom.limit / 2);
        self.left = Some(Left {
            reserve,
            last: (reserve / 10).max(5).min(reserve / 2),
            remaining: headroom.remaining.saturating_sub(others),
            probe_at: now + headroom.resets_in.clamp(PROBE, LONGEST_WAIT),
        });
    }

    fn close(&mut self, wait: Duration, now: Instant) {
        self.closed_until = self.closed_until.max(Some(now + wait));
    }

    /// The last request did not go after all.
    fn refund(&mut self) {
        self.sent.pop_back();
        if let Some(left) = &mut self.left {
            left.remaining = left.remaining.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
