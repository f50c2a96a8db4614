//! Properties of every client of a DNS host with JSON. No answer causes a panic, and a set is reported as empty or
//! changed only if the answer shows as much.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value};
use tower::service_fn;

use super::script::with_variables;
use super::{Bench, ZONE};
use crate::record::{RecordChange, RecordId, RecordKind, RecordName, RecordProvider, WantedRecord};
use crate::transport::Transport;

const ID: &str = "023e105f4ecef8ad9ca31a8372d0c353";
/// The name of the set.
pub(crate) const NAME: &str = "hello.example.com";
const VALUE: &str = "192.0.2.1";

/// A DNS host on the bench whose answers are JSON.
pub(crate) trait JsonHost: Bench {
    /// The place of the set.
    fn place(&self) -> RecordName {
        RecordName { zone: ZONE.into(), name: NAME.into() }
    }

    /// An address record of the set with this value and number.
    fn record(&self, value: &str, number: u8) -> Value;

    /// A whole listing of these records.
    fn listing(&self, records: Vec<Value>) -> Value;

    /// The answer to a change that made this record.
    fn created(&self, record: Value) -> Value;

    /// The records in a listing that says to be whole.
    fn listed<'a>(&self, body: &'a Value) -> Option<&'a Vec<Value>>;

    /// The keys in the host's answers.
    fn keys(&self) -> &'static [&'static str];
}

/// Runs every property for one host.
macro_rules! suite {
    ($name:ident, $host:expr) => {
        $crate::contract::properties::suite! { @clauses $name, $host =>
            no_answer_makes_a_client_panic_or_take_a_set_for_empty,
            no_damaged_answer_makes_a_client_panic_or_take_a_set_for_empty,
            no_bytes_make_a_client_panic_or_take_a_set_for_empty,
            whatever_a_user_writes_is_refused_or_becomes_a_name_in_its_zone,
        }
    };
    (@clauses $name:ident, $host:expr => $($clause:ident),* $(,)?) => {
        mod $name {
            use super::*;
            $(
                #[test]
                fn $clause() {
                    $crate::contract::properties::$clause(&$host);
                }
            )*
        }
    };
}
pub(crate) use suite;

/// An account with the same answer to every request.
fn answering(host: &dyn JsonHost, status: u16, body: Vec<u8>) -> Arc<dyn RecordProvider> {
    let transport = Transport::new(service_fn(move |_: Request<Bytes>| {
        let answer = Response::builder().status(status).body(Bytes::from(body.clone()));
        async move { Ok(answer.unwrap()) }
    }));
    let vendor = host.vendor();
    with_variables(&[(vendor.credential.variables()[0], "secret")], |settings| {
        (vendor.open)(settings, transport).unwrap().records.unwrap()
    })
}

/// Whether the answer is a complete listing without a record of the set.
fn shows_nothing(host: &dyn JsonHost, status: u16, body: &[u8]) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return false };
    let Some(list) = host.listed(&body) else { return false };
    let ours = |record: &Value| {
        let name = record["name"].as_str().unwrap_or_default();
        record["type"] == "A" && [NAME, "hello"].contains(&name)
    };
    (200..300).contains(&status) && !list.iter().any(ours)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn status() -> impl Strategy<Value = u16> {
    prop_oneof![4 => Just(200_u16), 1 => select(vec![201, 204, 302, 400, 403, 404, 429, 500, 502])]
}

/// Any JSON, made of these keys and of words in answers.
fn odd(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let words = ["A", "AAAA", "hello", NAME, VALUE, "2001:db8::1", "", "@", ID, "7", "é\u{0}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(words.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            hash_map(select(keys), inner, 0..6).prop_map(|map| {
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

fn damage(keys: &'static [&'static str]) -> impl Strategy<Value = Vec<Damage>> {
    let one = prop_oneof![
        any::<Index>().prop_map(Damage::Removed),
        (any::<Index>(), odd(keys)).prop_map(|(at, with)| Damage::Replaced(at, with)),
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

fn never_falsely_empty(
    host: &dyn JsonHost,
    status: u16,
    body: Vec<u8>,
) -> Result<(), TestCaseError> {
    let provider = answering(host, status, body.clone());
    let listed = run(provider.list(&host.place(), RecordKind::A));
    if listed.is_ok_and(|set| set.is_empty()) {
        prop_assert!(shows_nothing(host, status, &body), "{}", String::from_utf8_lossy(&body));
    }
    Ok(())
}

fn never_falsely_changed(
    host: &dyn JsonHost,
    status: u16,
    body: Vec<u8>,
) -> Result<(), TestCaseError> {
    let provider = answering(host, status, body.clone());
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

pub(crate) fn no_answer_makes_a_client_panic_or_take_a_set_for_empty(host: &dyn JsonHost) {
    proptest!(|((status, body) in (status(), odd(host.keys())))| {
        never_falsely_empty(host, status, body.to_string().into_bytes())?;
        never_falsely_changed(host, status, body.to_string().into_bytes())?;
    });
}

pub(crate) fn no_damaged_answer_makes_a_client_panic_or_take_a_set_for_empty(host: &dyn JsonHost) {
    proptest!(|((status, count, damages) in (status(), 1_u8..4, damage(host.keys())))| {
        let record = |last| host.record(&format!("192.0.2.{last}"), last);
        let listing = host.listing((1..=count).map(record).collect());
        never_falsely_empty(host, status, damaged(listing, &damages))?;
        never_falsely_changed(host, status, damaged(host.created(record(1)), &damages))?;
    });
}

pub(crate) fn no_bytes_make_a_client_panic_or_take_a_set_for_empty(host: &dyn JsonHost) {
    proptest!(|((status, body) in (status(), vec(any::<u8>(), 0..64)))| {
        never_falsely_empty(host, status, body.clone())?;
        never_falsely_changed(host, status, body)?;
    });
}

/// A host with zone identifiers asks before it knows the zone, and is not tested here.
pub(crate) fn whatever_a_user_writes_is_refused_or_becomes_a_name_in_its_zone(host: &dyn JsonHost) {
    let locate = |zone: &str, name: &str| {
        let provider = answering(host, 500, Vec::new());
        run(provider.locate(zone, name)).ok().filter(|_| !provider.capabilities().zones_by_id)
    };
    proptest!(|((zone, name) in (".{0,40}", ".{0,80}"))| {
        if let Some(place) = locate(&zone, &name) {
            let inside =
                place.name == place.zone || place.name.ends_with(&format!(".{}", place.zone));
            prop_assert!(inside, "{place:?}");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.*".contains(c);
            prop_assert!(place.name.chars().all(plain), "{place:?}");
            prop_assert_eq!(locate(&place.zone, &place.name), Some(place));
        }
    });
}
