//! Generated answers: noise, JSON of known words in any shape, and damaged answers of the corpus.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use crate::call::TOKEN;
use crate::corpus;
use crate::exchange::{Answer, Reply};

/// The fates of the first requests of a call. The last fate applies to all later requests.
pub fn replies() -> impl Strategy<Value = Vec<Reply>> {
    let answers = corpus::answers();
    let known: Vec<Answer> = answers.values().cloned().collect();
    let reply = prop_oneof![
        6 => mangled(known.clone()).prop_map(Reply::Answer),
        3 => select(known.clone()).prop_map(Reply::Answer),
        1 => mangled(known).prop_map(Reply::Fresh),
        2 => any_answer().prop_map(Reply::Answer),
        1 => select(vec![Reply::NotSent, Reply::Broken, Reply::Silence]),
    ];
    vec(reply, 1..4)
}

fn status() -> impl Strategy<Value = u16> {
    let named = [100, 101, 200, 201, 202, 204, 206, 299, 301, 302, 304, 307, 400, 401, 403, 404];
    let more = [408, 409, 410, 418, 422, 423, 429, 451, 500, 501, 502, 503, 504, 599, 600, 999];
    prop_oneof![
        6 => Just(200),
        4 => select([named, more].concat()),
        1 => 100..1000_u16,
    ]
}

fn headers() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let name = select(vec![
        "retry-after",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "date",
        "content-type",
        "content-length",
        "location",
    ]);
    let known = select(vec![
        "0",
        "-1",
        "1",
        "60",
        "1e9",
        " 7 ",
        "5000",
        "18446744073709551615",
        "18446744073709551616",
        "soon",
        "",
        "Sun, 15 Nov 2026 03:00:00 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Mon, 31 Feb 2026 25:61:61 GMT",
        "text/html",
        "https://elsewhere.example.com/",
    ]);
    let known = known.prop_map(|text| text.as_bytes().to_vec());
    let value = prop_oneof![6 => known, 1 => vec(any::<u8>(), 0..12)];
    vec((name.prop_map(ToOwned::to_owned), value), 0..6)
}

fn any_answer() -> impl Strategy<Value = Answer> {
    let bytes = vec(any::<u8>(), 0..64);
    let text = "\\PC{0,64}".prop_map(String::into_bytes);
    let json = value().prop_map(|value| value.to_string().into_bytes());
    let body = prop_oneof![1 => bytes, 1 => text, 4 => json];
    (status(), headers(), body).prop_map(|(status, headers, body)| Answer { status, headers, body })
}

fn key() -> impl Strategy<Value = String> {
    let known = [
        "reserved_ips",
        "reserved_ipv6s",
        "reserved_ip",
        "reserved_ipv6",
        "ip",
        "droplet",
        "id",
        "region",
        "slug",
        "region_slug",
        "locked",
        "project_id",
        "action",
        "actions",
        "status",
        "links",
        "pages",
        "next",
        "message",
    ];
    prop_oneof![12 => select(known.to_vec()).prop_map(ToOwned::to_owned), 1 => "\\PC{0,4}"]
}

/// A JSON value without children.
fn scalar() -> impl Strategy<Value = Value> {
    let known = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(7),
        json!(42),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(4.5),
        json!(""),
        json!("7"),
        json!("42"),
        json!("203.0.113.7"),
        json!("2001:db8:7::1"),
        json!("203.0.113.7 "),
        json!("completed"),
        json!("errored"),
        json!("in-progress"),
        json!("not_found"),
        json!("pending event"),
        json!(TOKEN),
        json!(format!("\u{7}{TOKEN}\u{0}")),
    ];
    prop_oneof![
        12 => select(known.to_vec()),
        1 => "\\PC{0,8}".prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        let object = vec((key(), inner.clone()), 0..5);
        prop_oneof![
            1 => vec(inner, 0..4).prop_map(Value::Array),
            3 => object.prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}

/// Damage to a value somewhere in a body.
#[derive(Clone, Debug)]
enum Fault {
    Drop,
    Replace(Value),
    /// Puts the value into a list of length one.
    Wrap,
    /// Replaces the value with lists nested to the given depth.
    Bury(usize),
    /// Adds another member to an object.
    Beside(String, Value),
    /// Repeats the elements of a list, or a member of an object.
    Double,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => Just(Fault::Drop),
        4 => scalar().prop_map(Fault::Replace),
        1 => value().prop_map(Fault::Replace),
        1 => Just(Fault::Wrap),
        1 => select(vec![100, 126, 127, 128, 129, 5000]).prop_map(Fault::Bury),
        1 => (key(), value()).prop_map(|(key, value)| Fault::Beside(key, value)),
        1 => Just(Fault::Double),
    ]
}

/// Damage to the text of a body.
#[derive(Clone, Debug)]
enum Garble {
    Truncate(Index),
    Insert(Index, u8),
    Overwrite(Index, u8),
    Append(Vec<u8>),
}

fn garble() -> impl Strategy<Value = Garble> {
    prop_oneof![
        any::<Index>().prop_map(Garble::Truncate),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Garble::Insert(at, byte)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Garble::Overwrite(at, byte)),
        vec(any::<u8>(), 1..4).prop_map(Garble::Append),
    ]
}

/// A damaged answer of the corpus.
fn mangled(known: Vec<Answer>) -> impl Strategy<Value = Answer> {
    let faults = vec((any::<Index>(), fault()), 0..4);
    let head = (option::weighted(0.3, status()), option::weighted(0.3, headers()));
    (select(known), head, faults, option::weighted(0.15, garble())).prop_map(
        |(answer, (status, headers), faults, garble)| {
            let mut body = match serde_json::from_slice(&answer.body) {
                Ok(value) => faulty(value, faults),
                Err(_) => answer.body,
            };
            match garble {
                Some(Garble::Truncate(at)) => body.truncate(at.index(body.len() + 1)),
                Some(Garble::Insert(at, byte)) => body.insert(at.index(body.len() + 1), byte),
                Some(Garble::Overwrite(at, byte)) if !body.is_empty() => {
                    let at = at.index(body.len());
                    body[at] = byte;
                }
                Some(Garble::Append(more)) => body.extend(more),
                Some(Garble::Overwrite(..)) | None => {}
            }
            let (status, headers) =
                (status.unwrap_or(answer.status), headers.unwrap_or(answer.headers));
            Answer { status, headers, body }
        },
    )
}

/// Applies each fault somewhere in the value, and returns the text.
fn faulty(mut value: Value, faults: Vec<(Index, Fault)>) -> Vec<u8> {
    let mut text_faults = vec![];
    for (at, fault) in faults {
        let places = places(&value, "");
        let place = places[at.index(places.len())].clone();
        match fault {
            Fault::Bury(depth) => text_faults.push((place, depth)),
            fault => apply(&mut value, &place, fault),
        }
    }
    // Nesting too deep for a `Value` is inserted into the text in place of a marker.
    for (number, (place, _)) in text_faults.iter().enumerate() {
        if let Some(target) = value.pointer_mut(place) {
            *target = Value::from(format!("buried-{number}"));
        }
    }
    let mut text = value.to_string();
    for (number, (_, depth)) in text_faults.iter().enumerate() {
        let buried = format!("{}{}", "[".repeat(*depth), "]".repeat(*depth));
        text = text.replace(&format!("\"buried-{number}\""), &buried);
    }
    // Duplicate members are impossible in a `Value`, so they are inserted into the text.
    text.replace("\"doubled\":true,", "\"ip\":\"203.0.113.7\",").into_bytes()
}

/// JSON pointers to every place in a value.
fn places(value: &Value, here: &str) -> Vec<String> {
    let mut all = vec![here.to_owned()];
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                all.extend(places(value, &format!("{here}/{key}")));
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                all.extend(places(value, &format!("{here}/{index}")));
            }
        }
        _ => {}
    }
    all
}

fn apply(value: &mut Value, place: &str, fault: Fault) {
    if matches!(fault, Fault::Drop) {
        return drop_at(value, place);
    }
    let Some(target) = value.pointer_mut(place) else { return };
    match (fault, target) {
        (Fault::Replace(with), target) => *target = with,
        (Fault::Wrap, target) => *target = json!([target.take()]),
        (Fault::Beside(key, with), Value::Object(members)) => drop(members.insert(key, with)),
        (Fault::Double, Value::Object(members)) => {
            drop(members.insert("doubled".into(), true.into()));
        }
        (Fault::Double, Value::Array(elements)) => elements.extend(elements.clone()),
        (Fault::Drop | Fault::Bury(_) | Fault::Beside(..) | Fault::Double, _) => {}
    }
}

fn drop_at(value: &mut Value, place: &str) {
    let Some((parent, last)) = place.rsplit_once('/') else {
        *value = json!({});
        return;
    };
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            drop(members.remove(&last.replace("~1", "/").replace("~0", "~")));
        }
        Some(Value::Array(elements)) => {
            if let Ok(index) = last.parse::<usize>() {
                drop(elements.remove(index));
            }
        }
        _ => {}
    }
}
