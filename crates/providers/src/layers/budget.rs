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
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::Response;

    use super::*;

    /// A vendor whose every answer is set by the test, and which counts what reaches it.
    #[derive(Clone, Default)]
    struct Vendor {
        next: Arc<Mutex<Response<Bytes>>>,
        reached: Arc<AtomicUsize>,
        unreachable: bool,
    }

    impl Vendor {
        fn answers(&self, status: u16, headers: &[(&'static str, &str)]) {
            let mut answer = Response::builder().status(status);
            for (name, value) in headers {
                answer = answer.header(*name, *value);
            }
            *self.next.lock().unwrap() = answer.body(Bytes::new()).unwrap();
        }

        fn reached(&self) -> usize {
            self.reached.load(Ordering::SeqCst)
        }

        fn under(&self, burst: Option<Burst>) -> Transport {
            let vendor = self.clone();
            let inner = Transport::new(service_fn(move |_: Request<Bytes>| {
                let vendor = vendor.clone();
                async move {
                    if vendor.unreachable {
                        return Err(TransportError::NotSent("no route".into()));
                    }
                    vendor.reached.fetch_add(1, Ordering::SeqCst);
                    Ok(vendor.next.lock().unwrap().clone())
                }
            }));
            Budget::new(RateRules { headroom, burst }).around(inner)
        }
    }

    fn headroom(headers: &HeaderMap) -> Option<Headroom> {
        let number = |name| headers.get(name)?.to_str().ok()?.parse().ok();
        Some(Headroom {
            limit: number("limit")?,
            remaining: number("remaining")?,
            resets_in: Duration::from_secs(number("reset")?),
        })
    }

    async fn send(
        transport: &Transport,
        priority: Priority,
    ) -> Result<Response<Bytes>, TransportError> {
        let request = Request::builder().extension(priority).body(Bytes::new()).unwrap();
        transport.clone().oneshot(request).await
    }

    async fn wait_of(transport: &Transport, priority: Priority) -> u64 {
        match send(transport, priority).await {
            Err(TransportError::RateLimited { retry_after }) => retry_after.as_secs(),
            other => panic!("{other:?}"),
        }
    }

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    use Priority::{Begun, Failover, Following, Housekeeping};

    #[tokio::test(start_paused = true)]
    async fn when_little_is_left_housekeeping_is_held_back_and_failover_goes() {
        let vendor = Vendor::default();
        let transport = vendor.under(None);
        vendor.answers(200, &[("limit", "5000"), ("remaining", "500"), ("reset", "30")]);
        send(&transport, Housekeeping).await.unwrap();
        assert_eq!(wait_of(&transport, Housekeeping).await, 30);
        assert_eq!(vendor.reached(), 1);
        for _ in 0..3 {
            send(&transport, Failover).await.unwrap();
        }
        assert_eq!(vendor.reached(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn when_little_is_left_what_follows_a_failover_trickles_until_the_last_requests() {
        let vendor = Vendor::default();
        let transport = vendor.under(None);
        vendor.answers(200, &[("limit", "5000"), ("remaining", "400"), ("reset", "3600")]);
        send(&transport, Housekeeping).await.unwrap();
        for _ in 0..5 {
            send(&transport, Following).await.unwrap();
        }
        assert_eq!(wait_of(&transport, Following).await, 2);
        assert_eq!(wait_of(&transport, Housekeeping).await, 3600);
        pass(2).await;
        vendor.answers(200, &[("limit", "5000"), ("remaining", "50"), ("reset", "3600")]);
        send(&transport, Following).await.unwrap();
        pass(60).await;
        assert_eq!(wait_of(&transport, Following).await, 3540);
        send(&transport, Failover).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_without_a_priority_is_housekeeping() {
        let vendor = Vendor::default();
        let transport = vendor.under(None);
        vendor.answers(200, &[("limit", "100"), ("remaining", "10"), ("reset", "30")]);
        send(&transport, Failover).await.unwrap();
        let error = transport.oneshot(Request::default()).await.unwrap_err();
        assert_eq!(error, TransportError::RateLimited { retry_after: Duration::from_secs(30) });
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_reset_one_request_finds_out_how_things_stand() {
        let vendor = Vendor::default();
        let transport = vendor.under(None);
        vendor.answers(200, &[("limit", "5000"), ("remaining", "3"), ("reset", "0")]);
        send(&transport, Housekeeping).await.unwrap();
        assert_eq!(wait_of(&transport, Housekeeping).await, 10);
        pass(10).await;
        send(&transport, Housekeeping).await.unwrap();
        assert_eq!(wait_of(&transport, Housekeeping).await, 10);
        pass(10).await;
        vendor.answers(200, &[("limit", "5000"), ("remaining", "4999"), ("reset", "3600")]);
        for _ in 0..20 {
            send(&transport, Housekeeping).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_since_the_last_answer_counts() {
        let vendor = Vendor::default();
        let transport = vendor.under(None);
        vendor.answers(200, &[("limit", "100"), ("remaining", "12"), ("reset", "30")]);
        send(&transport, Failover).await.unwrap();
        vendor.answers(200, &[]);
        send(&transport, Housekeeping).await.unwrap();
        send(&transport, Housekeeping).await.unwrap();
        assert_eq!(wait_of(&transport, Housekeeping).await, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_tiny_limit_is_not_all_reserve() {
        let vendor = Vendor::default();
        let transport = vendor.under(None);
        vendor.answers(200, &[("limit", "6"), ("remaining", "5"), ("reset", "30")]);
        send(&transport, Housekeeping).await.unwrap();
        send(&transport, Housekeeping).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_429_nothing_is_sent_until_the_vendor_said_so() {
        let vendor = Vendor::default();
        let transport = vendor.under(None);
        vendor.answers(429, &[("retry-after", "7"), ("reset", "999")]);
        let answer = send(&transport, Failover).await.unwrap();
        assert_eq!(answer.status(), 429);
        vendor.answers(200, &[]);
        pass(3).await;
        assert_eq!(wait_of(&transport, Failover).await, 4);
        assert_eq!(wait_of(&transport, Housekeeping).await, 4);
        assert_eq!(vendor.reached(), 1);
        pass(4).await;
        send(&transport, Failover).await.unwrap();
        send(&transport, Housekeeping).await.unwrap();
        assert_eq!(vendor.reached(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_was_underway_does_not_reopen_a_closed_budget() {
        let vendor = Vendor::default();
        let budget = Budget::new(RateRules { headroom, burst: None });
        let early = budget.admit(Failover).unwrap();
        vendor.answers(429, &[("retry-after", "60")]);
        let limited = vendor.next.lock().unwrap().clone();
        budget.admit(Failover).unwrap().ends(Ok((limited.status(), limited.headers())));
        vendor.answers(200, &[("limit", "5000"), ("remaining", "4000"), ("reset", "9")]);
        let fine = vendor.next.lock().unwrap().clone();
        early.ends(Ok((fine.status(), fine.headers())));
        assert!(budget.admit(Failover).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn beyond_four_fifths_of_a_burst_housekeeping_trickles_and_failover_goes() {
        let vendor = Vendor::default();
        let burst = Burst { requests: 10, per: Duration::from_secs(60) };
        let transport = vendor.under(Some(burst));
        for _ in 0..8 + 5 {
            send(&transport, Housekeeping).await.unwrap();
        }
        assert_eq!(wait_of(&transport, Housekeeping).await, 2);
        for _ in 0..5 {
            send(&transport, Failover).await.unwrap();
        }
        // What has begun is finished: a listing is whole or nothing.
        send(&transport, Begun).await.unwrap();
        assert_eq!(wait_of(&transport, Housekeeping).await, 2);
        pass(2).await;
        send(&transport, Housekeeping).await.unwrap();
        assert_eq!(wait_of(&transport, Housekeeping).await, 2);
        pass(60).await;
        for _ in 0..8 {
            send(&transport, Housekeeping).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_sent_costs_nothing() {
        let vendor = Vendor { unreachable: true, ..Vendor::default() };
        let burst = Burst { requests: 10, per: Duration::from_secs(60) };
        let transport = vendor.under(Some(burst));
        for _ in 0..100 {
            let error = send(&transport, Housekeeping).await.unwrap_err();
            assert_eq!(error, TransportError::NotSent("no route".into()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_still_underway_beside_an_answer_counts_as_used() {
        let vendor = Vendor::default();
        vendor.answers(200, &[("limit", "100"), ("remaining", "12"), ("reset", "30")]);
        let answer = vendor.next.lock().unwrap().clone();
        let budget = Budget::new(RateRules { headroom, burst: None });
        let others = [budget.admit(Failover).unwrap(), budget.admit(Failover).unwrap()];
        budget.admit(Failover).unwrap().ends(Ok((answer.status(), answer.headers())));
        assert!(budget.admit(Housekeeping).is_err());
        drop(others);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_dropped_is_no_longer_underway() {
        let budget = Budget::new(RateRules { headroom, burst: None });
        drop(budget.admit(Failover).unwrap());
        assert_eq!(budget.state().underway, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_did_not_go_is_given_back_however_much_is_left() {
        let budget = Budget::new(RateRules { headroom, burst: None });
        let unsent = budget.admit(Failover).unwrap();
        let endless = Headroom { limit: u64::MAX, remaining: u64::MAX, resets_in: Duration::MAX };
        budget.state().learn(endless, Instant::now());
        unsent.ends(Err(&TransportError::NotSent("no route".into())));
        assert!(budget.admit(Priority::Housekeeping).is_ok());
    }

    #[test]
    fn the_wait_is_what_the_vendor_says_within_reason() {
        let headers = |pairs: &[(&'static str, &str)]| -> HeaderMap {
            let pair = |(name, value): &(&'static str, &str)| {
                (http::HeaderName::from_static(name), value.parse().unwrap())
            };
            pairs.iter().map(pair).collect()
        };
        let wait = |pairs: &[(&'static str, &str)], reset: Option<u64>| {
            let headroom = reset.map(|seconds| Headroom {
                limit: 5000,
                remaining: 0,
                resets_in: Duration::from_secs(seconds),
            });
            retry_after(&headers(pairs), headroom).as_secs()
        };
        assert_eq!(wait(&[("retry-after", "7")], Some(99)), 7);
        assert_eq!(wait(&[], Some(99)), 99);
        assert_eq!(wait(&[], None), 60);
        assert_eq!(wait(&[("retry-after", "0")], None), 1);
        assert_eq!(wait(&[("retry-after", "99999999")], None), 3600);
        assert_eq!(wait(&[("retry-after", "soon")], None), 60);
        let dated = [
            ("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT"),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ];
        assert_eq!(wait(&dated, None), 23);
    }
}
