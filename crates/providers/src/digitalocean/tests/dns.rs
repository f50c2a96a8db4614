//! Answers of DNS outside the emulator's repertoire.

use std::time::Duration;

use fakecloud::FakeCloud;
use serde_json::{Value, json};

use crate::contract::script::{Script, with_variables};
use crate::contract::{ZONE, kind, transport};
use crate::digitalocean::*;
use crate::layers::HeldBack;
use crate::record::{
    Record, RecordChange, RecordId, RecordKind, RecordName, RecordProvider, WantedRecord,
};
use crate::transport::TransportError;

const TOKEN: &str = "dop_v1_canary0123456789";
const A: RecordKind = RecordKind::A;

fn open_on(transport: Transport) -> Account {
    let variables = [("DIGITALOCEAN_ACCESS_TOKEN", TOKEN)];
    with_variables(&variables, |settings| open(settings, transport).unwrap())
}

fn records_on(script: &Script) -> Arc<dyn RecordProvider> {
    open_on(script.transport()).records.unwrap()
}

fn place() -> RecordName {
    RecordName { zone: "example.com".into(), name: "hello.example.com".into() }
}

fn ip(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

fn to(last: u8) -> WantedRecord {
    WantedRecord { value: ip(last), ttl: 60, mark: Some("not for this vendor".into()) }
}

fn id(number: u64) -> RecordId {
    RecordId(number.to_string())
}

fn creating(last: u8) -> RecordChange {
    RecordChange { create: vec![to(last)], ..RecordChange::default() }
}

fn record(number: u64, last: u8) -> Value {
    json!({
        "id": number, "type": "A", "name": "hello", "data": ip(last), "ttl": 60,
        "priority": null, "port": null, "weight": null, "flags": null, "tag": null,
    })
}

fn single(number: u64, last: u8) -> Value {
    json!({ "domain_record": record(number, last) })
}

fn listing(records: &[Value]) -> Value {
    json!({ "domain_records": records, "links": {}, "meta": { "total": records.len() } })
}

fn problem(id: &str, message: &str) -> Value {
    json!({ "id": id, "message": message })
}

fn not_found() -> Value {
    problem("not_found", "The resource you were accessing could not be found.")
}

mod calls {
    use super::*;

    #[tokio::test]
    async fn a_set_is_read_by_one_call_and_each_difference_takes_one_more() {
        let script = Script::default()
            .then(200, listing(&[record(7, 1), record(8, 2)]))
            .then(200, single(7, 3))
            .then(201, single(9, 4))
            .then(204, "");
        let records = records_on(&script);
        let listed = records.list(&place(), A).await.unwrap();
        assert_eq!(listed.iter().map(|r| &r.id).collect::<Vec<_>>(), [&id(7), &id(8)]);
        let change =
            RecordChange { create: vec![to(4)], update: vec![(id(7), to(3))], delete: vec![id(8)] };
        let done = records.change(&place(), A, &change).await.unwrap();
        assert_eq!((&done.deleted, done.rest), (&vec![id(8)], None));
        assert_eq!(
            done.written.iter().map(|r| (&r.id, r.value)).collect::<Vec<_>>(),
            [(&id(7), ip(3)), (&id(9), ip(4))]
        );
        let path = "/v2/domains/example.com/records";
        assert_eq!(
            script.sent(),
            [
                format!("GET {path}?name=hello.example.com&type=A&page=1&per_page=200"),
                format!(r#"PATCH {path}/7 {{"data":"192.0.2.3","ttl":60,"type":"A"}}"#),
                format!(r#"POST {path} {{"data":"192.0.2.4","name":"hello","ttl":60,"type":"A"}}"#),
                format!("DELETE {path}/8"),
            ]
        );
    }

    #[tokio::test]
    async fn names_are_sent_relative_and_the_zone_itself_as_an_at() {
        for (name, kept) in
            [("example.com", "@"), ("a.b.example.com", "a.b"), ("*.example.com", "*")]
        {
            let script = Script::default().then(201, {
                let mut answer = single(1, 1);
                answer["domain_record"]["name"] = json!(kept);
                answer
            });
            let place = RecordName { name: name.into(), ..place() };
            records_on(&script).change(&place, A, &creating(1)).await.unwrap();
            assert!(script.sent()[0].contains(&format!(r#""name":"{kept}""#)), "{name}");
        }
    }

    #[tokio::test]
    async fn a_failure_stops_the_rest_of_a_change_before_anything_is_deleted() {
        let script = Script::default().then(200, single(7, 3)).then(500, "");
        let change = RecordChange {
            create: vec![to(4), to(5)],
            update: vec![(id(7), to(3))],
            delete: vec![id(8)],
        };
        let error = records_on(&script).change(&place(), A, &change).await.unwrap_err();
        assert_eq!((error.kind, script.sent().len()), (ErrorKind::Unavailable, 2));
    }

    #[tokio::test]
    async fn a_record_that_has_no_number_is_rejected_before_anything_is_sent() {
        let script = Script::default();
        for strange in ["", "../8", "8a", "-8"] {
            let strange = RecordId(strange.into());
            let change = RecordChange { delete: vec![strange], ..creating(1) };
            let result = records_on(&script).change(&place(), A, &change).await;
            assert_eq!(kind(result), ErrorKind::Rejected);
        }
        assert!(script.sent().is_empty());
    }
}

/// Each token has one budget for addresses and records.
#[tokio::test(start_paused = true)]
async fn records_and_addresses_share_the_budget_of_their_token() {
    let cloud = FakeCloud::new();
    cloud.domain(ZONE);
    let Account { addresses, records, .. } = open_on(transport(&cloud));
    let (addresses, records) = (addresses.unwrap(), records.unwrap());
    cloud.throttle_for(Duration::from_secs(20));
    let retry_after = Duration::from_secs(20);
    assert_eq!(kind(records.list(&place(), A).await), ErrorKind::RateLimited { retry_after });
    let v4 = Families { v4: true, v6: false };
    let held = HeldBack { retry_after, pacing: false };
    assert_eq!(kind(addresses.list(&ListRequest::of(v4)).await), ErrorKind::HeldBack(held));
    assert_eq!(cloud.log().len(), 1);
}

/// Record changes do not spend the requests kept for moves.
#[tokio::test(start_paused = true)]
async fn with_a_budget_nearly_used_up_addresses_go_before_records() {
    let cloud = FakeCloud::new();
    cloud.domain(ZONE).machine(1, "one", "nyc3").reserve(ip(9), "nyc3").set(|knobs| {
        knobs.rate = Some(fakecloud::RateLimit { limit: 30, ..Default::default() });
    });
    let Account { addresses, records, .. } = open_on(transport(&cloud));
    let (addresses, records) = (addresses.unwrap(), records.unwrap());
    while records.list(&place(), A).await.is_ok() {}
    let held = kind(records.change(&place(), A, &creating(1)).await);
    assert!(matches!(held, ErrorKind::HeldBack(_)), "{held:?}");
    addresses.assign(ip(9), &MachineId("1".into())).await.unwrap();
}

#[tokio::test]
async fn a_change_that_is_held_back_in_the_middle_says_how_far_it_came() {
    let hold = HeldBack { retry_after: Duration::from_secs(3), pacing: true };
    let held = || TransportError::RateLimited(hold);
    let change =
        RecordChange { create: vec![to(1)], delete: vec![id(7), id(8)], update: Vec::new() };
    let script = Script::default().then_error(held());
    let nothing_sent = kind(records_on(&script).change(&place(), A, &change).await);
    assert_eq!(nothing_sent, ErrorKind::HeldBack(hold));
    let script = Script::default().then(201, single(9, 1)).then(204, "").then_error(held());
    let done = records_on(&script).change(&place(), A, &change).await.unwrap();
    assert_eq!(done.written.iter().map(|one| one.value).collect::<Vec<_>>(), [ip(1)]);
    assert_eq!((done.deleted, done.rest), (vec![id(7)], Some(hold)));
}

#[tokio::test]
async fn a_change_that_the_vendor_refuses_in_the_middle_is_an_error() {
    let change = RecordChange { delete: vec![id(7), id(8)], ..RecordChange::default() };
    let script = Script::default().then(204, "").then(429, "");
    let error = kind(records_on(&script).change(&place(), A, &change).await);
    assert!(matches!(error, ErrorKind::RateLimited { .. }), "{error:?}");
}

/// The budget stops the change in the middle of a set. No record is lost or repeated.
#[tokio::test(start_paused = true)]
async fn a_large_change_goes_on_where_the_budget_stopped_it() {
    let cloud = FakeCloud::new();
    cloud.domain(ZONE);
    let records = open_on(transport(&cloud)).records.unwrap();
    let mut left: Vec<WantedRecord> =
        (0..=255).map(|n| WantedRecord { value: [198, 51, 100, n].into(), ..to(0) }).collect();
    let mut pieces = 0;
    while !left.is_empty() {
        let change = RecordChange { create: left.clone(), ..RecordChange::default() };
        match records.change(&place(), A, &change).await {
            Ok(done) => {
                left.drain(..done.written.len());
                let wait = done.rest.map_or(Duration::ZERO, |hold| hold.retry_after);
                tokio::time::sleep(wait).await;
            }
            Err(error) => {
                let ErrorKind::HeldBack(hold) = error.kind else { panic!("{error:?}") };
                assert!(hold.pacing, "the vendor has said nothing");
                tokio::time::sleep(hold.retry_after).await;
            }
        }
        pieces += 1;
    }
    assert_eq!(cloud.log().len(), 256, "each record was created by one call");
    assert!(pieces < 60, "{pieces}");
    assert_eq!(records.list(&place(), A).await.unwrap().len(), 256);
}

mod refusals {
    use super::*;

    #[tokio::test]
    async fn only_the_vendors_own_not_found_says_that_a_domain_or_record_is_gone() {
        let path = json!({ "error": "The path you're trying to reach does not exist" });
        let delete = RecordChange { delete: vec![id(8)], ..RecordChange::default() };
        for body in [path.to_string(), "<html>404</html>".into(), String::new()] {
            let script = Script::default().then(404, &body).then(404, &body);
            let records = records_on(&script);
            assert_eq!(kind(records.list(&place(), A).await), ErrorKind::NoAnswer);
            assert_eq!(kind(records.change(&place(), A, &delete).await), ErrorKind::NoAnswer);
        }
        let script = Script::default().then(404, not_found()).then(404, not_found());
        let records = records_on(&script);
        let error = records.list(&place(), A).await.unwrap_err();
        assert_eq!(
            (error.kind, &error.message[..]),
            (ErrorKind::NotFound, "the account has no domain example.com at DigitalOcean")
        );
        records.change(&place(), A, &delete).await.unwrap();
    }

    #[tokio::test]
    async fn a_refusal_is_about_the_quota_if_its_words_are() {
        for (words, expected) in [
            ("Domain record limit reached", ErrorKind::QuotaExceeded),
            ("Data can't be blank.", ErrorKind::Rejected),
        ] {
            let script = Script::default().then(422, problem("unprocessable_entity", words));
            let error = records_on(&script).change(&place(), A, &creating(1)).await.unwrap_err();
            assert_eq!((error.kind, &error.message[..]), (expected, words));
        }
    }
}

mod odd_answers {
    use super::*;

    async fn list(body: &Value) -> Result<Vec<Record>> {
        let script = Script::default().then(200, body).then(200, body);
        records_on(&script).list(&place(), A).await
    }

    #[tokio::test]
    async fn what_the_filter_should_have_kept_out_is_kept_out() {
        let mut other = record(1, 1);
        other["name"] = json!("other");
        let mut text = record(2, 2);
        text["type"] = json!("TXT");
        let mut start = record(3, 3);
        (start["type"], start["data"], start["ttl"]) = (json!("SOA"), Value::Null, Value::Null);
        let listed = list(&listing(&[other, text, start, record(4, 4)])).await.unwrap();
        assert_eq!((listed.len(), &listed[0].id), (1, &id(4)));
    }

    #[tokio::test]
    async fn success_that_cannot_be_read_is_no_answer_whatever_was_asked() {
        let mut other = single(1, 1);
        other["domain_record"]["name"] = json!("other");
        for odd in [
            String::new(),
            "null".into(),
            "[]".into(),
            "[[],null]".into(),
            "{}".into(),
            r#"{"domain_records":null,"domain_record":null}"#.into(),
            r#"{"domain_records":{},"domain_record":{}}"#.into(),
            r#"{"domain_records":[{}],"domain_record":[]}"#.into(),
            r#"{"domain_records":[{"id":"7","type":"A","name":"hello"}]}"#.into(),
            other.to_string(),
        ] {
            let script = Script::default().then(200, &odd).then(200, &odd).then(200, &odd);
            let records = records_on(&script);
            assert_eq!(kind(records.list(&place(), A).await), ErrorKind::NoAnswer, "{odd}");
            let made = records.change(&place(), A, &creating(1)).await;
            assert_eq!(kind(made), ErrorKind::NoAnswer, "{odd}");
            let update = vec![(id(1), to(1))];
            let update = RecordChange { update, ..RecordChange::default() };
            let made = records.change(&place(), A, &update).await;
            assert_eq!(kind(made), ErrorKind::NoAnswer, "{odd}");
        }
    }

    #[tokio::test]
    async fn a_record_without_an_address_or_a_time_is_no_answer() {
        for (key, value) in [
            ("data", json!("hello")),
            ("data", json!("2001:db8::1")),
            ("data", Value::Null),
            ("ttl", Value::Null),
            ("ttl", json!(-1)),
        ] {
            let mut odd = record(1, 1);
            odd[key] = value;
            assert_eq!(kind(list(&listing(&[odd])).await), ErrorKind::NoAnswer, "{key}");
        }
    }

    #[tokio::test]
    async fn a_listing_that_repeats_itself_is_no_answer() {
        let mut endless = listing(&[record(1, 1)]);
        endless["links"] = json!({ "pages": { "next": "https://example.com/?page=2" } });
        assert_eq!(kind(list(&endless).await), ErrorKind::NoAnswer);
    }
}

/// The examples of DigitalOcean's specification. Skipped without a local copy.
#[tokio::test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
async fn every_example_of_an_answer_is_understood() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/specs/digitalocean.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not here");
        return;
    };
    let spec: Value = serde_json::from_str(&text).unwrap();
    let example = spec["components"]["examples"]["domain_records_all"]["value"].clone();
    let whole = example["domain_records"].as_array().unwrap().clone();
    let apex = RecordName { zone: "example.com".into(), name: "example.com".into() };
    let script = Script::default().then(200, example);
    let listed = records_on(&script).list(&apex, A).await.unwrap();
    let theirs: Vec<_> = whole.iter().filter(|r| r["type"] == "A" && r["name"] == "@").collect();
    assert_eq!(listed.len(), theirs.len());
    assert!(!listed.is_empty());
}
