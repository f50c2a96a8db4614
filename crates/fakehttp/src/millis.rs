//! Durations as whole milliseconds in JSON.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

/// Writes a duration as whole milliseconds.
///
/// # Errors
/// If the serializer refuses the number.
pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Reads a duration of whole milliseconds.
///
/// # Errors
/// If the value is not a whole number.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}
