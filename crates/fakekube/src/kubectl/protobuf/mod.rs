//! Converts protobuf bodies to JSON, for the kinds that stock kubectl sends in protobuf (`create`,
//! `drain`).
//!
//! A body with a field outside the tables in `fields` gets 501 rather than a partial decode.

mod fields;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, header};
use serde_json::{Map, Value, json};

use crate::call::Call;
use crate::refusal::Refusal;
use fields::{Field, KINDS, SHARE, Shape, Type};

const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Prefix of every body.
const MAGIC: &[u8] = b"k8s\0";

const UNKNOWN: &[Field] = &[
    (1, "typeMeta", Shape::One, Type::Of(TYPE_META)),
    (2, "raw", Shape::One, Type::Bytes),
    (3, "contentEncoding", Shape::One, Type::Text),
    (4, "contentType", Shape::One, Type::Text),
];

const TYPE_META: &[Field] =
    &[(1, "apiVersion", Shape::One, Type::Text), (2, "kind", Shape::One, Type::Text)];

/// The same call with its body in JSON; `None` if the body is not protobuf.
pub(crate) fn as_json(call: &Call) -> Result<Option<Call>, Refusal> {
    let given = call.content_type().and_then(|text| text.split(';').next());
    if given.map(str::trim) != Some(CONTENT_TYPE) || call.body.is_empty() {
        return Ok(None);
    }
    let object = read(&call.body).ok_or_else(|| Refusal::unsupported("this body in protobuf"))?;
    let mut call = call.clone();
    call.body = object.to_string().into();
    call.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(Some(call))
}

/// Decodes an object in its envelope; `None` if any part is unknown.
fn read(body: &[u8]) -> Option<Value> {
    let envelope = message(body.strip_prefix(MAGIC)?, UNKNOWN)?;
    let kind = envelope["typeMeta"]["kind"].as_str()?;
    let (_, fields) = KINDS.iter().find(|(name, _)| *name == kind)?;
    let raw = STANDARD.decode(envelope["raw"].as_str().unwrap_or_default()).ok()?;
    let mut object = message(&raw, fields)?;
    object["apiVersion"] = envelope["typeMeta"]["apiVersion"].clone();
    object["kind"] = json!(kind);
    Some(object)
}

fn message(mut bytes: &[u8], fields: &[Field]) -> Option<Value> {
    let mut object = Map::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let (_, name, shape, kind) = fields.iter().find(|(number, ..)| *number == tag >> 3)?;
        let part = part(&mut bytes, tag & 7)?;
        match shape {
            Shape::One => {
                let value = value(&part, *kind)?;
                if !is_left_out(&value, *kind) {
                    object.insert((*name).to_owned(), value);
                }
            }
            Shape::Many => {
                let items = object.entry(*name).or_insert_with(|| json!([]));
                items.as_array_mut()?.push(value(&part, *kind)?);
            }
            Shape::Map => {
                let entry = message(
                    part.bytes()?,
                    &[(1, "key", Shape::One, Type::Text), (2, "value", Shape::One, *kind)],
                )?;
                let key = entry["key"].as_str().unwrap_or_default();
                let value = entry.get("value").cloned().unwrap_or_else(|| json!(""));
                object.entry(*name).or_insert_with(|| json!({}))[key] = value;
            }
        }
    }
    Some(Value::Object(object))
}

/// A value on the wire.
enum Part<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Part<'a> {
    fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Number(_) => None,
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Bytes(_) => None,
        }
    }
}

fn part<'a>(bytes: &mut &'a [u8], wire: u64) -> Option<Part<'a>> {
    match wire {
        0 => varint(bytes).map(Part::Number),
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            let (taken, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Some(Part::Bytes(taken))
        }
        _ => None,
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn value(part: &Part<'_>, kind: Type) -> Option<Value> {
    Some(match kind {
        Type::Text => json!(std::str::from_utf8(part.bytes()?).ok()?),
        Type::Bytes => json!(STANDARD.encode(part.bytes()?)),
        Type::Number | Type::Count => json!(part.number()?.cast_signed()),
        Type::Flag | Type::Mark => json!(part.number()? != 0),
        Type::Share => share(&message(part.bytes()?, SHARE)?),
        Type::Time => time(part.bytes()?)?,
        Type::Of(fields) => message(part.bytes()?, fields)?,
    })
}

/// A time in whole seconds; null if empty.
fn time(bytes: &[u8]) -> Option<Value> {
    let parts = message(
        bytes,
        &[(1, "seconds", Shape::One, Type::Count), (2, "nanos", Shape::One, Type::Number)],
    )?;
    let Some(seconds) = parts["seconds"].as_i64() else { return Some(Value::Null) };
    Some(json!(fakehttp::seconds(jiff::Timestamp::from_second(seconds).ok()?)))
}

/// A number or a text, such as a percentage.
fn share(parts: &Value) -> Value {
    let (named, other) = match parts["type"].as_i64() {
        Some(1) => (parts.get("text"), json!("")),
        _ => (parts.get("number"), json!(0)),
    };
    named.cloned().unwrap_or(other)
}

fn is_left_out(value: &Value, kind: Type) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => matches!(kind, Type::Number) && number.as_i64() == Some(0),
        Value::Bool(set) => matches!(kind, Type::Mark) && !set,
        Value::Array(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend(bytes);
        out
    }

    fn envelope(kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
    }

    #[test]
    fn an_object_is_read_without_its_empty_parts() {
        let meta = [field(1, b"a"), field(2, b""), field(8, b"")].concat();
        let entry = [field(1, b"k"), field(2, b"v")].concat();
        let secret = [field(1, &meta), field(2, &entry), field(3, b"Opaque")].concat();
        let wanted = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
            "data": {"k": "dg=="}, "type": "Opaque",
        });
        assert_eq!(read(&envelope("Secret", &secret)), Some(wanted));
    }

    #[test]
    fn a_share_is_a_number_or_a_text() {
        let budget =
            |share: &[u8]| read(&envelope("PodDisruptionBudget", &field(2, &field(1, share))));
        let number = [0x08, 0, 0x10, 7];
        let text = [vec![0x08, 1, 0x10, 0], field(3, b"50%")].concat();
        assert_eq!(budget(&number).unwrap()["spec"]["minAvailable"], 7);
        assert_eq!(budget(&text).unwrap()["spec"]["minAvailable"], "50%");
    }

    #[test]
    fn what_is_not_known_is_not_read_in_part() {
        assert_eq!(read(&envelope("Secret", &field(9, b"new"))), None);
        assert_eq!(read(&envelope("Job", b"")), None);
        assert_eq!(read(b"{}"), None);
        assert_eq!(read(&envelope("Secret", &[0x0a, 0x7f])), None);
    }
}
