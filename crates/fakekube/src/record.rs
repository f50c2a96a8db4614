//! The record of requests and answers, for tests.

use bytes::Bytes;
use fakehttp::Loss;
use jiff::Timestamp;

use crate::call::Call;

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

impl Exchange {
    /// A request that has arrived.
    pub(crate) fn new(sequence: u64, at: Timestamp, call: &Call) -> Self {
        Self {
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
        }
    }
}
