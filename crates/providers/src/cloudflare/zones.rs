//! Which zone a user means: by name or by identifier, asked once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::client::{Client, Zone};
use super::error::VENDOR;
use crate::error::{Error, ErrorKind, Result};
use crate::names;

/// A zone that was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub id: String,
    /// Not known where the token may change records and not read zones, or in letters that
    /// records' names are not written in.
    pub name: Option<String>,
}

/// The zones that were asked for so far, by what the user calls them.
#[derive(Debug, Default)]
pub(super) struct Zones {
    asked: Mutex<BTreeMap<String, Arc<OnceCell<Found>>>>,
}

impl Zones {
    /// The zone that a user means. Many who ask at once make one request; an error is not
    /// kept.
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

    /// Asks again the next time: the vendor does not know this zone any more, or would tell
    /// more of it by now.
    pub fn forget(&self, id: &str) {
        self.lock().retain(|_, cell| cell.get().is_none_or(|found| found.id != id));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<OnceCell<Found>>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What can be an identifier: it has no dot, as the name of every zone has, and nothing that
/// could lead a request astray. The vendor promises no shape, only that it is not long.
pub(super) fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(plain)
}

const LONGEST_ID: usize = 64;

/// Today's identifiers are hexadecimal, and users write them in either case.
fn as_sent(id: &str) -> String {
    let hexadecimal = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hexadecimal { id.to_ascii_lowercase() } else { id.to_owned() }
}

async fn with_id(client: &Client, id: &str) -> Result<Found> {
    match client.zone(id).await.map_err(Error::from) {
        // A name in another script is as good as none.
        Ok(Zone { id, name, .. }) => Ok(Found { id, name: names::zone_name(&name).ok() }),
        // Enough to work with, as long as the user writes names in full.
        Err(error) if error.kind == ErrorKind::Forbidden => {
            Ok(Found { id: id.to_owned(), name: None })
        }
        Err(error) if error.kind == ErrorKind::NotFound => Err(unknown(id)),
        Err(error) => Err(error),
    }
}

/// Of several zones of one name the one that is in use.
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

/// The account has no such zone, or the token may not see it: the vendor does not tell.
pub(super) fn unknown(zone: &str) -> Error {
    let words = format!("{VENDOR} shows this token no zone {zone}");
    Error::new(ErrorKind::NotFound, words)
}
