//! In-process entry point: a tower service.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use tokio::sync::{mpsc, oneshot};
use tower::Service;

use crate::body::Body;
use crate::call::Call;
use crate::faults::{Answer, Carried};
use crate::record::Loss;
use crate::refusal::Refusal;
use crate::reply::{Content, Reply};
use crate::rules::Weather;
use crate::state::Shared;
use crate::{stream, verbs};

/// The connection broke without an answer, before or after the request's effect. As on a real
/// connection the caller cannot tell which; the record can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection closed before an answer came")
    }
}

impl std::error::Error for Lost {}

/// A server as a tower service, for `kube::Client::new(service, "default")`.
///
/// Each request runs on its own task from the first poll of its future, so a caller that goes away
/// does not cancel the request. Always ready; needs a tokio runtime.
#[derive(Clone, Debug)]
pub struct KubeService {
    shared: Arc<Shared>,
}

impl KubeService {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl<B> Service<Request<B>> for KubeService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Lost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
            let (answer, answered) = oneshot::channel();
            let faults = parts.extensions.get::<Carried>().map(|carried| carried.0.clone());
            let call = Call {
                method: parts.method,
                uri: parts.uri,
                headers: parts.headers,
                body,
                faults: faults.unwrap_or_default(),
            };
            tokio::spawn(run(shared, call, answer));
            answered.await.unwrap_or(Err(Lost))
        })
    }
}

type Caller = oneshot::Sender<Result<Response<Body>, Lost>>;

async fn run(shared: Arc<Shared>, call: Call, caller: Caller) {
    let (sequence, weather) = shared.arrive(&call);
    pass(weather.before).await;
    if weather.loss == Some(Loss::BeforeEffect) {
        return lose(&shared, sequence, Loss::BeforeEffect, caller);
    }
    let mut reply = match &weather.answer {
        Some(answer) => forced(answer),
        None => verbs::answer(&shared, &call, &weather).await,
    };
    if let Some(answer) = &weather.answer_after {
        reply = forced(answer);
    }
    pass(weather.after).await;
    if weather.loss == Some(Loss::AfterEffect) {
        return lose(&shared, sequence, Loss::AfterEffect, caller);
    }
    let response = respond(&shared, sequence, call, &weather, reply);
    if caller.send(Ok(response)).is_err() {
        shared.lock().record.lost(sequence, Loss::CallerGone);
    }
}

fn lose(shared: &Shared, sequence: u64, loss: Loss, caller: Caller) {
    shared.lock().record.lost(sequence, loss);
    let _ = caller.send(Err(Lost));
}

fn forced(answer: &Answer) -> Reply {
    let Answer { status, message, retry_after } = answer;
    Reply::refused(&Refusal::forced(*status, message.as_deref(), *retry_after))
}

/// Turns a reply into a response, and starts the sending task of a watch.
fn respond(
    shared: &Arc<Shared>,
    sequence: u64,
    call: Call,
    weather: &Weather,
    mut reply: Reply,
) -> Response<Body> {
    let bytes: Bytes = reply.bytes();
    {
        let mut state = shared.lock();
        state.record.answered(sequence, reply.status);
        state.record.sent(sequence, &bytes);
    }
    let content = std::mem::replace(&mut reply.content, Content::Text(String::new()));
    let Content::Watch(watching) = content else {
        return reply.into_response(Body::whole(bytes));
    };
    let (events, body) = mpsc::channel(16);
    let task = stream::Task::new(Arc::clone(shared), sequence, call, weather, *watching, events);
    tokio::spawn(task.run());
    reply.into_response(Body::stream(body))
}

async fn pass(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
