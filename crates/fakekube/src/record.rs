//! The record of requests and answers, for tests.

use bytes::Bytes;
use jiff::Timestamp;

use crate::call::Call;

/// The moment at which the connection of a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The request had no effect.
    BeforeEffect,
    /// The request had its effect.
    AfterEffect,
    /// The request had its effect and an answer, but the caller was gone.
    CallerGone,
}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Number of the request in the order of arrival, from 0.
    pub sequence: u64,
    /// Wall time of the arrival.
    pub at: Timestamp,
    /// `GET`, ...
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The request's `User-Agent`; empty if absent.
    pub user_agent: String,
    /// The request's `Content-Type`; empty if absent.
    pub content_type: String,
    /// The request's `Accept`; empty if absent.
    pub accept: String,
    /// Body of the request.
    pub body: Bytes,
    /// Status code of the answer; `None` while the request is unanswered.
    pub status: Option<u16>,
    /// Body of the answer; for a watch the events so far, each on its own line.
    pub response: Vec<u8>,
    /// Set if the caller did not receive the answer.
    pub lost: Option<Loss>,
}

/// The recorded exchanges, and all unsupported requests.
#[derive(Debug, Default)]
pub(crate) struct Record {
    on: bool,
    arrived: u64,
    exchanges: Vec<Exchange>,
    unknown: Vec<String>,
}

impl Record {
    pub(crate) fn switch(&mut self, on: bool) {
        self.on = on;
    }

    pub(crate) fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    pub(crate) fn clear(&mut self) {
        self.exchanges.clear();
    }

    pub(crate) fn unknown(&self) -> &[String] {
        &self.unknown
    }

    pub(crate) fn note_unknown(&mut self, line: String) {
        self.unknown.push(line);
    }

    /// Records a request; returns its number.
    pub(crate) fn arrive(&mut self, call: &Call, at: Timestamp) -> u64 {
        let sequence = self.arrived;
        self.arrived += 1;
        if self.on {
            self.exchanges.push(Exchange {
                sequence,
                at,
                method: call.method.to_string(),
                path: call.target(),
                user_agent: call.user_agent().to_owned(),
                content_type: call.content_type().unwrap_or_default().to_owned(),
                accept: call.accept().unwrap_or_default().to_owned(),
                body: call.body.clone(),
                status: None,
                response: Vec::new(),
                lost: None,
            });
        }
        sequence
    }

    fn find(&mut self, sequence: u64) -> Option<&mut Exchange> {
        let at = self.exchanges.binary_search_by_key(&sequence, |exchange| exchange.sequence);
        self.exchanges.get_mut(at.ok()?)
    }

    pub(crate) fn answered(&mut self, sequence: u64, status: u16) {
        if let Some(exchange) = self.find(sequence) {
            exchange.status = Some(status);
        }
    }

    pub(crate) fn sent(&mut self, sequence: u64, bytes: &[u8]) {
        if let Some(exchange) = self.find(sequence) {
            exchange.response.extend_from_slice(bytes);
        }
    }

    pub(crate) fn lost(&mut self, sequence: u64, loss: Loss) {
        if let Some(exchange) = self.find(sequence) {
            exchange.lost = Some(loss);
        }
    }
}
