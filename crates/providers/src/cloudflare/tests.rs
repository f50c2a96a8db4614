//! The contract over the emulator, and answers that no emulator should have to give.

use std::net::IpAddr;

use fakecloud::{FakeCloud, Fault, On, Rule};
use serde_json::{Value, json};

use super::*;
use crate::contract::transport;
use crate::record::RecordId;
use crate::record_contract::{self, Fixture, ZONE};
use crate::script::{Script, with_variables};

const TOKEN: &str = "cf_canary0123456789";
const ZONE_ID: &str = "023e105f4ecef8ad9ca31a8372d0c353";
const A: RecordKind = RecordKind::A;

fn opened(settings: &Settings<'_>, transport: Transport) -> Arc<dyn RecordProvider> {
    open(settings, transport).unwrap()
}

record_contract::suite!(
    contract_with_the_zone_by_name,
    Fixture {
        open: opened,
        variables: &[("CLOUDFLARE_TOKEN", TOKEN)],
        secret: TOKEN,
        zone: |_| ZONE.into(),
        no_zone: "example.net",
    }
);

record_contract::suite!(
    contract_with_the_zone_by_id,
    Fixture {
        open: opened,
        variables: &[("CLOUDFLARE_TOKEN", TOKEN)],
        secret: TOKEN,
        zone: |cloud| cloud.zone_id(ZONE),
        no_zone: "0123456789abcdef0123456789abcdef",
    }
);

fn open_on(transport: Transport) -> Arc<dyn RecordProvider> {
    with_variables(&[("CLOUDFLARE_TOKEN", TOKEN)], |settings| opened(settings, transport))
}

fn place() -> RecordName {
    RecordName { zone: ZONE_ID.into(), name: "hello.example.com".into() }
}

fn ip(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

fn to(last: u8) -> WantedRecord {
    WantedRecord { value: ip(last), ttl: 60, mark: None }
}

fn id(last: u8) -> RecordId {
    RecordId(format!("{last:032x}"))
}

fn creating(last: u8) -> RecordChange {
    RecordChange { create: vec![to(last)], ..RecordChange::default() }
}

fn record(last: u8) -> Value {
    json!({
        "id": id(last).0, "name": "hello.example.com", "type": "A", "content": ip(last),
        "ttl": 60, "proxied": false, "comment": null, "tags": [], "settings": {}, "meta": {},
    })
}

fn success(result: Value) -> Value {
    json!({ "success": true, "errors": [], "messages": [], "result": result })
}

fn listing(records: &[Value]) -> Value {
    let mut body = success(json!(records));
    body["result_info"] = json!({
        "page": 1, "per_page": 1000, "count": records.len(), "total_count": records.len(),
        "total_pages": 1,
    });
    body
}

fn failure(code: u64, message: &str) -> Value {
    let errors = json!([{ "code": code, "message": message }]);
    json!({ "success": false, "errors": errors, "messages": [], "result": null })
}

mod settings {
    use super::*;

    #[test]
    fn every_variable_is_named_when_it_is_missing_or_unusable_and_never_shown() {
        for (name, value) in [
            ("CLOUDFLARE_TOKEN", " "),
            ("CLOUDFLARE_TOKEN", "can ary"),
            ("CLOUDFLARE_API_URL", "http://canary.example.com"),
            ("CLOUDFLARE_USER_AGENT", "canary\u{1}"),
        ] {
            let mut variables = vec![(name, value)];
            variables.push(("CLOUDFLARE_TOKEN", TOKEN));
            let error = with_variables(&variables, |s| open(s, Script::default().transport()));
            let error = error.unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
            assert!(!format!("{error:?}").contains("can"), "{error:?}");
        }
    }

    #[tokio::test]
    async fn the_defaults_are_the_vendors_endpoint_and_our_name() {
        let script = Script::default().then(200, listing(&[]));
        open_on(script.transport()).list(&place(), A).await.unwrap();
        let requests = script.requests.lock().unwrap();
        let (uri, headers) = (requests[0].uri(), requests[0].headers());
        assert_eq!((uri.scheme_str(), uri.host()), (Some("https"), Some("api.cloudflare.com")));
        assert!(uri.path().starts_with("/client/v4/zones/"), "{uri}");
        let name = format!("pontoon/{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(headers["user-agent"], name.as_str());
        assert_eq!(headers["authorization"], format!("Bearer {TOKEN}").as_str());
        assert!(!format!("{:?}", requests[0]).contains(TOKEN));
    }

    #[tokio::test]
    async fn the_endpoint_and_the_name_can_be_set() {
        let script = Script::default().then(200, listing(&[]));
        let variables = [
            ("CLOUDFLARE_TOKEN", TOKEN),
            ("CLOUDFLARE_API_URL", "http://127.0.0.1:9/client/v4/"),
            ("CLOUDFLARE_USER_AGENT", "mine/1"),
        ];
        let provider = with_variables(&variables, |s| opened(s, script.transport()));
        provider.list(&place(), A).await.unwrap();
        let requests = script.requests.lock().unwrap();
        let expected = format!("http://127.0.0.1:9/client/v4/zones/{ZONE_ID}/dns_records");
        assert!(requests[0].uri().to_string().starts_with(&expected), "{}", requests[0].uri());
        assert_eq!(requests[0].headers()["user-agent"], "mine/1");
    }
}

mod calls {
    use super::*;

    #[tokio::test]
    async fn a_set_is_read_by_one_call_and_changed_by_one_more() {
        let done = json!({ "deletes": [record(3)], "patches": [record(1)], "posts": [record(2)] });
        let script =
            Script::default().then(200, listing(&[record(3), record(9)])).then(200, success(done));
        let provider = open_on(script.transport());
        assert_eq!(provider.list(&place(), A).await.unwrap().len(), 2);
        let change = RecordChange {
            create: vec![WantedRecord { mark: Some("ours".into()), ..to(2) }],
            update: vec![(id(9), to(1))],
            delete: vec![id(3)],
        };
        provider.change(&place(), A, &change).await.unwrap();
        let path = format!("/client/v4/zones/{ZONE_ID}/dns_records");
        let body = concat!(
            r#"{"deletes":[{"id":"00000000000000000000000000000003"}],"#,
            r#""patches":[{"content":"192.0.2.1","id":"00000000000000000000000000000009","#,
            r#""name":"hello.example.com","proxied":false,"ttl":60,"type":"A"}],"#,
            r#""posts":[{"comment":"ours","content":"192.0.2.2","name":"hello.example.com","#,
            r#""proxied":false,"ttl":60,"type":"A"}]}"#,
        );
        assert_eq!(
            script.sent(),
            [
                format!("GET {path}?name.exact=hello.example.com&type=A&page=1&per_page=1000"),
                format!("POST {path}/batch {body}"),
            ]
        );
    }

    #[tokio::test]
    async fn a_change_beyond_one_batch_deletes_last() {
        let cloud = FakeCloud::new();
        cloud.set(|knobs| knobs.zone_plan = fakecloud::ZonePlan::Enterprise);
        for last in 0..=250_u8 {
            cloud.record(ZONE, "A", "hello", &ip(last).to_string(), 60);
        }
        let provider = open_on(transport(&cloud));
        let place = provider.locate(ZONE, "hello").await.unwrap();
        let listed = provider.list(&place, A).await.unwrap();
        let fresh = |last: u8| WantedRecord { value: [198, 51, 100, last].into(), ..to(0) };
        let change = RecordChange {
            create: (0..=200).map(fresh).collect(),
            update: vec![(listed[0].id.clone(), fresh(255))],
            delete: listed[1..].iter().map(|record| record.id.clone()).collect(),
        };
        let done = provider.change(&place, A, &change).await.unwrap();
        assert_eq!((done.len(), cloud.values(ZONE, "hello", "A").len()), (202, 202));
        let steps: Vec<String> = cloud
            .mutations()
            .iter()
            .map(|call| call.json().as_object().unwrap().keys().cloned().collect())
            .collect();
        assert_eq!(steps, ["patches", "posts", "posts", "deletes", "deletes"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_goes_when_the_budget_is_nearly_used_up() {
        let cloud = FakeCloud::new();
        cloud.domain(ZONE).set(|knobs| {
            knobs.rate = Some(fakecloud::RateLimit { limit: 30, ..Default::default() });
        });
        let provider = open_on(transport(&cloud));
        let place = provider.locate(ZONE, "hello").await.unwrap();
        while provider.list(&place, A).await.is_ok() {}
        provider.change(&place, A, &creating(1)).await.unwrap();
    }
}

mod zones_of_users {
    use super::*;

    fn zone(id: &str, status: &str) -> Value {
        json!({ "id": id, "name": "example.com", "status": status })
    }

    async fn locate(script: &Script, zone: &str, name: &str) -> Result<RecordName> {
        open_on(script.transport()).locate(zone, name).await
    }

    #[tokio::test]
    async fn of_several_zones_of_one_name_the_active_one_is_meant() {
        let other = "f".repeat(32);
        let script = Script::default()
            .then(200, success(json!([zone(&other, "moved"), zone(ZONE_ID, "active")])));
        assert_eq!(locate(&script, "Example.com", "hello").await.unwrap(), place());
        assert_eq!(script.sent(), ["GET /client/v4/zones?name=example.com"]);
        let script = Script::default()
            .then(200, success(json!([zone(&other, "active"), zone(ZONE_ID, "active")])));
        let error = locate(&script, "example.com", "hello").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert_eq!(error.message, "several zones are called example.com: name the one by its ID");
    }

    #[tokio::test]
    async fn a_zone_that_the_token_is_not_shown_is_not_found_and_asked_for_again() {
        let script = Script::default()
            .then(200, success(json!([])))
            .then(200, success(json!([zone(ZONE_ID, "active")])));
        let provider = open_on(script.transport());
        let error = provider.locate("example.com", "hello").await.unwrap_err();
        assert_eq!(
            (error.kind, &error.message[..]),
            (ErrorKind::NotFound, "Cloudflare shows this token no zone example.com")
        );
        assert_eq!(provider.locate("example.com", "hello").await.unwrap(), place());
    }

    /// What FLIPOP's users have: the zone's ID, the record's full name, and a token for DNS.
    #[tokio::test]
    async fn without_leave_to_read_zones_an_id_and_a_full_name_will_do() {
        let forbidden = failure(9109, "Unauthorized to access requested resource");
        let script = Script::default().then(403, forbidden);
        let provider = open_on(script.transport());
        let found = provider.locate(ZONE_ID, "Hello.example.com").await.unwrap();
        assert_eq!(found, place());
        let error = provider.locate(ZONE_ID, "hello").await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Rejected);
        assert!(error.message.contains("in full"), "{error}");
        assert_eq!(script.sent(), [format!("GET /client/v4/zones/{ZONE_ID}")]);
    }

    #[tokio::test]
    async fn by_its_id_a_zone_is_asked_for_its_name_once() {
        let script = Script::default().then(200, success(zone(ZONE_ID, "active")));
        let provider = open_on(script.transport());
        let upper = ZONE_ID.to_ascii_uppercase();
        for (zone, name) in [(ZONE_ID, "hello"), (ZONE_ID, "hello.example.com"), (&upper, "hello")]
        {
            assert_eq!(provider.locate(zone, name).await.unwrap(), place());
        }
        assert_eq!(script.sent().len(), 1);
    }

    #[tokio::test]
    async fn a_zone_in_another_script_is_used_by_id_and_full_name() {
        let foreign = json!({ "id": ZONE_ID, "name": "bücher.example", "status": "active" });
        let script = Script::default().then(200, success(foreign));
        let provider = open_on(script.transport());
        let name = "hello.xn--bcher-kva.example";
        assert_eq!(provider.locate(ZONE_ID, name).await.unwrap().name, name);
    }

    #[tokio::test]
    async fn a_zone_that_is_gone_is_forgotten() {
        let gone = failure(7003, "Could not route to /client/v4/zones/023e");
        let new = "f".repeat(32);
        let script = Script::default()
            .then(200, success(json!([zone(ZONE_ID, "active")])))
            .then(404, gone)
            .then(200, success(json!([zone(&new, "active")])));
        let provider = open_on(script.transport());
        let place = provider.locate("example.com", "hello").await.unwrap();
        assert_eq!(provider.list(&place, A).await.unwrap_err().kind, ErrorKind::NotFound);
        assert_eq!(provider.locate("example.com", "hello").await.unwrap().zone, new);
    }

    #[tokio::test]
    async fn answers_that_name_another_zone_or_none_are_no_answers() {
        for odd in [json!([{ "id": "../x", "name": "example.com" }]), json!({}), Value::Null] {
            let script = Script::default().then(200, success(odd));
            let error = locate(&script, "example.com", "a").await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NoAnswer);
        }
        let script = Script::default().then(200, success(zone(&"f".repeat(32), "active")));
        assert_eq!(locate(&script, ZONE_ID, "a").await.unwrap_err().kind, ErrorKind::NoAnswer);
    }
}

mod outdated {
    use super::*;

    fn refused(code: u64) -> Script {
        Script::default().then(400, failure(code, "An identical record already exists."))
    }

    async fn change(script: &Script, change: &RecordChange) -> Result<Vec<Record>> {
        open_on(script.transport()).change(&place(), A, change).await
    }

    #[tokio::test]
    async fn what_is_so_already_is_success() {
        for code in [81_057, 81_058] {
            let script = refused(code).then(200, listing(&[record(1), record(2)]));
            let done = change(&script, &creating(1)).await.unwrap();
            assert_eq!((done.len(), done[0].value), (1, ip(1)));
        }
        let delete = RecordChange { delete: vec![id(7)], ..RecordChange::default() };
        let script = refused(81_044).then(200, listing(&[record(1)]));
        assert_eq!(change(&script, &delete).await.unwrap(), []);
        assert_eq!(script.sent().len(), 2);
    }

    #[tokio::test]
    async fn what_is_not_so_was_changed_by_somebody_else() {
        let mut slower = record(1);
        slower["ttl"] = json!(300);
        let mut proxied = record(1);
        proxied["proxied"] = json!(true);
        for there in [record(2), slower, proxied] {
            let script = refused(81_058).then(200, listing(&[there]));
            assert_eq!(change(&script, &creating(1)).await.unwrap_err().kind, ErrorKind::Busy);
        }
        let both = RecordChange { delete: vec![id(2)], ..creating(1) };
        let script = refused(81_058).then(200, listing(&[record(1), record(2)]));
        let error = change(&script, &both).await.unwrap_err();
        assert_eq!(
            error.message,
            "the records of hello.example.com are not as they were: An identical record already \
             exists. (81058)"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_read_back_is_not_called_so() {
        for (status, kind) in [
            (500, ErrorKind::Busy),
            (502, ErrorKind::Busy),
            (401, ErrorKind::Unauthorized),
            (403, ErrorKind::Forbidden),
        ] {
            let script = refused(81_058).then(status, "");
            assert_eq!(change(&script, &creating(1)).await.unwrap_err().kind, kind);
        }
    }
}

mod refusals {
    use super::*;

    async fn refused(status: u16, body: impl ToString) -> Error {
        let script = Script::default().then(status, body);
        open_on(script.transport()).list(&place(), A).await.unwrap_err()
    }

    #[tokio::test]
    async fn every_status_has_its_kind() {
        let minute = std::time::Duration::from_secs(60);
        for (status, kind) in [
            (301, ErrorKind::Rejected),
            (400, ErrorKind::Rejected),
            (401, ErrorKind::Unauthorized),
            (403, ErrorKind::Forbidden),
            (405, ErrorKind::Rejected),
            (408, ErrorKind::NoAnswer),
            (409, ErrorKind::Busy),
            (429, ErrorKind::RateLimited { retry_after: minute }),
            (500, ErrorKind::Unavailable),
            (502, ErrorKind::NoAnswer),
            (503, ErrorKind::Unavailable),
            (521, ErrorKind::NoAnswer),
        ] {
            assert_eq!(refused(status, failure(1, "x")).await.kind, kind, "{status}");
            assert_eq!(refused(status, "<html>").await.kind, kind, "{status}");
        }
        assert_eq!(refused(404, "<html>").await.kind, ErrorKind::NoAnswer);
        assert_eq!(refused(404, failure(7003, "x")).await.kind, ErrorKind::NotFound);
        assert_eq!(refused(200, failure(10_000, "x")).await.kind, ErrorKind::NoAnswer);
    }

    #[tokio::test]
    async fn the_token_itself_is_told_from_what_it_may_do() {
        for (status, code, words, kind) in [
            (400, 6003, "Invalid request headers", ErrorKind::Unauthorized),
            (400, 9106, "Missing X-Auth-Key", ErrorKind::Unauthorized),
            (403, 9109, "Invalid access token", ErrorKind::Unauthorized),
            (403, 9109, "Cannot use the access token from location: ::1", ErrorKind::Unauthorized),
            (403, 9109, "Unauthorized to access requested resource", ErrorKind::Forbidden),
            (403, 10_000, "Authentication error", ErrorKind::Forbidden),
        ] {
            assert_eq!(refused(status, failure(code, words)).await.kind, kind, "{words}");
        }
    }

    #[tokio::test]
    async fn the_reason_behind_the_reason_is_shown_with_the_code() {
        let mut body = failure(1004, "DNS Validation Error");
        let chain = json!([{ "code": 9021, "message": "Invalid TTL." }]);
        body["errors"][0]["error_chain"] = chain;
        let error = refused(400, body).await;
        assert_eq!(error.message, "DNS Validation Error: Invalid TTL. (1004)");
        let error = refused(400, r#"{"errors":[]}"#).await;
        assert_eq!(error.message, "Cloudflare answered 400 Bad Request");
    }

    #[tokio::test]
    async fn a_full_zone_says_so() {
        let cloud = FakeCloud::new();
        for last in 0..200 {
            cloud.record(ZONE, "A", "many", &ip(last).to_string(), 60);
        }
        let provider = open_on(transport(&cloud));
        let place = provider.locate(ZONE, "hello").await.unwrap();
        let error = provider.change(&place, A, &creating(1)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::QuotaExceeded);
    }
}

mod odd_answers {
    use super::*;

    #[tokio::test]
    async fn a_listing_that_is_shorter_than_it_says_is_no_listing() {
        let mut short = listing(&[record(1)]);
        short["result_info"]["total_count"] = json!(2);
        let mut empty = listing(&[]);
        empty["result_info"]["total_count"] = json!(1);
        let mut endless = listing(&[record(1)]);
        endless["result_info"]["total_pages"] = json!(3);
        for body in [short, empty, endless] {
            let script = Script::default().then(200, &body).then(200, &body);
            let error = open_on(script.transport()).list(&place(), A).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NoAnswer, "{body}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_that_was_lost_between_pages_makes_the_listing_none() {
        let cloud = FakeCloud::new();
        for n in 0..1_050_u16 {
            let [high, low] = n.to_be_bytes();
            cloud.record(ZONE, "A", "hello", &format!("198.18.{high}.{low}"), 60);
        }
        let provider = open_on(transport(&cloud));
        let place = provider.locate(ZONE, "hello").await.unwrap();
        cloud.inject(Rule::new(On::reads(), Fault::PageGap));
        let error = provider.list(&place, A).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoAnswer);
    }

    #[tokio::test]
    async fn what_the_filter_should_have_kept_out_is_kept_out() {
        let mut other = record(2);
        other["name"] = json!("other.example.com");
        let mut text = record(3);
        text["type"] = json!("TXT");
        let script = Script::default().then(200, listing(&[other, record(1), text]));
        let listed = open_on(script.transport()).list(&place(), A).await.unwrap();
        assert_eq!((listed.len(), listed[0].value), (1, ip(1)));
    }

    #[tokio::test]
    async fn success_that_cannot_be_read_is_no_answer_whatever_was_asked() {
        let mut other = record(1);
        other["content"] = json!("192.0.2.77");
        for odd in [
            String::new(),
            "null".into(),
            "[]".into(),
            "[true,[],null]".into(),
            "{}".into(),
            r#"{"success":true}"#.into(),
            r#"{"success":"yes","result":[]}"#.into(),
            success(Value::Null).to_string(),
            success(json!({})).to_string(),
            success(json!([{}])).to_string(),
            success(json!({ "posts": null })).to_string(),
            success(json!({ "posts": [] })).to_string(),
            success(json!({ "posts": [other] })).to_string(),
            success(json!({ "posts": [record(1), record(2)] })).to_string(),
        ] {
            let script = Script::default().then(200, &odd).then(200, &odd);
            let provider = open_on(script.transport());
            let error = provider.change(&place(), A, &creating(1)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NoAnswer, "{odd}");
            let error = provider.list(&place(), A).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NoAnswer, "{odd}");
        }
    }

    #[tokio::test]
    async fn a_record_without_an_address_or_a_time_is_no_answer() {
        for (key, value) in [
            ("content", json!("hello")),
            ("content", json!("2001:db8::1")),
            ("content", Value::Null),
            ("ttl", Value::Null),
            ("ttl", json!(-1)),
        ] {
            let mut odd = record(1);
            odd[key] = value;
            let script = Script::default().then(200, listing(&[odd]));
            let error = open_on(script.transport()).list(&place(), A).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NoAnswer, "{key}");
        }
    }
}

/// The plan of a zone is the vendor's business.
#[tokio::test(start_paused = true)]
async fn a_time_to_live_that_the_plan_of_the_zone_forbids_is_refused_by_the_vendor() {
    let cloud = FakeCloud::new();
    cloud.domain(ZONE);
    let provider = open_on(transport(&cloud));
    let place = provider.locate(ZONE, "hello").await.unwrap();
    let change = |ttl| RecordChange {
        create: vec![WantedRecord { ttl, ..to(1) }],
        ..RecordChange::default()
    };
    let error = provider.change(&place, A, &change(30)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Rejected);
    assert!(error.message.contains("Must be between 60 and 86400"), "{error}");
    assert_eq!(provider.change(&place, A, &change(1)).await.unwrap()[0].ttl, 1);
}

/// Records that were made by hand in the vendor's console: proxied, with a time of the
/// vendor's own.
#[tokio::test(start_paused = true)]
async fn a_proxy_is_seen_and_turned_off_by_an_update() {
    let cloud = FakeCloud::new();
    let number = cloud.record(ZONE, "A", "hello", "192.0.2.1", 1);
    cloud.human_edits_record(ZONE, number, |record| record.proxied = true);
    let provider = open_on(transport(&cloud));
    let place = provider.locate(ZONE, "hello").await.unwrap();
    let listed = provider.list(&place, A).await.unwrap();
    assert_eq!((listed[0].ttl, listed[0].proxied), (1, true));
    let change =
        RecordChange { update: vec![(listed[0].id.clone(), to(1))], ..RecordChange::default() };
    let done = provider.change(&place, A, &change).await.unwrap();
    assert_eq!((done[0].ttl, done[0].proxied), (60, false));
    assert_eq!(done[0].id, listed[0].id);
}
