//! Each event about a pool shows the object as it was before, and says that it is the newest.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use kube::client::Body as RequestBody;
use serde_json::Value;
use tower::Service;

use crate::wire::{ApiAction, ApiWire, Kind, WireBody};

/// What each pool was, by name.
type Before = Arc<Mutex<BTreeMap<String, Value>>>;

/// The way to the API server.
#[derive(Clone)]
pub(super) struct Layer {
    wire: ApiWire,
    before: Before,
}

impl Layer {
    pub(super) fn new(wire: ApiWire) -> Self {
        Self { wire, before: Before::default() }
    }
}

type Answer = Result<Response<OldBody>, fakekube::Lost>;

impl Service<Request<RequestBody>> for Layer {
    type Response = Response<OldBody>;
    type Error = fakekube::Lost;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.wire.poll_ready(context)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let query = request.uri().query().unwrap_or_default();
        let action = ApiAction::of(request.method(), request.uri().path(), query);
        let old = (action == ApiAction::Watch(Kind::Pools)).then(|| Arc::clone(&self.before));
        let answer = self.wire.call(request);
        Box::pin(async move { Ok(answer.await?.map(|body| OldBody { body, old })) })
    }
}

/// The events of a watch, each a step behind.
pub(super) struct OldBody {
    body: WireBody,
    old: Option<Before>,
}

impl http_body::Body for OldBody {
    type Data = Bytes;
    type Error = fakekube::Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, fakekube::Broken>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(old) = &self.old else { return Poll::Ready(frame) };
        let aged = |frame: Frame<Bytes>| match frame.into_data() {
            Ok(data) => Frame::data(age(old, data)),
            Err(frame) => frame,
        };
        Poll::Ready(frame.map(|frame| frame.map(aged)))
    }
}

fn age(before: &Before, line: Bytes) -> Bytes {
    let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { return line };
    if event["type"] != "MODIFIED" {
        return line;
    }
    let object = event["object"].clone();
    let name = object["metadata"]["name"].to_string();
    let mut before = before.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mut old) = before.insert(name, object.clone()) {
        old["metadata"]["resourceVersion"] = object["metadata"]["resourceVersion"].clone();
        event["object"] = old;
    }
    let mut text = event.to_string().into_bytes();
    text.push(b'\n');
    Bytes::from(text)
}
