//! One rate budget per credential. Failover has precedence over housekeeping.

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

/// The urgency of a request, carried in the request's extensions. The default is housekeeping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Traffic is lost until the call succeeds.
    Failover,
    /// Part of completing a failover: reads confirming a move, and records following a move.
    Following,
    /// The continuation of an admitted call: the next page of a listing.
    Begun,
    /// Work without a deadline: routine listings, new addresses, releases.
    #[default]
    Housekeeping,
}

/// The remaining requests as reported by the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Requests per window.
    pub limit: u64,
    /// Requests left in the window.
    pub remaining: u64,
    /// The time until more requests become available.
    pub resets_in: Duration,
}

/// A limit on short bursts, not reported in headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The most requests in any period of length `per`.
    pub requests: usize,
    /// The length of the period.
    pub per: Duration,
}

/// A provider's rate limits.
#[derive(Clone, Copy, Debug)]
pub struct RateRules {
    /// Reads the remaining requests from the headers of any answer, including a 429.
    pub headroom: fn(&HeaderMap) -> Option<Headroom>,
    /// The provider's limit on bursts.
    pub burst: Option<Burst>,
    /// Whether an answer is a refusal by the rate limit. A 429 at most providers
    /// ([`is_too_many`]); some use another status and say so in the body.
    pub refuses: fn(&Response<Bytes>) -> bool,
}

/// A 429: [`RateRules::refuses`] of most providers.
pub fn is_too_many(answer: &Response<Bytes>) -> bool {
    answer.status() == StatusCode::TOO_MANY_REQUESTS
}

/// The wait of a request held back by the budget, and its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// The time after which to decide again.
    pub retry_after: Duration,
    /// True if we pace ourselves below a limit not reported as used up. False if the provider
    /// reported few or no requests left.
    pub pacing: bool,
}

/// The requests still allowed to one credential.
///
/// | the provider reported, or we sent | failover | following | housekeeping |
/// |---|---|---|---|
/// | nothing yet, or more than the reserve is left | goes | goes | goes |
/// | four fifths of the burst limit were sent | goes | goes | trickles |
/// | nine tenths of the burst limit were sent | goes | trickles | trickles |
/// | the burst limit was sent | waits until the oldest request expires | the same | the same |
/// | no more than the reserve is left | goes | trickles | one request after each reset, at most one per 10 s |
/// | no more than the last tenth of the reserve is left | goes | as housekeeping | the same |
/// | 429 | waits | waits | waits |
///
/// The reserve is a tenth of the limit, at least 10 requests and at most half of the limit. Its
/// last tenth is at least 5 requests and at most half of the reserve. To trickle is to send five
/// requests at once and then one per 2 s, so that moves are still confirmed.
///
/// The budget has no queue: a request not allowed now fails at once with
/// [`RateLimited`](TransportError::RateLimited) and the time after which to decide again.
///
/// A 429 closes the budget for its `retry-after`; without this header, until the reset if no
/// requests are left. The wait is at least a second and at most an hour, so that a wrong header
/// cannot stop us for a day. A 429 with requests left points to a burst limit, about which the
/// reset says nothing: the wait starts at 5 s and doubles up to a minute with each 429 in a row. A
/// 429 without any rate headers closes the budget for a minute.
///
/// All times are tokio's, so tests can pause them.
#[derive(Clone)]
pub struct Budget {
    rules: RateRules,
    state: Arc<Mutex<State>>,
}

impl Budget {
    /// A budget without any knowledge of the remaining requests.
    pub fn new(rules: RateRules) -> Self {
        Self { rules, state: Arc::default() }
    }

    /// Wraps `transport`: requests need the budget's permission, and answers update the budget.
    pub fn around(&self, transport: Transport) -> Transport {
        let budget = self.clone();
        Transport::new(service_fn(move |request: Request<Bytes>| {
            let (budget, transport) = (budget.clone(), transport.clone());
            async move {
                let priority = request.extensions().get().copied().unwrap_or_default();
                let underway = budget.admit(priority)?;
                let mut result = transport.oneshot(request).await;
                let closed = underway.ends(result.as_ref());
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

/// The time for which an answer closes the budget, carried in the answer's extensions.
#[derive(Clone, Copy)]
struct Closed(Duration);

/// The wait caused by this 429, which must have passed through a [`Budget`].
pub fn retry_after(answer: &Response<Bytes>) -> Duration {
    answer.extensions().get().map_or(DEFAULT_WAIT, |Closed(wait)| *wait)
}

/// The wait demanded by a 429. `None` if requests are left, because the 429 then comes from a limit
/// not reported in the headers.
fn told_wait(headers: &HeaderMap, headroom: Option<Headroom>) -> Option<Duration> {
    let reset = match headroom {
        Some(Headroom { remaining: 0, resets_in, .. }) => Some(resets_in),
        Some(_) => None,
        None => Some(DEFAULT_WAIT),
    };
    asked_wait(headers).or(reset).map(|wait| wait.clamp(SHORTEST_WAIT, LONGEST_WAIT))
}

/// The wait after `refusals` successive 429s without a stated wait.
fn untold_wait(refusals: u32) -> Duration {
    let doubled = 1_u32.checked_shl(refusals.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(doubled).min(DEFAULT_WAIT)
}

const FIRST_WAIT: Duration = Duration::from_secs(5);
const DEFAULT_WAIT: Duration = Duration::from_secs(60);
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// While housekeeping is held back, one request per period probes the remaining requests.
const PROBE: Duration = Duration::from_secs(10);

/// The period of trickling requests.
const TRICKLE: Duration = Duration::from_secs(2);

/// The number of trickling requests allowed at once.
const HANDFUL: u32 = 5;

fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    Some(until.duration_since(sent_at(headers)?).unwrap_or_default())
}

/// The provider's clock at the time of the answer. Our wall clock is never compared with the
/// provider's.
pub(crate) fn sent_at(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()
}

/// An admitted request still running. Dropping the guard ends the request too.
struct Underway(Budget);

impl Underway {
    /// Updates the budget from the result. Returns the wait if the rate limit refused.
    fn ends(self, result: Result<&Response<Bytes>, &TransportError>) -> Option<Duration> {
        let Budget { rules, .. } = self.0;
        let now = Instant::now();
        let mut state = self.0.state();
        if let Some(left) = &mut state.left {
            left.probing = false;
        }
        match result {
            Ok(answer) => {
                let headroom = (rules.headroom)(answer.headers());
                if let Some(headroom) = headroom {
                    state.learn(headroom, now);
                }
                if (rules.refuses)(answer) {
                    return Some(state.close(told_wait(answer.headers(), headroom), now));
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
    /// After a 429, no request goes before this time.
    closed_until: Option<Instant>,
    /// The number of successive 429s without a stated wait.
    refusals: u32,
    /// The provider's last report, less the requests sent since.
    left: Option<Left>,
    /// The send times within the burst period, oldest first.
    sent: VecDeque<Instant>,
    /// The number of admitted requests still running.
    underway: u64,
    /// The end of the used-up trickle. Each request uses [`TRICKLE`], and up to [`HANDFUL`]
    /// requests may run ahead.
    trickled_until: Option<Instant>,
}

#[derive(Debug)]
struct Left {
    reserve: u64,
    /// The last tenth of the reserve, kept for moves alone.
    last: u64,
    remaining: u64,
    /// The time of the next probe while no more than the reserve is left.
    probe_at: Instant,
    /// A probe is under way.
    probing: bool,
}

impl State {
    /// Counts the request as sent, or returns the wait.
    fn admit(
        &mut self,
        priority: Priority,
        burst: Option<Burst>,
        now: Instant,
    ) -> Result<(), HeldBack> {
        if let Some(until) = self.closed_until.filter(|until| *until > now) {
            return Err(HeldBack { retry_after: until - now, pacing: false });
        }
        if let Some(burst) = burst {
            while self.sent.front().is_some_and(|sent| *sent + burst.per <= now) {
                self.sent.pop_front();
            }
        }
        match priority {
            // Pages of a begun listing are always allowed.
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

    /// Requests beyond their share of the burst limit trickle. No request exceeds the whole limit.
    fn burst_allows(
        &mut self,
        (parts, of): (usize, usize),
        burst: Option<Burst>,
        now: Instant,
    ) -> Result<(), HeldBack> {
        let Some(Burst { requests, per }) = burst else { return Ok(()) };
        if self.sent.len() >= requests {
            let frees = self.sent.front().map_or(now, |oldest| *oldest + per);
            let retry_after = frees.saturating_duration_since(now).max(SHORTEST_WAIT);
            return Err(HeldBack { retry_after, pacing: true });
        }
        let share = (requests * parts / of).max(1);
        if self.sent.len() < share { Ok(()) } else { self.trickle(true, now) }
    }

    /// Whether the rest is at most the reserve, and more than the last tenth of the reserve.
    fn reserve_is_touched(&self) -> bool {
        let Some(Left { reserve, last, remaining, .. }) = &self.left else { return false };
        remaining <= reserve && remaining > last
    }

    fn trickle(&mut self, pacing: bool, now: Instant) -> Result<(), HeldBack> {
        let used = self.trickled_until.map_or(now, |until| until.max(now)) + TRICKLE;
        let ahead = used.saturating_duration_since(now);
        if ahead > TRICKLE * HANDFUL {
            return Err(HeldBack { retry_after: ahead - TRICKLE * HANDFUL, pacing });
        }
        self.trickled_until = Some(used);
        Ok(())
    }

    fn reserve_allows(&mut self, now: Instant) -> Result<(), HeldBack> {
        let Some(left) = self.left.as_mut().filter(|left| left.remaining <= left.reserve) else {
            return Ok(());
        };
        if left.probe_at > now {
            // The answer to a probe under way says within moments whether there is more.
            let most = if left.probing { SHORTEST_WAIT } else { LONGEST_WAIT };
            return Err(HeldBack { retry_after: (left.probe_at - now).min(most), pacing: false });
        }
        (left.probe_at, left.probing) = (now + PROBE, true);
        Ok(())
    }

    fn learn(&mut self, headroom: Headroom, now: Instant) {
        // The provider may not yet have counted requests running in parallel with this answer.
        let others = self.underway.saturating_sub(1);
        let reserve = (headroom.limit / 10).max(10).min(headroom.limit / 2);
        self.left = Some(Left {
            reserve,
            last: (reserve / 10).max(5).min(reserve / 2),
            remaining: headroom.remaining.saturating_sub(others),
            probe_at: now + headroom.resets_in.clamp(PROBE, LONGEST_WAIT),
            probing: false,
        });
    }

    /// Closes the budget for the stated wait, or for a wait growing with each refusal. Returns the
    /// wait.
    fn close(&mut self, told: Option<Duration>, now: Instant) -> Duration {
        let closed = self.closed_until.filter(|until| *until > now);
        let until = match (told, closed) {
            (Some(wait), _) => closed.unwrap_or(now).max(now + wait),
            // Sent before the budget closed, so the refusal is no new information.
            (None, Some(until)) => until,
            (None, None) => {
                self.refusals = self.refusals.saturating_add(1);
                now + untold_wait(self.refusals)
            }
        };
        self.closed_until = Some(until);
        until - now
    }

    /// Uncounts the last request, which was not sent after all.
    fn refund(&mut self) {
        self.sent.pop_back();
        if let Some(left) = &mut self.left {
            left.remaining = left.remaining.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests;
