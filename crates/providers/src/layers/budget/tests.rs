//! Requests sent and requests held back, by priority.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;

use super::*;

/// A provider with scripted answers and a count of received requests.
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
        Budget::new(RateRules { headroom, burst, refuses: is_too_many }).around(inner)
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
        Err(TransportError::RateLimited(hold)) => hold.retry_after.as_secs(),
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
    let hold = HeldBack { retry_after: Duration::from_secs(30), pacing: false };
    assert_eq!(error, TransportError::RateLimited(hold));
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
async fn while_a_request_finds_out_the_others_ask_again_soon() {
    let (mut state, start) = (State::default(), Instant::now());
    let has = |remaining| Headroom { limit: 100, remaining, resets_in: Duration::ZERO };
    let now = start + PROBE;
    let wait = |state: &mut State| {
        state.admit(Priority::Housekeeping, None, now).map_err(|hold| hold.retry_after)
    };
    state.learn(has(0), start);
    assert_eq!((wait(&mut state), wait(&mut state)), (Ok(()), Err(SHORTEST_WAIT)));
    state.learn(has(0), now);
    assert_eq!(wait(&mut state), Err(PROBE), "nothing is left");
    state.learn(has(90), now);
    assert_eq!(wait(&mut state), Ok(()));
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
    let budget = Budget::new(RateRules { headroom, burst: None, refuses: is_too_many });
    let early = budget.admit(Failover).unwrap();
    vendor.answers(429, &[("retry-after", "60")]);
    let limited = vendor.next.lock().unwrap().clone();
    budget.admit(Failover).unwrap().ends(Ok(&limited));
    vendor.answers(200, &[("limit", "5000"), ("remaining", "4000"), ("reset", "9")]);
    let fine = vendor.next.lock().unwrap().clone();
    early.ends(Ok(&fine));
    assert!(budget.admit(Failover).is_err());
}

const A_HUNDRED: Burst = Burst { requests: 100, per: Duration::from_secs(60) };

#[tokio::test(start_paused = true)]
async fn beyond_four_fifths_of_a_burst_housekeeping_trickles_and_the_rest_goes() {
    let vendor = Vendor::default();
    let transport = vendor.under(Some(A_HUNDRED));
    for _ in 0..80 + 5 {
        send(&transport, Housekeeping).await.unwrap();
    }
    assert_eq!(wait_of(&transport, Housekeeping).await, 2);
    for _ in 0..5 {
        send(&transport, Following).await.unwrap();
    }
    assert_eq!(wait_of(&transport, Following).await, 2, "nine tenths");
    send(&transport, Failover).await.unwrap();
    // A begun listing is finished beyond the shares of the burst limit.
    send(&transport, Begun).await.unwrap();
    pass(2).await;
    send(&transport, Housekeeping).await.unwrap();
    assert_eq!(wait_of(&transport, Following).await, 2);
    pass(60).await;
    for _ in 0..80 {
        send(&transport, Housekeeping).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_beyond_the_vendors_own_limit_until_the_oldest_is_forgotten() {
    let vendor = Vendor::default();
    let transport = vendor.under(Some(A_HUNDRED));
    send(&transport, Failover).await.unwrap();
    pass(50).await;
    for _ in 1..100 {
        send(&transport, Failover).await.unwrap();
    }
    assert_eq!(wait_of(&transport, Failover).await, 10);
    assert_eq!(vendor.reached(), 100);
    pass(10).await;
    send(&transport, Failover).await.unwrap();
    assert_eq!(wait_of(&transport, Failover).await, 50);
}

#[tokio::test(start_paused = true)]
async fn it_is_told_whether_we_pace_ourselves_or_the_vendor_has_spoken() {
    let vendor = Vendor::default();
    let transport = vendor.under(Some(A_HUNDRED));
    let paces = |error: TransportError| match error {
        TransportError::RateLimited(hold) => hold.pacing,
        other => panic!("{other:?}"),
    };
    for _ in 0..80 + 5 {
        send(&transport, Housekeeping).await.unwrap();
    }
    assert!(paces(send(&transport, Housekeeping).await.unwrap_err()));
    vendor.answers(200, &[("limit", "5000"), ("remaining", "5"), ("reset", "30")]);
    pass(120).await;
    send(&transport, Housekeeping).await.unwrap();
    assert!(!paces(send(&transport, Housekeeping).await.unwrap_err()));
    vendor.answers(429, &[("retry-after", "60")]);
    send(&transport, Failover).await.unwrap();
    assert!(!paces(send(&transport, Failover).await.unwrap_err()));
}

#[tokio::test(start_paused = true)]
async fn a_429_while_much_is_left_is_about_a_burst_and_not_about_the_hour() {
    let vendor = Vendor::default();
    let transport = vendor.under(None);
    vendor.answers(429, &[("limit", "5000"), ("remaining", "4990"), ("reset", "3000")]);
    for wait in [5, 10, 20, 40, 60, 60] {
        let answer = send(&transport, Failover).await.unwrap();
        assert_eq!(retry_after(&answer).as_secs(), wait);
        assert_eq!(wait_of(&transport, Failover).await, wait);
        pass(wait).await;
    }
    vendor.answers(200, &[("limit", "5000"), ("remaining", "4990"), ("reset", "3000")]);
    send(&transport, Failover).await.unwrap();
    vendor.answers(429, &[("limit", "5000"), ("remaining", "4989"), ("reset", "3000")]);
    send(&transport, Failover).await.unwrap();
    assert_eq!(wait_of(&transport, Failover).await, 5, "it is over, and begins anew");
}

#[tokio::test(start_paused = true)]
async fn many_that_are_refused_together_are_one_refusal() {
    let vendor = Vendor::default();
    vendor.answers(429, &[("limit", "5000"), ("remaining", "4990"), ("reset", "3000")]);
    let answer = vendor.next.lock().unwrap().clone();
    let budget = Budget::new(RateRules { headroom, burst: None, refuses: is_too_many });
    let sent: Vec<_> = (0..40).map(|_| budget.admit(Failover).unwrap()).collect();
    for one in sent {
        let wait = one.ends(Ok(&answer));
        assert_eq!(wait, Some(Duration::from_secs(5)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_costs_nothing() {
    let vendor = Vendor { unreachable: true, ..Vendor::default() };
    let transport = vendor.under(Some(A_HUNDRED));
    for _ in 0..1000 {
        let error = send(&transport, Housekeeping).await.unwrap_err();
        assert_eq!(error, TransportError::NotSent("no route".into()));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_still_underway_beside_an_answer_counts_as_used() {
    let vendor = Vendor::default();
    vendor.answers(200, &[("limit", "100"), ("remaining", "12"), ("reset", "30")]);
    let answer = vendor.next.lock().unwrap().clone();
    let budget = Budget::new(RateRules { headroom, burst: None, refuses: is_too_many });
    let others = [budget.admit(Failover).unwrap(), budget.admit(Failover).unwrap()];
    budget.admit(Failover).unwrap().ends(Ok(&answer));
    assert!(budget.admit(Housekeeping).is_err());
    drop(others);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_no_longer_underway() {
    let budget = Budget::new(RateRules { headroom, burst: None, refuses: is_too_many });
    drop(budget.admit(Failover).unwrap());
    assert_eq!(budget.state().underway, 0);
}

#[tokio::test(start_paused = true)]
async fn what_did_not_go_is_given_back_however_much_is_left() {
    let budget = Budget::new(RateRules { headroom, burst: None, refuses: is_too_many });
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
    let told = |pairs: &[(&'static str, &str)], headroom: Option<(u64, u64)>| {
        let headroom = headroom.map(|(remaining, reset)| Headroom {
            limit: 5000,
            remaining,
            resets_in: Duration::from_secs(reset),
        });
        told_wait(&headers(pairs), headroom).map(|wait| wait.as_secs())
    };
    let wait = |pairs: &[(&'static str, &str)], reset: Option<u64>| {
        told(pairs, reset.map(|reset| (0, reset))).unwrap()
    };
    assert_eq!(told(&[], Some((4990, 3000))), None, "the hour is not used up");
    assert_eq!(told(&[("retry-after", "7")], Some((4990, 3000))), Some(7));
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
