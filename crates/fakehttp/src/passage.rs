//! The path of a request through an emulator: arrival (recorded, rules drawn) → delay → effect →
//! delay → answer, or no answer.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::weather::Weather;

/// The moment at which the connection of a request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The request had no effect.
    BeforeEffect,
    /// The request had its effect.
    AfterEffect,
    /// The request had its effect and an answer, but the caller was gone.
    CallerGone,
}

/// The connection broke without an answer, before or after the request's effect. As on a real
/// connection the caller cannot tell which; the record can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection closed before an answer came")
    }
}

impl std::error::Error for Lost {}

/// A request that has arrived.
#[derive(Debug)]
pub struct Arrival<A, C> {
    /// Number of the request in the order of arrival, from 0.
    pub sequence: u64,
    /// Delays and faults of the request.
    pub weather: Weather<A, C>,
}

/// An emulated API.
pub trait Emulated: Send + Sync + 'static {
    /// A parsed request.
    type Call: Send + Sync + 'static;
    /// An answer of a fault.
    type Answer: Send + Sync;
    /// The combined faults of this API alone.
    type Own: Send + Sync;
    /// An answer before it is sent.
    type Reply: Send;
    /// The body of an answer.
    type Body: Send + 'static;

    /// Records the request, and draws its delays and faults.
    fn arrive(self: &Arc<Self>, call: &Self::Call) -> Arrival<Self::Answer, Self::Own>;

    /// Executes the request.
    fn take_effect(
        self: &Arc<Self>,
        call: &Self::Call,
        arrival: &Arrival<Self::Answer, Self::Own>,
    ) -> impl Future<Output = Self::Reply> + Send;

    /// Sends a reply that is not lost.
    fn respond(
        self: &Arc<Self>,
        call: &Self::Call,
        arrival: &Arrival<Self::Answer, Self::Own>,
        reply: Self::Reply,
    ) -> Response<Self::Body>;

    /// Records that the caller got no answer.
    fn lose(self: &Arc<Self>, call: &Self::Call, sequence: u64, loss: Loss);
}

type Answered<E> = Result<Response<<E as Emulated>::Body>, Lost>;

/// Sends a request to an emulator. The request runs on its own task from the first poll, so a
/// caller that goes away does not cancel it.
///
/// # Errors
/// If a fault breaks the connection.
pub async fn send<E: Emulated>(emulated: Arc<E>, call: E::Call) -> Answered<E> {
    let (caller, answered) = oneshot::channel();
    tokio::spawn(run(emulated, call, caller));
    answered.await.unwrap_or(Err(Lost))
}

async fn run<E: Emulated>(emulated: Arc<E>, call: E::Call, caller: oneshot::Sender<Answered<E>>) {
    let arrival = emulated.arrive(&call);
    let Arrival { sequence, weather } = &arrival;
    let lose = |loss| emulated.lose(&call, *sequence, loss);
    pass(weather.before).await;
    if weather.loss == Some(Loss::BeforeEffect) {
        lose(Loss::BeforeEffect);
        return;
    }
    let reply = emulated.take_effect(&call, &arrival).await;
    pass(weather.after).await;
    if weather.loss == Some(Loss::AfterEffect) {
        lose(Loss::AfterEffect);
        return;
    }
    if caller.send(Ok(emulated.respond(&call, &arrival, reply))).is_err() {
        lose(Loss::CallerGone);
    }
}

async fn pass(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

/// The request with its whole body.
///
/// # Errors
/// If the body ends early.
pub async fn whole<B: http_body::Body>(request: Request<B>) -> Result<Request<Bytes>, Lost> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
    Ok(Request::from_parts(parts, body))
}
