//! Properties of every DNS client. No answer causes a panic, and a set is reported as empty or
//! changed only if the answer shows as much.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};
use tower::service_fn;

use super::script::with_variables;
use crate::record::{RecordChange, RecordId, RecordKind, RecordName, RecordProvider, WantedRecord};
use crate::transport::Transport;
use crate::{cloudflare, digitalocean};

const ID: &str = "023e105f4ecef8ad9ca31a8372d0c353";
const NAME: &str = "hello.example.com";
const VALUE: &str = "192.0.2.1";

/// A DNS host under test.
#[derive(Clone, Copy, Debug)]
enum Host {
    Cloudflare,
    DigitalOcean,
}

impl Host {
    fn place(self) -> RecordName {
        let zone = match self {
            Self::Cloudflare => ID,
            Self::DigitalOcean => "example.com",
        };
        RecordName { zone: zone.into(), name: NAME.into() }
    }

    /// An account with the same answer to every request.
    fn answering(self, status: u16, body: Vec<u8>) -> Arc<dyn RecordProvider> {
        let transport = Transport::new(service_fn(move |_: Request<Bytes>| {
            let answer = Response::builder().status(status).body(Bytes::from(body.clone()));
            async move { Ok(answer.unwrap()) }
        }));
        let variables = [("CLOUDFLARE_TOKEN", "secret"), ("DIGITALOCEAN_ACCESS_TOKEN", "secret")];
        with_variables(&variables, |settings| match self {
            Self::Cloudflare => (cloudflare::VENDOR.open)(settings, transport).unwrap(),
            Self::DigitalOcean => {
                (digitalocean::VENDOR.open)(settings, transport).unwrap().records().unwrap()
            }
        })
    }

    fn record(self, last: u8) -> Value {
        match self {
            Self::Cloudflare => json!({
                "id": format!("{last:032x}"), "type": "A", "name": NAME, "ttl": 60,
                "content": format!("192.0.2.{last}"), "proxied": false, "comment": null,
            }),
            Self::DigitalOcean => json!({
                "id": 7_000 + u64::from(last), "type": "A", "name": "hello", "ttl": 60,
                "data": format!("192.0.2.{last}"),
            }),
        }
    }

    fn listing(self, count: u8) -> Value {
        let records: Vec<Value> = (1..=count).map(|last| self.record(last)).collect();
        match self {
            Self::Cloudflare => json!({
                "success": true, "errors": [], "messages": [], "result": records,
                "result_info": { "page": 1, "total_count": count, "total_pages": 1 },
            }),
            Self::DigitalOcean => {
                json!({ "domain_records": records, "links": {}, "meta": { "total": count } })
            }
        }
    }

    fn created(self) -> Value {
        match self {
            Self::Cloudflare => {
                let result = json!({ "posts": [self.record(1)] });
                json!({ "success": true, "errors": [], "messages": [], "result": result })
            }
            Self::DigitalOcean => json!({ "domain_record": self.record(1) }),
        }
    }

    /// Whether the answer is a complete listing without a record of the set.
    fn shows_nothing(self, status: u16, body: &[u8]) -> bool {
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return false };
        let list = match self {
            Self::Cloudflare => &body["result"],
            Self::DigitalOcean => &body["domain_records"],
        };
        let Some(list) = list.as_array() else { return false };
        let ours = |record: &Value| {
            let name = record["name"].as_str().unwrap_or_default();
            record["type"] == "A" && [NAME, "hello"].contains(&name)
        };
        let whole = match self {
            Self::Cloudflare => {
                let total = body["result_info"]["total_count"].as_f64().unwrap_or_default();
                body["success"] == true && list.len() as f64 >= total.floor()
            }
            Self::DigitalOcean => true,
        };
        (200..300).contains(&status) && whole && !list.iter().any(ours)
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn host() -> impl Strategy<Value = Host> {
    select(vec![Host::Cloudflare, Host::DigitalOcean])
}

fn status() -> impl Strategy<Value = u16> {
    prop_oneof![4 => Just(200_u16), 1 => select(vec![201, 204, 302, 400, 403, 404, 429, 500, 502])]
}

/// Any JSON, made of words used by the providers.
fn odd() -> impl Strategy<Value = Value> {
    let words = ["A", "AAAA", "hello", NAME, VALUE, "2001:db8::1", "", "@", ID, "7", "é\u{0}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(words.to_vec()).prop_map(Value::from),
    ];
    let keys = [
        "success",
        "errors",
        "result",
        "result_info",
        "total_count",
        "total_pages",
        "posts",
        "patches",
        "domain_records",
        "domain_record",
        "links",
        "pages",
        "next",
        "id",
        "type",
        "name",
        "content",
        "data",
        "ttl",
        "proxied",
        "comment",
        "code",
        "message",
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            hash_map(select(keys.to_vec()), inner, 0..6).prop_map(|map| {
                let map: Map<String, Value> =
                    map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
                Value::from(map)
            }),
        ]
    })
}

/// Damage to an answer in transit.
#[derive(Clone, Debug)]
enum Damage {
    Removed(Index),
    Replaced(Index, Value),
    CutOff(Index),
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let one = prop_oneof![
        any::<Index>().prop_map(Damage::Removed),
        (any::<Index>(), odd()).prop_map(|(at, with)| Damage::Replaced(at, with)),
        any::<Index>().prop_map(Damage::CutOff),
    ];
    vec(one, 1..4)
}

/// The JSON pointers of everything in a value, the value itself last.
fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| places(value, &format!("{at}/{key}"), into));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(nth, value)| places(value, &format!("{at}/{nth}"), into));
        }
        _ => {}
    }
    into.push(at.to_owned());
}

fn damaged(mut answer: Value, damages: &[Damage]) -> Vec<u8> {
    let mut cut = None;
    for damage in damages {
        let mut all = Vec::new();
        places(&answer, "", &mut all);
        match damage {
            Damage::CutOff(at) => cut = Some(at),
            Damage::Replaced(at, with) => {
                if let Some(place) = answer.pointer_mut(&all[at.index(all.len())]) {
                    *place = with.clone();
                }
            }
            Damage::Removed(at) => {
                let Some((parent, key)) = all[at.index(all.len())].rsplit_once('/') else {
                    continue;
                };
                match answer.pointer_mut(parent) {
                    Some(Value::Object(map)) => drop(map.remove(key)),
                    Some(Value::Array(items)) => drop(items.remove(key.parse().unwrap())),
                    _ => {}
                }
            }
        }
    }
    let mut bytes = answer.to_string().into_bytes();
    if let Some(at) = cut {
        bytes.truncate(at.index(bytes.len()));
    }
    bytes
}

fn never_falsely_empty(host: Host, status: u16, body: Vec<u8>) -> Result<(), TestCaseError> {
    let provider = host.answering(status, body.clone());
    let listed = run(provider.list(&host.place(), RecordKind::A));
    if listed.is_ok_and(|set| set.is_empty()) {
        prop_assert!(host.shows_nothing(status, &body), "{}", String::from_utf8_lossy(&body));
    }
    Ok(())
}

fn never_falsely_changed(host: Host, status: u16, body: Vec<u8>) -> Result<(), TestCaseError> {
    let provider = host.answering(status, body.clone());
    let value: IpAddr = VALUE.parse().unwrap();
    let wanted = WantedRecord { value, ttl: 60, mark: None };
    let create = RecordChange { create: vec![wanted.clone()], ..RecordChange::default() };
    let update = vec![(RecordId("7001".into()), wanted)];
    let update = RecordChange { update, ..RecordChange::default() };
    for change in [create, update] {
        let done = run(provider.change(&host.place(), RecordKind::A, &change));
        if let Ok(done) = done {
            let shown = String::from_utf8_lossy(&body).contains(VALUE);
            prop_assert!(shown && (200..300).contains(&status));
            prop_assert_eq!(done.written.len(), 1);
            prop_assert_eq!(done.written[0].value, value);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_answer_makes_a_client_panic_or_take_a_set_for_empty(
        (host, status, body) in (host(), status(), odd()),
    ) {
        never_falsely_empty(host, status, body.to_string().into_bytes())?;
        never_falsely_changed(host, status, body.to_string().into_bytes())?;
    }

    #[test]
    fn no_damaged_answer_makes_a_client_panic_or_take_a_set_for_empty(
        (host, status, count, damages) in (host(), status(), 1_u8..4, damage()),
    ) {
        never_falsely_empty(host, status, damaged(host.listing(count), &damages))?;
        never_falsely_changed(host, status, damaged(host.created(), &damages))?;
    }

    #[test]
    fn no_bytes_make_a_client_panic_or_take_a_set_for_empty(
        (host, status, body) in (host(), status(), vec(any::<u8>(), 0..64)),
    ) {
        never_falsely_empty(host, status, body.clone())?;
        never_falsely_changed(host, status, body)?;
    }

    #[test]
    fn whatever_a_user_writes_is_refused_or_becomes_a_name_in_its_zone(
        (zone, name) in (".{0,40}", ".{0,80}"),
    ) {
        let host = Host::DigitalOcean;
        if let Ok(place) = run(host.answering(500, Vec::new()).locate(&zone, &name)) {
            let inside = place.name == place.zone || place.name.ends_with(&format!(".{}", place.zone));
            prop_assert!(inside, "{place:?}");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.*".contains(c);
            prop_assert!(place.name.chars().all(plain), "{place:?}");
            let again = run(host.answering(500, Vec::new()).locate(&place.zone, &place.name));
            prop_assert_eq!(again.unwrap(), place);
        }
    }
}
