//! The record of what was asked and answered, for tests.

use bytes::Bytes;
use jiff::Timestamp;

use crate::call::Call;

/// When the connection of a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The request had no effect.
    BeforeEffect,
    /// The request had its effect.
    AfterEffect,
    /// The request had its effect and was answered, but the caller had gone by then.
    CallerGone,
}

/// One request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// In the order of arrival, from 0.
    pub sequence: u64,
    /// When it arrived.
    pub at: Timestamp,
    /// `GET`, ...
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Empty where there is none.
    pub user_agent: String,
    /// The request's `Content-Type`; empty where there is none.
    pub content_type: String,
    /// The request's `Accept`; empty where there is none.
    pub accept: String,
    /// What was sent.
    pub body: Bytes,
    /// The answer's code; none while there is no answer.
    pub status: Option<u16>,
    /// What was answered; of a watch the events so far, one on each line.
    pub response: Vec<u8>,
    /// Why the caller did not see the answer, if so.
    pub lost: Option<Loss>,
}

/// All exchanges, if they are recorded.
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

    /// Notes a request; answers its number.
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
