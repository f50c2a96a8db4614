//! Finds the parts of a status that the API server did not store.

use serde_json::Value;

/// The most parts that are named.
const MOST_FIELDS_NAMED: usize = 5;

/// The parts of `sent` that `stored` lacks or changed: the first few, as paths. Entries of lists,
/// and of maps by address, share a path.
pub(super) fn dropped(sent: &Value, stored: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("status", sent, stored, &mut found);
    found.sort();
    found.dedup();
    found.truncate(MOST_FIELDS_NAMED);
    found
}

fn compare(path: &str, sent: &Value, stored: &Value, found: &mut Vec<String>) {
    match (sent, stored) {
        (Value::Object(sent), Value::Object(stored)) => {
            for (name, value) in sent {
                // A key with a dot or a colon is an address or a node, not a field.
                let step = match name.contains(['.', ':']) {
                    true => format!("{path}[]"),
                    false => format!("{path}.{name}"),
                };
                compare(&step, value, stored.get(name).unwrap_or(&Value::Null), found);
            }
        }
        (Value::Array(sent), Value::Array(stored)) if sent.len() == stored.len() => {
            for (one, other) in sent.iter().zip(stored) {
                compare(&format!("{path}[]"), one, other, found);
            }
        }
        _ if sent != stored => found.push(path.to_owned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_not_stored_is_named() {
        let sent = json!({"assigned": "1/1", "keptIPs": ["192.0.2.9"], "conditions": [{"a": 1}],
            "ips": {"192.0.2.1": {"state": "active", "message": "m"}}});
        let stored = json!({"assigned": "1/1", "conditions": [{"a": 1}], "more": 1,
            "ips": {"192.0.2.1": {"state": "active"}}});
        assert_eq!(dropped(&sent, &stored), ["status.ips[].message", "status.keptIPs"]);
        assert_eq!(dropped(&sent, &sent), [] as [&str; 0]);
        assert_eq!(dropped(&sent, &Value::Null), ["status"]);
    }
}
