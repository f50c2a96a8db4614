//! The record of every exchange, for tests to ask and for contract checks to read.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::faults::Loss;

/// One request and what became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exchange {
    /// Counts from 0 in the order of arrival.
    pub sequence: u64,
    /// When it arrived, on tokio's clock.
    #[serde(skip, default = "Instant::now")]
    pub arrived: Instant,
    /// When it arrived, as wall time of the cloud (RFC 3339).
    pub at: String,
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query as sent.
    pub target: String,
    /// As sent.
    pub user_agent: Option<String>,
    /// As sent.
    #[serde(with = "text")]
    pub body: Bytes,
    /// Whether it meant to change something, whatever became of it.
    pub mutates: bool,
    /// Whether it did change something, or started what will.
    pub changed: bool,
    /// What the caller got, or would have got had the answer not been lost; none while it is under way or if it was
    /// lost before its effect.
    pub answer: Option<Answered>,
    /// Whether a rule wrote the answer in a form that is not the vendor's; contract checks leave such answers out.
    pub raw: bool,
    /// Whether and when the caller was cut off.
    pub lost: Option<Loss>,
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answered {
    /// The status code.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// As sent.
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

    /// The first header of that name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null where it is none.
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

    /// The query without the question mark; empty where there is none.
    #[must_use]
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The status that was answered, or would have been.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|a| a.status)
    }

    /// The request body as JSON; null where it is none.
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

/// A place in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub(crate) u64);

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Recording {
    /// Everything.
    #[default]
    All,
    /// The last so many exchanges.
    Last(usize),
    /// Nothing; arrivals are still counted.
    Off,
}

/// The record of a cloud.
#[derive(Debug, Default)]
pub(crate) struct Log {
    kept: VecDeque<Exchange>,
    arrivals: u64,
    mutations: u64,
    recording: Recording,
}

impl Log {
    /// The number the next arrival gets.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.arrivals
    }

    pub(crate) fn mutation_count(&self) -> u64 {
        self.mutations
    }

    pub(crate) fn exchanges(&self) -> impl Iterator<Item = &Exchange> {
        self.kept.iter()
    }

    pub(crate) fn set(&mut self, recording: Recording) {
        self.recording = recording;
        self.trim();
    }

    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    /// Takes note of an arrival; `exchange` is only asked for where it is kept.
    pub(crate) fn arrival(&mut self, mutates: bool, exchange: impl FnOnce(u64) -> Exchange) -> u64 {
        let sequence = self.arrivals;
        self.arrivals += 1;
        self.mutations += u64::from(mutates);
        if self.recording != Recording::Off {
            self.kept.push_back(exchange(sequence));
            self.trim();
        }
        sequence
    }

    /// The entry of an arrival, if it is still kept.
    pub(crate) fn entry(&mut self, sequence: u64) -> Option<&mut Exchange> {
        let first = self.kept.front()?.sequence;
        let index = usize::try_from(sequence.checked_sub(first)?).ok()?;
        self.kept.get_mut(index)
    }

    fn trim(&mut self) {
        let keep = match self.recording {
            Recording::All => return,
            Recording::Last(keep) => keep,
            Recording::Off => 0,
        };
        while self.kept.len() > keep {
            self.kept.pop_front();
        }
    }

    /// Writes what is kept to a new file in the folder, one JSON object a line.
    pub(crate) fn dump(&self, folder: &Path) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(unique_name());
        let mut out = BufWriter::new(File::create_new(&path)?);
        for exchange in &self.kept {
            serde_json::to_writer(&mut out, exchange)?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(path)
    }
}

/// Unique on this machine: process, moment and a counter within the process.
fn unique_name() -> String {
    static DUMPS: AtomicU64 = AtomicU64::new(0);
    let nth = DUMPS.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_nanos());
    format!("exchanges-{}-{nanos}-{nth}.jsonl", std::process::id())
}

/// Reads a file that a cloud wrote when it was dropped.
///
/// # Errors
/// Where the file cannot be read or a line is not an exchange.
pub fn read_dump(path: &Path) -> std::io::Result<Vec<Exchange>> {
    std::fs::read_to_string(path)?
        .lines()
        .map(|line| serde_json::from_str(line).map_err(std::io::Error::from))
        .collect()
}
