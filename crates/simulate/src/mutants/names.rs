//! Faults that names in DNS suffer from: an error passes for an answer, a part of a list for the
//! whole, what a list does not show for what is still there.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Frame;
use kube::client::Body as RequestBody;
use pontoon_providers::Transport;
use serde_json::{Value, json};
use tower::{Service, ServiceExt, service_fn};

use super::{action, answer};
use crate::wire::{ApiAction, ApiWire, CloudAction, Kind, WireBody};

/// A read that is refused for the time being becomes one that found nothing.
pub(super) fn errors_are_empty(wire: Transport) -> Transport {
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let wire = wire.clone();
        async move {
            let (action, _) = action(&request);
            let result = wire.oneshot(request).await?;
            let status = result.status();
            if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
                return Ok(result);
            }
            Ok(match action {
                CloudAction::List => {
                    let empty = r#"{"reserved_ips":[],"links":{},"meta":{"total":0}}"#;
                    answer(StatusCode::OK, empty)
                }
                CloudAction::ReadAddress => {
                    answer(StatusCode::NOT_FOUND, r#"{"id":"not_found","message":"no such one"}"#)
                }
                _ => result,
            })
        }
    }))
}

/// The way to the API server, with lists of nodes that are not as they are.
#[derive(Clone)]
pub(super) struct Lists {
    wire: ApiWire,
    how: How,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Clone, Copy)]
enum How {
    /// The first one shows one node only; the next sign of life makes it be listed again.
    InPart,
    /// What was in one and is in the next no more is still there: only the event of a deletion
    /// counts.
    WithGhosts,
}

#[derive(Default)]
struct Memory {
    listed: u32,
    seen: BTreeMap<String, Value>,
}

impl Lists {
    pub(super) fn in_part(wire: ApiWire) -> Self {
        Self { wire, how: How::InPart, memory: Arc::default() }
    }

    pub(super) fn with_ghosts(wire: ApiWire) -> Self {
        Self { wire, how: How::WithGhosts, memory: Arc::default() }
    }
}

type Answer = Result<Response<Distorted>, fakekube::Lost>;

impl Service<Request<RequestBody>> for Lists {
    type Response = Response<Distorted>;
    type Error = fakekube::Lost;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.wire.poll_ready(context)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let query = request.uri().query().unwrap_or_default();
        let action = ApiAction::of(request.method(), request.uri().path(), query);
        let concerns = [ApiAction::List(Kind::Nodes), ApiAction::Watch(Kind::Nodes)];
        let layer = concerns.contains(&action).then(|| self.clone());
        let answer = self.wire.call(request);
        Box::pin(async move {
            Ok(answer.await?.map(|body| Distorted { body, layer, is_list: !action.watches() }))
        })
    }
}

/// A list, or the events of a watch.
pub(super) struct Distorted {
    body: WireBody,
    layer: Option<Lists>,
    is_list: bool,
}

impl http_body::Body for Distorted {
    type Data = Bytes;
    type Error = fakekube::Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, fakekube::Broken>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(layer) = &self.layer else { return Poll::Ready(frame) };
        let distorted = |frame: Frame<Bytes>| match frame.into_data() {
            Ok(data) => Frame::data(layer.distort(self.is_list, data)),
            Err(frame) => frame,
        };
        Poll::Ready(frame.map(|frame| frame.map(distorted)))
    }
}

impl Lists {
    fn distort(&self, is_list: bool, data: Bytes) -> Bytes {
        let Ok(mut value) = serde_json::from_slice::<Value>(&data) else { return data };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.how, is_list) {
            (How::InPart, true) => {
                if let (0, Some(items)) = (memory.listed, value["items"].as_array_mut()) {
                    items.truncate(1);
                    memory.listed += 1;
                }
            }
            (How::InPart, false) => {
                if memory.listed == 1 && value["type"] == "BOOKMARK" {
                    memory.listed += 1;
                    value = json!({"type": "ERROR", "object": {
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": "too old", "reason": "Expired", "code": 410,
                    }});
                }
            }
            (How::WithGhosts, true) => memory.haunt(&mut value),
            (How::WithGhosts, false) => memory.take_in(&value),
        }
        let mut text = value.to_string().into_bytes();
        text.push(b'\n');
        Bytes::from(text)
    }
}

impl Memory {
    /// Adds what is gone.
    fn haunt(&mut self, list: &mut Value) {
        let Some(items) = list["items"].as_array_mut() else { return };
        for item in &*items {
            self.seen.insert(item["metadata"]["name"].to_string(), item.clone());
        }
        items.clone_from(&self.seen.values().cloned().collect());
    }

    fn take_in(&mut self, event: &Value) {
        let (object, name) = (&event["object"], event["object"]["metadata"]["name"].to_string());
        match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => drop(self.seen.insert(name, object.clone())),
            Some("DELETED") => drop(self.seen.remove(&name)),
            _ => {}
        }
    }
}
