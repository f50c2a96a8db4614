//! The record of exchanges, for tests and for contract checks.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use fakehttp::{Log, Loss};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// A request and its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exchange {
    /// Number of the request in the order of arrival, from 0.
    pub sequence: u64,
    /// Arrival on tokio's clock.
    #[serde(skip, default = "Instant::now")]
    pub arrived: Instant,
    /// Arrival in the cloud's wall time (RFC 3339).
    pub at: String,
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// `User-Agent` header as sent.
    pub user_agent: Option<String>,
    /// Request body as sent.
    #[serde(with = "text")]
    pub body: Bytes,
    /// Whether the request may change the state, regardless of the outcome.
    pub mutates: bool,
    /// Whether the request changed the state or started an operation.
    pub changed: bool,
    /// The answer, received or lost. `None` while the request is under way, or if the request was
    /// lost before its effect.
    pub answer: Option<Answered>,
    /// Whether a rule wrote the answer in a format other than the vendor's. Contract checks skip
    /// raw answers.
    pub raw: bool,
    /// Set if the caller did not receive the answer.
    pub lost: Option<Loss>,
}

/// The answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The status code.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as sent.
    #[serde(with = "text")]
    pub body: Bytes,
}

impl Answered {
    pub(crate) fn new(status: StatusCode, headers: &HeaderMap, body: &Bytes) -> Self {
        Self {
            status: status.as_u16(),
            headers: headers
                .iter()
                .map(|(name, value)| {
                    let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                    (name.as_str().to_owned(), value)
                })
                .collect(),
            body: body.clone(),
        }
    }

    /// The first header with the given name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Exchange {
    /// The path without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(&self.target, |(path, _)| path)
    }

    /// The query without the question mark; empty if absent.
    #[must_use]
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The status of the answer, received or lost.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|a| a.status)
    }

    /// The request body as JSON; null if not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

mod text {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(body: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&String::from_utf8_lossy(body))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        String::deserialize(from).map(Bytes::from)
    }
}

/// A position in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub(crate) u64);

/// Writes the record to a new file in the folder, as JSON lines.
pub(crate) fn dump(log: &Log<Exchange>, folder: &Path) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(unique_name());
    let mut out = BufWriter::new(File::create_new(&path)?);
    for exchange in log.exchanges() {
        serde_json::to_writer(&mut out, exchange)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(path)
}

/// Unique on this machine: process, moment and a counter within the process.
fn unique_name() -> String {
    static DUMPS: AtomicU64 = AtomicU64::new(0);
    let nth = DUMPS.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_nanos());
    format!("exchanges-{}-{nanos}-{nth}.jsonl", std::process::id())
}

/// Reads the dump of a cloud.
///
/// # Errors
/// If the file cannot be read or a line is not an exchange.
pub fn read_dump(path: &Path) -> std::io::Result<Vec<Exchange>> {
    std::fs::read_to_string(path)?
        .lines()
        .map(|line| serde_json::from_str(line).map_err(std::io::Error::from))
        .collect()
}
