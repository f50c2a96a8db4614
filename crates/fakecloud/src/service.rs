//! In-process entry point: a tower service.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::oneshot;
use tower::Service;

use crate::call::Call;
use crate::cloud::Shared;
use crate::faults::Loss;

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

/// A cloud as a tower service.
///
/// Each request runs on its own task from the first poll of its future, so a caller that goes away
/// does not cancel the request. Always ready; needs a tokio runtime.
#[derive(Clone, Debug)]
pub struct CloudService {
    cloud: Arc<Shared>,
}

impl CloudService {
    pub(crate) fn new(cloud: Arc<Shared>) -> Self {
        Self { cloud }
    }

    pub(crate) fn cloud(&self) -> &Arc<Shared> {
        &self.cloud
    }
}

impl Service<Request<Bytes>> for CloudService {
    type Response = Response<Bytes>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Bytes>, Lost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let cloud = Arc::clone(&self.cloud);
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            tokio::spawn(run(cloud, request, answer));
            answered.await.unwrap_or(Err(Lost))
        })
    }
}

type Caller = oneshot::Sender<Result<Response<Bytes>, Lost>>;

async fn run(cloud: Arc<Shared>, request: Request<Bytes>, caller: Caller) {
    let call = Call::new(request);
    let arrival = cloud.arrive(&call);
    pass(arrival.before).await;
    if arrival.weather.loss == Some(Loss::BeforeEffect) {
        cloud.lose(&call, arrival.sequence, Loss::BeforeEffect);
        let _ = caller.send(Err(Lost));
        return;
    }
    let reply = cloud.take_effect(&call, &arrival);
    pass(arrival.after).await;
    if arrival.weather.loss == Some(Loss::AfterEffect) {
        cloud.lose(&call, arrival.sequence, Loss::AfterEffect);
        let _ = caller.send(Err(Lost));
        return;
    }
    if caller.send(Ok(reply.into_response())).is_err() {
        cloud.lose(&call, arrival.sequence, Loss::CallerGone);
    }
}

async fn pass(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
