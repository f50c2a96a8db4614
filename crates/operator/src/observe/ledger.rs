//! The ledger on the object: created addresses and open intents, as one annotation.

use std::net::IpAddr;

use pontoon_core::model::{Family, Intent, Ledger, Resolution};
use serde::{Deserialize, Serialize};

/// The annotation's text. Its fields are a promise: later versions read what this one wrote.
#[derive(Serialize, Deserialize)]
struct Stored {
    created: Vec<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    intents: Vec<StoredIntent>,
}

#[derive(Serialize, Deserialize)]
struct StoredIntent {
    id: String,
    #[serde(default, skip_serializing_if = "is_false")]
    v6: bool,
    region: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    strangers: Vec<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unsettled: Vec<IpAddr>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
fn is_false(value: &bool) -> bool {
    !value
}

/// The annotation that says what `ledger` says.
pub fn write(ledger: &Ledger) -> String {
    let stored = |intent: &Intent| StoredIntent {
        id: intent.id.to_string(),
        v6: intent.family == Family::V6,
        region: intent.region.to_string(),
        target: intent.target.as_ref().map(ToString::to_string),
        strangers: intent.strangers.clone(),
        unsettled: intent.unsettled.clone(),
    };
    let intents = ledger.intents.iter().map(stored).collect();
    let stored = Stored { created: ledger.created.clone(), intents };
    // Plain data: cannot fail.
    serde_json::to_string(&stored).unwrap_or_default()
}

/// What an annotation says.
///
/// # Errors
/// In words, if it cannot be read. That is not the same as an empty one: the addresses that
/// it named would be reserved again.
pub fn read(annotation: Option<&str>) -> Result<Ledger, String> {
    let Some(text) = annotation.filter(|text| !text.trim().is_empty()) else {
        return Ok(Ledger::default());
    };
    // serde would take the fields of an object from an array, too, by their order.
    if !text.trim_start().starts_with('{') {
        return Err("it is not a JSON object".into());
    }
    let stored: Stored = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let intent = |stored: StoredIntent| Intent {
        id: stored.id.as_str().into(),
        family: if stored.v6 { Family::V6 } else { Family::V4 },
        region: stored.region.as_str().into(),
        target: stored.target.as_deref().map(Into::into),
        strangers: stored.strangers,
        unsettled: stored.unsettled,
    };
    let intents = stored.intents.into_iter().map(intent).collect();
    Ok(Ledger { created: stored.created, intents })
}

/// The user's word on a creation with an unknown outcome: an address, or `none`.
pub fn resolution(annotation: Option<&str>) -> Option<Resolution> {
    match annotation?.trim() {
        "none" => Some(Resolution::Nothing),
        text => text.parse().ok().map(Resolution::Adopt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_survives_being_stored() {
        let ledger = Ledger {
            created: vec!["198.51.100.7".parse().unwrap()],
            intents: vec![Intent {
                id: "a-0".into(),
                family: Family::V4,
                region: "nyc3".into(),
                target: Some("12".into()),
                strangers: vec!["203.0.113.9".parse().unwrap()],
                unsettled: vec!["203.0.113.10".parse().unwrap()],
            }],
        };
        assert_eq!(read(Some(&write(&ledger))), Ok(ledger));
        assert_eq!(read(None), Ok(Ledger::default()));
    }

    #[test]
    fn a_ledger_that_cannot_be_read_is_not_an_empty_one() {
        assert!(read(Some("{\"created\": [\"x\"]}")).is_err());
        assert!(read(Some("nonsense")).is_err());
    }
}
