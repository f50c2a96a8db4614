//! The ledger on the object: reserved addresses and open intents, in an annotation.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pontoon_core::model::{Family, Intent, Ledger, PoolNames, Resolution};
use serde::{Deserialize, Serialize};

use crate::api::{ADDRESSES_ANNOTATION, RESOLVE_CREATE_ANNOTATION};

/// Words for messages about a pool. All but the roles are about reserved addresses, which not every
/// kind has.
pub static POOL_NAMES: PoolNames = PoolNames {
    release: "deletionPolicy: Release",
    retain: "set deletionPolicy to Retain",
    ledger: ADDRESSES_ANNOTATION,
    resolution: RESOLVE_CREATE_ANNOTATION,
    roles: "the chart's roles",
};

/// The annotation's content. The fields are stable: later versions must read older text.
#[derive(Serialize, Deserialize)]
struct Stored {
    created: Vec<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    kept: Vec<IpAddr>,
    /// Strangers common to all intents. Stored once, because an account may have thousands, and an
    /// annotation holds 256 KiB.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    strangers: BTreeSet<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    intents: Vec<StoredIntent>,
    /// The account of all these, by the name of its provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredIntent {
    id: String,
    #[serde(default, skip_serializing_if = "is_false")]
    v6: bool,
    region: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// Strangers of this intent alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    strangers: Vec<IpAddr>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unsettled: Vec<IpAddr>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde calls
fn is_false(value: &bool) -> bool {
    !value
}

/// The annotation for `ledger`. The guard is not included: the finalizer records it.
pub fn write(ledger: &Ledger) -> String {
    let strangers = common_strangers(&ledger.intents);
    let stored = |intent: &Intent| StoredIntent {
        id: intent.id.to_string(),
        v6: intent.family == Family::V6,
        region: intent.region.to_string(),
        target: intent.target.as_ref().map(ToString::to_string),
        strangers: intent.strangers.iter().filter(|ip| !strangers.contains(ip)).copied().collect(),
        unsettled: intent.unsettled.clone(),
    };
    let intents = ledger.intents.iter().map(stored).collect();
    let Ledger { created, kept, account, .. } = ledger.clone();
    let provider = account.map(|account| account.to_string());
    let stored = Stored { created, kept, strangers, intents, provider };
    // Plain data: serialization cannot fail.
    serde_json::to_string(&stored).unwrap_or_default()
}

/// Strangers that every intent has.
fn common_strangers(intents: &[Intent]) -> BTreeSet<IpAddr> {
    let sets = intents.iter().map(|intent| intent.strangers.iter().copied().collect());
    sets.reduce(|all: BTreeSet<IpAddr>, one| &all & &one).unwrap_or_default()
}

/// The ledger in an annotation.
///
/// # Errors
/// In words, if the annotation cannot be read. An unreadable ledger must not count as empty: its
/// addresses would be reserved again.
pub fn read(annotation: Option<&str>) -> Result<Ledger, String> {
    let Some(text) = annotation.filter(|text| !text.trim().is_empty()) else {
        return Ok(Ledger::default());
    };
    // serde would accept an array as well, with the fields in order.
    if !text.trim_start().starts_with('{') {
        return Err("the text is not a JSON object".into());
    }
    let stored: Stored = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let intent = |one: StoredIntent| Intent {
        id: one.id.as_str().into(),
        family: if one.v6 { Family::V6 } else { Family::V4 },
        region: one.region.as_str().into(),
        target: one.target.as_deref().map(Into::into),
        strangers: stored
            .strangers
            .iter()
            .copied()
            .chain(one.strangers)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        unsettled: one.unsettled,
    };
    let intents = stored.intents.into_iter().map(intent).collect();
    let account = stored.provider.map(|provider| provider.as_str().into());
    Ok(Ledger { created: stored.created, kept: stored.kept, intents, guarded: false, account })
}

/// A person's answer for a reservation with an unknown outcome: an address, or `none`.
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
            kept: vec!["198.51.100.8".parse().unwrap()],
            guarded: false,
            intents: vec![Intent {
                id: "a-0".into(),
                family: Family::V4,
                region: "nyc3".into(),
                target: Some("12".into()),
                strangers: vec!["203.0.113.9".parse().unwrap()],
                unsettled: vec!["203.0.113.10".parse().unwrap()],
            }],
            account: Some("digitalocean".into()),
        };
        assert_eq!(read(Some(&write(&ledger))), Ok(ledger));
        assert_eq!(read(None), Ok(Ledger::default()));
    }

    fn intent(id: &str, strangers: impl IntoIterator<Item = u32>) -> Intent {
        let address = |n| std::net::Ipv4Addr::from(0xCB00_0000 + n).into();
        Intent {
            id: id.into(),
            family: Family::V4,
            region: "nyc3".into(),
            target: None,
            strangers: strangers.into_iter().map(address).collect(),
            unsettled: vec![],
        }
    }

    #[test]
    fn strangers_that_every_intent_names_are_stored_once() {
        let intents = (0..10).map(|n| intent(&format!("a-{n}"), 0..10_000)).collect();
        let ledger = Ledger { intents, ..Ledger::default() };
        let text = write(&ledger);
        assert!(text.len() < 200 * 1024, "{} bytes", text.len());
        assert_eq!(read(Some(&text)), Ok(ledger));
        let differing = vec![intent("a", 0..5), intent("b", 3..9), intent("c", [])];
        for intents in [differing[..2].to_vec(), differing] {
            let ledger = Ledger { intents, ..Ledger::default() };
            assert_eq!(read(Some(&write(&ledger))), Ok(ledger));
        }
    }

    #[test]
    fn an_annotation_with_strangers_of_each_intent_alone_is_read_as_before() {
        let text =
            r#"{"created":[],"intents":[{"id":"a","region":"nyc3","strangers":["203.0.0.1"]}]}"#;
        assert_eq!(read(Some(text)).unwrap().intents, [intent("a", [1])]);
    }

    #[test]
    fn a_ledger_that_cannot_be_read_is_not_an_empty_one() {
        assert!(read(Some("{\"created\": [\"x\"]}")).is_err());
        assert!(read(Some("nonsense")).is_err());
    }
}
