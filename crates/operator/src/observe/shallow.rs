//! Values of any depth, decoded down to a depth that no field of ours reaches.
//!
//! An API server takes values thousands of levels deep where a definition admits any value, and
//! `serde_json` refuses more than 128 levels. A single object would fail the list of its kind.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Levels of maps and lists that are kept.
const LEVELS: usize = 64;

/// Decodes a value. The maps and lists at the last level are null.
#[derive(Clone, Copy)]
pub(super) struct Shallow {
    levels: usize,
}

impl Default for Shallow {
    fn default() -> Self {
        Self { levels: LEVELS }
    }
}

impl Shallow {
    fn below(self) -> Option<Self> {
        Some(Self { levels: self.levels.checked_sub(1)? })
    }
}

impl<'de> DeserializeSeed<'de> for Shallow {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Shallow {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let Some(below) = self.below() else {
            while from.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut items = Vec::new();
        while let Some(item) = from.next_element_seed(below)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let Some(below) = self.below() else {
            while from.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut fields = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            fields.insert(key, from.next_value_seed(below)?);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decoded(text: &str) -> Value {
        let mut from = serde_json::Deserializer::from_str(text);
        let value = Shallow::default().deserialize(&mut from).unwrap();
        from.end().unwrap();
        value
    }

    #[test]
    fn an_ordinary_value_is_kept_whole() {
        let value = json!({"a": [1, -1, 1.5, true, null, "x\u{e9}\n"], "b": {"c": {}, "d": []}});
        assert_eq!(decoded(&value.to_string()), value);
    }

    #[test]
    fn levels_too_deep_to_matter_are_null_and_their_neighbours_are_kept() {
        for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
            let deep = format!("{}{}{}", open.repeat(5000), 1, close.repeat(5000));
            let value = decoded(&format!("{{\"deep\": {deep}, \"beside\": 7}}"));
            let mut levels = 0;
            let mut at = &value["deep"];
            while let Some(next) = at.get(0).or_else(|| at.get("k")) {
                (at, levels) = (next, levels + 1);
            }
            assert_eq!((levels, at, &value["beside"]), (LEVELS - 1, &Value::Null, &json!(7)));
        }
    }
}
