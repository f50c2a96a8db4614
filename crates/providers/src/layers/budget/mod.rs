//! One rate budget per credential, in which failover goes before housekeeping.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, Request, Response, StatusCode};
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

/// How long a request is held back, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// When to decide again.
    pub retry_after: Duration,
    /// We pace ourselves, to stay within a limit of which the vendor has not said that it is
    /// used up; else the vendor has said that nothing, or little, is left.
    pub pacing: bool,
}

/// The requests that one credential may still make.
///
/// | what the vendor said | failover | what follows it | housekeeping |
/// |---|---|---|---|
/// | nothing yet, or more than the reserve is left | goes | goes | goes |
/// | four fifths of the burst limit were sent | goes | goes | trickles |
/// | nine tenths of the burst limit were sent | goes | trickles | trickles |
/// | the burst limit was sent | waits until the oldest is forgotten | the same | the same |
/// | no more than the reserve is left | goes | trickles | one request after each reset, at most one per 10 s |
/// | no more than the last tenth of the reserve is left | goes | as housekeeping | the same |
/// | 429 | waits | waits | waits |
///
/// The reserve is a tenth of the limit, at least 10 requests, at most half of the limit; its
/// last tenth is at least 5 requests, at most half of it. To trickle is to go five at once and
/// then one per 2 s, so that moves are still confirmed.
/// Nothing queues here: what may not go now is answered at once with
/// [`RateLimited`](TransportError::RateLimited) and the time after which to decide again.
///
/// How long a 429 closes the budget: as long as its `retry-after` says, else until the reset
/// if nothing is left, at least a second, and at most an hour, so that a vendor's slip does
/// not stop us for a day. If much is left, the reset says nothing of it: it is a limit on
/// bursts, and the wait begins with 5 s and doubles up to a minute while nothing else is
/// answered. If nothing at all is said, a minute.
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
                let mut result = transport.oneshot(request).await;
                let closed = underway
                    .ends(result.as_ref().map(|answer| (answer.status(), answer.headers())));
                if let (Ok(answer), Some(wait)) = (&mut result, closed) {
                    answer.extensions_mut().insert(Closed(wait));
                }
                result
            }
        }))
    }

    fn admit(&self, priority: Priority) -> Result<Underway, TransportError> {
        self.state()
            .admit(priority, self.rules.burst, Instant::now())
            .map_err(TransportError::RateLimited)?;
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

/// How long the budget is closed because of an answer; travels in its extensions.
#[derive(Clone, Copy)]
struct Closed(Duration);

/// How long everything waits because of this 429, which came through a [`Budget`].
pub fn retry_after(answer: &Response<Bytes>) -> Duration {
    answer.extensions().get().map_or(DEFAULT_WAIT, |Closed(wait)| *wait)
}

/// How long a 429 asks to wait; none if the vendor counts much as left, and so speaks of
/// another limit than the one that it counts.
fn told_wait(headers: &HeaderMap, headroom: Option<Headroom>) -> Option<Duration> {
    let reset = match headroom {
        Some(Headroom { remaining: 0, resets_in, .. }) => Some(resets_in),
        Some(_) => None,
        None => Some(DEFAULT_WAIT),
    };
    asked_wait(headers).or(reset).map(|wait| wait.clamp(SHORTEST_WAIT, LONGEST_WAIT))
}

/// How long to wait after so many refusals in a row that said nothing of it.
fn untold_wait(refusals: u32) -> Duration {
    let doubled = 1_u32.checked_shl(refusals.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(doubled).min(DEFAULT_WAIT)
}

const FIRST_WAIT: Duration = Duration::from_secs(5);
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
    /// Returns for how long nothing goes now, if the vendor refused it.
    fn ends(self, result: Result<(StatusCode, &HeaderMap), &TransportError>) -> Option<Duration> {
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
                    return Some(state.close(told_wait(headers, headroom), now));
                }
                state.refusals = 0;
            }
            Err(TransportError::NotSent(_) | TransportError::RateLimited(_)) => state.refund(),
            Err(TransportError::NoAnswer(_)) => {}
        }
        None
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
    /// How often in a row it was closed by a 429 that did not say for how long.
    refusals: u32,
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
    ) -> Result<(), Hold> {
        if let Some(until) = self.closed_until.filter(|until| *until > now) {
            return Err(Hold { retry_after: until - now, pacing: false });
        }
        if let Some(burst) = burst {
            while self.sent.front().is_some_and(|sent| *sent + burst.per <= now) {
                self.sent.pop_front();
            }
        }
        match priority {
            // What has begun is finished: a page or two more.
            Priority::Begun => {}
            Priority::Failover => self.burst_allows((1, 1), burst, now)?,
            Priority::Following if self.reserve_is_touched() => {
                self.burst_allows((1, 1), burst, now)?;
                self.trickle(false, now)?;
            }
            Priority::Following => {
                self.burst_allows((9, 10), burst, now)?;
                self.reserve_allows(now)?;
            }
            Priority::Housekeeping => {
                self.burst_allows((4, 5), burst, now)?;
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

    /// What goes beyond its share of a burst trickles, and nothing goes beyond the whole.
    fn burst_allows(
        &mut self,
        (parts, of): (usize, usize),
        burst: Option<Burst>,
        now: Instant,
    ) -> Result<(), Hold> {
        let Some(Burst { requests, per }) = burst else { return Ok(()) };
        if self.sent.len() >= requests {
            let frees = self.sent.front().map_or(now, |oldest| *oldest + per);
            let retry_after = frees.saturating_duration_since(now).max(SHORTEST_WAIT);
            return Err(Hold { retry_after, pacing: true });
        }
        let share = (requests * parts / of).max(1);
        if self.sent.len() < share { Ok(()) } else { self.trickle(true, now) }
    }

    /// No more than the reserve is left, and more than the last of it.
    fn reserve_is_touched(&self) -> bool {
        let Some(Left { reserve, last, remaining, .. }) = &self.left else { return false };
        remaining <= reserve && remaining > last
    }

    fn trickle(&mut self, pacing: bool, now: Instant) -> Result<(), Hold> {
        let used = self.trickled_until.map_or(now, |until| until.max(now)) + TRICKLE;
        let ahead = used.saturating_duration_since(now);
        if ahead > TRICKLE * HANDFUL {
            return Err(Hold { retry_after: ahead - TRICKLE * HANDFUL, pacing });
        }
        self.trickled_until = Some(used);
        Ok(())
    }

    fn reserve_allows(&mut self, now: Instant) -> Result<(), Hold> {
        let Some(left) = self.left.as_mut().filter(|left| left.remaining <= left.reserve) else {
            return Ok(());
        };
        if left.probe_at > now {
            return Err(Hold { retry_after: left.probe_at - now, pacing: false });
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

    /// Nothing goes for as long as the vendor told, or as experience tells. Returns how long
    /// that is.
    fn close(&mut self, told: Option<Duration>, now: Instant) -> Duration {
        let closed = self.closed_until.filter(|until| *until > now);
        let until = match (told, closed) {
            (Some(wait), _) => closed.unwrap_or(now).max(now + wait),
            // It was sent before another one was refused: nothing new.
            (None, Some(until)) => until,
            (None, None) => {
                self.refusals = self.refusals.saturating_add(1);
                now + untold_wait(self.refusals)
            }
        };
        self.closed_until = Some(until);
        until - now
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
