//! Mutants around lists: an error counts as an answer, a part of a list as the whole, a missing
//! object as present.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, StatusCode};
use pontoon_providers::Transport;
use serde_json::{Value, json};
use tower::{ServiceExt, service_fn};

use super::distorting::Distortion;
use super::{action, answer};
use crate::wire::{ApiAction, CloudAction, Kind};

/// Turns a temporarily failed read into an empty result.
pub(super) fn errors_are_empty(wire: Transport) -> Transport {
    Transport::new(service_fn(move |request: Request<Bytes>| {
        let wire = wire.clone();
        async move {
            let action = action(&request);
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

/// Wrong lists of nodes.
#[derive(Clone)]
pub(super) struct Lists {
    how: How,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Clone, Copy)]
enum How {
    /// The first list shows a single node. The next bookmark causes a new list.
    InPart,
    /// Objects missing in a new list stay: only a deletion event removes them.
    WithGhosts,
}

#[derive(Default)]
struct Memory {
    listed: u32,
    seen: BTreeMap<String, Value>,
}

impl Lists {
    pub(super) fn in_part() -> Self {
        Self { how: How::InPart, memory: Arc::default() }
    }

    pub(super) fn with_ghosts() -> Self {
        Self { how: How::WithGhosts, memory: Arc::default() }
    }
}

impl Distortion for Lists {
    fn concerns(&self, action: ApiAction) -> bool {
        [ApiAction::List(Kind::Nodes), ApiAction::Watch(Kind::Nodes)].contains(&action)
    }

    fn distort(&self, action: ApiAction, value: &mut Value) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.how, action.watches()) {
            (How::InPart, false) => {
                if let (0, Some(items)) = (memory.listed, value["items"].as_array_mut()) {
                    items.truncate(1);
                    memory.listed += 1;
                }
            }
            (How::InPart, true) => {
                if memory.listed == 1 && value["type"] == "BOOKMARK" {
                    memory.listed += 1;
                    *value = json!({"type": "ERROR", "object": {
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": "too old", "reason": "Expired", "code": 410,
                    }});
                }
            }
            (How::WithGhosts, false) => memory.haunt(value),
            (How::WithGhosts, true) => memory.take_in(value),
        }
    }
}

impl Memory {
    /// Adds the vanished objects.
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
