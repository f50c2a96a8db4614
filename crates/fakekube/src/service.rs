//! In-process entry point: a tower service, and the steps of a request through the server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use fakehttp::{Emulated, Loss, Lost, send, whole};
use http::{Request, Response};
use tokio::sync::mpsc;
use tower::Service;

use crate::body::Body;
use crate::call::Call;
use crate::faults::{Answer, Arrival, KubeWeather};
use crate::record::Exchange;
use crate::refusal::Refusal;
use crate::reply::{Content, Reply};
use crate::state::{Shared, State};
use crate::{garbage, stream, verbs};

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
        Box::pin(async move { send(shared, Call::new(whole(request).await?)).await })
    }
}

impl Emulated for Shared {
    type Call = Call;
    type Answer = Answer;
    type Own = KubeWeather;
    type Reply = Reply;
    type Body = Body;

    fn arrive(self: &Arc<Self>, call: &Call) -> Arrival {
        let mut state = self.lock();
        let State { clock, record, rules, dice, .. } = &mut *state;
        let now = clock.now();
        let sequence = record.arrival(|sequence| Exchange::new(sequence, now, call));
        let weather = rules.weather(&call.arriving(), &call.faults, dice);
        Arrival { sequence, weather }
    }

    async fn take_effect(self: &Arc<Self>, call: &Call, arrival: &Arrival) -> Reply {
        let weather = &arrival.weather;
        let reply = match &weather.answer {
            Some(answer) => forced(answer),
            None => {
                let reply = verbs::answer(self, call, weather).await;
                garbage::wake(self);
                reply
            }
        };
        weather.answer_after.as_ref().map_or(reply, forced)
    }

    /// Turns a reply into a response, and starts the sending task of a watch.
    fn respond(
        self: &Arc<Self>,
        call: &Call,
        arrival: &Arrival,
        mut reply: Reply,
    ) -> Response<Body> {
        let bytes: Bytes = reply.bytes();
        if let Some(exchange) = self.lock().record.entry(arrival.sequence) {
            exchange.status = Some(reply.status);
            exchange.response.extend_from_slice(&bytes);
        }
        let content = std::mem::replace(&mut reply.content, Content::Text(String::new()));
        let Content::Watch(watching) = content else {
            return reply.into_response(Body::whole(bytes));
        };
        let (events, body) = mpsc::channel(16);
        let task = stream::Task::new(Arc::clone(self), call.clone(), arrival, *watching, events);
        tokio::spawn(task.run());
        reply.into_response(Body::stream(body))
    }

    fn lose(self: &Arc<Self>, _: &Call, sequence: u64, loss: Loss) {
        if let Some(exchange) = self.lock().record.entry(sequence) {
            exchange.lost = Some(loss);
        }
    }
}

fn forced(answer: &Answer) -> Reply {
    let Answer { status, message, retry_after } = answer;
    Reply::refused(&Refusal::forced(*status, message.as_deref(), *retry_after))
}
