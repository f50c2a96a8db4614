//! Lost and failed requests, limits, secrets.

use std::time::Duration;

use fakecloud::{Answer, Fault, On, Rule};
use tokio::time::Instant;

use super::{Rig, creating, deleting, ip, open, to, values};
use crate::contract::{SECRET, kind, transport};
use crate::error::ErrorKind;
use crate::layers::{Gate, HeldBack};
use crate::record::RecordChange;

pub(crate) async fn an_answer_lost_after_the_effect_is_no_answer_and_a_listing_shows_the_effect(
    rig: Rig,
) {
    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::NoAnswer);
    let listed = rig.list().await.unwrap();
    assert_eq!(values(&listed), [ip(1)]);
    rig.once(Fault::LostAfter);
    assert_eq!(kind(rig.change(&deleting(&listed)).await), ErrorKind::NoAnswer);
    assert_eq!(rig.list().await.unwrap(), []);
    rig.change(&deleting(&listed)).await.unwrap();
}

pub(crate) async fn a_request_lost_before_its_effect_is_no_answer(rig: Rig) {
    rig.once(Fault::LostBefore);
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::NoAnswer);
    assert_eq!(rig.list().await.unwrap(), []);
}

pub(crate) async fn a_late_answer_is_no_answer_at_the_deadline_and_the_effect_stays(rig: Rig) {
    rig.once(Fault::DelayAfter(Duration::from_secs(9)));
    let start = Instant::now();
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::NoAnswer);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(rig.truth(), [ip(1)]);
}

pub(crate) async fn every_failure_has_its_kind_and_nothing_is_tried_again(rig: Rig) {
    let listed = rig.seeded([1]).await;
    let update =
        RecordChange { update: vec![(listed[0].id.clone(), to(ip(2)))], ..RecordChange::default() };
    for (status, expected) in [
        (500, ErrorKind::Unavailable),
        (503, ErrorKind::Unavailable),
        (502, ErrorKind::NoAnswer),
        (504, ErrorKind::NoAnswer),
        (520, ErrorKind::NoAnswer),
    ] {
        let rule = rig.cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(status))));
        let mark = rig.cloud.mark();
        assert_eq!(kind(rig.list().await), expected, "{status}");
        assert_eq!(kind(rig.change(&creating([ip(3)])).await), expected, "{status}");
        assert_eq!(kind(rig.change(&update).await), expected, "{status}");
        assert_eq!(kind(rig.change(&deleting(&listed)).await), expected, "{status}");
        assert_eq!(rig.calls_since(mark), 4, "{status}");
        rig.cloud.clear(rule);
    }
    assert_eq!(rig.list().await.unwrap(), listed);
}

pub(crate) async fn nonsense_instead_of_an_answer_is_no_answer(rig: Rig) {
    let listed = rig.seeded([1]).await;
    let page = Answer::status(200).raw("text/html", "<html>Please sign in</html>");
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(page)));
    assert_eq!(kind(rig.list().await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.change(&creating([ip(2)])).await), ErrorKind::NoAnswer);
    assert_eq!(kind(rig.change(&deleting(&listed)).await), ErrorKind::NoAnswer);
    rig.cloud.clear_faults();
    assert_eq!(rig.list().await.unwrap(), listed);
}

pub(crate) async fn refused_credentials_are_told_from_missing_rights(rig: Rig) {
    rig.cloud.set(|knobs| knobs.token_expired = true);
    assert_eq!(kind(rig.list().await), ErrorKind::Unauthorized);
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::Unauthorized);
    rig.cloud.set(|knobs| knobs.token_expired = false);
    rig.list().await.unwrap();
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(Answer::status(403))));
    assert_eq!(kind(rig.list().await), ErrorKind::Forbidden);
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), ErrorKind::Forbidden);
}

pub(crate) async fn after_a_429_nothing_is_sent_until_the_vendor_said_so(rig: Rig) {
    let mark = rig.cloud.mark();
    rig.cloud.throttle_for(Duration::from_secs(20));
    let said = ErrorKind::RateLimited { retry_after: Duration::from_secs(20) };
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), said);
    let wait = |seconds| {
        let retry_after = Duration::from_secs(seconds);
        ErrorKind::HeldBack(HeldBack { retry_after, pacing: false })
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(kind(rig.change(&creating([ip(1)])).await), wait(15));
    assert_eq!(kind(rig.list().await), wait(15));
    assert_eq!(rig.calls_since(mark), 1);
    tokio::time::sleep(Duration::from_secs(15)).await;
    rig.change(&creating([ip(1)])).await.unwrap();
    assert_eq!(values(&rig.list().await.unwrap()), [ip(1)]);
}

pub(crate) async fn with_a_budget_nearly_used_up_listings_wait(rig: Rig) {
    if !rig.bench.tells_budget() {
        return;
    }
    rig.cloud.set(|knobs| {
        knobs.rate = Some(fakecloud::RateLimit { limit: 30, ..Default::default() });
    });
    let mut listings = 0;
    while rig.list().await.is_ok() {
        listings += 1;
        assert!(listings < 30, "listings used up the budget");
    }
    let arrived = rig.cloud.log().len();
    let ErrorKind::HeldBack(HeldBack { retry_after, .. }) = kind(rig.list().await) else {
        panic!("a listing failed for another reason")
    };
    assert!(!retry_after.is_zero());
    assert_eq!(rig.cloud.log().len(), arrived);
}

pub(crate) async fn a_shut_gate_lets_nothing_change(rig: Rig) {
    let listed = rig.seeded([1]).await;
    let gate = Gate::new(|_| Err("another replica leads".into()));
    let provider = open(rig.bench, &rig.cloud, gate.around(transport(&rig.cloud)));
    let shut = Rig { provider, ..rig };
    assert_eq!(shut.list().await.unwrap(), listed);
    let error = shut.change(&creating([ip(2)])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotSent);
    assert_eq!(error.message, "not sent: another replica leads");
    assert_eq!(kind(shut.change(&deleting(&listed)).await), ErrorKind::NotSent);
    assert_eq!((shut.cloud.mutations().len(), shut.truth()), (0, vec![ip(1)]));
}

pub(crate) async fn nothing_shows_the_secret(rig: Rig) {
    let echo = Answer::status(400).message(&format!("your token {SECRET} is no good"));
    rig.cloud.inject(Rule::new(On::any(), Fault::Answer(echo)));
    let mut shown = format!("{:?}", rig.provider);
    for error in [rig.list().await.unwrap_err(), rig.change(&creating([ip(1)])).await.unwrap_err()]
    {
        shown += &format!("{error} {error:?}");
    }
    assert!(shown.contains("[token]"), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
}

/// A refusal, in the words of every host.
fn refusal() -> Fault {
    let words =
        r#"{"id": "bad_request", "message": "no", "errors": [{"code": 9999, "message": "no"}]}"#;
    Fault::Answer(Answer::status(400).raw("application/json", words))
}

pub(crate) async fn a_record_that_is_refused_keeps_no_other_from_being_written(rig: Rig) {
    let listed = rig.seeded([1, 2]).await;
    rig.cloud.inject(Rule::new(On::mutations().with_body("192.0.2.66"), refusal()));
    let change = RecordChange {
        create: vec![to(ip(66)), to(ip(3))],
        update: vec![(listed[1].id.clone(), to(ip(4)))],
        delete: vec![listed[0].id.clone()],
    };
    assert_eq!(kind(rig.change(&change).await), ErrorKind::Rejected);
    assert_eq!(rig.truth(), [ip(3), ip(4)]);
}

pub(crate) async fn a_host_that_refuses_every_record_is_not_asked_for_all_of_them(rig: Rig) {
    rig.cloud.inject(Rule::new(On::mutations(), refusal()));
    let mark = rig.cloud.mark();
    let error = rig.change(&creating((0..=254).map(ip))).await;
    assert_eq!(kind(error), ErrorKind::Rejected);
    assert_eq!(rig.calls_since(mark), 17);
}
