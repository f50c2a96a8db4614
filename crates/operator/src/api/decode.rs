//! Decoding of values that the API server stores and Rust's types would refuse.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::{Deserialize, Deserializer};

/// Decodes a time that the operator wrote. Unreadable text counts as unset.
pub(super) fn time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<MicroTime>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()).map(MicroTime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_decodes_to_the_microsecond_and_an_unreadable_one_to_nothing() {
        let decoded = |json: &str| time(&mut serde_json::Deserializer::from_str(json)).unwrap();
        let read = decoded(r#""2026-11-15T03:35:57.123456Z""#).unwrap();
        assert_eq!(read.0.as_microsecond(), 1_794_713_757_123_456);
        assert_eq!(serde_json::to_string(&read).unwrap(), r#""2026-11-15T03:35:57.123456Z""#);
        assert_eq!(decoded(r#""yesterday""#), None);
        assert_eq!(decoded("null"), None);
    }
}
