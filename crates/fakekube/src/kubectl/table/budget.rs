//! The row of a PodDisruptionBudget.

use jiff::Timestamp;
use serde_json::Value;

use super::Row;
use super::age::age_of;

pub(super) fn row(budget: &Value, now: Timestamp) -> Row {
    let share = |name: &str| match &budget["spec"][name] {
        Value::Null => Value::from("N/A"),
        Value::String(text) => Value::from(text.as_str()),
        number => Value::from(number.to_string()),
    };
    vec![
        budget["metadata"]["name"].clone(),
        share("minAvailable"),
        share("maxUnavailable"),
        Value::from(budget["status"]["disruptionsAllowed"].as_i64().unwrap_or_default()),
        age_of(budget, now),
    ]
    .into()
}
