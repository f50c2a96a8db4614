//! Zone lookup by name or identifier, cached.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::client::{Client, Zone};
use super::error::VENDOR;
use crate::error::{Error, ErrorKind, Result};
use crate::names;

/// A zone found by lookup.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub id: String,
    /// `None` if the token lacks Zone Read, or if the name is not in ASCII form.
    pub name: Option<String>,
}

/// Cached lookups, keyed by the user's name or identifier for the zone.
#[derive(Debug, Default)]
pub(super) struct Zones {
    asked: Mutex<BTreeMap<String, Arc<OnceCell<Found>>>>,
}

impl Zones {
    /// Looks up a zone. Concurrent lookups share one request. Errors are not cached.
    pub async fn find(&self, client: &Client, zone: &str) -> Result<Found> {
        let text = zone.trim();
        let by_id = is_id(text);
        let text = if by_id { as_sent(text) } else { names::zone_name(text)? };
        let cell = self.lock().entry(text.clone()).or_default().clone();
        let found = cell
            .get_or_try_init(|| async {
                if by_id { with_id(client, &text).await } else { called(client, &text).await }
            })
            .await?;
        Ok(found.clone())
    }

    /// Drops a cached zone: Cloudflare no longer knows the zone, or may now reveal its name.
    pub fn forget(&self, id: &str) {
        self.lock().retain(|_, cell| cell.get().is_none_or(|found| found.id != id));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<OnceCell<Found>>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether `text` can be an identifier. Identifiers contain no dot, unlike zone names, and no
/// character unsafe in a URL. Cloudflare documents only a maximum length.
pub(super) fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(plain)
}

const LONGEST_ID: usize = 64;

/// Identifiers are hexadecimal today, and users write either case.
fn as_sent(id: &str) -> String {
    let hexadecimal = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hexadecimal { id.to_ascii_lowercase() } else { id.to_owned() }
}

async fn with_id(client: &Client, id: &str) -> Result<Found> {
    match client.zone(id).await.map_err(Error::from) {
        // A name in another script is treated as unknown.
        Ok(Zone { id, name, .. }) => Ok(Found { id, name: names::zone_name(&name).ok() }),
        // The zone is usable as long as users write record names in full.
        Err(error) if error.kind == ErrorKind::Forbidden => {
            Ok(Found { id: id.to_owned(), name: None })
        }
        Err(error) if error.kind == ErrorKind::NotFound => Err(unknown(id)),
        Err(error) => Err(error),
    }
}

/// Looks up a zone by name. Of several zones with the name, only an active one counts.
async fn called(client: &Client, name: &str) -> Result<Found> {
    let mut zones = client.zones_called(name).await?;
    if zones.len() > 1 {
        zones.retain(|zone| zone.status.as_deref() == Some("active"));
    }
    match zones.as_slice() {
        [Zone { id, .. }] if is_id(id) => Ok(Found { id: id.clone(), name: Some(name.to_owned()) }),
        [] => Err(unknown(name)),
        [_] => Err(super::error::unreadable("a zone without an identifier")),
        [_, _, ..] => {
            let words = format!("several zones are called {name}: name the one by its ID");
            Err(Error::new(ErrorKind::Rejected, words))
        }
    }
}

/// No such zone, or no permission to see the zone: Cloudflare does not distinguish the two.
pub(super) fn unknown(zone: &str) -> Error {
    let words = format!("{VENDOR} shows this token no zone {zone}");
    Error::new(ErrorKind::NotFound, words)
}
