//! The contract over the emulator, and answers outside the emulator's repertoire.

mod calls;
mod odd_answers;
mod outdated;
mod refusals;
mod settings;
mod zones_of_users;

use std::net::IpAddr;

use fakecloud::{CloudFault, FakeCloud, Fault, On, Rule};
use serde_json::{Value, json};

use super::*;
use crate::contract::properties::{self, JsonHost};
use crate::contract::script::{Script, with_variables};
use crate::contract::{Bench, ZONE, records, transport};
use crate::record::RecordId;

const TOKEN: &str = "cf_canary0123456789";
const ZONE_ID: &str = "023e105f4ecef8ad9ca31a8372d0c353";
const A: RecordKind = RecordKind::A;

fn opened(settings: &Settings<'_>, transport: Transport) -> Arc<dyn RecordProvider> {
    open(settings, transport).unwrap().records.unwrap()
}

/// Cloudflare on the bench, with the zone by name.
struct ByName;

impl Bench for ByName {
    fn vendor(&self) -> &'static Vendor {
        &VENDOR
    }
}

/// Cloudflare on the bench, with the zone by ID.
struct ById;

impl Bench for ById {
    fn vendor(&self) -> &'static Vendor {
        &VENDOR
    }

    fn zone(&self, cloud: &FakeCloud) -> String {
        cloud.zone_id(ZONE)
    }

    fn no_zone(&self) -> &'static str {
        "0123456789abcdef0123456789abcdef"
    }
}

records::suite!(contract_with_the_zone_by_name, ByName);
records::suite!(contract_with_the_zone_by_id, ById);
properties::suite!(properties_of_answers, ById);

impl JsonHost for ById {
    fn place(&self) -> RecordName {
        place()
    }

    fn record(&self, value: &str, number: u8) -> Value {
        json!({
            "id": format!("{number:032x}"), "type": "A", "name": properties::NAME, "ttl": 60,
            "content": value, "proxied": false, "comment": null,
        })
    }

    fn listing(&self, records: Vec<Value>) -> Value {
        listing(&records)
    }

    fn created(&self, record: Value) -> Value {
        success(json!({ "posts": [record] }))
    }

    fn listed<'a>(&self, body: &'a Value) -> Option<&'a Vec<Value>> {
        let list = body["result"].as_array()?;
        let total = body["result_info"]["total_count"].as_f64().unwrap_or_default();
        (body["success"] == true && list.len() as f64 >= total.floor()).then_some(list)
    }

    fn keys(&self) -> &'static [&'static str] {
        &[
            "success",
            "errors",
            "result",
            "result_info",
            "total_count",
            "total_pages",
            "posts",
            "patches",
            "id",
            "type",
            "name",
            "content",
            "ttl",
            "proxied",
            "comment",
            "code",
            "message",
        ]
    }
}

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

/// The client does not know the plan of a zone: Cloudflare decides.
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
    assert_eq!(provider.change(&place, A, &change(1)).await.unwrap().written[0].ttl, 1);
}

/// A record made by hand in Cloudflare's console: proxied, with an automatic TTL.
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
    let done = provider.change(&place, A, &change).await.unwrap().written;
    assert_eq!((done[0].ttl, done[0].proxied), (60, false));
    assert_eq!(done[0].id, listed[0].id);
}
