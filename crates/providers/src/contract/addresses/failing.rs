//! Lost and failed requests, limits, secrets.

use std::time::Duration;

use fakecloud::{Answer, Fault, On, Rule};
use tokio::time::Instant;

use super::{A, B, Rig, V4, ip, open};
use crate::address::{Accepted, Family};
use crate::contract::{SECRET, TIMEOUT, kind, transport};
use crate::error::ErrorKind;
use crate::layers::{Gate, HeldBack};

pub(crate) async fn an_answer_lost_after_the_effect_is_no_answer_and_doing_it_again_is_success(
    rig: Rig,
) {
    rig.cloud.reserve(ip(1), rig.region());
    rig.bare(A);
    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NoAnswer);
    assert_eq!((rig.cloud.holder(ip(1)), rig.mutations()), (Some(A), 1));
    assert_eq!(rig.assign(ip(1), A).await.unwrap(), Accepted::Done);

    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.provider.unassign(ip(1)).await), ErrorKind::NoAnswer);
    assert_eq!(rig.provider.unassign(ip(1)).await.unwrap(), Accepted::Done);

    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.provider.release(ip(1)).await), ErrorKind::NoAnswer);
    rig.provider.release(ip(1)).await.unwrap();

    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.create(Family::V4, Some(A)).await), ErrorKind::NoAnswer);
    assert_eq!(rig.list(V4).await.unwrap().len(), 1);
}

pub(crate) async fn a_request_lost_before_its_effect_is_no_answer(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    rig.bare(A);
    rig.once(Fault::LostBefore);
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NoAnswer);
    assert_eq!((rig.cloud.holder(ip(1)), rig.mutations()), (None, 1));
}

pub(crate) async fn a_late_answer_is_no_answer_at_the_deadline_and_the_effect_stays(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    rig.bare(A);
    rig.once(Fault::DelayAfter(Duration::from_secs(9)));
    let start = Instant::now();
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NoAnswer);
    assert_eq!(start.elapsed(), TIMEOUT);
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn every_failure_has_its_kind_and_nothing_is_tried_again(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    for (status, expected) in [
        (500, ErrorKind::Unavailable),
        (503, ErrorKind::Unavailable),
        (502, ErrorKind::NoAnswer),
        (504, ErrorKind::NoAnswer),
    ] {
        let rule = rig.cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(status))));
        let mark = rig.cloud.mark();
        assert_eq!(kind(rig.list(V4).await), expected, "{status}");
        assert_eq!(kind(rig.provider.read(ip(1)).await), expected, "{status}");
        assert_eq!(kind(rig.assign(ip(1), A).await), expected, "{status}");
        assert_eq!(kind(rig.provider.unassign(ip(1)).await), expected, "{status}");
        assert_eq!(kind(rig.create(Family::V4, Some(A)).await), expected, "{status}");
        assert_eq!(kind(rig.provider.release(ip(1)).await), expected, "{status}");
        assert_eq!(rig.cloud.log_since(mark).len(), 6, "{status}");
        rig.cloud.clear(rule);
    }
}

pub(crate) async fn nonsense_instead_of_an_answer_is_no_answer(rig: Rig) {
    let page = Answer::status(200).raw("text/html", "<html>Please sign in</html>");
    rig.cloud.inject(Rule::new(On::any(), Fault::AnswerAfterEffect(page)));
    assert_eq!(kind(rig.list(V4).await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.provider.read(ip(1)).await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.create(Family::V4, None).await), ErrorKind::NoAnswer);
}

pub(crate) async fn a_full_account_says_so(rig: Rig) {
    rig.cloud.set(|knobs| knobs.address_limit = 1);
    rig.create(Family::V4, None).await.unwrap();
    assert_eq!(kind(rig.create(Family::V4, None).await), ErrorKind::QuotaExceeded);
    assert_eq!(kind(rig.create(Family::V4, Some(A)).await), ErrorKind::QuotaExceeded);
}

pub(crate) async fn refused_credentials_are_told_from_missing_rights(rig: Rig) {
    rig.cloud.set(|knobs| knobs.token_expired = true);
    assert_eq!(kind(rig.list(V4).await), ErrorKind::Unauthorized);
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::Unauthorized);
    rig.cloud.set(|knobs| knobs.token_expired = false);
    rig.list(V4).await.unwrap();
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(403))));
    assert_eq!(kind(rig.assign(ip(1), A).await), ErrorKind::Forbidden);
}

pub(crate) async fn after_a_429_nothing_is_sent_until_the_vendor_said_so(rig: Rig) {
    rig.cloud.reserve(ip(1), rig.region());
    rig.cloud.throttle_for(Duration::from_secs(20));
    let stated = if rig.bench.tells_wait() { 20 } else { 60 };
    let said = ErrorKind::RateLimited { retry_after: Duration::from_secs(stated) };
    assert_eq!(kind(rig.assign(ip(1), A).await), said);
    let wait = |seconds| {
        let retry_after = Duration::from_secs(seconds);
        ErrorKind::HeldBack(HeldBack { retry_after, pacing: false })
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(kind(rig.assign(ip(1), A).await), wait(stated - 5));
    assert_eq!(kind(rig.list(V4).await), wait(stated - 5));
    assert_eq!(rig.cloud.log().len(), 1);
    tokio::time::sleep(Duration::from_secs(stated - 5)).await;
    rig.assign(ip(1), A).await.unwrap();
    rig.list(V4).await.unwrap();
}

pub(crate) async fn with_a_budget_nearly_used_up_listings_wait_and_failover_goes(rig: Rig) {
    if !rig.bench.tells_budget() {
        return;
    }
    rig.cloud.reserve(ip(1), rig.region());
    rig.cloud.set(|knobs| {
        knobs.rate = Some(fakecloud::RateLimit { limit: 30, ..Default::default() });
    });
    let mut listings = 0;
    while rig.list(V4).await.is_ok() {
        listings += 1;
        assert!(listings < 30, "listings used up the budget");
    }
    let arrived = rig.cloud.log().len();
    let ErrorKind::HeldBack(HeldBack { retry_after, .. }) = kind(rig.list(V4).await) else {
        panic!("a listing failed for another reason")
    };
    assert!(!retry_after.is_zero());
    assert_eq!(rig.cloud.log().len(), arrived);
    rig.assign(ip(1), A).await.unwrap();
    assert_eq!(rig.cloud.holder(ip(1)), Some(A));
}

pub(crate) async fn a_shut_gate_lets_nothing_change(rig: Rig) {
    rig.cloud.reserve_on(ip(1), A).reserve(ip(2), rig.region());
    let gate = Gate::new(|_| Err("another replica leads".into()));
    let provider = open(rig.bench, &rig.cloud, gate.around(transport(&rig.cloud)));
    let shut = Rig { provider, ..rig };
    assert_eq!(shut.list(V4).await.unwrap().len(), 2);
    let error = shut.assign(ip(2), B).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotSent);
    assert_eq!(error.message, "not sent: another replica leads");
    assert_eq!(kind(shut.provider.unassign(ip(1)).await), ErrorKind::NotSent);
    assert_eq!(kind(shut.provider.release(ip(2)).await), ErrorKind::NotSent);
    assert_eq!(kind(shut.create(Family::V4, Some(B)).await), ErrorKind::NotSent);
    let holders = [ip(1), ip(2)].map(|ip| shut.cloud.holder(ip));
    assert_eq!((shut.mutations(), holders), (0, [Some(A), None]));
}

pub(crate) async fn nothing_shows_the_secret(rig: Rig) {
    let echo = Answer::status(400).message(&format!("your token {SECRET} is no good"));
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(echo)));
    let mut shown = format!("{:?}", rig.provider);
    for error in [
        rig.list(V4).await.unwrap_err(),
        rig.assign(ip(1), A).await.unwrap_err(),
        rig.create(Family::V4, None).await.unwrap_err(),
    ] {
        shown += &format!("{error} {error:?}");
    }
    assert!(!shown.contains(SECRET), "{shown}");
}
