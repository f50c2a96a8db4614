//! The row of an Event. Both APIs print the same row from differently named fields.

use jiff::Timestamp;
use serde_json::Value;

use super::Row;
use super::age::since_or_unknown;

pub(super) fn row(event: &Value, now: Timestamp) -> Row {
    let either = |core: &str, new: &str| match event.get(core) {
        Some(value) => value.clone(),
        None => event[new].clone(),
    };
    let first = match either("firstTimestamp", "deprecatedFirstTimestamp") {
        Value::Null => since_or_unknown(&event["eventTime"], now),
        time => since_or_unknown(&time, now),
    };
    let mut last = match either("lastTimestamp", "deprecatedLastTimestamp") {
        Value::Null => first.clone(),
        time => since_or_unknown(&time, now),
    };
    let mut count = either("count", "deprecatedCount").as_i64().unwrap_or_default();
    if event["series"].is_object() {
        last = since_or_unknown(&event["series"]["lastObservedTime"], now);
        count = event["series"]["count"].as_i64().unwrap_or_default();
    } else if count == 0 {
        count = 1;
    }
    let about = either("involvedObject", "regarding");
    let message = either("message", "note");
    let text = |value: &Value| Value::from(value.as_str().unwrap_or_default());
    vec![
        Value::from(last),
        text(&event["type"]),
        text(&event["reason"]),
        Value::from(target(&about)),
        text(&about["fieldPath"]),
        Value::from(source(event, &either("source", "deprecatedSource"))),
        Value::from(message.as_str().unwrap_or_default().trim()),
        Value::from(first),
        Value::from(count),
        event["metadata"]["name"].clone(),
    ]
    .into()
}

fn target(about: &Value) -> String {
    let kind = about["kind"].as_str().unwrap_or_default().to_lowercase();
    match about["name"].as_str() {
        None | Some("") => kind,
        Some(name) => format!("{kind}/{name}"),
    }
}

fn source(event: &Value, source: &Value) -> String {
    let first = |values: [&Value; 3]| {
        let texts = values.into_iter().filter_map(Value::as_str);
        texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned()
    };
    let component =
        first([&source["component"], &event["reportingComponent"], &event["reportingController"]]);
    let instance = first([&source["host"], &event["reportingInstance"], &Value::Null]);
    if instance.is_empty() { component } else { format!("{component}, {instance}") }
}
