//! A layer before the API server that changes some answers.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use kube::client::Body as RequestBody;
use serde_json::Value;
use tower::Service;

use crate::wire::{ApiAction, ApiWire, WireBody};

/// A change of answers. Clones share their memory.
pub(super) trait Distortion: Clone + Send + Unpin + 'static {
    /// Whether answers to `action` are changed.
    fn concerns(&self, action: ApiAction) -> bool;

    /// Changes a list, or an event of a watch.
    fn distort(&self, action: ApiAction, value: &mut Value);
}

/// The client of the API server with a distortion.
#[derive(Clone)]
pub(super) struct Layer<D> {
    wire: ApiWire,
    distortion: D,
}

impl<D> Layer<D> {
    pub(super) fn new(wire: ApiWire, distortion: D) -> Self {
        Self { wire, distortion }
    }
}

type Answer<D> = Result<Response<Distorted<D>>, fakekube::Lost>;

impl<D: Distortion> Service<Request<RequestBody>> for Layer<D> {
    type Response = Response<Distorted<D>>;
    type Error = fakekube::Lost;
    type Future = Pin<Box<dyn Future<Output = Answer<D>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.wire.poll_ready(context)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let query = request.uri().query().unwrap_or_default();
        let action = ApiAction::of(request.method(), request.uri().path(), query);
        let distortion = Some(&self.distortion).filter(|one| one.concerns(action)).cloned();
        let answer = self.wire.call(request);
        Box::pin(
            async move { Ok(answer.await?.map(|body| Distorted { body, action, distortion })) },
        )
    }
}

/// A list, or the events of a watch.
pub(super) struct Distorted<D> {
    body: WireBody,
    action: ApiAction,
    distortion: Option<D>,
}

impl<D: Distortion> http_body::Body for Distorted<D> {
    type Data = Bytes;
    type Error = fakekube::Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, fakekube::Broken>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(distortion) = &self.distortion else { return Poll::Ready(frame) };
        let distorted = |frame: Frame<Bytes>| match frame.into_data() {
            Ok(data) => Frame::data(changed(distortion, self.action, data)),
            Err(frame) => frame,
        };
        Poll::Ready(frame.map(|frame| frame.map(distorted)))
    }
}

fn changed(distortion: &impl Distortion, action: ApiAction, data: Bytes) -> Bytes {
    let Ok(mut value) = serde_json::from_slice::<Value>(&data) else { return data };
    distortion.distort(action, &mut value);
    let mut text = value.to_string().into_bytes();
    text.push(b'\n');
    Bytes::from(text)
}
